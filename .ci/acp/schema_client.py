"""Drives `windlass acp` through every method and holds every frame against the published schema.

    schema_client.py BINARY SCHEMA DIRECTORY
"""

import json
import os
import queue
import subprocess
import sys
import threading

from schema_check import Schema

binary, schema_path, cwd = sys.argv[1:4]
schema = Schema(schema_path)


class Client:
    def __init__(self, capabilities):
        self.process = subprocess.Popen(
            [binary, "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        self.frames = queue.Queue()
        self.asked = {}
        self.count = 0
        self.updates = []
        self.requests = []
        self.answers = {}
        threading.Thread(target=self.read, daemon=True).start()
        self.info = self.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})

    def read(self):
        for line in self.process.stdout:
            self.frames.put(json.loads(line))
        self.frames.put(None)

    def send(self, frame):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        self.process.stdin.flush()

    def start(self, method, params):
        self.count += 1
        self.asked[self.count] = method
        self.send({"id": self.count, "method": method, "params": params})
        return self.count

    def step(self):
        """Takes one frame, checks it, and answers it if it is a request."""
        frame = self.frames.get(timeout=60)
        assert frame is not None, "it ended"
        problems = schema.find_problems(frame, self.asked)
        assert not problems, f"{problems}\n{json.dumps(frame, indent=1)}"
        method = frame.get("method")
        if method is None:
            return frame
        if "id" in frame:
            self.requests.append(frame)
            answer = self.answers.get(method)
            if answer is not None:
                self.send({"id": frame["id"], "result": answer})
        elif method == "session/update":
            self.updates.append(frame["params"]["update"])
        return frame

    def wait(self, identifier):
        while True:
            frame = self.step()
            if frame.get("id") == identifier and "method" not in frame:
                return frame

    def call(self, method, params):
        frame = self.wait(self.start(method, params))
        assert "result" in frame, f"{method}: {frame}"
        return frame["result"]

    def prompt(self, session, text):
        blocks = [{"type": "text", "text": text}]
        return self.call("session/prompt", {"sessionId": session, "prompt": blocks})

    def kinds(self):
        return {update["sessionUpdate"] for update in self.updates}

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


def everything():
    client = Client({
        "session": {"notices": {}, "compaction": {}},
        "elicitation": {"form": {}, "url": {}},
        "auth": {"terminal": True},
    })
    assert client.info["protocolVersion"] == 1
    client.call("authenticate", {"methodId": client.info["authMethods"][0]["id"]})
    opened = client.call("session/new", {"cwd": cwd, "mcpServers": []})
    session = opened["sessionId"]
    selected = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    client.answers["session/request_permission"] = selected
    client.answers["elicitation/create"] = {"action": "accept", "content": {"answer_1": "A"}}
    for text in ("hello", "write a file", "run a command", "look around", "make a plan", "ask me"):
        assert client.prompt(session, text) == {"stopReason": "end_turn"}, text
    wanted = {
        "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan",
        "available_commands_update", "usage_update",
    }
    assert wanted <= client.kinds(), wanted - client.kinds()
    asked = [frame["method"] for frame in client.requests]
    assert asked.count("session/request_permission") == 2, asked
    assert "elicitation/create" in asked, asked
    for option in opened["configOptions"]:
        params = {"sessionId": session, "configId": option["id"], "value": option["options"][0]["value"]}
        client.call("session/set_config_option", params)
    client.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    client.call("session/set_mode", {"sessionId": session, "modeId": "default"})
    assert {"current_mode_update", "config_option_update"} <= client.kinds()
    # Cancelled with a question open, and with a command running.
    del client.answers["session/request_permission"]
    for text, is_there in (
        ("run a command", lambda frame: frame.get("method") == "session/request_permission"),
        ("wait for ever", lambda frame: "in_progress" in json.dumps(frame)),
    ):
        blocks = [{"type": "text", "text": text}]
        waiting = client.start("session/prompt", {"sessionId": session, "prompt": blocks})
        while not is_there(client.step()):
            pass
        client.send({"method": "session/cancel", "params": {"sessionId": session}})
        frame = client.wait(waiting)
        assert frame["result"] == {"stopReason": "cancelled"}, frame
    # A failed model call is an error, not a stop reason.
    blocks = [{"type": "text", "text": "be forbidden"}]
    refused = client.wait(client.start("session/prompt", {"sessionId": session, "prompt": blocks}))
    assert refused["error"]["code"] == -32000, refused
    client.call("session/close", {"sessionId": session})
    listed = client.call("session/list", {"cwd": cwd})["sessions"]
    assert session in [one["sessionId"] for one in listed], listed
    known = {"sessionId": session, "cwd": cwd, "mcpServers": []}
    client.updates.clear()
    client.call("session/load", known)
    assert {"user_message_chunk", "agent_message_chunk", "tool_call"} <= client.kinds()
    client.call("session/close", {"sessionId": session})
    client.updates.clear()
    client.call("session/resume", known)
    assert not client.kinds() & {"user_message_chunk", "agent_message_chunk"}
    client.call("session/close", {"sessionId": session})
    client.call("session/delete", {"sessionId": session})
    # The key is given by the environment, and cannot be taken away from here.
    refused = client.wait(client.start("logout", {}))
    assert "ANTHROPIC_API_KEY" in refused["error"]["message"], refused
    client.end()


