//! Every key of a settings file: something comes of it, or `windlass doctor` says that nothing does. Here
//! are the keys that are shown nowhere else, and the table in `docs/settings.md` held against it all.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::conversation::talk::{READY, Talk};
use crate::driven::StreamJsonProcess;
use crate::fixture::{FinishedCommand, TestDirs, play, run};

#[allow(clippy::needless_pass_by_value, reason = "JSON is written where it is made")]
fn write(path: impl AsRef<Path>, text: impl ToString) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text.to_string()).expect("a file");
}

fn set(dirs: &TestDirs, settings: &Value) {
    write(dirs.home().join(".claude/settings.json"), settings);
}

fn ok() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

/// The request that one prompt makes.
fn request_for_prompt(dirs: &TestDirs, prompt: &str) -> Value {
    let server = ok();
    assert_eq!(run(&mut dirs.asking(&server.url(), &["-p", prompt])).answer(), "ok\n");
    server.requests().pop().expect("a request").json().expect("JSON")
}

#[test]
fn what_the_model_is_told_follows_from_settings() {
    let dirs = TestDirs::new();
    assert!(!request_for_prompt(&dirs, "go")["system"].to_string().contains("answer in"));
    set(&dirs, &json!({"language": "Frisian"}));
    assert!(request_for_prompt(&dirs, "go")["system"].to_string().contains("answer in Frisian"));
    // It can be told to think, and not to.
    assert_eq!(request_for_prompt(&dirs, "go")["thinking"]["type"], "adaptive");
    set(&dirs, &json!({"alwaysThinkingEnabled": false}));
    assert_eq!(request_for_prompt(&dirs, "go")["thinking"]["type"], "disabled");
    set(&dirs, &json!({"effortLevel": "low"}));
    assert!(request_for_prompt(&dirs, "go").to_string().contains("\"effort\":\"low\""));
}

#[test]
fn instructions_that_are_excluded_are_not_read() {
    let dirs = TestDirs::new();
    write(dirs.file("CLAUDE.md"), "Say aye.");
    assert!(request_for_prompt(&dirs, "go").to_string().contains("Say aye."));
    set(&dirs, &json!({"claudeMdExcludes": ["**/CLAUDE.md"]}));
    assert!(!request_for_prompt(&dirs, "go").to_string().contains("Say aye."));
}

#[test]
fn notes_are_read_from_where_settings_say() {
    let dirs = TestDirs::new();
    write(dirs.home().join("notes/MEMORY.md"), "- The sea is calm.");
    set(&dirs, &json!({"autoMemoryDirectory": "~/notes"}));
    assert!(request_for_prompt(&dirs, "go").to_string().contains("The sea is calm."));
    set(&dirs, &json!({"autoMemoryDirectory": "~/notes", "autoMemoryEnabled": false}));
    assert!(!request_for_prompt(&dirs, "go").to_string().contains("The sea is calm."));
}

#[test]
fn commands_in_pages_can_be_switched_off() {
    let dirs = TestDirs::new();
    let page = "---\nallowed-tools: Bash(echo:*)\n---\nIt is !`echo calm`.\n";
    write(dirs.home().join(".claude/commands/sea.md"), page);
    assert!(request_for_prompt(&dirs, "/sea").to_string().contains("It is calm."));
    set(&dirs, &json!({"disableSkillShellExecution": true}));
    let told = request_for_prompt(&dirs, "/sea").to_string();
    assert!(!told.contains("calm") && told.contains("disableSkillShellExecution"), "{told}");
}

