//! Telemetry of what a session is made of: hooks, plugins, MCP servers, commands; and of whole bodies.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer as Says};

use crate::collector::{Collector, CollectorBehaviour, attribute};
use crate::fixture::{TestDirs, play, run};
use crate::remote::SERVER;
use crate::telemetry::send_to;
use crate::tls_server::TlsServer;

/// A project with a plugin and an MCP server, and the collector of a run that uses both.
fn run_with_plugin(variables: &[(&str, &str)]) -> Collector {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    for (path, text) in [
        ("server.sh", SERVER),
        ("notes.txt", "some notes\n"),
        ("plug/.claude-plugin/plugin.json", r#"{"name": "plug", "version": "1.2.3"}"#),
        ("plug/commands/greet.md", "Greet the reader of $ARGUMENTS and of @absent.txt now"),
        ("plug/skills/look/SKILL.md", "---\nname: look\ndescription: Looks.\n---\nLook."),
        (
            "plug/hooks/hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#,
        ),
    ] {
        let path = dirs.file(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let server = play(
        Script::new()
            .answer(Says::call("Skill", json!({"skill": "plug:look"})))
            .answer(Says::call("mcp__box__place", json!({})))
            .answer(Says::text("done with it")),
    );
    let hook = json!({"type": "command", "command": "true"});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    let (settings, servers) = (
        settings.to_string(),
        json!({"mcpServers": {"box": {"command": "sh", "args": ["server.sh"]}}}).to_string(),
    );
    let mut command = dirs.asking(
        &server.url(),
        &[
            "-p",
            "/plug:greet @notes.txt",
            "--dangerously-skip-permissions",
            "--plugin-dir",
            "plug",
            "--settings",
            &settings,
            "--mcp-config",
            &servers,
        ],
    );
    let finished =
        run(send_to(&mut command, "http/json", collector.url()).envs(variables.iter().copied()));
    assert_eq!(finished.stdout, "done with it\n", "{finished:?}");
    collector
}

/// The values of these attributes, for each event or data point of this name.
fn values(records: &[Value], field: &str, name: &str, attributes: &[&str]) -> Vec<Vec<String>> {
    let found = records.iter().filter(|one| one[field] == name);
    let show = |one: &Value| {
        attributes.iter().map(|name| attribute(one, name).unwrap_or_default()).collect()
    };
    found.map(show).collect()
}

fn event_values(collector: &Collector, name: &str, attributes: &[&str]) -> Vec<Vec<String>> {
    values(&collector.events(), "eventName", &format!("claude_code.{name}"), attributes)
}

#[test]
fn hooks_plugins_servers_commands_and_mentions_are_reported_by_name_on_request() {
    let collector = run_with_plugin(&[("OTEL_LOG_TOOL_DETAILS", "1")]);
    let told = |name: &str, attributes: &[&str]| event_values(&collector, name, attributes);
    let mut hooks = told(
        "hook_registered",
        &["hook_event", "hook_type", "hook_source", "hook_matcher", "plugin.name"],
    );
    hooks.sort();
    assert_eq!(
        hooks,
        [
            ["PreToolUse", "command", "flagSettings", "Bash", ""],
            ["Stop", "command", "pluginHook", "", "plug"],
        ]
    );
    assert_eq!(
        told(
            "plugin_loaded",
            &["plugin.name", "plugin.version", "has_hooks", "has_mcp", "skill_path_count"]
        ),
        [["plug", "1.2.3", "true", "false", "1"]]
    );
    let connections = told(
        "mcp_server_connection",
        &["status", "transport_type", "server_scope", "is_plugin", "server_name"],
    );
    assert_eq!(connections[0], ["connected", "stdio", "dynamic", "false", "box"]);
    assert_eq!(
        told("user_prompt", &["command_name", "command_source"]),
        [["plug:greet", "custom"]]
    );
    assert_eq!(told("at_mention", &["mention_type", "success"]), [["file", "true"]]);
    let results = told("tool_result", &["tool_name", "mcp_server_scope"]);
    assert_eq!(results, [["Skill", ""], ["mcp__box__place", "dynamic"]]);
    let requests =
        told("api_request", &["skill.name", "plugin.name", "mcp_server.name", "mcp_tool.name"]);
    assert_eq!(
        requests,
        [["", "", "", ""], ["plug:look", "plug", "", ""], ["plug:look", "plug", "box", "place"],]
    );
}

#[test]
fn names_that_users_chose_are_not_sent_unless_they_ask() {
    let collector = run_with_plugin(&[]);
    let told = |name: &str, attributes: &[&str]| event_values(&collector, name, attributes);
    assert_eq!(told("plugin_loaded", &["plugin.name", "plugin.version"]), [["third-party", ""]]);
    assert_eq!(told("user_prompt", &["command_name", "command_source"]), [["custom", "custom"]]);
    assert_eq!(told("mcp_server_connection", &["status", "server_name"])[0], ["connected", ""]);
    let requests = told("api_request", &["skill.name", "plugin.name", "mcp_server.name"]);
    assert_eq!(requests[2], ["custom", "third-party", "custom"]);
    let metrics = collector.metrics();
    let costs = metrics.iter().filter(|metric| metric["name"] == "claude_code.cost.usage");
    let points = costs.filter_map(|metric| metric["sum"]["dataPoints"].as_array()).flatten();
    let servers: Vec<_> = points.filter_map(|point| attribute(point, "mcp_server.name")).collect();
    assert_eq!(servers, ["custom"]);
    assert!(event_values(&collector, "api_request_body", &[]).is_empty());
    assert!(collector.spans().iter().all(|span| span["name"] != "claude_code.hook"));
    for request in collector.requests() {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        for name in ["plug:greet", "\"plug\"", "mcp__box", "\"box\"", "1.2.3", "notes.txt"] {
            assert!(!body.contains(name), "{name} in {body}");
        }
    }
}

#[test]
fn whole_bodies_and_spans_of_hooks_are_sent_on_request() {
    let collector =
        run_with_plugin(&[("OTEL_LOG_RAW_API_BODIES", "1"), ("ENABLE_BETA_TRACING_DETAILED", "1")]);
    let told = |name: &str, attributes: &[&str]| event_values(&collector, name, attributes);
    let sent = told("api_request_body", &["body", "body_length", "query_source", "body_truncated"]);
    assert_eq!(sent.len(), 3, "one for each request");
    let [body, length, source, cut] = sent[0].as_slice() else { panic!("{sent:?}") };
    let parsed: Value = serde_json::from_str(body).expect("the whole body");
    assert!(parsed["messages"].to_string().contains("Greet the reader of"), "{parsed}");
    assert_eq!((length.parse().ok(), source.as_str()), (Some(body.encode_utf16().count()), "main"));
    assert_eq!(cut, "");
    let answers = told("api_response_body", &["body", "model", "request_id"]);
    let last: Value = serde_json::from_str(&answers[2][0]).expect("an answer");
    assert_eq!(last["content"], json!([{"type": "text", "text": "done with it"}]), "{last}");
    assert!(!answers[2][1].is_empty() && !answers[2][2].is_empty(), "{answers:?}");
    let spans = collector.spans();
    let hook = ["hook_event", "num_success", "span.type"];
    let hooks = values(&spans, "name", "claude_code.hook", &hook);
    assert_eq!(hooks, [["Stop", "1", "hook"]]);
    let cut = run_with_plugin(&[
        ("OTEL_LOG_RAW_API_BODIES", "1"),
        ("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", "100"),
    ]);
    let cut = event_values(&cut, "api_request_body", &["body", "body_truncated"]);
    assert!(cut[0][0].ends_with("[TRUNCATED]") && cut[0][1] == "true", "{cut:?}");
}

#[test]
fn whole_bodies_go_to_the_files_that_the_variable_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let bodies = folder.path().join("new/bodies");
    let value = format!("file:{}", bodies.display());
    let collector = run_with_plugin(&[
        ("OTEL_LOG_RAW_API_BODIES", &value),
        ("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", "100"),
    ]);
    for (name, expected) in
        [("api_request_body", r#"some notes"#), ("api_response_body", "done with it")]
    {
        let told = event_values(
            &collector,
            name,
            &["body_ref", "body_length", "body", "body_truncated", "query_source"],
        );
        assert_eq!(told.len(), 3, "{told:?}");
        for one in &told {
            let [path, length, body, cut, source] = one.as_slice() else { panic!("{one:?}") };
            let path = std::path::Path::new(path);
            assert_eq!(path.parent(), Some(bodies.as_path()), "{one:?}");
            let text = std::fs::read_to_string(path).expect("a body");
            let _: Value = serde_json::from_str(&text).expect("the whole body");
            assert_eq!(length.parse().ok(), Some(text.encode_utf16().count()), "{one:?}");
            assert_eq!([body.as_str(), cut, source], ["", "", "main"]);
            assert!(!text.contains("test-key"), "{text}");
            let mode = path.metadata().expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let last = std::fs::read_to_string(&told[2][0]).expect("a body");
        assert!(last.contains(expected), "{last}");
    }
    let mode = bodies.metadata().expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    for request in collector.requests() {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        assert!(!body.contains("some notes") && !body.contains("done with it"), "{body}");
    }
}

#[test]
fn a_folder_for_bodies_that_cannot_be_used_is_named() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("taken"), "").expect("a file");
    for (value, words) in [
        ("file:bodies".to_owned(), "needs an absolute path"),
        (format!("file:{}/x", dirs.file("taken").display()), "a body was not written to"),
    ] {
        let collector = Collector::start(CollectorBehaviour::Accept);
        let server = play(Script::new().answer(Says::text("ok")));
        let mut command = dirs.asking(&server.url(), &["-p", "go"]);
        let finished = run(send_to(&mut command, "http/json", collector.url())
            .env("OTEL_LOG_RAW_API_BODIES", &value)
            .env("CLAUDE_CODE_OTEL_DIAG_STDERR", "1"));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"), "{finished:?}");
        assert!(finished.stderr.contains(words), "{finished:?}");
        let told = event_values(&collector, "api_request_body", &["body", "body_ref"]);
        assert!(told.iter().flatten().all(String::is_empty), "{told:?}");
    }
}

#[test]
fn what_calls_cost_is_told_although_they_end_before_the_answer() {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    std::fs::write(dirs.file("notes.txt"), "some notes\n").expect("a file");
    let call = Says::call("Read", json!({"file_path": dirs.file("notes.txt")}));
    // The file is read long before the last of these words comes.
    let call = call.text_after("word ".repeat(30)).chunk(5).pace(Duration::from_millis(40));
    let server = play(Script::new().answer(call).answer(Says::text("ok")));
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(send_to(&mut command, "http/json", collector.url()));
    assert_eq!(finished.stdout, "ok\n", "{finished:?}");
    let told = event_values(&collector, "api_request", &["input_tokens", "cost_usd_micros"]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().flatten().all(|number| number != "0"), "{told:?}");
    let micros: f64 = told.iter().filter_map(|one| one[1].parse::<f64>().ok()).sum();
    let metrics = collector.metrics();
    let costs = metrics.iter().filter(|metric| metric["name"] == "claude_code.cost.usage");
    let points = costs.filter_map(|metric| metric["sum"]["dataPoints"].as_array()).flatten();
    let counted: f64 = points.filter_map(|point| point["asDouble"].as_f64()).sum();
    assert!((counted * 1e6 - micros).abs() < 0.5, "{counted} and {told:?}");
}

#[test]
fn a_collector_that_wants_a_certificate_of_the_client_gets_it() {
    let client = rcgen::generate_simple_self_signed(["client".to_owned()]).expect("a certificate");
    let server = TlsServer::start_for(rustls::ALL_VERSIONS, Some(client.cert.der()));
    let dirs = TestDirs::new();
    let write = |name: &str, text: &str| {
        std::fs::write(dirs.file(name), text).expect("a file");
        dirs.file(name)
    };
    let trusted = write("trusted.pem", &server.pem);
    let certificate = write("client.pem", &client.cert.pem());
    let key = write("client.key", &client.signing_key.serialize_pem());
    let locked = write("locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    let model = play(Script::new().answer(Says::text("ok").repeat(0)));
    let ask = |variables: &[(&str, &std::path::Path)]| {
        for _ in 0..20 {
            server.go_on.send(()).expect("a server");
        }
        let mut command = dirs.asking(&model.url(), &["-p", "go"]);
        let finished = run(send_to(&mut command, "http/json", &server.url)
            .env("NODE_EXTRA_CA_CERTS", &trusted)
            .env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "30000")
            .env("CLAUDE_CODE_OTEL_DIAG_STDERR", "1")
            .envs(variables.iter().copied()));
        assert_eq!(finished.stdout, "ok\n", "{finished:?}");
        finished.stderr
    };
    let own = ("CLAUDE_CODE_CLIENT_CERT", certificate.as_path());
    let told = ask(&[own, ("CLAUDE_CODE_CLIENT_KEY", &key)]);
    assert_eq!(told, "");
    assert!(ask(&[]).contains("were not sent"));
    let told = ask(&[own, ("CLAUDE_CODE_CLIENT_KEY", &locked)]);
    assert!(told.contains("keys with a passphrase are not supported"), "{told}");
}

#[test]
fn spans_in_detail_go_to_an_address_of_their_own() {
    let (dirs, collector) = (TestDirs::new(), Collector::start(CollectorBehaviour::Accept));
    let server = play(Script::new().answer(Says::text("ok")));
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(command
        .env("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        .env("ENABLE_BETA_TRACING_DETAILED", "1")
        .env("BETA_TRACING_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=collector-secret"));
    assert_eq!(finished.answer(), "ok\n");
    assert!(collector.spans().iter().any(|span| span["name"] == "claude_code.llm_request"));
    assert_eq!(event_values(&collector, "api_request", &["query_source"]), [["main"]]);
    assert!(collector.metrics().is_empty());
    assert!(collector.requests().iter().all(|one| !one.head.contains("x-key")));
}
