//! Variables that other agents know: each has its effect, or the table in `docs/settings.md` says no.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer, ScriptedFault};

use crate::driven::{LINES, StreamJsonProcess};
use crate::fixture::{FinishedCommand, ManualServer, TestDirs, play, run};

fn ok() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

fn ask(url: &str, flags: &[&str], variables: &[(&str, &str)]) -> (TestDirs, FinishedCommand) {
    let dirs = TestDirs::new();
    let mut command = dirs.asking(url, &["-p", "go"]);
    let finished = run(command.args(flags).envs(variables.iter().copied()));
    (dirs, finished)
}

/// The request that a prompt makes under these variables.
fn request_with(variables: &[(&str, &str)]) -> Value {
    let server = ok();
    let (_, finished) = ask(&server.url(), &[], variables);
    assert_eq!(finished.answer(), "ok\n", "{variables:?}");
    server.requests().pop().expect("a request").json().expect("JSON")
}

#[test]
fn turns_and_retries_are_limited_and_a_flag_goes_before() {
    let call = || ScriptedAnswer::call("Glob", json!({"pattern": "*"})).repeat(0);
    for (flags, turns) in [(&[][..], 2), (&["--max-turns", "1"][..], 1)] {
        let server = play(Script::new().answer(call()));
        let (_, finished) = ask(&server.url(), flags, &[("CLAUDE_CODE_MAX_TURNS", "2")]);
        assert_eq!((finished.code, server.request_count()), (Some(1), turns), "{finished:?}");
    }
    for (flags, requests) in [(&[][..], 3), (&["--max-retries", "0"][..], 1)] {
        let fault = ScriptedFault::DropConnection { reset: true };
        let server = play(Script::new().answer(ScriptedAnswer::from_fault(fault).repeat(0)));
        let (_, finished) = ask(&server.url(), flags, &[("CLAUDE_CODE_MAX_RETRIES", "2")]);
        assert_eq!((finished.code, server.request_count()), (Some(1), requests), "{finished:?}");
    }
}

