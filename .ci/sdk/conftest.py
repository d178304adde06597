"""Drives the binary named `claude` on the PATH through the agent SDK, against the rehearsed model."""

import asyncio
import os
import pathlib

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, SystemMessage, query

LIMIT = 60


def wait(work):
    """Runs it to its end, within a limit."""
    return asyncio.run(asyncio.wait_for(work, LIMIT))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder to work in, with a home of its own."""
    home = tmp_path / "home"
    work = tmp_path / "project"
    home.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def ask(project):
    """Asks one prompt, and gives all messages."""

    def ask(prompt, **options):
        async def collect():
            options.setdefault("cwd", project)
            return [m async for m in query(prompt=prompt, options=ClaudeAgentOptions(**options))]

        return wait(collect())

    return ask


@pytest.fixture
def talk(project):
    """Runs a conversation with a client."""

    def talk(conversation, **options):
        async def whole():
            options.setdefault("cwd", project)
            async with ClaudeSDKClient(ClaudeAgentOptions(**options)) as client:
                return await conversation(client)

        return wait(whole())

    return talk


async def answers(client):
    """Everything up to the result."""
    return [message async for message in client.receive_response()]


def init(messages):
    """What the session says of itself."""
    return next(m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "init")


def result(messages):
    """The result, of which there is one."""
    results = [m for m in messages if isinstance(m, ResultMessage)]
    assert len(results) == 1, results
    return results[0]


def blocks(messages, kind):
    """All blocks of a kind."""
    found = []
    for message in messages:
        content = getattr(message, "content", None)
        if isinstance(content, list):
            found += [block for block in content if isinstance(block, kind)]
    return found


def prompts(*texts):
    """A stream of prompts."""

    async def stream():
        for text in texts:
            yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "session_id": ""}

    return stream()


def write(path, text):
    """A file with its folders."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def transcripts():
    """Every transcript below the home."""
    root = pathlib.Path(os.environ["HOME"]) / ".claude" / "projects"
    return sorted(root.rglob("*.jsonl"))