#[test]
fn colours_are_those_of_the_settings() {
    let dirs = TestDirs::new();
    let server = ok();
    set(&dirs, &json!({"theme": "light"}));
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("hello\r");
    talk.until_sent("\u{1b}[1;34m> ");
    talk.until("ok");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn files_are_kept_to_be_taken_back_unless_settings_say_no() {
    for (settings, text) in
        [(json!({}), "old"), (json!({"fileCheckpointingEnabled": false}), "new")]
    {
        let dirs = TestDirs::new();
        set(&dirs, &settings);
        write(dirs.file("note.txt"), "old");
        let write_new = json!({"file_path": dirs.file("note.txt"), "content": "new"});
        let script = Script::new()
            .answer(ScriptedAnswer::call("Read", json!({"file_path": dirs.file("note.txt")})))
            .answer(ScriptedAnswer::call("Write", write_new))
            .answer(ScriptedAnswer::text("ok").repeat(0));
        let server = play(script);
        let flags = ["-p", "go", "--permission-mode", "acceptEdits"];
        assert_eq!(run(&mut dirs.asking(&server.url(), &flags)).answer(), "ok\n");
        run(&mut dirs.asking(&server.url(), &["-c", "-p", "/rewind 1"]));
        let left = std::fs::read_to_string(dirs.file("note.txt")).expect("a file");
        assert_eq!(left, text, "{settings}");
    }
}

/// A summary is asked for when the window is nearly full; the window may be made smaller, and nobody has
/// to want a summary.
#[test]
fn the_window_is_kept_to_and_summaries_can_be_switched_off() {
    let long = "word ".repeat(80_000);
    for (settings, requests) in [
        (json!({}), 2),
        (json!({"autoCompactWindow": 140_000}), 3),
        (json!({"autoCompactWindow": 140_000, "autoCompactEnabled": false}), 2),
    ] {
        let dirs = TestDirs::new();
        set(&dirs, &settings);
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({"command": "true"})))
            .answer(ScriptedAnswer::text("ok").repeat(0));
        let server = play(script);
        let mut command = dirs.asking(&server.url(), &["-p", "--allowedTools", "Bash"]);
        let finished = crate::fixture::run_with_input(&mut command, long.as_bytes());
        assert_eq!(finished.code, Some(0), "{settings} {finished:?}");
        assert_eq!(server.requests().len(), requests, "{settings} {finished:?}");
    }
}

#[test]
fn sessions_are_swept_after_the_days_of_the_settings() {
    use windlass_journal::transcript::{ImportedConversation, write_imported_journal};
    use windlass_journal::{JournalHead, SessionCatalogue};
    use windlass_vocabulary::{Message, MessageId, MessageOrigin};
    for (settings, is_left) in [(json!({}), true), (json!({"cleanupPeriodDays": 1}), false)] {
        let dirs = TestDirs::new();
        let server = ok();
        set(&dirs, &settings);
        let root = dirs.home().parent().expect("a folder").join("state/windlass/sessions");
        let journal = SessionCatalogue::new(&root).journal_path(&dirs.work(), "old");
        std::fs::create_dir_all(journal.parent().expect("a folder")).expect("a folder");
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_millis();
        let created = u64::try_from(now).expect("a time") - 3 * 24 * 60 * 60 * 1_000;
        let project = Some(dirs.work().to_string_lossy().into_owned());
        let head = JournalHead { project, created, ..JournalHead::default() };
        let hi = Message::user_text(MessageId(0), MessageOrigin::User, "hi");
        let imported =
            ImportedConversation { messages: vec![hi], ..ImportedConversation::default() };
        write_imported_journal(imported, &journal, &"old".into(), &head).expect("written");
        let file = std::fs::File::options().append(true).open(&journal).expect("a file");
        let days = std::time::Duration::from_secs(3 * 24 * 60 * 60);
        file.set_modified(std::time::SystemTime::now() - days).expect("a time");
        // Nobody waits for the broom, but a mark says that it has begun.
        let mut swept = false;
        for _ in 0..50 {
            let finished = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
            assert_eq!(finished.answer(), "ok\n");
            swept = root.join("swept").exists();
            if swept && journal.exists() == is_left {
                break;
            }
        }
        assert!(swept);
        assert_eq!(journal.exists(), is_left, "{settings}");
    }
}

