"""A model server on loopback that answers at once, so that nothing but the agent is timed.

A session is told by the first part of the path. A request that offers tools gets the next call of the script,
and in the end text; what an agent asks beside that (for titles, counts, lists) is answered and not counted.
Two wires: Anthropic Messages and OpenAI Responses.
"""

import http.server
import json
import pathlib
import time

# How long an answer goes on behind a complete call.
STREAM_MORE = 0.3


class ModelServer(http.server.ThreadingHTTPServer):
    """Answers each session with `turns` calls and then with text."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), RequestHandler)
        self.sessions = {}

    def open_session(self, name, agent, turns, command, keeps_streaming=False):
        session = {"agent": agent, "turns": turns, "command": command, "streams": keeps_streaming}
        session |= {"asked": [], "answered": [], "blocks": [], "bytes": []}
        self.sessions[name] = session
        return f"http://127.0.0.1:{self.server_address[1]}/{name}", session


def read_peak(leader):
    """The peak of resident memory of the largest process of a session of processes, in megabytes.

    What the system says of a child that has ended counts the parent it was copied from, too; this does not.
    """
    peaks = [0]
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(words[3]) == leader:
                lines = (folder / "status").read_text().splitlines()
                peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
        except (OSError, IndexError, ValueError):
            continue  # It has ended.
    return max(peaks) * 1024 / 1e6


class RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        now = time.monotonic()
        session = self.server.sessions[self.path.split("/")[1]]
        wire = {"messages": MessagesWire, "responses": ResponsesWire}.get(self.path.split("?")[0].split("/")[-1])
        if wire is None:
            return self.send_error(404)
        is_main = bool(json.loads(body).get("tools"))
        if is_main:
            session["asked"].append(now)
            session["bytes"].append(len(body))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        answer = wire(self)
        turn = len(session["asked"])
        if is_main and turn <= session["turns"]:
            agent = session["agent"]
            command = session["command"].replace("{turn}", str(turn))
            answer.call(turn, agent.tool, json.dumps({agent.argument: command} | agent.more_arguments))
            self.wfile.flush()
            session["blocks"].append(time.time_ns())
            if session["streams"]:
                time.sleep(STREAM_MORE)
            answer.end("tool_use")
        else:
            if is_main and "leader" in session:
                session["peak_mb"] = read_peak(session["leader"])
            answer.text("Done.")
            answer.end("end_turn")
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        if is_main:
            session["answered"].append(time.monotonic())

    def event(self, kind, **fields):
        text = f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))


class MessagesWire:
    def __init__(self, handler):
        self.event = handler.event
        usage = {"input_tokens": 100, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": "m", "stop_reason": None, "stop_sequence": None, "usage": usage}
        self.event("message_start", message=message)

    def call(self, turn, tool, arguments):
        block = {"type": "tool_use", "id": f"toolu_{turn}", "name": tool, "input": {}}
        self.block(block, {"type": "input_json_delta", "partial_json": arguments})

    def text(self, words):
        self.block({"type": "text", "text": ""}, {"type": "text_delta", "text": words})

    def block(self, start, delta):
        self.event("content_block_start", index=0, content_block=start)
        self.event("content_block_delta", index=0, delta=delta)
        self.event("content_block_stop", index=0)

    def end(self, reason):
        delta = {"stop_reason": reason, "stop_sequence": None}
        self.event("message_delta", delta=delta, usage={"output_tokens": 10})
        self.event("message_stop")


class ResponsesWire:
    def __init__(self, handler):
        self.handler, self.item = handler, None
        self.response = {"id": "resp_1", "object": "response", "model": "m", "output": []}
        self.event("response.created", response=self.response | {"status": "in_progress"})

    def event(self, kind, **fields):
        self.handler.event(kind, **fields)

    def call(self, turn, tool, arguments):
        item = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": tool}
        self.event("response.output_item.added", output_index=0, item=item | {"arguments": ""})
        place = {"item_id": item["id"], "output_index": 0}
        self.event("response.function_call_arguments.delta", **place, delta=arguments)
        self.event("response.function_call_arguments.done", **place, arguments=arguments)
        self.finish(item | {"arguments": arguments, "status": "completed"})

    def text(self, words):
        item = {"type": "message", "id": "msg_1", "role": "assistant"}
        self.event("response.output_item.added", output_index=0, item=item | {"content": []})
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        self.event("response.output_text.delta", **place, delta=words)
        part = {"type": "output_text", "text": words, "annotations": []}
        self.finish(item | {"content": [part], "status": "completed"})

    def finish(self, item):
        self.response["output"].append(item)
        self.event("response.output_item.done", output_index=0, item=item)

    def end(self, _reason):
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        usage |= {"input_tokens_details": {"cached_tokens": 0}}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
        self.event("response.completed", response=self.response | {"status": "completed", "usage": usage})
