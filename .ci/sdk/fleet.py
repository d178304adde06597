"""Points the agent SDK at a fleet: its command line program is a script that runs `attach --stream-json`.

    python fleet.py path/to/windlass path/to/windlass-fleet

Runs below `windlass rehearse`, so that sessions ask the rehearsed model.
"""

import asyncio
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    ResultMessage,
    StreamEvent,
    TextBlock,
)

LIMIT = 120
SHIM = """#!/bin/sh
[ "$1" = -v ] && exec "{windlass}" --version
exec "{fleet}" attach --stream-json --include-partial-messages
"""


def serve(fleet, windlass, work):
    """A gateway without a database, its address and its token."""
    words = ["serve", "--listen", "127.0.0.1:0", "--dir", str(work / "serve"), "--windlass", windlass]
    process = subprocess.Popen(
        [fleet, *words, "--allow-unsandboxed", "--drain", "0"], stderr=subprocess.PIPE, text=True, cwd=work
    )
    url = None
    for line in process.stderr:
        if "serving at " in line:
            url = line.split("serving at ")[1].strip()
        if "is ready" in line and url:
            break
    assert url, "it does not serve"
    return process, url, (work / "serve/store/token").read_text()


async def converse(shim, asked):
    async def may(tool, given, context):
        asked.append((tool, given))
        return PermissionResultAllow()

    options = ClaudeAgentOptions(cli_path=shim, include_partial_messages=True, can_use_tool=may)
    seen = []
    async with ClaudeSDKClient(options=options) as client:
        for prompt in ["Write: from-the-fleet.txt", "Say: and again"]:
            await client.query(prompt)
            messages = [message async for message in client.receive_response()]
            assert isinstance(messages[-1], ResultMessage), messages
            assert not messages[-1].is_error, messages[-1]
            seen.append(messages)
    return seen


def main():
    windlass, fleet = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        os.environ["HOME"] = str(work)
        process, url, token = serve(fleet, windlass, work)
        try:
            shim = work / "shim"
            shim.write_text(SHIM.format(windlass=windlass, fleet=fleet))
            shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
            os.environ.update(WINDLASS_SERVER=url, WINDLASS_TOKEN=token)
            asked = []
            seen = asyncio.run(asyncio.wait_for(converse(str(shim), asked), LIMIT))
            texts = [
                block.text
                for messages in seen
                for message in messages
                if isinstance(message, AssistantMessage)
                for block in message.content
                if isinstance(block, TextBlock)
            ]
            assert any("and again" in text for text in texts), texts
            pieces = [message for messages in seen for message in messages if isinstance(message, StreamEvent)]
            assert pieces, "there were no pieces"
            assert [tool for tool, _ in asked] == ["Write"], asked
            assert len({messages[-1].session_id for messages in seen}) == 1
            print(f"the sdk spoke to a fleet: {len(pieces)} pieces, {len(texts)} texts, 1 question")
        finally:
            process.terminate()
            process.wait(30)


main()
