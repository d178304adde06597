//! Telemetry of what a session is made of: hooks, plugins, MCP servers, commands; and of whole bodies.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer as Says};

use crate::collector::{Collector, CollectorBehaviour, attribute};
use crate::fixture::{TestDirs, play, run};
use crate::remote::SERVER;
use crate::telemetry::send_to;

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
