"""Sessions: going on, branching off, cutting short, mirroring."""

import asyncio
import json
import pathlib
import uuid

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    InMemorySessionStore,
    ResultError,
    UserMessage,
    AgentDefinition,
    get_session_messages,
    list_sessions,
    query,
)

from conftest import answers, init, result, transcripts, wait, write


def test_a_session_goes_on(ask):
    first = result(ask("hello"))
    second = result(ask("hello again", resume=first.session_id))
    assert first.session_id == second.session_id
    assert len(transcripts()) == 1


def test_the_newest_session_goes_on(ask):
    first = result(ask("hello"))
    assert result(ask("hello again", continue_conversation=True)).session_id == first.session_id


def test_a_branch_leaves_the_session_as_it_was(ask):
    first = result(ask("hello"))
    before = transcripts()[0].read_text()
    second = result(ask("hello again", resume=first.session_id, fork_session=True))
    assert second.session_id != first.session_id
    assert next(p for p in transcripts() if first.session_id in p.name).read_text() == before


def test_the_name_of_a_session_may_be_given(ask):
    name = str(uuid.uuid4())
    assert result(ask("hello", session_id=name)).session_id == name


def test_the_helpers_of_the_sdk_read_what_was_written(project, ask):
    told = result(ask("hello"))
    assert [s.session_id for s in list_sessions(directory=str(project))] == [told.session_id]
    kinds = [m.type for m in get_session_messages(told.session_id, directory=str(project))]
    assert kinds == ["user", "assistant"]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def chain(path):
    """Every message but the first names one before it."""
    seen = set()
    for line in lines(path):
        if line.get("type") in ("user", "assistant"):
            parent = line["parentUuid"]
            assert parent is None or parent in seen, line
            seen.add(line["uuid"])


def test_going_on_behind_a_message_drops_what_follows(ask):
    first = result(ask("hello one"))
    ask("hello two", resume=first.session_id)
    [page] = transcripts()
    before = page.read_text()
    said = [line for line in lines(page) if line.get("type") in ("user", "assistant")]
    keep = next(line["uuid"] for line in said if line["type"] == "assistant")
    drops = [line["uuid"] for line in said if line["type"] == "user"][1]
    third = result(
        ask("hello three", resume=first.session_id, fork_session=True, resume_session_at=keep, resume_drops_turn=drops)
    )
    assert page.read_text() == before
    fresh = next(p for p in transcripts() if third.session_id in p.name)
    text = fresh.read_text()
    assert "hello one" in text and "hello three" in text and "hello two" not in text
    chain(fresh)


def test_going_on_behind_a_message_that_drops_something_else_is_refused(project, ask):
    first = result(ask("hello one"))
    ask("hello two", resume=first.session_id)
    [page] = transcripts()
    said = [line for line in lines(page) if line.get("type") in ("user", "assistant")]
    keep = next(line["uuid"] for line in said if line["type"] == "assistant")

    async def collect():
        options = ClaudeAgentOptions(
            resume=first.session_id, fork_session=True, resume_session_at=keep, resume_drops_turn=str(uuid.uuid4()), cwd=project
        )
        async for _ in query(prompt="hello three", options=options):
            pass

    with pytest.raises(Exception, match="Resume rejected by --resume-drops-turn:"):
        wait(collect())


def test_a_session_is_mirrored_and_goes_on_from_the_mirror(project, ask):
    store = InMemorySessionStore()
    write(pathlib.Path.home() / ".claude/settings.json", json.dumps({"outputStyle": "mirrored-style"}))
    first = ask("hello", session_store=store)
    told = result(first)
    for page in transcripts():
        page.unlink()
    second = ask("hello again", session_store=store, resume=told.session_id)
    assert result(second).session_id == told.session_id
    assert init(second)["output_style"] == "mirrored-style"


def test_an_agent_is_mirrored_with_what_it_is(project, ask):
    store = InMemorySessionStore()
    agents = {"greeter": AgentDefinition(description="Greets", prompt="You greet.")}
    ask("Use the Agent tool exactly once", session_store=store, agents=agents, allowed_tools=["Agent"])
    entries = [entry for kept in store._store.values() for entry in kept]
    assert any(entry.get("type") == "agent_metadata" for entry in entries), [e.get("type") for e in entries]


def test_prompts_are_said_again_on_request(talk):
    async def conversation(client):
        await client.query("hello")
        return await answers(client)

    messages = talk(conversation, extra_args={"replay-user-messages": None})
    said = [m for m in messages if isinstance(m, UserMessage)]
    assert said and said[0].uuid and said[0].content == "hello"


def test_files_are_rewound(project, talk):
    path = project / "a.txt"
    path.write_text("before")

    async def conversation(client):
        await client.query(f"Run: echo hello > /dev/null")
        await answers(client)
        await client.query(f"Use the Write tool to create the file {project / 'b.txt'}")
        messages = await answers(client)
        name = next(m.uuid for m in messages if isinstance(m, UserMessage) and m.uuid and isinstance(m.content, str))
        assert (project / "b.txt").exists()
        await client.rewind_files(name)

    talk(
        conversation,
        permission_mode="acceptEdits",
        enable_file_checkpointing=True,
        extra_args={"replay-user-messages": None},
    )
    assert not (project / "b.txt").exists()
