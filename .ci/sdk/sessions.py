"""Our sessions, read and changed by the helpers of the Python SDK.

    python sessions.py <windlass>

Needs the package claude_agent_sdk. Runs the command against its own rehearsal server, in folders of
its own; every step must hold, or it ends with an assertion.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SESSION = "5a0c8c55-3c63-4d0b-9f7e-6c2f2e8d1b11"
SCRIPT = """
[[answer]]
when = "look twice"
text = "Looking."
tool = [
  { id = "toolu_1", name = "Bash", input = { command = "echo one" } },
  { id = "toolu_2", name = "Bash", input = { command = "echo two" } },
]
[[answer]]
when = "ask an agent"
tool = [{ id = "toolu_3", name = "Agent", input = { description = "count", prompt = "count them" } }]
[[answer]]
when = "count them"
text = "There are three."
[[answer]]
repeat = 0
text = "Noted."
"""


def main(windlass: str) -> None:
    windlass = str(pathlib.Path(windlass).resolve())
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        work, config = root / "work", root / "config"
        work.mkdir()
        (root / "script.toml").write_text(SCRIPT)
        os.environ["CLAUDE_CONFIG_DIR"] = str(config)
        check(Windlass(windlass, root), str(work), config)
    print("sessions: the helpers of the SDK read, rename, copy and delete what we keep")


class Windlass:
    """The command in folders of its own."""

    def __init__(self, program: str, root: pathlib.Path) -> None:
        self.program, self.root = program, root

    def ask(self, *arguments: str, state: str = "state") -> dict:
        """Asks, and gives the result back."""
        command = [self.program, "rehearse", str(self.root / "script.toml"), "--", self.program]
        flags = ["--output-format", "json", "--dangerously-skip-permissions"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "XDG_STATE_HOME": str(self.root / state),
            "CLAUDE_CONFIG_DIR": os.environ["CLAUDE_CONFIG_DIR"],
        }
        ran = subprocess.run(
            command + flags + list(arguments),
            cwd=self.root / "work",
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.returncode == 0, ran
        return json.loads(ran.stdout)


def words(messages: list) -> list[str]:
    """What was said, shortly."""
    said = []
    for message in messages:
        content = message.message["content"]
        if isinstance(content, str):
            said.append(f"> {content}")
            continue
        for block in content:
            kind = block["type"]
            said.append({"text": block.get("text"), "tool_use": f"call {block.get('id')}"}.get(
                kind, f"result {block.get('tool_use_id')}"
            ))
    return said


def check(windlass: Windlass, work: str, config: pathlib.Path) -> None:
    """Every helper in turn."""
    import claude_agent_sdk as sdk

    windlass.ask("--session-id", SESSION, "-p", "look twice")
    windlass.ask("--resume=" + SESSION, "-p", "ask an agent")

    listed = sdk.list_sessions(directory=work)
    assert [session.session_id for session in listed] == [SESSION], listed
    assert listed[0].first_prompt == "look twice", listed
    assert listed[0].cwd == work, listed

    messages = sdk.get_session_messages(SESSION, directory=work)
    expected = ["> look twice", "Looking.", "call toolu_1", "call toolu_2", "result toolu_1",
                "result toolu_2", "Noted.", "> ask an agent", "call toolu_3", "result toolu_3", "Noted."]
    assert words(messages) == expected, words(messages)

    agents = sdk.list_subagents(SESSION, directory=work)
    assert len(agents) == 1, agents
    told = sdk.get_subagent_messages(SESSION, agents[0], directory=work)
    assert words(told) == ["> count them", "There are three."], words(told)

    sdk.rename_session(SESSION, "counting", directory=work)
    sdk.tag_session(SESSION, "tests", directory=work)
    windlass.ask("--resume=" + SESSION, "-p", "thanks")
    info = sdk.get_session_info(SESSION, directory=work)
    assert info.custom_title == "counting" and info.tag == "tests", info

    # A copy that only the SDK knows is a session for us.
    keep = next(message.uuid for message in messages if words([message]) == ["Noted."])
    fork = sdk.fork_session(SESSION, directory=work, up_to_message_id=keep, title="a copy")
    result = windlass.ask("--resume=" + fork.session_id, "-p", "and you?")
    assert result["session_id"] == fork.session_id, result
    forked = words(sdk.get_session_messages(fork.session_id, directory=work))
    assert forked == expected[:7] + ["> and you?", "Noted."], forked
    windlass.ask("--resume=" + fork.session_id, "-p", "still?")
    forked = words(sdk.get_session_messages(fork.session_id, directory=work))
    assert forked[-2:] == ["> still?", "Noted."] and len(forked) == 11, forked

    # So is one that was kept elsewhere, on a machine that never saw it.
    windlass.ask("--resume=" + SESSION, "-p", "on another machine", state="other")
    after = words(sdk.get_session_messages(SESSION, directory=work))
    assert after[-4:] == ["> thanks", "Noted.", "> on another machine", "Noted."], after

    # Behind an earlier message, in place.
    windlass.ask("--resume=" + SESSION, "--resume-session-at=" + keep, "-p", "back", state="other")
    after = words(sdk.get_session_messages(SESSION, directory=work))
    assert after == expected[:7] + ["> back", "Noted."], after

    sdk.delete_session(fork.session_id, directory=work)
    assert not list(config.glob(f"projects/*/{fork.session_id}.jsonl"))


if __name__ == "__main__":
    main(sys.argv[1])
