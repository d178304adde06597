//! Telemetry of the real binary: what collectors are told, and that bad ones are not felt.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer as Says, ScriptedFault};

use crate::collector::{Collector, CollectorBehaviour, attribute};
use crate::fixture::{FinishedCommand, PATIENCE, RunningCommand, TestDirs, play, run};

/// What makes all three signals go to a collector.
pub(crate) fn send_to<'a>(command: &'a mut Command, protocol: &str, url: &str) -> &'a mut Command {
    command
        .env("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        .env("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1")
        .env("OTEL_METRICS_EXPORTER", "otlp")
        .env("OTEL_LOGS_EXPORTER", "otlp")
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
}

/// A command that shows what it was given, and an answer.
fn one_command(line: &str) -> Rehearsal {
    play(
        Script::new()
            .answer(Says::call("Bash", json!({ "command": line })))
            .answer(Says::text("done with it")),
    )
}

fn asked(dirs: &TestDirs, server: &Rehearsal, more: &[&str]) -> Command {
    let arguments = [&["-p", "the secret plan", "--dangerously-skip-permissions"], more].concat();
    dirs.asking(&server.url(), &arguments)
}

fn names_of(records: &[Value], field: &str) -> BTreeSet<String> {
    records.iter().map(|one| one[field].as_str().unwrap_or_default().to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_collector_is_told_what_a_run_did_and_nothing_of_what_was_said() {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    let server = one_command("env > seen; echo test-key; echo collector-secret");
    let headers = "x-collector-key=collector-secret";
    let settings = json!({ "env": { "OTEL_EXPORTER_OTLP_HEADERS": headers } }).to_string();
    let mut command = asked(&dirs, &server, &["--settings", &settings]);
    let finished = run(send_to(&mut command, "http/json", collector.url())
        .env("OTEL_RESOURCE_ATTRIBUTES", "team=blue"));
    assert_eq!(finished.answer(), "done with it\n");

    let spans = collector.spans();
    let expected = [
        "claude_code.interaction",
        "claude_code.llm_request",
        "claude_code.tool",
        "claude_code.tool.execution",
    ];
    assert_eq!(names_of(&spans, "name"), set(&expected));
    let find = |name: &str| spans.iter().find(|span| span["name"] == name).expect("a span").clone();
    let [interaction, request, tool, execution] = expected.map(find);
    assert!(interaction.get("parentSpanId").is_none(), "{interaction}");
    for (child, parent) in [(&request, &interaction), (&tool, &interaction), (&execution, &tool)] {
        assert_eq!(child["parentSpanId"], parent["spanId"], "{child}");
        assert_eq!(child["traceId"], parent["traceId"], "{child}");
    }
    for (span, name, value) in [
        (&interaction, "gen_ai.operation.name", "invoke_agent"),
        (&interaction, "user_prompt", "<REDACTED>"),
        (&interaction, "user_prompt_length", "15"),
        (&request, "gen_ai.operation.name", "chat"),
        (&request, "gen_ai.provider.name", "anthropic"),
        (&request, "stop_reason", "tool_use"),
        (&request, "query_source", "main"),
        (&tool, "gen_ai.operation.name", "execute_tool"),
        (&tool, "tool_name", "Bash"),
        (&tool, "app.entrypoint", "sdk-cli"),
        (&execution, "success", "true"),
    ] {
        assert_eq!(attribute(span, name).as_deref(), Some(value), "{name} of {span}");
    }

    // The command knows where it stands, and nothing of how telemetry is sent.
    let seen = std::fs::read_to_string(dirs.file("seen")).expect("a file");
    let parent = format!(
        "TRACEPARENT=00-{}-{}-01",
        execution["traceId"].as_str().expect("an id"),
        execution["spanId"].as_str().expect("an id")
    );
    assert!(seen.contains(&parent), "{parent} in {seen}");
    assert!(!seen.contains("OTEL_"), "{seen}");

    let expected =
        ["user_prompt", "api_request", "tool_decision", "tool_result", "assistant_response"];
    let expected = expected.map(|name| format!("claude_code.{name}"));
    let events = collector.events();
    assert_eq!(names_of(&events, "eventName"), expected.into_iter().collect());
    let ids: BTreeSet<_> = events.iter().map(|event| attribute(event, "prompt.id")).collect();
    assert!(ids.len() == 1 && !ids.contains(&None), "{ids:?}");
    assert!(events.iter().all(|event| event["traceId"] == interaction["traceId"]));

    let metrics = collector.metrics();
    let names = names_of(&metrics, "name");
    for name in ["session.count", "token.usage", "active_time.total"] {
        assert!(names.contains(&format!("claude_code.{name}")), "{name} in {names:?}");
    }
    let points = metrics.iter().filter_map(|metric| metric["sum"]["dataPoints"].as_array());
    for point in points.flatten() {
        assert_eq!(attribute(point, "team").as_deref(), Some("blue"), "{point}");
    }

    let everything: Vec<String> = collector
        .requests()
        .iter()
        .map(|request| {
            assert!(request.head.contains("x-collector-key: collector-secret"), "{}", request.head);
            String::from_utf8_lossy(&request.body).into_owned()
        })
        .collect();
    for secret in ["secret plan", "done with it", "test-key", "collector-secret", "env > seen"] {
        assert!(everything.iter().all(|body| !body.contains(secret)), "{secret} was sent");
    }
}

#[test]
fn contents_are_sent_when_they_are_asked_for_but_never_a_key() {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    let server = one_command("echo test-key collector-secret end; seq 100");
    let mut command = asked(&dirs, &server, &[]);
    for switch in ["USER_PROMPTS", "TOOL_DETAILS", "TOOL_CONTENT"] {
        command.env(format!("OTEL_LOG_{switch}"), "1");
    }
    command.env("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", "60");
    let finished = run(send_to(&mut command, "http/json", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer collector-secret"));
    assert_eq!(finished.answer(), "done with it\n");
    let find = |list: Vec<Value>, field: &str, name: &str| {
        list.into_iter().find(|one| one[field] == name).expect("a record")
    };
    let prompt = find(collector.events(), "eventName", "claude_code.user_prompt");
    assert_eq!(attribute(&prompt, "prompt").as_deref(), Some("the secret plan"));
    let response = find(collector.events(), "eventName", "claude_code.assistant_response");
    assert_eq!(attribute(&response, "response").as_deref(), Some("done with it"));
    let tool = find(collector.spans(), "name", "claude_code.tool");
    let command = attribute(&tool, "full_command").expect("a command");
    assert!(command.contains("[key removed]") && command.ends_with("seq 100"), "{command}");
    let output = attribute(&tool["events"][0], "content").expect("an output");
    assert!(output.contains("[key removed]") && !output.contains("secret"), "{output}");
    assert!(output.ends_with("[TRUNCATED]") && output.len() < 80, "{output}");
    assert_eq!(attribute(&tool, "gen_ai.tool.call.result"), Some(output));
    assert!(attribute(&tool, "user.id").is_some(), "{tool}");
    for request in collector.requests() {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        assert!(!body.contains("test-key") && !body.contains("collector-secret"), "{body}");
    }
}

#[test]
fn a_dead_slow_or_hostile_collector_is_not_felt() {
    let ask = |url: Option<&str>, protocol: &str| {
        let (dirs, server) = (TestDirs::new(), one_command("echo ran"));
        let mut command = asked(&dirs, &server, &["--output-format", "json"]);
        if let Some(url) = url {
            send_to(&mut command, protocol, url);
        }
        let finished = run(&mut command);
        let result: Value = serde_json::from_str(&finished.stdout).expect("a result");
        (finished, result)
    };
    let (without, expected) = ask(None, "");
    assert_eq!((without.code, without.stderr.as_str()), (Some(0), ""), "{without:?}");
    let check_one = |what: &str, (finished, result): (FinishedCommand, Value), waits: bool| {
        assert_eq!(
            (finished.code, finished.stderr.as_str()),
            (Some(0), ""),
            "{what}: {finished:?}"
        );
        for field in ["result", "subtype", "num_turns", "is_error"] {
            assert_eq!(result[field], expected[field], "{what}: {field}");
        }
        // The one wait is that at the end, two seconds; the rest is a busy machine.
        let most = without.took + if waits { Duration::from_secs(2) } else { Duration::ZERO };
        (finished.took, most + Duration::from_secs(5))
    };
    // A busy machine may be slower once, but not every time.
    let check = |what: &str, ask: &dyn Fn() -> (FinishedCommand, Value), waits: bool| {
        let mut rounds = 0;
        loop {
            let (took, most) = check_one(what, ask(), waits);
            rounds += 1;
            match took < most {
                true => break,
                false => assert!(rounds < 10, "{what}: {took:?}, at most {most:?}"),
            }
        }
    };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", nobody.local_addr().expect("an address"));
    drop(nobody);
    for protocol in ["http/protobuf", "grpc"] {
        check("nobody listens", &|| ask(Some(&address), protocol), false);
    }
    for behaviour in [
        CollectorBehaviour::Silence,
        CollectorBehaviour::Slow,
        CollectorBehaviour::Fail,
        CollectorBehaviour::Unavailable,
        CollectorBehaviour::Endless,
        CollectorBehaviour::Hangup,
    ] {
        let collector = Collector::start(behaviour);
        let what = format!("{behaviour:?}");
        check(&what, &|| ask(Some(collector.url()), "http/protobuf"), true);
        if behaviour == CollectorBehaviour::Silence {
            check("grpc to nobody who answers", &|| ask(Some(collector.url()), "grpc"), true);
        }
    }
}

#[test]
fn the_end_waits_as_long_as_the_variable_says_and_failures_are_shown_on_request() {
    let (dirs, server) = (TestDirs::new(), play(Script::new().answer(Says::text("ok"))));
    let collector = Collector::start(CollectorBehaviour::Fail);
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(send_to(&mut command, "http/protobuf", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "a=collector-secret")
        .env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "30000")
        .env("CLAUDE_CODE_OTEL_DIAG_STDERR", "1"));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"), "{finished:?}");
    assert!(finished.stderr.contains("metrics were not sent"), "{finished:?}");
    assert!(!finished.stderr.contains("collector-secret"), "{finished:?}");

    let (dirs, server) = (TestDirs::new(), play(Script::new().answer(Says::text("ok"))));
    let collector = Collector::start(CollectorBehaviour::Silence);
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(send_to(&mut command, "http/protobuf", collector.url())
        .env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "6000"));
    assert_eq!(finished.answer(), "ok\n");
    assert!(finished.took >= Duration::from_secs(6), "{:?}", finished.took);
}

#[test]
fn a_failed_request_and_its_retry_are_one_span() {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    let server = play(
        Script::new()
            .answer(Says::from_fault(ScriptedFault::refuse(529)))
            .answer(Says::text("at last")),
    );
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(send_to(&mut command, "http/json", collector.url()));
    assert_eq!(finished.stdout, "at last\n", "{finished:?}");
    let spans = collector.spans();
    let requests: Vec<&Value> =
        spans.iter().filter(|span| span["name"] == "claude_code.llm_request").collect();
    let [request] = requests.as_slice() else { panic!("one span: {requests:?}") };
    assert_eq!(attribute(request, "attempt").as_deref(), Some("2"), "{request}");
    assert_eq!(attribute(request, "success").as_deref(), Some("true"), "{request}");
    assert_eq!(request["events"][0]["name"], "gen_ai.request.attempt", "{request}");
    let errors = collector.events();
    let error = errors.iter().find(|event| event["eventName"] == "claude_code.api_error");
    let status = error.and_then(|error| attribute(error, "status_code"));
    assert_eq!(status.as_deref(), Some("529"), "{errors:?}");
}

#[test]
fn a_trace_comes_in_by_the_environment_and_goes_out_where_it_may() {
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let is_told = |switch: &str| {
        let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
        let server = one_command("echo \"$TRACESTATE\" > state");
        let hook = json!({ "type": "command", "command": "echo \"$TRACEPARENT\" > hook" });
        let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } }).to_string();
        let mut command = asked(&dirs, &server, &["--settings", &settings]);
        let finished = run(send_to(&mut command, "http/json", collector.url())
            .env("TRACEPARENT", &parent)
            .env("TRACESTATE", "vendor=1")
            .env("CLAUDE_CODE_PROPAGATE_TRACEPARENT", switch));
        assert_eq!(finished.answer(), "done with it\n");
        let spans = collector.spans();
        assert!(spans.iter().all(|span| span["traceId"] == trace), "{spans:?}");
        assert!(spans.iter().any(|span| span["parentSpanId"] == "b7ad6b7169203331"), "{spans:?}");
        let state = std::fs::read_to_string(dirs.file("state")).expect("a file");
        assert_eq!(state, "vendor=1\n");
        let tool = spans.iter().find(|span| span["name"] == "claude_code.tool").expect("a span");
        let hook = std::fs::read_to_string(dirs.file("hook")).expect("a file");
        assert_eq!(hook, format!("00-{trace}-{}-01\n", tool["spanId"].as_str().expect("an id")));
        let events = names_of(&collector.events(), "eventName");
        assert!(events.contains("claude_code.hook_execution_complete"), "{events:?}");
        let requests = server.requests();
        let told: Vec<String> = requests
            .iter()
            .filter_map(|one| one.header("traceparent"))
            .map(str::to_owned)
            .collect();
        let ids: Vec<&str> = spans
            .iter()
            .filter(|span| span["name"] == "claude_code.llm_request")
            .filter_map(|span| span["spanId"].as_str())
            .collect();
        assert!(told.iter().all(|one| ids.iter().any(|id| one.contains(id))), "{told:?} {ids:?}");
        told.len()
    };
    // The address is not the vendor's, so the server learns it only when that is asked for.
    assert_eq!((is_told("0"), is_told("1")), (0, 2));
}