/// A hook that posts a header with a variable, where settings name others.
#[test]
fn only_variables_that_settings_name_are_sent_by_hooks() {
    for (more, is_sent) in [
        (json!({}), true),
        (json!({"httpHookAllowedEnvVars": ["OTHER"]}), false),
        (json!({"httpHookAllowedEnvVars": ["TOKEN"]}), true),
    ] {
        let dirs = TestDirs::new();
        let server = ok();
        let listener = ok();
        let hook = json!({"type": "http", "url": format!("{}/hook", listener.url()),
            "headers": {"x-token": "is $TOKEN"}, "allowedEnvVars": ["TOKEN"]});
        let mut settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
        settings
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().expect("one"));
        set(&dirs, &settings);
        let mut command = dirs.asking(&server.url(), &["-p", "go"]);
        let finished = run(command.env("TOKEN", "seaworthy"));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let heard = listener.requests();
        let token = heard.iter().flat_map(|request| request.headers.iter());
        let token = token.filter(|(name, _)| name == "x-token").map(|(_, value)| value.clone());
        let token: Vec<String> = token.collect();
        assert_eq!(
            token.iter().any(|value| value.contains("seaworthy")),
            is_sent,
            "{more} {token:?}"
        );
    }
}

#[test]
fn betas_of_the_environment_reach_the_provider() {
    let dirs = TestDirs::new();
    let server = ok();
    let mut command = dirs.asking(&server.url(), &["-p", "go", "--betas", "one-2025"]);
    assert_eq!(run(command.env("ANTHROPIC_BETAS", "two-2025, three-2025")).answer(), "ok\n");
    let request = server.requests().pop().expect("a request");
    let sent: Vec<&str> = request
        .headers
        .iter()
        .filter(|(name, _)| name == "anthropic-beta")
        .map(|(_, value)| value.as_str())
        .collect();
    let sent = sent.join(",");
    for beta in ["one-2025", "two-2025", "three-2025"] {
        assert_eq!(sent.matches(beta).count(), 1, "{sent}");
    }
}

#[test]
fn the_servers_of_a_plugin_are_used_unless_they_are_not_wanted() {
    let dirs = TestDirs::new();
    let plugin = dirs.file("plug");
    write(plugin.join(".claude-plugin/plugin.json"), r#"{"name": "sail"}"#);
    write(plugin.join("server.sh"), crate::remote::SERVER);
    let server = json!({"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/server.sh"]});
    write(plugin.join(".mcp.json"), json!({"mcpServers": {"box": server}}));
    // They are called by their names, and asked about like any other.
    let call = ScriptedAnswer::call("mcp__sail_box__place", json!({}));
    for (flag, rule, wanted) in [
        ("--plugin-dir", "mcp__sail_box", "in "),
        ("--plugin-dir", "Read", "Nobody can be asked here"),
        ("--plugin-dir-no-mcp", "mcp__sail_box", "There is no tool"),
    ] {
        let server = play(Script::new().answer(call.clone()).answer(ScriptedAnswer::text("ok")));
        let flags = ["-p", "go", flag, "plug", "--allowedTools", rule];
        let finished = run(&mut dirs.asking(&server.url(), &flags));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let body = server.requests().pop().expect("a request").body.to_string();
        assert!(body.contains(wanted), "{flag} {rule}: {body}");
    }
    let mut driven = StreamJsonProcess::start(&dirs, &ok().url(), &["--plugin-dir-no-mcp", "plug"]);
    let status = driven.ask(&json!({"subtype": "mcp_status"})).expect("an answer");
    assert_eq!(status["mcpServers"], json!([]), "{status:#}");
    assert_eq!(driven.end().code, Some(0));
}

fn keys(schema: &Value, all: &Value, before: &str, found: &mut Vec<String>) {
    let referred = |value: &Value| {
        let name = value["$ref"].as_str().and_then(|name| name.rsplit('/').next())?.to_owned();
        Some(all["$defs"][&name].clone())
    };
    for (name, value) in schema["properties"].as_object().into_iter().flatten() {
        let key = format!("{before}{name}");
        let mut inner: Vec<Value> = referred(value).into_iter().collect();
        let options = value["anyOf"].as_array().cloned().unwrap_or_default();
        for option in options {
            let option = referred(&option).unwrap_or(option);
            inner.extend(option["anyOf"].as_array().into_iter().flatten().filter_map(referred));
            inner.push(option);
        }
        let before = format!("{key}.");
        let count = found.len();
        inner.iter().for_each(|inner| keys(inner, all, &before, found));
        if found.len() == count {
            found.push(key);
        }
    }
}

