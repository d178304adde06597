"""Drives `windlass acp` with the Python client, whose types refuse frames that do not fit.

    python_client.py BINARY DIRECTORY
"""

import asyncio
import os
import sys

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse

binary, cwd = sys.argv[1:3]


class Editor(acp.Client):
    def __init__(self):
        self.updates = []

    async def request_permission(self, options, session_id, tool_call, **more):
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **more):
        self.updates.append(update.session_update)


async def main():
    editor = Editor()
    async with acp.spawn_agent_process(editor, binary, "acp", env=dict(os.environ)) as (agent, _):
        await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        for text in ("hello", "run a command", "make a plan"):
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
            assert answer.stop_reason == "end_turn", answer
        listed = await agent.list_sessions(cwd=cwd)
        assert any(one.session_id == session.session_id for one in listed.sessions), listed
    wanted = {"agent_message_chunk", "tool_call", "tool_call_update", "plan"}
    assert wanted <= set(editor.updates), wanted - set(editor.updates)
    print("the Python client is content")


asyncio.run(asyncio.wait_for(main(), 120))