#[test]
fn headers_of_a_helper_go_along_and_a_console_stays_out_of_a_protocol() {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    let server = play(Script::new().answer(Says::text("ok")));
    let settings =
        json!({ "otelHeadersHelper": "echo '{\"x-from-helper\": \"yes\"}'" }).to_string();
    let mut command = dirs.asking(&server.url(), &["-p", "go", "--settings", &settings]);
    let finished = run(send_to(&mut command, "http/protobuf", collector.url()));
    assert_eq!(finished.answer(), "ok\n");
    let requests = collector.requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|one| one.head.contains("x-from-helper: yes")), "{requests:?}");

    let show = |format: &str| {
        let (dirs, server) = (TestDirs::new(), play(Script::new().answer(Says::text("ok"))));
        let words = ["-p", "go", "--verbose", "--output-format", format];
        let mut command = dirs.asking(&server.url(), &words);
        run(command.env("CLAUDE_CODE_ENABLE_TELEMETRY", "1").env("OTEL_LOGS_EXPORTER", "console"))
    };
    let shown = show("text");
    assert!(shown.stderr.contains("claude_code.user_prompt"), "{shown:?}");
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), "ok\n"), "{shown:?}");
    let refused = show("stream-json");
    assert!(refused.stderr.contains("console is left out"), "{refused:?}");
    assert!(
        !format!("{}{}", refused.stdout, refused.stderr).contains("claude_code."),
        "{refused:?}"
    );
}