def files():
    """An editor with text that is not saved, which also writes."""
    client = Client({"fs": {"readTextFile": True, "writeTextFile": True}})
    session = client.call("session/new", {"cwd": cwd, "mcpServers": []})["sessionId"]
    selected = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    client.answers["session/request_permission"] = selected
    client.answers["fs/read_text_file"] = {"content": "in the editor\n"}
    open(f"{cwd}/notes.txt", "w").write("on disk\n")
    assert client.prompt(session, "read the notes") == {"stopReason": "end_turn"}
    said = [update for update in client.updates if update["sessionUpdate"] == "agent_message_chunk"]
    assert "SEEN" in json.dumps(said), said
    # Taken, but nothing is written: the model is told, and the run goes on.
    client.answers["fs/write_text_file"] = {}
    client.updates.clear()
    if os.path.exists(f"{cwd}/made.txt"):
        os.remove(f"{cwd}/made.txt")
    assert client.prompt(session, "write a file") == {"stopReason": "end_turn"}
    assert "failed" in [update.get("status") for update in client.updates], client.updates
    written = [frame for frame in client.requests if frame["method"] == "fs/write_text_file"]
    assert [frame["params"]["content"] for frame in written] == ["made\n"], written
    client.call("session/close", {"sessionId": session})
    client.end()


def poor_client():
    """One that offers nothing and answers nothing it was not asked for."""
    client = Client({})
    session = client.call("session/new", {"cwd": cwd, "mcpServers": []})["sessionId"]
    rejected = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
    client.answers["session/request_permission"] = rejected
    for text in ("ask me", "run a command"):
        assert client.prompt(session, text) == {"stopReason": "end_turn"}
    assert {frame["method"] for frame in client.requests} == {"session/request_permission"}
    assert not client.kinds() & {"notice", "compaction_update", "compaction_summary_chunk"}
    # Answers that come late and twice change nothing.
    for frame in client.requests:
        client.send({"id": frame["id"], "result": rejected})
    assert client.prompt(session, "hello") == {"stopReason": "end_turn"}
    client.end()


def silent_client():
    """One that never answers what it is asked, or too late, and leaves in the middle of a message."""
    client = Client({"fs": {"readTextFile": True, "writeTextFile": True}})
    session = client.call("session/new", {"cwd": cwd, "mcpServers": []})["sessionId"]
    if os.path.exists(f"{cwd}/ran.txt"):
        os.remove(f"{cwd}/ran.txt")
    for waits_for_question in (True, False):
        blocks = [{"type": "text", "text": "run a command"}]
        waiting = client.start("session/prompt", {"sessionId": session, "prompt": blocks})
        asked = None
        while waits_for_question and asked is None:
            frame = client.step()
            asked = frame if frame.get("method") == "session/request_permission" else None
        # Twice, as people press; or at once, before there is anything to cancel.
        for _ in range(2):
            client.send({"method": "session/cancel", "params": {"sessionId": session}})
        frame = client.wait(waiting)
        assert frame["result"] == {"stopReason": "cancelled"}, frame
        if asked:
            allowed = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
            client.send({"id": asked["id"], "result": allowed})
        # The model may have been asked before the cancel came: then it sees that prompt again, with a note
        # that it was interrupted, so this one must have an answer of its own.
        assert client.prompt(session, "never mind") == {"stopReason": "end_turn"}
    assert not os.path.exists(f"{cwd}/ran.txt"), "a late yes is no yes"
    blocks = [{"type": "text", "text": "wait for ever"}]
    client.start("session/prompt", {"sessionId": session, "prompt": blocks})
    while "in_progress" not in json.dumps(client.step()):
        pass
    client.process.stdin.write('{"jsonrpc":"2.0","id":99,"method":"session/pro')
    client.end()


everything()
files()
poor_client()
silent_client()
print("every frame fits the schema")
