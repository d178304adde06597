"""Hooks, permissions and servers inside the client."""

import pathlib
import uuid

import pytest
from claude_agent_sdk import (
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    SystemMessage,
    ToolResultBlock,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk.types import PermissionUpdate

from conftest import answers, blocks, prompts, result


class Hook:
    """Remembers what it was asked and says what it is told to."""

    def __init__(self, **output):
        self.asked = []
        self.output = output

    async def __call__(self, data, tool_use_id, context):
        self.asked.append((data, tool_use_id))
        return self.output


def said(event, **fields):
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def test_hooks_run_before_and_after_a_tool_that_is_allowed(ask):
    before, after = Hook(), Hook()
    hooks = {
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [HookMatcher(matcher="Bash", hooks=[after])],
    }
    messages = ask("Run: echo hooked", allowed_tools=["Bash"], hooks=hooks)
    assert not result(messages).is_error
    [(data, tool_use_id)] = before.asked
    assert data["hook_event_name"] == "PreToolUse" and data["tool_name"] == "Bash"
    assert data["tool_input"]["command"] == "echo hooked"
    assert tool_use_id and data["tool_use_id"] == tool_use_id
    [(data, again)] = after.asked
    assert again == tool_use_id and "hooked" in str(data["tool_response"])


def test_a_hook_that_denies_is_obeyed(ask):
    no = Hook(**said("PreToolUse", permissionDecision="deny", permissionDecisionReason="not here"))
    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[no])]}
    messages = ask("Run: echo hooked", allowed_tools=["Bash"], hooks=hooks)
    [answer] = blocks(messages, ToolResultBlock)
    assert answer.is_error and "not here" in str(answer.content)


def test_a_hook_that_allows_saves_the_question(ask):
    yes = Hook(**said("PreToolUse", permissionDecision="allow", permissionDecisionReason="fine"))
    name = f"made-{uuid.uuid4().hex}"
    messages = ask(f"Run: touch {name}", hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[yes])]})
    assert pathlib.Path(name).exists()
    assert not result(messages).permission_denials


def test_a_hook_may_end_the_run(talk):
    stop = Hook(continue_=False, stopReason="enough")

    async def conversation(client):
        await client.query("Run: echo hooked")
        return await answers(client)

    hooks = {"PostToolUse": [HookMatcher(matcher="Bash", hooks=[stop])]}
    messages = talk(conversation, allowed_tools=["Bash"], hooks=hooks)
    assert stop.asked and result(messages).terminal_reason == "hook_stopped"


def test_words_of_a_hook_reach_the_model(ask):
    more = Hook(**said("PostToolUse", additionalContext="remember the milk"))
    messages = ask("Run: echo hooked", allowed_tools=["Bash"], hooks={"PostToolUse": [HookMatcher(matcher="Bash", hooks=[more])]})
    assert more.asked and not result(messages).is_error


def test_a_matcher_that_does_not_fit_is_not_asked(ask):
    hook = Hook()
    ask("Run: echo hooked", allowed_tools=["Bash"], hooks={"PreToolUse": [HookMatcher(matcher="Write", hooks=[hook])]})
    assert hook.asked == []


def test_hooks_for_other_events_do_no_harm(ask):
    notified, prompted = Hook(), Hook()
    hooks = {
        "Notification": [HookMatcher(hooks=[notified])],
        "UserPromptSubmit": [HookMatcher(hooks=[prompted])],
    }
    assert not result(ask("hello", hooks=hooks)).is_error
    assert prompted.asked and prompted.asked[0][0]["prompt"] == "hello"


def test_hook_events_are_told_on_request(ask):
    hook = Hook()
    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]}
    messages = ask("Run: echo hooked", allowed_tools=["Bash"], hooks=hooks, include_hook_events=True)
    told = [m.subtype for m in messages if getattr(m, "subtype", "").startswith("hook_")]
    assert "hook_started" in told and "hook_response" in told


class Gate:
    """Answers questions about calls."""

    def __init__(self, answer):
        self.asked = []
        self.answer = answer

    async def __call__(self, name, data, context):
        self.asked.append((name, data, context))
        return self.answer(data) if callable(self.answer) else self.answer


