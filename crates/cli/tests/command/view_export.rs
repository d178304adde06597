//! `windlass export`: every form of a session to share, without its secrets.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::view::{key, make_session};

#[test]
fn an_export_holds_everything_but_secrets() {
    let dirs = TestDirs::new();
    let id = make_session(&dirs);
    let file = dirs.file("session.html");
    let exported =
        run(&mut dirs.windlass(&["export", "--redact-paths", "--html", file.to_str().unwrap()]));
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    assert!(exported.stderr.contains("Taken out: key, "), "{}", exported.stderr);
    assert!(exported.stderr.contains("Taken out: path, "), "{}", exported.stderr);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(!page.contains(&key()) && !page.contains(&*dirs.work().to_string_lossy()));
    let data =
        page.split("id=\"windlass-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!data.contains('<'));
    let data: Value = serde_json::from_str(data).unwrap();
    let items = &data[format!("/api/sessions/{id}/items?from=0&to=200")]["items"];
    assert_eq!(items.as_array().unwrap().len(), 13);
    assert!(items.to_string().contains("token [redacted]"), "{items}");
    assert_eq!(data["/api/hello"]["export"], true);
    assert_eq!(data["redactions"][0]["kind"], "key");
    assert!(data.as_object().unwrap().keys().any(|path| path.contains("/diff?call=")));
    // Nothing in it is loaded from anywhere.
    assert!(page.contains(
        "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"
    ));
    assert!(!page.contains("src=\"/") && !page.contains("href=\"/"));
    for (flag, expected) in
        [("--markdown", "# Session"), ("--json", "{\"/api/"), ("--trace", "\"traceEvents\"")]
    {
        let printed = run(&mut dirs.windlass(&["export", &id, flag, "-"]));
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        assert!(printed.stdout.contains(expected) && !printed.stdout.contains(&key()), "{flag}");
    }
    half_keys_are_left_in_no_export();
    let none = run(&mut dirs.windlass(&["export"]));
    assert_eq!(none.code, Some(2), "{}", none.stderr);
}

/// Texts, labels and parsed Markdown are cut at lengths of their own, and a key lies across each of them.
fn half_keys_are_left_in_no_export() {
    let dirs = TestDirs::new();
    let key = key();
    let across = |length: usize| format!("{} {key} ", "x".repeat(length - 12));
    // Labels of a timeline, titles of calls, prompts in lists, reasons, answers.
    let prompt = format!("{}\n{}", across(80), across(120));
    let command = format!("echo {}", across(110));
    let answer = format!("{}{}", "word ".repeat((32 << 10) / 5 - 4), across(40));
    let script = Script::new()
        .answer(ScriptedAnswer::text("I look.").tool("Bash", json!({"command": command})))
        .answer(ScriptedAnswer::text(answer));
    let server = play(script);
    let arguments = ["-p", &prompt, "--dangerously-skip-permissions"];
    let asked = run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    for flag in ["--html", "--json", "--markdown", "--trace"] {
        let printed = run(&mut dirs.windlass(&["export", flag, "-"]));
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        let at = printed.stdout.find(&key[..6]);
        let around = at.map(|at| &printed.stdout[at.saturating_sub(60)..at + 40]);
        assert_eq!(around, None, "{flag}");
    }
}

/// Colours, escapes, base64, fields and variables with telling names, keys without their beginning or end, and
/// keys that a command prints in two pieces.
#[test]
fn secrets_in_other_forms_are_left_in_no_export() {
    let dirs = TestDirs::new();
    let key = format!("ghp{}", "_A1b2C3d4E5f6G7h8I9j0K1l2");
    // `key: ` and the key, and `me:` and the known value.
    let encoded =
        ["a2V5OiBnaHBfQTFiMkMzZDRFNWY2RzdoOEk5ajBLMWwy", "bWU6ZW52c2VjcmV0LTk4NzY1NDMyMTAteno="];
    let lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"];
    std::fs::write(
        dirs.file("printed"),
        format!(
            "DB_PASSWORD=tr0ub4dor-and-3\n\u{1b}[31m{key}\u{1b}[0m\ntoken: {}\nknown: {}\n{}\n{}\n\
             -----{} PRIVATE KEY-----\n",
            encoded[0], encoded[1], lines[0], lines[1], "END"
        ),
    )
    .unwrap();
    let script = Script::new()
        .answer(
            ScriptedAnswer::text(format!("It is {}.", key.replace('_', "\\_")))
                .tool("Bash", json!({"command": "cat printed", "password": "S3cretOfACall"})),
        )
        .answer(ScriptedAnswer::text("done, see &#101;nvsecret-9876543210-zz"));
    let server = play(script);
    let arguments = ["-p", "look", "--dangerously-skip-permissions"];
    let asked = run(&mut dirs.asking(&server.url(), &arguments));
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    for flag in ["--html", "--json", "--markdown", "--trace"] {
        let mut command = dirs.windlass(&["export", flag, "-"]);
        let printed = run(command.env("OF_MINE_TOKEN", "envsecret-9876543210-zz"));
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        let pieces = ["A1b2C3d4", "tr0ub4dor", "S3cretOf", "nvsecret-98", lines[0], lines[1]];
        for piece in pieces.into_iter().chain(encoded.map(|word| &word[8..20])) {
            let at = printed.stdout.find(piece);
            let around = at.map(|at| &printed.stdout[at.saturating_sub(40)..at + 10]);
            assert_eq!(around, None, "{flag}");
        }
        if matches!(flag, "--json" | "--trace") {
            serde_json::from_str::<Value>(&printed.stdout).expect("JSON");
        }
    }
}
