"""Stands between a client of others and the agent, and holds every frame of the agent against the schema.

    checked_agent.py BINARY SCHEMA REPORT [ARGUMENT...]

Adds to the folder REPORT: a file for each agent, with a line for each frame; the frames that do not fit are
written out.
"""

import json
import os
import signal
import subprocess
import sys
import threading

from schema_check import Schema

binary, schema_path, report = sys.argv[1:4]
schema = Schema(schema_path)
agent = subprocess.Popen(
    [binary, *sys.argv[4:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
)
asked = {}


def forward_input():
    for line in sys.stdin.buffer:
        try:
            frame = json.loads(line)
            if isinstance(frame, dict) and "method" in frame and "id" in frame:
                asked[frame["id"]] = frame["method"]
        except ValueError:
            pass
        try:
            agent.stdin.write(line)
        except BrokenPipeError:
            return
    agent.stdin.close()


def end(number, frame):
    agent.send_signal(number)


for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, end)
threading.Thread(target=forward_input, daemon=True).start()
with open(os.path.join(report, str(os.getpid())), "w", buffering=1) as told:
    for line in agent.stdout:
        try:
            problems = schema.find_problems(json.loads(line), asked)
        except ValueError as error:
            problems = [f"not JSON: {error}"]
        told.write(f"WRONG {problems} {line.decode(errors='replace')}" if problems else "fits\n")
        try:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            break
sys.exit(agent.wait() & 0xFF)