#[test]
fn counters_are_there_for_a_server_that_asks() {
    let (dirs, server) = (TestDirs::new(), one_command("until [ -e go ]; do sleep 0.05; done"));
    let mut command = asked(&dirs, &server, &[]);
    command
        .env("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        .env("OTEL_METRICS_EXPORTER", "prometheus")
        .env("OTEL_EXPORTER_PROMETHEUS_PORT", "0")
        .env("CLAUDE_CODE_OTEL_DIAG_STDERR", "1");
    let mut running = RunningCommand::start(&mut command);
    running.wait_for_stderr("/metrics");
    let address = running.seen_stderr().split("http://").nth(1).expect("an address");
    let address = address.split('/').next().expect("a host").to_owned();
    let ask = |host: &str, line: &str| {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.write_all(format!("{line} HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let began = Instant::now();
    let page = loop {
        let page = ask(&address, "GET /metrics");
        if page.contains("claude_code_cost_usage_USD_total{") {
            break page;
        }
        assert!(began.elapsed() < PATIENCE, "{page}");
        std::thread::yield_now();
    };
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("# TYPE claude_code_session_count_total counter\n"), "{page}");
    assert!(page.contains("type=\"output\"") && page.contains("session_id="), "{page}");
    assert!(page.contains("terminal_type=") || page.contains("user_id="), "{page}");
    assert!(ask("evil.test", "GET /metrics").starts_with("HTTP/1.1 403"));
    assert!(ask("localhost", "GET /").starts_with("HTTP/1.1 404"));
    assert!(ask("[::1]:1", "POST /metrics").starts_with("HTTP/1.1 405"));
    std::fs::write(dirs.file("go"), "").expect("a file");
    assert_eq!(running.finish().code, Some(0));
}

#[test]
fn what_is_sent_where_is_said_by_doctor_without_secrets() {
    let dirs = TestDirs::new();
    let mut command = dirs.asking("http://127.0.0.1:9", &["doctor", "--offline"]);
    assert!(!run(&mut command).stdout.contains("Telemetry"));
    let finished =
        run(send_to(&mut command, "grpc", "http://user:password@collector.example:4317")
            .env("OTEL_EXPORTER_OTLP_HEADERS", "a=collector-secret"));
    let text = &finished.stdout;
    assert!(text.contains("metrics to http://collector.example:4317 (grpc)"), "{finished:?}");
    assert!(!text.contains("collector-secret") && !text.contains("password"), "{finished:?}");
}

/// The names that the page lists and those in the code are the same, and of the reference CLI's names it
/// says of each whether it is sent.
#[test]
fn the_page_about_telemetry_lists_every_name() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/telemetry.md")).expect("a page");
    let code = std::fs::read_to_string(root.join("crates/telemetry/src/names.rs")).expect("names");
    let written = |text: &str, quote: char| -> BTreeSet<String> {
        let parts = text.split(quote).skip(1).step_by(2);
        let is_name = |part: &&str| {
            part.strip_prefix("claude_code.").is_some_and(|rest| {
                !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))
            })
        };
        parts.filter(is_name).map(str::to_owned).collect()
    };
    let sent = written(&page, '`');
    assert_eq!(sent, written(&code, '"'));
    let (_, not_sent) = page.split_once("### Not sent\n").expect("a list of what is not sent");
    let not_sent = not_sent.split("\n## ").next().expect("its end");
    let mut attributes = String::new();
    crate::keys::read_below(&root.join("crates/telemetry/src/tracker"), &mut attributes);
    for name in REFERENCE_NAMES {
        let is_sent = sent.contains(&format!("claude_code.{name}"));
        let is_refused = not_sent.contains(&format!("| `{name}`"));
        assert!(is_sent != is_refused, "{name}: sent {is_sent}, refused {is_refused}");
    }
    for name in REFERENCE_ATTRIBUTES {
        let is_sent =
            attributes.contains(&format!("\"{name}\"")) && page.contains(&format!("`{name}`"));
        let is_refused = not_sent.contains(&format!("| `{name}`"));
        assert!(is_sent != is_refused, "{name}: sent {is_sent}, refused {is_refused}");
    }
}