def test_a_command_that_changes_something_is_asked_about(talk):
    gate = Gate(PermissionResultAllow())
    name = f"made-{uuid.uuid4().hex}"

    async def conversation(client):
        await client.query(f"Run the command: touch {name}")
        return await answers(client)

    messages = talk(conversation, can_use_tool=gate)
    assert [name for name, _, _ in gate.asked] == ["Bash"]
    assert gate.asked[0][2].tool_use_id and gate.asked[0][2].suggestions
    assert pathlib.Path(name).exists() and not result(messages).is_error


def test_it_is_asked_for_one_prompt_too(ask):
    gate = Gate(PermissionResultAllow())
    name = f"made-{uuid.uuid4().hex}"
    ask(prompts(f"Run the command: touch {name}"), can_use_tool=gate)
    assert len(gate.asked) == 1 and pathlib.Path(name).exists()


def test_a_file_outside_is_asked_about(tmp_path, ask):
    gate = Gate(PermissionResultAllow())
    path = tmp_path / "outside.txt"
    ask(prompts(f"Use the Write tool to create the file {path}"), can_use_tool=gate)
    assert [name for name, _, _ in gate.asked] == ["Write"] and path.read_text() == "hello"


def test_a_no_is_told_to_the_model_and_in_the_result(ask):
    gate = Gate(PermissionResultDeny(message="not today"))
    messages = ask(prompts("Run: touch x"), can_use_tool=gate)
    [answer] = blocks(messages, ToolResultBlock)
    assert answer.is_error and "not today" in str(answer.content)
    [denial] = result(messages).permission_denials
    assert denial["tool_name"] == "Bash" and denial["tool_input"] == {"command": "touch x"}


def test_a_no_may_interrupt(talk):
    gate = Gate(PermissionResultDeny(message="stop", interrupt=True))

    async def conversation(client):
        await client.query("Run: touch x")
        return await answers(client)

    assert result(talk(conversation, can_use_tool=gate)).terminal_reason == "aborted_tools"


def test_the_input_may_be_changed(ask):
    gate = Gate(lambda data: PermissionResultAllow(updated_input={**data, "command": "touch other"}))
    ask(prompts("Run: touch x"), can_use_tool=gate)
    assert pathlib.Path("other").exists() and not pathlib.Path("x").exists()


def test_a_suggestion_that_is_taken_is_not_asked_again(talk):
    gate = Gate(None)

    async def answer(name, data, context):
        gate.asked.append(data)
        return PermissionResultAllow(updated_permissions=context.suggestions)

    async def conversation(client):
        for _ in range(2):
            await client.query("Run: touch x")
            await answers(client)

    talk(conversation, can_use_tool=answer)
    assert len(gate.asked) == 1


def test_a_mode_may_come_with_the_answer(talk):
    update = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    gate = Gate(PermissionResultAllow(updated_permissions=[update]))

    async def conversation(client):
        for name in ("a.txt", "b.txt"):
            await client.query(f"Use the Write tool to create the file {pathlib.Path.cwd() / name}")
            await answers(client)

    talk(conversation, can_use_tool=gate)
    assert len(gate.asked) == 1 and pathlib.Path("b.txt").exists()


def test_a_callback_that_breaks_means_no(ask):
    async def broken(name, data, context):
        raise RuntimeError("the callback broke")

    messages = ask(prompts("Run: touch x"), can_use_tool=broken)
    [answer] = blocks(messages, ToolResultBlock)
    assert answer.is_error and not pathlib.Path("x").exists()


def server(*names, fails=False):
    ran = []

    def made(name, field):
        @tool(name, f"The tool {name}", {field: str})
        async def run(args):
            ran.append((name, args))
            if fails:
                return {"content": [{"type": "text", "text": "it broke"}], "is_error": True}
            return {"content": [{"type": "text", "text": f"{name}: {args[field]}"}]}

        return run

    fields = {"echo": "text", "greet": "name"}
    return create_sdk_mcp_server("test", tools=[made(name, fields[name]) for name in names]), ran


def test_a_tool_inside_the_client_runs_when_allowed(ask):
    inside, ran = server("echo")
    messages = ask("Call the mcp__test__echo tool", mcp_servers={"test": inside}, allowed_tools=["mcp__test__echo"])
    assert ran == [("echo", {"text": "test"})]
    [answer] = blocks(messages, ToolResultBlock)
    assert "echo: test" in str(answer.content) and not answer.is_error
    init = next(m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "init")
    assert init["mcp_servers"] == [{"name": "test", "status": "connected"}]
    assert "mcp__test__echo" in init["tools"]


