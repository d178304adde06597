"""Drives `windlass acp` through every method that the Python client has for agents. Its types refuse frames
that do not fit.

    python_client.py BINARY DIRECTORY
"""

import asyncio
import contextlib
import os
import sys

import acp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

binary, cwd = sys.argv[1:3]


class Editor(acp.Client):
    def __init__(self):
        self.updates = []
        self.seen = set()
        self.statuses = []
        self.texts = []
        self.written = {}

    async def request_permission(self, options, session_id, tool_call, **more):
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, path, session_id, **more):
        return ReadTextFileResponse(content="in the editor\n")

    async def write_text_file(self, content, path, session_id, **more):
        self.written[path] = content
        with open(path, "w") as file:
            file.write(content)
        return WriteTextFileResponse()

    async def session_update(self, session_id, update, **more):
        self.updates.append(update.session_update)
        self.seen.add(update.session_update)
        self.statuses.append(getattr(update, "status", None))
        if update.session_update == "agent_message_chunk":
            self.texts.append(update.content.text)


async def main():
    editor = Editor()
    async with acp.spawn_agent_process(editor, binary, "acp", env=dict(os.environ)) as (agent, _):
        offered = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        capabilities = ClientCapabilities(fs=offered)
        started = await agent.initialize(protocol_version=1, client_capabilities=capabilities)
        await agent.authenticate(method_id=started.auth_methods[0].id)
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        with open(f"{cwd}/notes.txt", "w") as file:
            file.write("on disk\n")
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{cwd}/made.txt")
        for text in ("hello", "read the notes", "write a file", "run a command", "make a plan"):
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
            assert answer.stop_reason == "end_turn", answer
        known = session.session_id
        await agent.set_session_mode(session_id=known, mode_id="plan")
        await agent.set_session_mode(session_id=known, mode_id="default")
        for option in session.config_options:
            changed = await agent.set_config_option(
                session_id=known, config_id=option.id, value=option.options[0].value
            )
            assert [one.id for one in changed.config_options][: len(session.config_options)] == [
                one.id for one in session.config_options
            ], changed
        # Cancelled at once, and while a command runs.
        for wait_for in (None, "in_progress"):
            editor.statuses.clear()
            running = asyncio.create_task(
                agent.prompt(session_id=known, prompt=[acp.text_block("wait for ever")])
            )
            while wait_for not in (None, *editor.statuses):
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            await agent.cancel(session_id=known)
            answer = await running
            assert answer.stop_reason == "cancelled", answer
        answer = await agent.prompt(session_id=known, prompt=[acp.text_block("hello")])
        assert answer.stop_reason == "end_turn", answer
        await agent.close_session(session_id=known)
        listed = await agent.list_sessions(cwd=cwd)
        assert any(one.session_id == known for one in listed.sessions), listed
        for open_again, is_replayed in ((agent.load_session, True), (agent.resume_session, False)):
            editor.updates.clear()
            await open_again(cwd=cwd, session_id=known, mcp_servers=[])
            assert ("user_message_chunk" in editor.updates) == is_replayed, editor.updates
            await agent.close_session(session_id=known)
    assert "SEEN" in "".join(editor.texts), editor.texts
    assert editor.written == {f"{cwd}/made.txt": "made\n"}, editor.written
    wanted = {"agent_message_chunk", "tool_call", "tool_call_update", "plan"}
    assert wanted <= editor.seen, wanted - editor.seen
    print("the Python client is content")


asyncio.run(asyncio.wait_for(main(), 120))
