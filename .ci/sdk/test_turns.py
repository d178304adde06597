"""Turns: order, reset, control in the middle, errors, origin, standard error."""

import asyncio

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ConversationResetMessage,
    ResultError,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    query,
    ClaudeAgentOptions,
)

from conftest import answers, blocks, init, prompts, result, wait


def test_clear_begins_a_new_session(talk):
    async def conversation(client):
        await client.query("hello")
        before = await answers(client)
        await client.query("/clear")
        return before, await answers(client)

    before, after = talk(conversation)
    old = result(before).session_id
    reset = [m for m in after if isinstance(m, ConversationResetMessage)]
    assert len(reset) == 1
    assert reset[0].session_id == old and reset[0].new_conversation_id != old
    assert result(after).session_id == reset[0].new_conversation_id
    assert not blocks(after, TextBlock)


def test_the_model_forgets_what_was_before_a_reset_and_goes_on(talk):
    async def conversation(client):
        await client.query("/clear")
        await answers(client)
        await client.query("hello")
        return await answers(client)

    assert not result(talk(conversation)).is_error


def test_the_mode_is_changed_between_turns(talk):
    async def conversation(client):
        modes = []
        for mode in ("default", "acceptEdits", "plan"):
            await client.set_permission_mode(mode)
            await client.query("What is 2+2?")
            modes.append(init(await answers(client))["permissionMode"])
        return modes

    assert talk(conversation) == ["default", "acceptEdits", "plan"]


def test_the_model_is_changed_and_changed_back(talk):
    async def conversation(client):
        models = []
        for model in (None, "claude-haiku-4-5", None):
            if models:
                await client.set_model(model)
            await client.query("What is 2+2?")
            said = await answers(client)
            models.append(next(m.model for m in said if isinstance(m, AssistantMessage)))
        return models

    models = talk(conversation)
    assert models[0] == models[2] != models[1] == "claude-haiku-4-5"


@pytest.mark.parametrize("prompt", ["Take for ever", "Run: sleep 600"])
def test_an_interrupt_still_gives_a_result(talk, prompt):
    async def conversation(client):
        await client.query(prompt)
        await asyncio.sleep(1)
        await client.interrupt()
        first = await answers(client)
        await client.query("hello")
        return first, await answers(client)

    first, second = talk(conversation, permission_mode="bypassPermissions")
    reason = "aborted_streaming" if "ever" in prompt else "aborted_tools"
    assert result(first).terminal_reason == reason
    assert result(first).subtype == "error_during_execution"
    assert not result(second).is_error
    assert len(blocks(first, ToolResultBlock)) == (0 if "ever" in prompt else 1)


def test_an_interrupt_without_a_turn_is_no_error(talk):
    async def conversation(client):
        await client.interrupt()
        await client.query("hello")
        return await answers(client)

    assert not result(talk(conversation)).is_error


def test_a_failing_provider_is_told_and_raised(project):
    seen = []

    async def collect():
        options = ClaudeAgentOptions(model="claude-nonexistent-model-for-sdk-e2e", cwd=project)
        async for message in query(prompt="hello", options=options):
            seen.append(message)

    with pytest.raises(ResultError) as raised:
        wait(collect())
    told = result(seen)
    assert told.subtype == "success" and told.is_error and told.terminal_reason == "api_error"
    assert told.api_error_status == 404 and not told.errors and told.result
    assert raised.value.exit_code != 0
    failed = [m for m in seen if isinstance(m, AssistantMessage)]
    assert failed[-1].error == "model_not_found"


def test_a_retry_is_told(ask):
    messages = ask("Be overloaded first")
    retries = [m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "api_retry"]
    assert retries and retries[0]["error_status"] == 529 and retries[0]["error"] == "overloaded"
    assert not result(messages).is_error


def test_the_turn_limit_is_an_error_of_its_own(project):
    seen = []

    async def collect():
        options = ClaudeAgentOptions(max_turns=1, cwd=project, allowed_tools=["Bash"])
        async for message in query(prompt="Run: echo again and again", options=options):
            seen.append(message)

    with pytest.raises(ResultError):
        wait(collect())
    assert result(seen).subtype == "error_max_turns" and result(seen).errors


def test_the_money_limit_is_an_error_of_its_own(project):
    seen = []

    async def collect():
        async for message in query(prompt="hello", options=ClaudeAgentOptions(max_budget_usd=0.0001, cwd=project)):
            seen.append(message)

    with pytest.raises(ResultError):
        wait(collect())
    told = result(seen)
    assert told.subtype == "error_max_budget_usd" and told.terminal_reason == "budget_exhausted"


def test_the_origin_is_echoed_on_its_own_turn_only(talk):
    async def conversation(client):
        async def stream():
            yield {
                "type": "user",
                "message": {"role": "user", "content": "hello"},
                "parent_tool_use_id": None,
                "session_id": "",
                "origin": {"kind": "human"},
            }

        await client.query(stream())
        first = await answers(client)
        await client.query("hello")
        return first, await answers(client)

    first, second = talk(conversation)
    assert result(first).origin == {"kind": "human"}
    assert result(second).origin is None


def test_a_clean_run_leaves_standard_error_empty(ask):
    lines = []
    ask("hello", stderr=lines.append)
    assert lines == []


def test_every_prompt_has_its_result(talk):
    async def conversation(client):
        await client.query(prompts("one", "two", "three"))
        results = []
        async for message in client.receive_messages():
            if isinstance(message, ResultMessage):
                results.append(message)
                if len(results) == 3:
                    return results

    assert [m.is_error for m in talk(conversation)] == [False] * 3


def test_what_fills_the_window_is_told(talk):
    async def conversation(client):
        before = await client.get_context_usage()
        await client.query("hello")
        await answers(client)
        return before, await client.get_context_usage()

    before, after = talk(conversation)
    for key in "categories totalTokens maxTokens rawMaxTokens percentage model".split():
        assert key in before, key
    assert after["totalTokens"] > 0


def test_the_client_is_greeted(talk):
    async def conversation(client):
        return await client.get_server_info()

    said = talk(conversation)
    assert any(command["name"] == "compact" for command in said["commands"])
    assert said["hook_on_failure_supported"] and "output_style" in said


def test_servers_are_listed_and_unknown_requests_are_refused(talk):
    async def conversation(client):
        status = await client.get_mcp_status()
        with pytest.raises(Exception, match="make_coffee"):
            await client._query._send_control_request({"subtype": "make_coffee"})
        return status

    assert talk(conversation) == {"mcpServers": []}


def test_an_unknown_flag_is_named_before_anything_is_read(project):
    lines = []

    async def collect():
        options = ClaudeAgentOptions(extra_args={"no-such-flag": None}, stderr=lines.append, cwd=project)
        async for _ in query(prompt="hello", options=options):
            pass

    with pytest.raises(Exception):
        wait(collect())
    assert any("--no-such-flag" in line for line in lines), lines
