"""What the client object of the SDK can ask beside the conversation, and options that become flags."""

import asyncio

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    HookMatcher,
    ResultMessage,
    SystemMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    ThinkingBlock,
    create_sdk_mcp_server,
    query,
    tool,
)
from conftest import answers, blocks, init, result, wait, write


def test_a_task_in_the_background_is_stopped(talk):
    async def conversation(client):
        await client.query("Run in the background: sleep 600")
        messages = await answers(client)
        started = next(m for m in messages if isinstance(m, TaskStartedMessage))
        await client.stop_task(started.task_id)
        async for message in client.receive_messages():
            if isinstance(message, TaskNotificationMessage):
                return started, message

    started, ended = talk(conversation, allowed_tools=["Bash"])
    assert ended.task_id == started.task_id and ended.status == "stopped"


def test_a_server_inside_is_switched_off_and_on_and_reached_anew(talk):
    @tool("echo", "Echoes", {"text": str})
    async def echo(given):
        return {"content": [{"type": "text", "text": given["text"]}]}

    async def state(client):
        return (await client.get_mcp_status())["mcpServers"][0]["status"]

    async def conversation(client):
        first = await state(client)
        await client.toggle_mcp_server("test", False)
        off = await state(client)
        await client.toggle_mcp_server("test", True)
        await client.reconnect_mcp_server("test")
        return first, off, await state(client)

    server = create_sdk_mcp_server("test", "1.0.0", tools=[echo])
    states = talk(conversation, mcp_servers={"test": server})
    assert states == ("connected", "disabled", "connected")


def test_every_knob_of_the_options_is_understood(project, ask):
    messages = ask(
        "Think step by step",
        model="claude-sonnet-5-5",
        fallback_model="claude-haiku-5-5",
        max_turns=5,
        max_budget_usd=5.0,
        max_thinking_tokens=2000,
        effort="low",
        betas=["context-1m-2025-08-07"],
        add_dirs=[project],
        env={"WINDLASS_TEST": "1"},
        permission_mode="acceptEdits",
        include_partial_messages=False,
    )
    assert init(messages)["permissionMode"] == "acceptEdits"
    assert not result(messages).is_error
    assert blocks(messages, ThinkingBlock)


def test_a_plugin_of_the_options_is_loaded(project, ask, tmp_path):
    root = tmp_path / "tides"
    write(root / ".claude-plugin" / "plugin.json", '{"name": "tides"}')
    write(root / "commands" / "low.md", "When is low water?")
    messages = ask("hello", plugins=[{"type": "local", "path": str(root)}])
    said = init(messages)
    assert "tides:low" in said["slash_commands"]
    assert [plugin["name"] for plugin in said["plugins"]] == ["tides"]


def test_standard_error_is_empty_with_hooks_and_servers_too(project, ask):
    lines = []

    async def hook(given, tool_use_id, context):
        return {}

    messages = ask(
        "Run: echo quiet",
        allowed_tools=["Bash"],
        hooks={"PreToolUse": [HookMatcher(hooks=[hook])]},
        stderr=lines.append,
    )
    assert not result(messages).is_error and lines == []


def test_the_sequence_of_a_turn_is_whole(ask):
    messages = ask("Run: echo one", allowed_tools=["Bash"])
    kinds = [type(m).__name__ for m in messages]
    assert isinstance(messages[0], SystemMessage) and isinstance(messages[-1], ResultMessage)
    assert kinds.count("ResultMessage") == 1 and "UserMessage" in kinds
    first = next(m for m in messages if isinstance(m, AssistantMessage))
    assert first.model and isinstance(first.content, list)


def test_two_conversations_at_once_do_not_mix(project):
    async def one(word):
        options = ClaudeAgentOptions(cwd=project, allowed_tools=["Bash"])
        messages = [m async for m in query(prompt=f"Run: echo {word}", options=options)]
        return result(messages).session_id

    async def both():
        return await asyncio.gather(one("left"), one("right"))

    left, right = wait(both())
    assert left != right
