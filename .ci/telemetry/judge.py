"""Receives what the binary sends and judges it with the official message classes.

Every request of every protocol must decode, have no unknown field, and be the same bytes (or the same JSON)
when the official classes write it again. Then names and attributes are looked at, and a collector from
another house is sent the same."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

BINARY, PROJECT, FOREIGN = sys.argv[1:4]
CLASSES = {
    "traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
    "logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse),
}
GRPC = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}
ID_KEYS = ("traceId", "spanId", "parentSpanId")


class Received:
    def __init__(self):
        self.messages = {name: [] for name in CLASSES}
        self.problems = []

    def take_bytes(self, signal, body):
        message = CLASSES[signal][0]()
        message.ParseFromString(body)
        if message.SerializeToString(deterministic=True) != body:
            self.problems.append(f"{signal}: other bytes when written again")
        self.messages[signal].append(message)

    def take_json(self, signal, body):
        """The JSON form differs from protobuf's own in one thing: ids are hexadecimal."""
        document = json.loads(body)
        message = CLASSES[signal][0]()
        json_format.ParseDict(swap_ids(document, to_base64), message)
        again = swap_ids(json_format.MessageToDict(message, use_integers_for_enums=True), to_hex)
        if again != document:
            self.problems.append(f"{signal}: other JSON when written again: {again} != {document}")
        self.messages[signal].append(message)


def swap_ids(value, convert):
    if isinstance(value, list):
        return [swap_ids(one, convert) for one in value]
    if isinstance(value, dict):
        return {
            key: convert(one) if key in ID_KEYS and isinstance(one, str) else swap_ids(one, convert)
            for key, one in value.items()
        }
    return value


def to_base64(text):
    import base64

    assert re.fullmatch(r"[0-9a-f]+", text), text
    return base64.b64encode(bytes.fromhex(text)).decode()


def to_hex(text):
    import base64

    return base64.b64decode(text).hex()


def serve_http(received):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            signal = self.path.rsplit("/", 1)[-1]
            body = self.rfile.read(int(self.headers["content-length"]))
            kind = self.headers["content-type"]
            if kind == "application/json":
                received.take_json(signal, body)
                answer = b"{}"
            else:
                assert kind == "application/x-protobuf", kind
                received.take_bytes(signal, body)
                answer = CLASSES[signal][1]().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", server.shutdown


