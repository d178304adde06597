"""Drives `windlass acp` with the Python client, whose types refuse frames that do not fit.

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
        if update.session_update == "agent_message_chunk":
            self.texts.append(update.content.text)


async def main():
    editor = Editor()
    async with acp.spawn_agent_process(editor, binary, "acp", env=dict(os.environ)) as (agent, _):
        offered = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        capabilities = ClientCapabilities(fs=offered)
        await agent.initialize(protocol_version=1, client_capabilities=capabilities)
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        with open(f"{cwd}/notes.txt", "w") as file:
            file.write("on disk\n")
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{cwd}/made.txt")
        for text in ("hello", "read the notes", "write a file", "run a command", "make a plan"):
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
            assert answer.stop_reason == "end_turn", answer
        listed = await agent.list_sessions(cwd=cwd)
        assert any(one.session_id == session.session_id for one in listed.sessions), listed
    assert "SEEN" in "".join(editor.texts), editor.texts
    assert editor.written == {f"{cwd}/made.txt": "made\n"}, editor.written
    wanted = {"agent_message_chunk", "tool_call", "tool_call_update", "plan"}
    assert wanted <= set(editor.updates), wanted - set(editor.updates)
    print("the Python client is content")


asyncio.run(asyncio.wait_for(main(), 120))
