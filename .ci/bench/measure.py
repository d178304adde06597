#!/usr/bin/env python3
"""Measures what an agent adds to a model: its start, its turns, its memory. Prints one JSON object.

    measure.py BINARY [--reps N] [--turns N] [--peers]

Our binary and the floor (`floor.py`) run in turns against a server that answers at once, so that whatever else
the machine does falls on both; medians are compared. With `--peers`, other agents that are installed take part
in every third round. Every run has a home and a working directory of its own. Python 3.10 or newer, nothing else.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from agents import installed_peers, own_agents, read_version
from model_server import ModelServer

DEADLINE = 120


def prepare(folder):
    """A home, and a working directory with a repository."""
    (folder / "home").mkdir(parents=True)
    (folder / "work").mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for words in [["init", "-q", "."], ["commit", "-q", "--allow-empty", "-m", "x"]]:
        subprocess.run([*git, *words], cwd=folder / "work", check=True)
    return folder


class AgentFailure(Exception):
    pass


def finish(child):
    """Waits for a good end."""
    timer = threading.Timer(DEADLINE, os.killpg, [child.pid, signal.SIGKILL])
    timer.start()
    words = child.stderr.read().decode(errors="replace")
    child.wait()
    timer.cancel()
    if child.returncode != 0:
        raise AgentFailure(f"ended with {child.returncode}: {words[-500:]}")


class Measurement:
    def __init__(self, server, folder):
        self.server, self.folder, self.count = server, folder, 0

    def open_session(self, agent, *script):
        self.count += 1
        url, session = self.server.open_session(f"s{self.count}", agent, *script)
        return prepare(self.folder / f"s{self.count}"), url, session

    def run(self, agent, turns, command="echo ok {turn}", keeps_streaming=False):
        folder, url, session = self.open_session(agent, turns, command, keeps_streaming)
        began, child = agent.start(folder, url)
        session["leader"] = child.pid
        finish(child)
        if len(session["asked"]) != turns + 1:
            raise AgentFailure(f"asked {len(session['asked'])} times, not {turns + 1}")
        gaps = [b - a for a, b in zip(session["answered"], session["asked"][1:])]
        return {
            "start_ms": (session["asked"][0] - began) * 1000,
            "turn_ms": statistics.median(gaps) * 1000 if gaps else None,
            "peak_mb": session.get("peak_mb"),
            "first_request_kb": session["bytes"][0] / 1000,
            "blocks": session["blocks"],
            "work": folder / "work",
        }

    def tool_start(self, agent):
        one = self.run(agent, 1, "touch started", keeps_streaming=True)
        return (os.stat(one["work"] / "started").st_mtime_ns - one["blocks"][0]) / 1e6

    def ten_sessions(self, agent, turns):
        sessions = [self.open_session(agent, turns, "echo ok {turn}") for _ in range(10)]
        began = time.monotonic()
        started = [agent.start(folder, url)[1] for folder, url, _ in sessions]
        failures = []
        for child in started:
            try:
                finish(child)
            except AgentFailure as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        return time.monotonic() - began

    def round(self, agent, turns, has_ten_sessions):
        """Yields each number of one round by its name."""
        short = self.run(agent, 0)
        yield from ((name, short[name]) for name in ("start_ms", "first_request_kb"))
        long = self.run(agent, turns)
        yield from ((name, long[name]) for name in ("turn_ms", "peak_mb"))
        yield "tool_start_ms", self.tool_start(agent)
        if has_ten_sessions:
            yield "ten_sessions_s", self.ten_sessions(agent, 5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    own = own_agents(str(pathlib.Path(options.binary).resolve()))
    peers = installed_peers() if options.peers else []
    server = ModelServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seen = {agent.name: {} for agent in own + peers}
    load = os.getloadavg()[0]

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        measurement = Measurement(server, pathlib.Path(folder))
        for agent in own + peers:
            measurement.run(agent, 1)  # Files come into the cache.
        for repetition in range(options.reps):
            is_third = repetition % 3 == 0
            agents = own + (peers if is_third else [])
            for agent in agents if repetition % 2 else reversed(agents):
                try:
                    for name, value in measurement.round(agent, options.turns, is_third):
                        seen[agent.name].setdefault(name, []).append(round(value, 3))
                except AgentFailure as failure:
                    # One of the others must not end the rest.
                    if agent in own:
                        sys.exit(f"{agent.name}: {failure}")
                    print(f"measure: {agent.name}: {failure}", file=sys.stderr)
    versions = {agent.name: read_version(agent) for agent in peers}
    report = {"reps": options.reps, "turns": options.turns, "load": round(load, 1)}
    json.dump(report | {"versions": versions, "agents": seen}, sys.stdout)


main()
