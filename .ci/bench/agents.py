"""Who is measured: ours, the floor, and every other agent that is found on PATH.

Each gets a home of its own with the least configuration that makes it ask our server and run commands without
questions; telemetry and updates are off by its own switches. Nothing of it is changed.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Agent:
    name: str
    words: list
    # The tool that runs a shell command, the argument with the command, and what it wants besides.
    tool: str = "Bash"
    argument: str = "command"
    more_arguments: dict = dataclasses.field(default_factory=dict)
    variables: dict = dataclasses.field(default_factory=dict)
    # Below the home; {url} is the server.
    files: dict = dataclasses.field(default_factory=dict)

    def start(self, folder, url):
        home = folder / "home"
        for name, text in self.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text.replace("{url}", url))
        variables = {
            "PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(folder),
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test-key", "LANG": "C.UTF-8",
        }
        began = time.monotonic()
        child = subprocess.Popen(
            self.words, cwd=folder / "work", env=variables | self.variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        )
        return began, child


def own_agents(binary):
    return [
        Agent("windlass", [binary, "-p", "go", "--dangerously-skip-permissions", "--max-turns", "500"]),
        Agent("floor", [sys.executable, str(HERE / "floor.py"), "go"]),
    ]


CODEX_CONFIG = """
model = "gpt-5.5"
model_provider = "bench"
check_for_update_on_startup = false
[model_providers.bench]
name = "bench"
base_url = "{url}/v1"
env_key = "BENCH_KEY"
wire_api = "responses"
[analytics]
enabled = false
"""
PI_MODELS = {
    "providers": {
        "bench": {
            "baseUrl": "{url}", "api": "anthropic-messages", "apiKey": "test-key",
            "models": [{"id": "m", "contextWindow": 200000, "maxTokens": 8192}],
        }
    }
}
OPENCODE_CONFIG = {
    "autoupdate": False, "share": "disabled",
    "provider": {
        "bench": {
            "npm": "@ai-sdk/anthropic", "name": "bench",
            "options": {"baseURL": "{url}/v1", "apiKey": "test-key"},
            "models": {"m": {"name": "m", "tool_call": True, "limit": {"context": 200000, "output": 8192}}},
        }
    },
}
PEERS = [
    Agent(
        "codex",
        ["codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "go"],
        tool="exec_command", argument="cmd",
        variables={"BENCH_KEY": "test-key"}, files={".codex/config.toml": CODEX_CONFIG},
    ),
    Agent(
        "pi", ["pi", "-p", "--offline", "--provider", "bench", "--model", "m", "go"], tool="bash",
        variables={"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        files={".pi/agent/models.json": json.dumps(PI_MODELS)},
    ),
    Agent(
        "opencode", ["opencode", "run", "--auto", "-m", "bench/m", "go"], tool="bash",
        more_arguments={"description": "run it"},
        variables={
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_SHARE": "1",
        },
        files={".config/opencode/opencode.json": json.dumps(OPENCODE_CONFIG)},
    ),
]


def installed_peers():
    return [peer for peer in PEERS if shutil.which(peer.words[0])]


def read_version(agent):
    said = subprocess.run([agent.words[0], "--version"], capture_output=True, text=True, timeout=60)
    words = (said.stdout + said.stderr).split()
    return next((word for word in words if word[0].isdigit() and "." in word), "")
