"""When a run is over, who is asked until then, and what of a prompt is kept."""

import json

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    ResultMessage,
    list_sessions,
    query,
)
from conftest import prompts, result, transcripts, wait, write

GREETER = {"greeter": AgentDefinition(description="Greets", prompt="You greet.")}


def recorder(asked):
    async def hook(given, tool_use_id, context):
        asked.append(given["tool_name"])
        return {}

    return {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]}


def test_the_end_of_an_agent_left_alone_is_a_turn_of_its_own(project):
    asked, told = [], []
    options = ClaudeAgentOptions(cwd=project, agents=GREETER, allowed_tools=["Bash"], hooks=recorder(asked))

    async def collect():
        async for message in query(prompt="Leave the greeter alone", options=options):
            if isinstance(message, ResultMessage):
                told.append(message)
                (project / "go").touch()

    wait(collect())
    assert len(told) == 2 and not any(m.is_error for m in told), told
    assert asked == ["Bash", "Bash"] and (project / "told").exists()


def test_an_agent_is_not_asked_about(ask):
    asked = []

    async def may(name, given, context):
        asked.append(name)
        return PermissionResultAllow()

    messages = ask(prompts("Use the Agent tool exactly once"), agents=GREETER, can_use_tool=may)
    assert result(messages).result == "DONE" and asked == []


def attached():
    lines = [json.loads(line) for page in transcripts() for line in page.read_text().splitlines()]
    return [line["attachment"] for line in lines if line["type"] == "attachment"]


@pytest.mark.parametrize("verbatim", [False, True])
def test_a_mentioned_file_is_attached_unless_words_are_only_words(ask, tmp_path, verbatim):
    page = write(tmp_path / "elsewhere" / "note.txt", "The marker is cedar.\n")
    ask(f"hello @{page}", tools=[], verbatim_prompts=verbatim)
    found = attached()
    assert [one["type"] for one in found] == ([] if verbatim else ["file"])
    assert ("cedar" in json.dumps(found)) != verbatim


def test_nobody_is_asked_where_nobody_shall_be(ask, project):
    asked = []

    async def may(name, given, context):
        asked.append(name)
        return PermissionResultAllow()

    options = {"can_use_tool": may, "extra_args": {"permission-prompts": "none"}}
    messages = ask(prompts("Run: touch made"), **options)
    assert not result(messages).is_error and asked == [] and not (project / "made").exists()


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_session_is_kept_unless_it_shall_not_be(ask, project, is_kept):
    told = result(ask("hello", extra_args={} if is_kept else {"no-session-persistence": None}))
    listed = [one.session_id for one in list_sessions(directory=str(project))]
    assert (told.session_id in listed) == is_kept
