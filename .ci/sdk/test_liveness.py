"""The liveness contract, by hand: the binary as a process, without an SDK between."""

import array
import fcntl
import json
import os
import signal
import subprocess
import termios
import time

import pytest

FLAGS = ["--output-format", "stream-json", "--input-format", "stream-json"]


class Driven:
    """The binary, driven line by line."""

    def __init__(self, project, *flags, **env):
        self.process = subprocess.Popen(
            ["claude", *FLAGS, *flags],
            cwd=project,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def say(self, frame):
        line = frame if isinstance(frame, str) else json.dumps(frame)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def prompt(self, text, **more):
        self.say({"type": "user", "message": {"role": "user", "content": text}, **more})

    def until(self, is_it):
        while line := self.process.stdout.readline():
            frame = json.loads(line)
            if is_it(frame):
                return frame
        raise AssertionError("the output ended")

    def end(self):
        """Closes the input; everything that is still said, and the code."""
        out, err = self.process.communicate(timeout=30)
        return [json.loads(line) for line in out.splitlines()], err, self.process.returncode


# Bytes of a pipe that is as good as full.
FULL = 60_000


def waiting(pipe):
    """Bytes that nobody has read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


@pytest.fixture
def drive(project):
    started = []

    def drive(*flags, **env):
        started.append(Driven(project, *flags, **env))
        return started[-1]

    yield drive
    for driven in started:
        driven.process.kill()
        driven.process.wait()


def kind(name):
    return lambda frame: frame["type"] == name


def results(frames):
    return [frame for frame in frames if frame["type"] == "result"]


def test_input_that_ends_ends_the_process(drive):
    driven = drive()
    driven.prompt("hello")
    frames, err, code = driven.end()
    assert len(results(frames)) == 1 and err == "" and code == 0


def test_nothing_asked_is_nothing_said(drive):
    frames, err, code = drive().end()
    assert frames == [] and err == "" and code == 0


def test_input_that_ends_in_the_middle_lets_the_turn_finish(drive):
    driven = drive()
    driven.prompt("Speak slowly")
    driven.until(kind("system"))
    frames, _, code = driven.end()
    assert results(frames)[0]["subtype"] == "success" and code == 0


def test_a_line_that_means_nothing_is_named_and_left_out(drive):
    driven = drive()
    driven.say("{nonsense")
    driven.say({"type": "something_new"})
    driven.say("")
    driven.prompt("hello")
    frames, err, code = driven.end()
    assert len(results(frames)) == 1 and "line 1 " in err and code == 0


def test_a_prompt_that_says_nothing_has_a_result_too(drive):
    driven = drive()
    driven.say({"type": "user", "message": {"role": "user", "content": [{"type": "video"}]}})
    frames, _, code = driven.end()
    assert results(frames)[0]["is_error"] and code == 1


@pytest.mark.parametrize("number,code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("prompt", ["Take for ever", "Run: sleep 600"])
def test_a_signal_ends_the_run_with_its_result(drive, number, code, prompt):
    driven = drive("--permission-mode", "bypassPermissions", "--include-partial-messages")
    driven.prompt(prompt)
    driven.until(kind("stream_event") if "ever" in prompt else kind("assistant"))
    began = time.monotonic()
    driven.process.send_signal(number)
    frame = driven.until(kind("result"))
    assert frame["terminal_reason"].startswith("aborted")
    assert driven.process.wait(timeout=20) == code and time.monotonic() - began < 20


def test_nobody_who_answers_is_a_no(drive):
    driven = drive("--permission-prompt-tool", "stdio", WINDLASS_ANSWER_MAX_MS="200")
    driven.prompt("Run: touch x")
    asked = driven.until(kind("control_request"))
    assert driven.until(kind("control_cancel_request"))["request_id"] == asked["request_id"]
    assert len(driven.until(kind("result"))["permission_denials"]) == 1


def test_input_that_ends_while_somebody_is_asked_is_a_no(drive):
    driven = drive("--permission-prompt-tool", "stdio")
    driven.prompt("Run: touch x")
    driven.until(kind("control_request"))
    frames, _, _ = driven.end()
    assert len(results(frames)[0]["permission_denials"]) == 1


def test_an_interrupt_withdraws_what_is_asked(drive):
    driven = drive("--permission-prompt-tool", "stdio")
    driven.prompt("Run: touch x")
    asked = driven.until(kind("control_request"))
    driven.say({"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}})
    driven.until(kind("control_cancel_request"))
    assert driven.until(kind("result"))["terminal_reason"] == "aborted_tools"
    driven.say({"type": "control_response", "response": {"subtype": "success", "request_id": asked["request_id"], "response": {"behavior": "allow"}}})
    driven.prompt("hello")
    assert not driven.until(kind("result"))["is_error"]


def test_a_hook_that_never_answers_does_not_hold_the_run(drive):
    driven = drive("--allowedTools", "Bash")
    hooks = {"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h"], "timeout": 1}]}
    driven.say({"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize", "hooks": hooks}})
    driven.until(kind("control_response"))
    driven.prompt("Run: echo hooked")
    driven.until(kind("control_request"))
    assert not driven.until(kind("result"))["is_error"]


def test_a_server_that_never_answers_does_not_hold_the_run(drive):
    driven = drive("--mcp-config", json.dumps({"mcpServers": {"test": {"type": "sdk", "name": "test"}}}), MCP_TIMEOUT="300")
    driven.prompt("hello")
    driven.until(kind("control_request"))
    assert not driven.until(kind("result"))["is_error"]


def test_a_reader_that_goes_away_ends_the_process_quietly(drive):
    driven = drive()
    driven.process.stdout.close()
    driven.prompt("hello")
    assert driven.process.wait(timeout=30) == 0
    assert driven.process.stderr.read() == ""


def test_a_client_that_has_said_its_last_need_not_hang_up(drive):
    driven = drive()
    driven.prompt("hello")
    driven.say({"type": "control_request", "request_id": "r1", "request": {"subtype": "end_user_input"}})
    told = [json.loads(line) for line in driven.process.stdout]
    assert len(results(told)) == 1 and driven.process.wait(timeout=30) == 0
    assert [f["response"]["subtype"] for f in told if f["type"] == "control_response"] == ["success"]


def test_a_server_that_is_gone_is_a_result(drive):
    driven = drive(ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    driven.prompt("hello")
    frames, _, code = driven.end()
    told = results(frames)
    assert len(told) == 1 and told[0]["is_error"] and told[0]["terminal_reason"] == "api_error" and code == 1


def test_a_slow_reader_gets_every_line(drive):
    driven = drive("--allowedTools", "Bash")
    for _ in range(20):
        driven.prompt("Run: head -c 100000 /dev/zero | tr '\\0' x")
    # Not read before nothing more fits between us.
    limit = time.monotonic() + 30
    while waiting(driven.process.stdout) < FULL:
        assert time.monotonic() < limit, "it never filled up"
        time.sleep(0.01)
    frames, err, code = driven.end()
    assert len(results(frames)) == 20 and code == 0 and err == ""


def test_prompts_may_be_withdrawn(drive):
    driven = drive()
    driven.prompt("Take for ever", uuid="11111111-1111-4111-8111-111111111111")
    driven.until(kind("system"))
    driven.prompt("hello", uuid="22222222-2222-4222-8222-222222222222")
    request = {"subtype": "interrupt", "cancel_queued": True}
    driven.say({"type": "control_request", "request_id": "r1", "request": request})
    answer = driven.until(kind("control_response"))["response"]["response"]
    assert answer["cancelled"] == ["22222222-2222-4222-8222-222222222222"]
    frames, _, _ = driven.end()
    assert len(results(frames)) == 1


def test_what_is_urgent_goes_first(drive):
    driven = drive("--include-partial-messages")
    driven.prompt("Take for ever")
    driven.until(lambda frame: frame.get("event", {}).get("type") == "content_block_delta")
    driven.prompt("hello", priority="now")
    frames, _, code = driven.end()
    assert [frame["is_error"] for frame in results(frames)] == [True, False] and code == 0


@pytest.mark.parametrize("flags", [["--no-such-flag"], ["--json-schema", "{"], ["--agents", "[1"], ["--max-turns", "x"]])
def test_a_wrong_command_line_is_refused_before_anything_is_read(project, flags):
    done = subprocess.run(["claude", *FLAGS, *flags], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1


def test_both_spellings_and_empty_values_are_understood(project):
    flags = ["--system-prompt=", "--tools=", "--setting-sources=", "--max-turns=3", "--allowed-tools=Read", "--allowedTools", "Glob"]
    done = subprocess.run(["claude", *FLAGS, *flags], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and done.stderr == ""


def test_one_prompt_on_the_command_line(project):
    done = subprocess.run(["claude", "-p", "hello", "--output-format", "stream-json"], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert frames[0]["subtype"] == "init" and frames[-1]["type"] == "result" and done.returncode == 0
