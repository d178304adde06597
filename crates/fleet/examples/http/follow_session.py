"""Starts a session in a fleet and prints what it says, with nothing but HTTP.

    WINDLASS_SERVER=http://127.0.0.1:7117 WINDLASS_TOKEN=... python3 follow_session.py "the prompt"
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

SERVER = os.environ.get("WINDLASS_SERVER", "http://127.0.0.1:7117")
TOKEN = os.environ["WINDLASS_TOKEN"]


def call(path, body=None, headers=None):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Authorization": "Bearer " + TOKEN, **(headers or {})}
    return urllib.request.urlopen(urllib.request.Request(SERVER + path, data, headers), timeout=60)


def events(session):
    """Frames until the session ends. A broken connection is resumed after the last frame."""
    last = "0"
    for _ in range(60):
        try:
            for line in call(f"/v1/sessions/{session}/events", headers={"Last-Event-ID": last}):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    last = value
                elif name == "event" and value == "end":
                    return
                elif name == "data":
                    yield json.loads(value)
        except OSError:
            pass
        time.sleep(1)
    sys.exit("the gateway breaks off again and again")


def main():
    try:
        session = json.load(call("/v1/sessions", {"prompt": sys.argv[1]}))["id"]
    except urllib.error.HTTPError as error:
        sys.exit(json.load(error)["error"]["message"])
    for frame in events(session):
        if frame.get("type") == "assistant":
            for block in frame["message"]["content"]:
                if block["type"] == "text":
                    print(block["text"], flush=True)


main()