def test_a_tool_inside_the_client_does_not_run_when_denied(ask):
    inside, ran = server("echo", "greet")
    ask("Call echo 'test' and greet", mcp_servers={"test": inside}, disallowed_tools=["mcp__test__echo"], allowed_tools=["mcp__test__greet"])
    assert [name for name, _ in ran] == ["greet"]


def test_a_tool_inside_the_client_does_not_run_when_nobody_allowed_it(ask):
    inside, ran = server("echo")
    messages = ask("Call the mcp__test__echo tool", mcp_servers={"test": inside})
    assert ran == [] and result(messages).permission_denials


def test_two_tools_inside_the_client_run_in_one_turn(ask):
    inside, ran = server("echo", "greet")
    allowed = ["mcp__multi__echo", "mcp__multi__greet"]
    messages = ask("Call mcp__multi__echo and mcp__multi__greet", mcp_servers={"multi": inside}, allowed_tools=allowed)
    assert sorted(name for name, _ in ran) == ["echo", "greet"]
    assert len(blocks(messages, ToolResultBlock)) == 2


def test_a_tool_inside_the_client_that_fails_is_told_so(ask):
    inside, _ = server("echo", fails=True)
    messages = ask("Call the mcp__test__echo tool", mcp_servers={"test": inside}, allowed_tools=["mcp__test__echo"])
    [answer] = blocks(messages, ToolResultBlock)
    assert answer.is_error and "it broke" in str(answer.content)


def test_the_state_of_servers_is_told(talk):
    inside, _ = server("echo")

    async def conversation(client):
        await client.query("hello")
        await answers(client)
        return await client.get_mcp_status()

    [one] = talk(conversation, mcp_servers={"test": inside})["mcpServers"]
    assert one["name"] == "test" and one["status"] == "connected"
    assert [tool["name"] for tool in one["tools"]] == ["echo"]


def nobody():
    """A client that says nothing."""

    async def stream():
        for prompt in ():
            yield prompt

    return stream()


# This version of the SDK ends the input at once when there is no prompt, so its hooks cannot be asked: that
# is never a yes.
@pytest.mark.parametrize(
    ("reads", "decision"), [("client", "deny"), ("client", "allow"), ("client", "defer"), ("query", "deny"), ("query", "allow")]
)
def test_a_call_that_was_put_off_is_settled_when_the_session_goes_on(ask, talk, reads, decision):
    def deciding(decision):
        hook = Hook(**said("PreToolUse", permissionDecision=decision, permissionDecisionReason="the captain said so"))
        options = {"allowed_tools": ["Bash"], "hooks": {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]}}
        return hook, options

    name = f"made-{uuid.uuid4().hex}"
    hook, options = deciding("defer")
    first = result(ask(f"Run: touch {name}", **options))
    assert (first.stop_reason, first.terminal_reason, first.is_error) == ("tool_deferred", "tool_deferred", False)
    call = first.deferred_tool_use
    assert call.name == "Bash" and call.input["command"] == f"touch {name}"
    assert [asked for _, asked in hook.asked] == [call.id] and not pathlib.Path(name).exists()

    hook, options = deciding(decision)
    options["resume"] = first.session_id
    messages = ask(nobody(), **options) if reads == "query" else talk(answers, **options)
    assert [asked for _, asked in hook.asked] == ([call.id] if reads == "client" else [])
    second = result(messages)
    assert not second.is_error and second.session_id == first.session_id
    is_made = reads == "client" and decision == "allow"
    assert pathlib.Path(name).exists() == is_made
    if decision == "defer":
        assert second.deferred_tool_use.id == call.id
    else:
        assert second.deferred_tool_use is None
        [answer] = blocks(messages, ToolResultBlock)
        assert answer.tool_use_id == call.id and bool(answer.is_error) == (not is_made)


def test_a_prompt_is_heard_behind_a_call_that_was_put_off(ask):
    later = Hook(**said("PreToolUse", permissionDecision="defer"))
    first = result(ask("Run: echo put off", allowed_tools=["Bash"], hooks={"PreToolUse": [HookMatcher(hooks=[later])]}))
    now = Hook(**said("PreToolUse", permissionDecision="allow"))
    messages = ask("hello", resume=first.session_id, hooks={"PreToolUse": [HookMatcher(hooks=[now])]})
    assert now.asked[0][1] == first.deferred_tool_use.id
    assert "put off" in str(blocks(messages, ToolResultBlock)[0].content)
    assert not result(messages).is_error