#[test]
fn a_server_is_waited_for_as_long_as_the_variables_say() {
    let held = ManualServer::open();
    let waiting = std::thread::scope(|scope| {
        let hold = scope.spawn(|| held.request());
        let limit = [("API_TIMEOUT_MS", "400")];
        let (_, finished) = ask(&held.url(), &["--max-retries", "0"], &limit);
        drop(hold.join());
        finished
    });
    assert_eq!(waiting.code, Some(1), "{waiting:?}");
    assert!(waiting.stderr.contains("400 ms"), "{waiting:?}");
    let silent = ManualServer::open();
    let waiting = std::thread::scope(|scope| {
        let hold = scope.spawn(|| {
            let mut stream = silent.request();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
            stream.write_all(head.as_bytes()).expect("it reads");
            stream
        });
        let limit = [("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "400")];
        let (_, finished) = ask(&silent.url(), &["--max-retries", "0"], &limit);
        drop(hold.join());
        finished
    });
    assert_eq!(waiting.code, Some(1), "{waiting:?}");
}

#[test]
fn answers_and_windows_are_as_large_as_the_variables_say() {
    let usual = request_with(&[])["max_tokens"].as_u64().expect("a number");
    assert!(usual > 1_234);
    let limited = request_with(&[("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "1234")]);
    assert_eq!(limited["max_tokens"], 1_234);
    let window = |variables: &[(&str, &str)]| {
        let server = ok();
        let (_, finished) = ask(&server.url(), &["--output-format", "json"], variables);
        let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
        let (_, usage) =
            result["modelUsage"].as_object().expect("models").iter().next().expect("one");
        usage["contextWindow"].as_u64().expect("a number")
    };
    let usual = window(&[]);
    assert_eq!(window(&[("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "250000")]), 250_000);
    assert_eq!(window(&[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")]), usual / 2);
    assert_eq!(window(&[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "300000")]), 300_000);
}

#[test]
fn caching_effort_and_instructions_follow_the_variables() {
    let marks = |request: &Value| request.to_string().matches("cache_control").count();
    assert!(marks(&request_with(&[])) > 0);
    assert_eq!(marks(&request_with(&[("DISABLE_PROMPT_CACHING", "1")])), 0);
    assert_eq!(marks(&request_with(&[("DISABLE_PROMPT_CACHING_SONNET", "1")])), 0);
    assert!(marks(&request_with(&[("DISABLE_PROMPT_CACHING_OPUS", "1")])) > 0);
    let low = request_with(&[("CLAUDE_CODE_EFFORT_LEVEL", "low")]);
    assert!(low.to_string().contains("\"effort\":\"low\""), "{low}");
    for (variables, is_read) in [(&[][..], true), (&[("CLAUDE_CODE_SIMPLE", "1")][..], false)] {
        let dirs = TestDirs::new();
        std::fs::write(dirs.file("CLAUDE.md"), "Say aye.").expect("a file");
        let server = ok();
        let mut command = dirs.asking(&server.url(), &["-p", "go"]);
        assert_eq!(run(command.envs(variables.iter().copied())).answer(), "ok\n");
        let body = server.requests().pop().expect("a request").body;
        assert_eq!(body.contains("Say aye."), is_read, "{variables:?}");
    }
}

#[test]
fn calls_run_one_at_a_time_and_summaries_stay_off_if_the_variables_say_so() {
    let server = ok();
    let variables = [("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "3"), ("DISABLE_AUTO_COMPACT", "1")];
    let (dirs, finished) = ask(&server.url(), &[], &variables);
    assert_eq!(finished.answer(), "ok\n");
    let journal = std::fs::read_to_string(dirs.journals().pop().expect("a journal")).expect("text");
    assert!(journal.contains("\"tools_parallel_max\":3"), "{journal}");
    assert!(journal.contains("\"auto_compact\":false"), "{journal}");
}

#[test]
fn long_outputs_of_commands_are_cut_where_the_variable_says() {
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({"command": "seq 1 2000"})))
            .answer(ScriptedAnswer::text("ok")),
    );
    let limit = [("BASH_MAX_OUTPUT_LENGTH", "500")];
    let (_, finished) = ask(&server.url(), &["--allowedTools", "Bash"], &limit);
    assert_eq!(finished.answer(), "ok\n");
    let body = server.requests().pop().expect("a request").body;
    assert!(!body.contains("\\n1000\\n") && body.contains("\\n2000"), "{body}");
}

#[test]
fn long_outputs_go_where_the_variable_says_if_nothing_is_kept() {
    let dirs = TestDirs::new();
    let folder = dirs.work().join("scratch");
    std::fs::create_dir(&folder).expect("a folder");
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({"command": "seq 1 20000"})))
            .answer(ScriptedAnswer::text("ok")),
    );
    let flags = ["-p", "go", "--no-session-persistence", "--allowedTools", "Bash"];
    let mut command = dirs.asking(&server.url(), &flags);
    assert_eq!(run(command.env("CLAUDE_CODE_TMPDIR", &folder)).answer(), "ok\n");
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains(&format!("{}/windlass-", folder.display())), "{body}");
}

#[test]
fn a_small_model_of_the_environment_writes_the_title() {
    let dirs = TestDirs::new();
    let settings = dirs.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    std::fs::write(settings, json!({"afterRun": {"title": true}}).to_string()).expect("a file");
    let server = ok();
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    assert_eq!(run(command.env("ANTHROPIC_SMALL_FAST_MODEL", "claude-haiku-5-5")).answer(), "ok\n");
    let is_small = |body: &str| body.contains("\"model\":\"claude-haiku-5-5\"");
    assert!(server.requests().iter().any(|request| is_small(&request.body)));
}

/// A server whose one tool takes long, or says much.
const SERVER: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"slow","inputSchema":{"type":"object"}},{"name":"long","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"slow"'*) sleep 300 ;;
    *'"method":"tools/call"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"$(seq -s ' ' 1 4000)\"}]}" ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[test]
fn servers_are_waited_for_and_heard_as_the_variables_say() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("server.sh"), SERVER).expect("a file");
    let config =
        json!({"mcpServers": {"box": {"command": "sh", "args": ["server.sh"]}}}).to_string();
    let last_result = |tool: &str, variables: &[(&str, &str)]| {
        let name = format!("mcp__box__{tool}");
        let server = play(
            Script::new()
                .answer(ScriptedAnswer::call(
                    "ToolSearch",
                    json!({"query": format!("select:{name}")}),
                ))
                .answer(ScriptedAnswer::call(name, json!({})))
                .answer(ScriptedAnswer::text("done")),
        );
        let flags = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__box,ToolSearch"];
        let mut command = dirs.asking(&server.url(), &flags);
        let finished = run(command.envs(variables.iter().copied()));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        server.requests().pop().expect("a request").body
    };
    let slow = last_result("slow", &[("MCP_TOOL_TIMEOUT", "400")]);
    assert!(slow.contains("0.4 s") || slow.contains("400 ms"), "{slow}");
    let long = last_result("long", &[("MAX_MCP_OUTPUT_TOKENS", "200")]);
    assert!(!long.contains(" 2000 2001 "), "{long}");
    let whole = last_result("long", &[]);
    assert!(whole.contains(" 2000 2001 "), "{whole}");
}

#[test]
fn a_server_that_does_not_connect_in_time_has_failed() {
    let dirs = TestDirs::new();
    let config = json!({"mcpServers": {"box": {"command": "sleep", "args": ["300"]}}}).to_string();
    let server = ok();
    let arguments: Vec<&str> = LINES.iter().copied().chain(["--mcp-config", &config]).collect();
    let mut command = dirs.asking(&server.url(), &arguments);
    let mut driven = StreamJsonProcess::spawn(command.env("MCP_TIMEOUT", "300"));
    driven.prompt("go");
    // Without the variable it may take thirty seconds.
    let deadline = Instant::now() + Duration::from_secs(25);
    loop {
        let answer = driven.ask(&json!({"subtype": "mcp_status"})).expect("an answer");
        if answer.to_string().contains("failed") {
            break;
        }
        assert!(Instant::now() < deadline, "{answer}");
    }
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn a_proxy_of_the_environment_is_asked_unless_the_host_is_excepted() {
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", proxy.local_addr().expect("an address"));
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = proxy.accept().expect("a request");
        let mut bytes = vec![0; 4096];
        let read = stream.read(&mut bytes).expect("a request");
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    let url = "https://model.invalid";
    let retry = ["--max-retries", "0"];
    let (_, excepted) =
        ask(url, &retry, &[("HTTPS_PROXY", &address), ("NO_PROXY", "model.invalid")]);
    assert_eq!(excepted.code, Some(1), "{excepted:?}");
    let (_, finished) = ask(url, &retry, &[("HTTPS_PROXY", &address)]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    // The one that was excepted did not come here: the first that is heard is the second run's.
    assert!(heard.join().expect("heard").starts_with("CONNECT model.invalid:443"));
}

#[test]
fn a_value_that_means_nothing_is_left_out_with_a_line() {
    let server = ok();
    let variables = [("API_TIMEOUT_MS", "soon"), ("CLAUDE_CODE_MAX_TURNS", "0")];
    let (_, finished) = ask(&server.url(), &[], &variables);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"), "{finished:?}");
    for (name, _) in variables {
        assert!(finished.stderr.contains(name), "{finished:?}");
    }
}

/// The rows of the table: a variable, and the test that shows it or nothing.
fn documented() -> BTreeMap<String, Option<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let text = std::fs::read_to_string(page).expect("a page");
    let part = text.lines().skip_while(|line| *line != "## Every variable").skip(1);
    let part = part.take_while(|line| !line.starts_with("## "));
    let mut all = BTreeMap::new();
    for row in part.filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [named, effect, _, test] = cells.as_slice() else { panic!("four cells: {row}") };
        assert!(["yes", "no"].contains(effect), "{row}");
        let test = test.strip_prefix('`').and_then(|test| test.strip_suffix('`'));
        assert_eq!(test.is_some(), *effect == "yes", "{row}");
        for name in named.split(", ") {
            let before = all.insert(name.trim_matches('`').to_owned(), test.map(str::to_owned));
            assert!(before.is_none(), "{name} stands there twice");
        }
    }
    all
}

/// What scripts and clients of other agents set.
const KNOWN: &str = "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL ANTHROPIC_MODEL \
    ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL \
    ANTHROPIC_DEFAULT_FABLE_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_BETAS \
    ANTHROPIC_CUSTOM_HEADERS CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX CLAUDE_CODE_USE_FOUNDRY \
    OPENAI_API_KEY OPENAI_BASE_URL GEMINI_API_KEY GOOGLE_API_KEY CLAUDE_CONFIG_DIR API_TIMEOUT_MS \
    CLAUDE_CODE_MAX_RETRIES CLAUDE_STREAM_IDLE_TIMEOUT_MS CLAUDE_CODE_MAX_OUTPUT_TOKENS \
    CLAUDE_CODE_MAX_CONTEXT_TOKENS CLAUDE_CODE_AUTO_COMPACT_WINDOW CLAUDE_AUTOCOMPACT_PCT_OVERRIDE \
    DISABLE_AUTO_COMPACT DISABLE_PROMPT_CACHING DISABLE_PROMPT_CACHING_HAIKU \
    DISABLE_PROMPT_CACHING_SONNET DISABLE_PROMPT_CACHING_OPUS MAX_THINKING_TOKENS \
    CLAUDE_CODE_EFFORT_LEVEL CLAUDE_CODE_SUBAGENT_MODEL CLAUDE_CODE_MAX_TURNS \
    CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY MAX_STRUCTURED_OUTPUT_RETRIES BASH_DEFAULT_TIMEOUT_MS \
    BASH_MAX_TIMEOUT_MS BASH_MAX_OUTPUT_LENGTH CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX \
    CLAUDE_ENV_FILE CLAUDE_CODE_TMPDIR MCP_TIMEOUT MCP_TOOL_TIMEOUT MAX_MCP_OUTPUT_TOKENS \
    DISABLE_TELEMETRY CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_SIMPLE \
    CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD HTTPS_PROXY \
    HTTP_PROXY NO_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS NO_COLOR CLICOLOR_FORCE TERM COLORTERM \
    EDITOR VISUAL PAGER TZ LANG CLAUDE_CODE_ENABLE_TELEMETRY OTEL_* CLAUDECODE CLAUDE_PROJECT_DIR \
    CLAUDE_EFFORT DO_NOT_TRACK CLAUDE_CODE_ENHANCED_TELEMETRY_BETA ENABLE_ENHANCED_TELEMETRY_BETA \
    CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS CLAUDE_CODE_OTEL_DIAG_STDERR TRACEPARENT TRACESTATE \
    CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS \
    CLAUDE_CODE_OTEL_FLUSH_TIMEOUT_MS CLAUDE_CODE_PROPAGATE_TRACEPARENT BETA_TRACING_ENDPOINT \
    ENABLE_BETA_TRACING_DETAILED CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY \
    CLAUDE_CODE_CLIENT_KEY_PASSPHRASE \
    DISABLE_UPDATES DISABLE_AUTOUPDATER WINDLASS_RELEASES_URL";

#[test]
fn every_variable_is_shown_by_a_test_or_said_to_have_no_effect() {
    let table = documented();
    let mut known: Vec<&str> = KNOWN.split_whitespace().collect();
    known.sort_unstable();
    let named: Vec<&str> = table.keys().map(String::as_str).collect();
    assert_eq!(named, known, "the variables of the page, and those that are known");
    let tests = crate::keys::tests();
    for test in table.values().flatten() {
        assert!(tests.contains(&format!("fn {test}(")), "there is no test {test}");
    }
}