/// The rows of the table: a key, and the test that shows it or nothing.
fn documented(text: &str) -> BTreeMap<String, Option<String>> {
    let part = text.lines().skip_while(|line| *line != "## Every key").skip(1);
    let part = part.take_while(|line| !line.starts_with("## "));
    let rows = part.filter(|line| line.starts_with("| `"));
    let mut all = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [named, _, test] = cells.as_slice() else { panic!("three cells: {row}") };
        for key in named.split(", ") {
            let test = test.strip_prefix('`').and_then(|test| test.strip_suffix('`'));
            let before = all.insert(key.trim_matches('`').to_owned(), test.map(str::to_owned));
            assert!(before.is_none(), "{key} stands there twice");
        }
    }
    all
}

/// Every test of the crates that know settings.
pub(crate) fn tests() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = String::new();
    for folder in
        ["cli/tests", "cli/src", "settings/tests", "driver/tests", "hook/tests", "tool/tests"]
    {
        read_below(&crates.join(folder), &mut all);
    }
    all
}

#[test]
fn every_key_is_shown_by_a_test_or_reported_by_the_doctor() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let schema = std::fs::read_to_string(docs.join("settings.schema.json")).expect("a file");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let mut known = Vec::new();
    keys(&schema, &schema, "", &mut known);
    known.sort();
    known.dedup();
    let text = std::fs::read_to_string(docs.join("settings.md")).expect("a file");
    let table = documented(&text);
    let named: Vec<&String> = table.keys().collect();
    assert_eq!(named, known.iter().collect::<Vec<_>>(), "the keys of the schema and of the page");
    let tests = tests();
    for test in table.values().flatten() {
        assert!(tests.contains(&format!("fn {test}(")), "there is no test {test}");
    }
    let idle: Vec<&str> =
        table.iter().filter(|(_, t)| t.is_none()).map(|(k, _)| k.as_str()).collect();
    let dirs = TestDirs::new();
    let sample = sample();
    set(&dirs, &sample);
    let report = doctor(&dirs, &["--json"]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let mut told: Vec<&str> = report["without_effect"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    told.sort_unstable();
    assert_eq!(told, idle, "what the doctor says has no effect, and the page");
    let words = doctor(&dirs, &[]).stdout;
    for key in idle {
        let line = words.lines().find(|line| line.trim().starts_with(&format!("{key} ")));
        assert!(line.is_some_and(|line| line.ends_with("(no effect here)")), "{key}:\n{words}");
    }
}

fn doctor(dirs: &TestDirs, flags: &[&str]) -> FinishedCommand {
    run(dirs.windlass(&["doctor"]).args(flags))
}

/// Every key that may be without effect, set to something.
fn sample() -> Value {
    json!({
        "$schema": "x", "attribution": {"commit": "a", "pr": "b"}, "includeCoAuthoredBy": true,
        "extraKnownMarketplaces": {}, "respectGitignore": true, "plansDirectory": "x",
        "language": "x", "theme": "dark", "statusLine": {"type": "command", "command": "true", "padding": 1},
        "availableModels": ["sonnet"], "afterRun": {"title": true, "questions": true}, "fileCheckpointingEnabled": true,
        "sandbox": {
            "enabled": false, "autoAllowBashIfSandboxed": true, "excludedCommands": ["x"],
            "enableWeakerNestedSandbox": true,
            "network": {"allowedDomains": ["a"], "deniedDomains": ["b"], "allowUnixSockets": ["/x"],
                "allowLocalBinding": true, "httpProxyPort": 1, "socksProxyPort": 2},
            "filesystem": {"allowRead": ["x"], "disabled": true},
        },
    })
}

#[test]
fn what_asks_by_a_rule_asks_whatever_else_is_allowed() {
    for (settings, is_made) in
        [(json!({}), true), (json!({"permissions": {"ask": ["Bash(touch:*)"]}}), false)]
    {
        let dirs = TestDirs::new();
        set(&dirs, &settings);
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
            .answer(ScriptedAnswer::text("ok"));
        let server = play(script);
        let flags = ["-p", "go", "--dangerously-skip-permissions"];
        assert_eq!(run(&mut dirs.asking(&server.url(), &flags)).code, Some(0));
        assert_eq!(dirs.file("made.txt").exists(), is_made, "{settings}");
    }
}

#[test]
fn a_program_of_the_settings_gives_the_key() {
    let dirs = TestDirs::new();
    let server = ok();
    set(&dirs, &json!({"apiKeyHelper": "echo key-of-a-helper"}));
    let mut command = dirs.windlass(&["-p", "go"]);
    assert_eq!(run(command.env("ANTHROPIC_BASE_URL", server.url())).answer(), "ok\n");
    let request = server.requests().pop().expect("a request");
    let sent = request.headers.iter().any(|(_, value)| value.contains("key-of-a-helper"));
    assert!(sent, "{:?}", request.headers);
}

/// A project's program for keys is asked again when a key is refused, if it is still what was trusted.
#[test]
fn a_projects_program_for_keys_that_was_changed_is_not_started_again() {
    for (change, calls) in [("true", 2), ("echo '# changed' >> helper.sh", 1)] {
        let dirs = TestDirs::new();
        write(dirs.file(".claude/settings.json"), json!({"apiKeyHelper": "sh ./helper.sh"}));
        write(dirs.file("helper.sh"), "echo called >> calls; echo a-key-$(wc -l < calls)\n");
        let refused = ScriptedAnswer::from_fault(windlass_rehearsal::ScriptedFault::refuse(401));
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({ "command": change })))
            .answer(refused)
            .answer(ScriptedAnswer::text("ok").repeat(0));
        let server = play(script);
        let flags = ["-p", "go", "--trust-project", "--dangerously-skip-permissions"];
        let finished = run(dirs.windlass(&flags).env("ANTHROPIC_BASE_URL", server.url()));
        let called = std::fs::read_to_string(dirs.file("calls")).expect("it was called");
        assert_eq!(called.lines().count(), calls, "{change}: {finished:?}");
    }
}

