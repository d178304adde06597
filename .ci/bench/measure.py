#!/usr/bin/env python3
"""Measures what an agent adds to a model: its start, its turns, its memory. Prints one JSON object.

    measure.py BINARY [--reps N] [--turns N]

A model server on loopback answers at once, so nothing else is timed. Our binary and the floor
(`floor.py`) run in turns, so that whatever else the machine does falls on both; medians are compared.
Every run has a home and a working directory of its own. Python 3.9 or newer, nothing else.
"""

import argparse
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
DEADLINE = 120
# How long an answer goes on behind a complete call.
STREAM_MORE = 0.3


class ModelServer(http.server.ThreadingHTTPServer):
    """Answers each session with `turns` calls and then with text. A session is told by its path."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), RequestHandler)
        self.sessions = {}

    def open_session(self, name, turns, command, keeps_streaming=False):
        session = {"turns": turns, "command": command, "streams": keeps_streaming}
        session |= {"asked": [], "answered": [], "blocks": [], "bytes": []}
        self.sessions[name] = session
        return f"http://127.0.0.1:{self.server_address[1]}/{name}", session


class RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        now = time.monotonic()
        session = self.server.sessions[self.path.split("/")[1]]
        session["asked"].append(now)
        session["bytes"].append(len(body))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        turn = len(session["asked"])
        self.begin()
        if turn <= session["turns"]:
            self.call(session["command"].replace("{turn}", str(turn)), turn)
            self.wfile.flush()
            session["blocks"].append(time.time_ns())
            if session["streams"]:
                time.sleep(STREAM_MORE)
            self.end("tool_use")
        else:
            self.text("Done.")
            self.end("end_turn")
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        session["answered"].append(time.monotonic())

    def event(self, kind, **fields):
        text = f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def begin(self):
        usage = {"input_tokens": 100, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": "m", "stop_reason": None, "stop_sequence": None, "usage": usage}
        self.event("message_start", message=message)

    def call(self, command, turn):
        block = {"type": "tool_use", "id": f"toolu_{turn}", "name": "Bash", "input": {}}
        self.event("content_block_start", index=0, content_block=block)
        part = {"type": "input_json_delta", "partial_json": json.dumps({"command": command})}
        self.event("content_block_delta", index=0, delta=part)
        self.event("content_block_stop", index=0)

    def text(self, words):
        self.event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        self.event("content_block_delta", index=0, delta={"type": "text_delta", "text": words})
        self.event("content_block_stop", index=0)

    def end(self, reason):
        delta = {"stop_reason": reason, "stop_sequence": None}
        self.event("message_delta", delta=delta, usage={"output_tokens": 10})
        self.event("message_stop")


class Agent:
    def __init__(self, name, words):
        self.name, self.words = name, words

    def start(self, folder, url):
        home, work = folder / "home", folder / "work"
        variables = {
            "PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(folder),
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test-key", "LANG": "C.UTF-8",
        }
        began = time.monotonic()
        child = subprocess.Popen(
            self.words, cwd=work, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        return began, child


def prepare(folder):
    """A home, and a working directory with a repository."""
    (folder / "home").mkdir(parents=True)
    (folder / "work").mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for words in [["init", "-q", "."], ["commit", "-q", "--allow-empty", "-m", "x"]]:
        subprocess.run([*git, *words], cwd=folder / "work", check=True)
    return folder


def finish(child):
    """Waits, and returns the peak of resident memory in megabytes."""
    timer = threading.Timer(DEADLINE, child.kill)
    timer.start()
    words = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    if child.returncode != 0:
        sys.exit(f"an agent ended with {child.returncode}: {words[-500:]}")
    return usage.ru_maxrss * 1024 / 1e6


class Measurement:
    def __init__(self, server, folder):
        self.server, self.folder, self.count = server, folder, 0

    def run(self, agent, turns, command="echo ok {turn}", keeps_streaming=False):
        self.count += 1
        name = f"s{self.count}"
        url, session = self.server.open_session(name, turns, command, keeps_streaming)
        began, child = agent.start(prepare(self.folder / name), url)
        peak = finish(child)
        if len(session["asked"]) != turns + 1:
            sys.exit(f"{agent.name} asked {len(session['asked'])} times, not {turns + 1}")
        gaps = [b - a for a, b in zip(session["answered"], session["asked"][1:])]
        return {
            "start_ms": (session["asked"][0] - began) * 1000,
            "turn_ms": statistics.median(gaps) * 1000 if gaps else None,
            "peak_mb": peak,
            "first_request_kb": session["bytes"][0] / 1000,
            "blocks": session["blocks"],
            "work": self.folder / name / "work",
        }

    def tool_start(self, agent):
        one = self.run(agent, 1, "touch started", keeps_streaming=True)
        return (os.stat(one["work"] / "started").st_mtime_ns - one["blocks"][0]) / 1e6

    def ten_sessions(self, agent, turns):
        sessions = []
        for _ in range(10):
            self.count += 1
            name = f"s{self.count}"
            url, _session = self.server.open_session(name, turns, "echo ok {turn}")
            sessions.append((prepare(self.folder / name), url))
        began = time.monotonic()
        started = [agent.start(folder, url)[1] for folder, url in sessions]
        for child in started:
            finish(child)
        return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--turns", type=int, default=50)
    options = parser.parse_args()
    binary = str(pathlib.Path(options.binary).resolve())
    agents = [
        Agent("windlass", [binary, "-p", "go", "--dangerously-skip-permissions", "--max-turns", "500"]),
        Agent("floor", [sys.executable, str(HERE / "floor.py"), "go"]),
    ]
    server = ModelServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seen = {agent.name: {} for agent in agents}

    def note(agent, name, value):
        seen[agent.name].setdefault(name, []).append(round(value, 3))

    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(server, pathlib.Path(folder))
        for agent in agents:
            measurement.run(agent, 1)  # Files come into the cache.
        for repetition in range(options.reps):
            for agent in agents if repetition % 2 else reversed(agents):
                short = measurement.run(agent, 0)
                note(agent, "start_ms", short["start_ms"])
                note(agent, "first_request_kb", short["first_request_kb"])
                long = measurement.run(agent, options.turns)
                note(agent, "turn_ms", long["turn_ms"])
                note(agent, "peak_mb", long["peak_mb"])
                note(agent, "tool_start_ms", measurement.tool_start(agent))
                if repetition % 3 == 0:
                    note(agent, "ten_sessions_s", measurement.ten_sessions(agent, 5))
    json.dump({"reps": options.reps, "turns": options.turns, "agents": seen}, sys.stdout)


main()
