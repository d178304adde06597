"""Pieces of answers, nested sessions, structured output."""

import json
import os
import pathlib

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ResultError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)

from conftest import blocks, init, result, transcripts, wait

KINDS = "message_start content_block_start content_block_delta content_block_stop message_delta message_stop".split()


def test_pieces_come_between_the_first_words_and_the_result(ask):
    messages = ask("Think of three jokes", include_partial_messages=True)
    assert isinstance(messages[0], SystemMessage) and messages[0].subtype == "init"
    assert isinstance(messages[-1], ResultMessage) and messages[-1].subtype == "success"
    events = [m.event["type"] for m in messages if isinstance(m, StreamEvent)]
    assert set(events) == set(KINDS)
    assert events[0] == "message_start" and events[-1] == "message_stop"
    assert blocks(messages, ThinkingBlock) and blocks(messages, TextBlock)


def test_pieces_add_up_to_the_whole(ask):
    messages = ask("Think step by step", include_partial_messages=True)
    deltas = [m.event["delta"] for m in messages if isinstance(m, StreamEvent) and "delta" in m.event]
    thought = "".join(d.get("thinking", "") for d in deltas)
    spoken = "".join(d.get("text", "") for d in deltas)
    assert thought == blocks(messages, ThinkingBlock)[0].thinking and "2" in thought
    assert spoken == blocks(messages, TextBlock)[0].text


def test_without_the_flag_there_are_no_pieces(ask):
    assert not [m for m in ask("Think of three jokes") if isinstance(m, StreamEvent)]


def test_arguments_come_in_pieces_too(ask):
    messages = ask("Run: echo pieces", include_partial_messages=True, allowed_tools=["Bash"])
    deltas = [m.event["delta"] for m in messages if isinstance(m, StreamEvent) and m.event["type"] == "content_block_delta"]
    text = "".join(d.get("partial_json", "") for d in deltas)
    [call] = blocks(messages, ToolUseBlock)
    assert json.loads(text) == call.input


def test_blocks_of_an_answer_share_its_id(ask):
    said = [m for m in ask("Think of three jokes") if isinstance(m, AssistantMessage)]
    assert len(said) == 2 and len({m.message_id for m in said}) == 1
    assert all(len(m.content) == 1 for m in said)


def test_a_result_carries_its_structure(ask):
    messages = ask("Run: echo structure", allowed_tools=["Bash"])
    [told] = [m for m in messages if isinstance(m, UserMessage)]
    assert "structure" in told.tool_use_result["stdout"]


GREETER = {"greeter": AgentDefinition(description="Greets", prompt="You greet.")}


def nested(messages):
    return [m for m in messages if getattr(m, "parent_tool_use_id", None)]


def test_text_of_an_agent_stays_inside(ask):
    messages = ask("Use the Agent tool exactly once", agents=GREETER, allowed_tools=["Agent"])
    assert "hi from the greeter" in str(blocks(messages, ToolResultBlock)[0].content)
    assert not blocks(nested(messages), TextBlock)
    assert result(messages).result == "DONE"


def test_text_of_an_agent_is_forwarded_on_request(ask):
    messages = ask("Use the Agent tool exactly once", agents=GREETER, allowed_tools=["Agent"], forward_subagent_text=True)
    call = next(b for b in blocks(messages, ToolUseBlock) if b.name == "Agent")
    inner = nested(messages)
    assert {m.parent_tool_use_id for m in inner} == {call.id}
    assert [b.text for b in blocks(inner, TextBlock)] == ["hi from the greeter"]


def test_calls_of_an_agent_are_always_forwarded(ask):
    messages = ask("Let the greeter runs a command", agents=GREETER, allowed_tools=["Agent", "Bash"])
    inner = nested(messages)
    assert [b.name for b in blocks(inner, ToolUseBlock)] == ["Bash"]
    assert "nested" in str(blocks(inner, ToolResultBlock)[0].content)


def test_an_agent_leaves_its_own_transcript(ask):
    ask("Use the Agent tool exactly once", agents=GREETER, allowed_tools=["Agent"])
    pages = [p for p in transcripts() if "subagents" in p.parts]
    assert pages, transcripts()
    assert pages[0].with_suffix("").with_suffix(".meta.json").exists() or list(pages[0].parent.glob("*.meta.json"))


def schema(**properties):
    return {
        "type": "json_schema",
        "schema": {"type": "object", "properties": properties, "required": list(properties)},
    }


NUMBER = {"type": "number"}


def test_an_object_that_fits_is_in_the_result(ask):
    shape = schema(word_count=NUMBER, character_count=NUMBER, words={"type": "array", "items": {"type": "string"}})
    told = result(ask("Count the words in: Hello world", output_format=shape))
    assert told.structured_output["word_count"] == 2
    assert told.structured_output["character_count"] == 11
    assert told.structured_output["words"] == ["Hello", "world"]


def test_an_object_with_a_choice_fits(ask):
    shape = schema(has_tests={"type": "boolean"}, test_framework={"type": "string", "enum": ["pytest", "unittest"]})
    told = result(ask("Which framework is it?", output_format=shape))
    assert told.structured_output["test_framework"] == "pytest" and told.structured_output["has_tests"]


def test_an_object_after_tools_fits(ask):
    told = result(ask("How many files are here?", output_format=schema(file_count=NUMBER)))
    assert told.structured_output["file_count"] > 0 and told.subtype == "success"


def test_an_object_inside_an_object_fits(ask):
    item = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    told = result(ask("List them", output_format=schema(files={"type": "array", "items": item})))
    assert told.structured_output["files"][0]["name"] == "a"


def test_an_object_that_does_not_fit_is_asked_for_again(ask):
    told = result(ask("Give what fits at the second try", output_format=schema(word_count=NUMBER)))
    assert told.structured_output == {"word_count": 2}


def test_what_never_fits_ends_with_an_error(project):
    seen = []

    async def collect():
        options = ClaudeAgentOptions(output_format=schema(never=NUMBER), cwd=project, env={"MAX_STRUCTURED_OUTPUT_RETRIES": "2"})
        async for message in query(prompt="Never give what fits", options=options):
            seen.append(message)

    with pytest.raises(ResultError):
        wait(collect())
    assert result(seen).subtype == "error_max_structured_output_retries"
    assert result(seen).structured_output is None


def test_a_schema_that_is_none_is_refused_at_once(project):
    lines = []

    async def collect():
        options = ClaudeAgentOptions(extra_args={"json-schema": '{"type": "nonsense"}'}, stderr=lines.append, cwd=project)
        async for _ in query(prompt="hello", options=options):
            pass

    with pytest.raises(Exception):
        wait(collect())
    assert any("json-schema" in line for line in lines), lines