/// What a model is told of one command that runs in the sandbox of these settings; nothing where there
/// can be no sandbox.
#[cfg(target_os = "linux")]
fn run_sandboxed(
    dirs: &TestDirs,
    sandbox: &Value,
    input: &Value,
    flags: &[&str],
) -> Option<String> {
    let mut settings = json!({"sandbox": {"enabled": true, "failIfUnavailable": true}});
    let more = sandbox.as_object().cloned().expect("an object");
    settings["sandbox"].as_object_mut().expect("an object").extend(more);
    set(dirs, &settings);
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", input.clone()))
        .answer(ScriptedAnswer::text("Over."));
    let server = play(script);
    let finished = run(dirs.asking(&server.url(), &["-p", "go"]).args(flags));
    if finished.code == Some(1) && finished.stderr.contains("required and not available") {
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{finished:?}");
        return None;
    }
    assert_eq!(finished.code, Some(0), "{finished:?}");
    Some(server.requests().last().expect("a request").body.to_string())
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_is_what_settings_say() {
    let dirs = TestDirs::new();
    let out = json!({"command": "touch in.txt; touch ~/out.txt"});
    let is_out = || std::fs::remove_file(dirs.home().join("out.txt")).is_ok();
    let Some(told) = run_sandboxed(&dirs, &json!({}), &out, &[]) else { return };
    assert!(dirs.file("in.txt").exists() && !is_out(), "it runs unasked, and inside: {told}");
    let asks = json!({"autoAllowBashIfSandboxed": false});
    let told = run_sandboxed(&dirs, &asks, &out, &[]).expect("a sandbox");
    assert!(told.contains("Nobody can be asked here"), "{told}");
    let all = ["--dangerously-skip-permissions"];
    let one = json!({"command": "touch ~/out.txt"});
    run_sandboxed(&dirs, &json!({"excludedCommands": ["touch"]}), &one, &all).expect("a sandbox");
    assert!(is_out(), "it runs outside");
    let leaving = json!({"command": "touch ~/out.txt", "dangerouslyDisableSandbox": true});
    let told = run_sandboxed(&dirs, &json!({}), &leaving, &all).expect("a sandbox");
    assert!(!is_out() && told.contains("It asks to run without the sandbox"), "{told}");
    let kept = json!({"allowUnsandboxedCommands": false});
    let told = run_sandboxed(&dirs, &kept, &leaving, &all).expect("a sandbox");
    assert!(!is_out() && told.contains("may not be left here"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_holds_the_files_that_settings_name() {
    let dirs = TestDirs::new();
    for folder in ["shared", "secret", "secret/open"] {
        write(dirs.home().join(folder).join("note.txt"), format!("note of {folder}"));
    }
    std::fs::create_dir_all(dirs.file("kept")).expect("a folder");
    let files = json!({"filesystem": {"allowWrite": ["~/shared"], "denyWrite": ["kept"],
        "denyRead": ["~/secret"], "allowRead": ["~/secret/open"]}});
    let command = "touch ~/shared/a kept/b here; cat ~/secret/note.txt ~/secret/open/note.txt";
    let Some(told) = run_sandboxed(&dirs, &json!({}), &json!({"command": command}), &[]) else {
        return;
    };
    assert!(dirs.file("kept/b").exists() && !dirs.home().join("shared/a").exists(), "{told}");
    std::fs::remove_file(dirs.file("kept/b")).expect("removed");
    let told = run_sandboxed(&dirs, &files, &json!({"command": command}), &[]).expect("a sandbox");
    assert!(dirs.file("here").exists() && dirs.home().join("shared/a").exists(), "{told}");
    assert!(!dirs.file("kept/b").exists(), "{told}");
    assert!(!told.contains("note of secret\\n") && !told.contains("note of secretnote"), "{told}");
    assert!(told.contains("note of secret/open"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_reaches_whom_settings_name() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    let dirs = TestDirs::new();
    let server = ok();
    let url = server.url();
    let host = url.strip_prefix("http://").expect("an address");
    let fetch = json!({"command": format!(
        "curl -sS -m 20 --noproxy '' -x \"$http_proxy\" {url}/nowhere; echo code $?"
    )});
    let hosts = |allowed: &[&str], denied: &[&str]| json!({"network": {"allowedDomains": allowed, "deniedDomains": denied}});
    let Some(told) = run_sandboxed(&dirs, &hosts(&[], &[]), &fetch, &[]) else { return };
    assert!(!told.contains("code 0"), "{told}");
    let told = run_sandboxed(&dirs, &hosts(&[host], &[]), &fetch, &[]).expect("a sandbox");
    assert!(told.contains("code 0"), "{told}");
    let told = run_sandboxed(&dirs, &hosts(&[host], &[host]), &fetch, &[]).expect("a sandbox");
    assert!(told.contains("not on the list of hosts"), "{told}");
    // A socket in a folder that commands do not see.
    let place = dirs.home().join(".config/gh/socket");
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    let listener = UnixListener::bind(&place).expect("a socket");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            // What is not read would be lost with the answer.
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nfrom the socket");
        }
    });
    let command = format!("curl -sS -m 20 --unix-socket {} http://x/; echo", place.display());
    let ask = json!({ "command": command });
    let told = run_sandboxed(&dirs, &json!({}), &ask, &[]).expect("a sandbox");
    assert!(!told.contains("from the socket"), "{told}");
    let sockets = json!({"network": {"allowUnixSockets": [place]}});
    let told = run_sandboxed(&dirs, &sockets, &ask, &[]).expect("a sandbox");
    assert!(told.contains("from the socket"), "{told}");
}

/// Adds the texts of all files below a folder.
pub(crate) fn read_below(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => read_below(&path, all),
            path => all.push_str(&std::fs::read_to_string(path).unwrap_or_default()),
        }
    }
}