/// Metrics, events and spans of the reference CLI.
const REFERENCE_NAMES: [&str; 40] = [
    "session.count",
    "lines_of_code.count",
    "pull_request.count",
    "commit.count",
    "cost.usage",
    "token.usage",
    "code_edit_tool.decision",
    "active_time.total",
    "user_prompt",
    "assistant_response",
    "api_request",
    "api_error",
    "api_retries_exhausted",
    "api_refusal",
    "api_request_body",
    "api_response_body",
    "tool_decision",
    "tool_result",
    "permission_mode_changed",
    "mcp_server_connection",
    "hook_registered",
    "hook_execution_start",
    "hook_execution_complete",
    "hook_plugin_metrics",
    "compaction",
    "subagent_completed",
    "skill_activated",
    "at_mention",
    "plugin_installed",
    "plugin_loaded",
    "auth",
    "internal_error",
    "retention_sweep",
    "feedback_survey",
    "interaction",
    "llm_request",
    "hook",
    "tool",
    "tool.blocked_on_user",
    "tool.execution",
];

/// What the reference CLI says besides, where it is not said of everything.
const REFERENCE_ATTRIBUTES: [&str; 47] = [
    "start_type",
    "error_code",
    "query_source",
    "speed",
    "effort",
    "agent.name",
    "skill.name",
    "plugin.name",
    "marketplace.name",
    "mcp_server.name",
    "mcp_tool.name",
    "language",
    "prompt_length",
    "message.uuid",
    "command_name",
    "command_source",
    "response_length",
    "cost_usd",
    "cost_usd_micros",
    "duration_ms",
    "request_id",
    "client_request_id",
    "status_code",
    "attempt",
    "total_attempts",
    "total_retry_duration_ms",
    "has_category",
    "category",
    "server_fallback_hop",
    "tool_source",
    "tool_parameters",
    "tool_input",
    "error_type",
    "decision_type",
    "decision_source",
    "mcp_server_scope",
    "from_mode",
    "to_mode",
    "trigger",
    "num_hooks",
    "pre_tokens",
    "post_tokens",
    "agent_type",
    "is_async",
    "total_tokens",
    "total_tool_uses",
    "ttft_ms",
];