def serve_grpc(received):
    """A real grpc server, that hands the bytes over before they are decoded."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    for signal, service in GRPC.items():

        def take(body, _, signal=signal):
            received.take_bytes(signal, body)
            return CLASSES[signal][1]()

        handler = grpc.unary_unary_rpc_method_handler(
            take, request_deserializer=None, response_serializer=lambda it: it.SerializeToString()
        )
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {"Export": handler}),)
        )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return f"http://127.0.0.1:{port}", lambda: server.stop(None)


def run(prompt, url, protocol, **more):
    environment = {
        **os.environ,
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "CLAUDE_CODE_OTEL_DIAG_STDERR": "1",
        "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS": "30000",
        **more,
    }
    words = [BINARY, "-p", prompt, "--dangerously-skip-permissions", "--max-retries", "1"]
    return subprocess.run(
        words, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=90
    )


def attributes(record):
    def plain(value):
        kind = value.WhichOneof("value")
        if kind == "array_value":
            return [plain(one) for one in value.array_value.values]
        return getattr(value, kind)

    names = [one.key for one in record.attributes]
    assert len(names) == len(set(names)), f"twice: {names}"
    return {one.key: plain(one.value) for one in record.attributes}


def records(received, signal):
    outer, middle, inner = {
        "traces": ("resource_spans", "scope_spans", "spans"),
        "metrics": ("resource_metrics", "scope_metrics", "metrics"),
        "logs": ("resource_logs", "scope_logs", "log_records"),
    }[signal]
    for message in received.messages[signal]:
        for resource in getattr(message, outer):
            known = attributes(resource.resource)
            assert known["service.name"] == "claude-code" and known["service.version"], known
            for scope in getattr(resource, middle):
                assert scope.scope.name == "com.anthropic.claude_code", scope.scope
                yield from getattr(scope, inner)


def check(received, protocol):
    assert not received.problems, received.problems
    spans = list(records(received, "traces"))
    by_id = {span.span_id: span for span in spans}
    names = {span.name for span in spans}
    assert names == {
        "claude_code.interaction",
        "claude_code.llm_request",
        "claude_code.tool",
        "claude_code.tool.execution",
    }, names
    for span in spans:
        told = attributes(span)
        assert len(span.trace_id) == 16 and len(span.span_id) == 8
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert told["span.type"] == span.name.removeprefix("claude_code.")
        parent = by_id.get(span.parent_span_id)
        expected = {
            "claude_code.interaction": [None],
            "claude_code.llm_request": ["claude_code.interaction", "claude_code.tool"],
            "claude_code.tool": ["claude_code.interaction"],
            "claude_code.tool.execution": ["claude_code.tool"],
        }[span.name]
        assert (parent and parent.name) in expected, (span.name, parent)
        operation = {
            "claude_code.interaction": "invoke_agent",
            "claude_code.llm_request": "chat",
            "claude_code.tool": "execute_tool",
        }.get(span.name)
        assert told.get("gen_ai.operation.name") == operation, told
        if span.name == "claude_code.llm_request":
            assert span.kind == span.SPAN_KIND_CLIENT
            assert told["gen_ai.provider.name"] == "anthropic" and told["server.port"] > 0, told
            assert isinstance(told["gen_ai.usage.input_tokens"], int), told
            failed = not told["success"]
            assert failed == (span.status.code == span.status.STATUS_CODE_ERROR), told
    sources = {attributes(s)["query_source"] for s in spans if s.name == "claude_code.llm_request"}
    assert {"main", "subagent"} <= sources, sources
    failed = [s for s in spans if s.name == "claude_code.tool.execution" and s.status.code]
    assert len(failed) == 1 and attributes(failed[0])["error"] == "tool_error", failed

    events = list(records(received, "logs"))
    names = {event.event_name for event in events}
    expected = {
        "user_prompt",
        "assistant_response",
        "api_request",
        "api_error",
        "api_retries_exhausted",
        "tool_decision",
        "tool_result",
        "subagent_completed",
    }
    assert names == {f"claude_code.{name}" for name in expected}, names
    for event in events:
        told = attributes(event)
        assert event.body.string_value == event.event_name
        assert event.event_name == f"claude_code.{told['event.name']}"
        assert told["session.id"] and told["event.timestamp"] and told["event.sequence"], told
        assert len(event.trace_id) == 16, event
        if event.event_name == "claude_code.user_prompt":
            assert told["prompt"] == "<REDACTED>" and told["prompt_length"] > 0, told
        if event.event_name == "claude_code.api_request":
            assert told["cost_usd_micros"] == round(told["cost_usd"] * 1e6), told

    totals = {}
    for metric in records(received, "metrics"):
        assert metric.sum.is_monotonic
        assert metric.sum.aggregation_temporality == 1, "delta is the default"
        for point in metric.sum.data_points:
            told = attributes(point)
            assert told["session.id"] and 0 < point.start_time_unix_nano <= point.time_unix_nano
            key = metric.name, told.get("type")
            totals[key] = totals.get(key, 0) + point.as_double
    assert totals["claude_code.session.count", None] == 3, totals
    assert totals["claude_code.lines_of_code.count", "added"] == 2, totals
    assert totals["claude_code.commit.count", None] == 1, totals
    assert totals["claude_code.code_edit_tool.decision", None] == 1, totals
    assert totals["claude_code.token.usage", "input"] > 0, totals
    assert totals["claude_code.active_time.total", "cli"] > 0, totals
    count = sum(len(messages) for messages in received.messages.values())
    print(f"{protocol}: {count} messages, {len(spans)} spans, {len(events)} events: as they should be")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def send_to_foreign_collector():
    """It prints what it understood."""
    http_port, grpc_port = free_port(), free_port()
    log = os.path.join(PROJECT, "..", "foreign.log")
    words = ["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]
    for signal in CLASSES:
        words += ["--debug-log", signal]
    words += ["--otlp-http-endpoint", f"127.0.0.1:{http_port}"]
    words += ["--otlp-grpc-endpoint", f"127.0.0.1:{grpc_port}"]
    with open(log, "wb") as out:
        collector = subprocess.Popen([FOREIGN, *words], stdout=out, stderr=out)
    try:
        for port in (http_port, grpc_port):
            deadline = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert collector.poll() is None, open(log).read()
                    assert time.monotonic() < deadline, "the collector does not come up"
                    time.sleep(0.1)
        for protocol, port in [
            ("http/protobuf", http_port),
            ("http/json", http_port),
            ("grpc", grpc_port),
        ]:
            mark = f"sent-by-{protocol.replace('/', '-')}"
            url = f"http://127.0.0.1:{port}"
            ended = run("hello", url, protocol, OTEL_RESOURCE_ATTRIBUTES=f"mark={mark}")
            assert (ended.returncode, ended.stderr) == (0, ""), (protocol, ended)
            deadline = time.monotonic() + 20
            wanted = [mark, "claude_code.interaction", "claude_code.user_prompt", "claude_code.token.usage"]
            while not all(one in open(log, errors="replace").read() for one in wanted):
                assert time.monotonic() < deadline, (protocol, open(log, errors="replace").read()[-4000:])
                time.sleep(0.1)
        print("the foreign collector understood all three protocols")
    finally:
        collector.terminate()
        try:
            collector.wait(10)
        except subprocess.TimeoutExpired:
            collector.kill()


def main():
    for protocol in ("http/protobuf", "http/json", "grpc"):
        received = Received()
        url, stop = (serve_grpc if protocol == "grpc" else serve_http)(received)
        subprocess.run("rm -rf .git made.rs", shell=True, cwd=PROJECT, check=True)
        ends = [run(prompt, url, protocol) for prompt in ("edit and commit", "send an agent", "fail once")]
        stop()
        assert [end.returncode for end in ends] == [0, 0, 1], ends
        assert "telemetry" not in "".join(end.stderr for end in ends), ends
        check(received, protocol)
    send_to_foreign_collector()


main()
