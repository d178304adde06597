//! What may run in a session that nobody watches.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{FinishedCommand, TestDirs, play, run};

/// A model that wants to write a file, and says so.
fn wants_to_write() -> Script {
    Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Over."))
}

fn ask(dirs: &TestDirs, flags: &[&str]) -> (FinishedCommand, Value) {
    let server = play(wants_to_write());
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    command.args(flags);
    let finished = run(&mut command);
    let requests = server.requests();
    let last = requests.last().expect("a request").json().expect("JSON");
    (finished, last)
}

#[test]
fn what_would_have_to_be_asked_is_denied_and_told() {
    let dirs = TestDirs::new();
    let (finished, last) = ask(&dirs, &[]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "Over.\n"));
    assert!(!dirs.file("made.txt").exists());
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    assert!(finished.stderr.contains("not allowed: Bash touch made.txt:"), "{finished:?}");
    assert!(finished.stderr.contains("--allowedTools"), "{finished:?}");
    let said = last["messages"].to_string();
    assert!(said.contains("\"is_error\":true"), "{said}");

    let (finished, _) = ask(&dirs, &["--output-format", "json"]);
    let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch made.txt");
}

#[test]
fn rules_and_modes_let_it_run() {
    let allowing: &[&[&str]] = &[
        &["--dangerously-skip-permissions"],
        &["--permission-mode", "bypassPermissions"],
        &["--allowedTools", "Bash"],
        &["--allowed-tools", "Read,Bash(touch:*)"],
        &["--allowedTools", "Edit Bash(touch made.txt)"],
        &["--allowedTools", "Edit", "Bash"],
    ];
    for flags in allowing {
        let dirs = TestDirs::new();
        let (finished, _) = ask(&dirs, flags);
        assert_eq!(finished.answer(), "Over.\n", "{flags:?}");
        assert!(dirs.file("made.txt").exists(), "{flags:?}");
    }
}

#[test]
fn a_denied_rule_holds_in_every_mode() {
    let denying: &[&[&str]] = &[
        &["--disallowedTools", "Bash(touch:*)"],
        &["--disallowed-tools", "Bash", "--allowedTools", "Bash"],
    ];
    for flags in denying {
        let dirs = TestDirs::new();
        let mut all = vec!["--dangerously-skip-permissions"];
        all.extend_from_slice(flags);
        let (finished, last) = ask(&dirs, &all);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(!dirs.file("made.txt").exists(), "{flags:?}");
        let offered = last["tools"].to_string().contains("\"Bash\"");
        assert_eq!(offered, flags[1].contains('('), "a bare name hides the tool");
    }
}

/// A folder beside the working directory, one whose name begins like it, and ways from one to the
/// other.
fn far_away() -> tempfile::TempDir {
    let outside = tempfile::tempdir().expect("a folder");
    let far = outside.path().join("far");
    std::fs::create_dir_all(far.join("deep")).expect("a folder");
    std::fs::create_dir(outside.path().join("far-off")).expect("a folder");
    for (file, text) in [
        ("far/deep/open.txt", "seen\n"),
        ("far-off/secret.txt", "hush\n"),
        ("secret.txt", "hush\n"),
    ] {
        std::fs::write(outside.path().join(file), text).expect("a file");
    }
    std::os::unix::fs::symlink(outside.path().join("secret.txt"), far.join("way-out"))
        .expect("a link");
    std::os::unix::fs::symlink(outside.path().join("far-off"), far.join("door")).expect("a link");
    outside
}

/// What the model was told of its call.
fn run_call(flags: &[&str], tool: &str, input: Value) -> (FinishedCommand, String) {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call(tool, input))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["-p", "go"]);
    let finished = run(command.args(flags));
    let last = server.requests().pop().expect("a request").json().expect("JSON");
    (finished, last["messages"].to_string())
}

#[test]
fn reading_below_an_added_directory_needs_no_question_and_elsewhere_it_does() {
    let outside = far_away();
    let far = outside.path().join("far").display().to_string();
    let read = |flags: &[&str], path: &str| {
        run_call(flags, "Read", json!({"file_path": outside.path().join(path)}))
    };
    for flags in [&["--add-dir", &far][..], &["--add-dir", &format!("{far}/deep/..")]] {
        let (finished, said) = read(flags, "far/deep/open.txt");
        assert_eq!(finished.answer(), "Over.\n");
        assert!(said.contains("seen") && !said.contains("\"is_error\":true"), "{said}");
    }
    let without: &[&str] = &[];
    let with: &[&str] = &["--add-dir", &far];
    for (flags, path) in [
        (without, "far/deep/open.txt"),
        (with, "secret.txt"),
        (with, "far/../secret.txt"),
        (with, "far/deep/../../secret.txt"),
        (with, "far-off/secret.txt"),
        (with, "far/way-out"),
        (with, "far/door/secret.txt"),
    ] {
        let (finished, said) = read(flags, path);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "Over.\n"));
        // Where a link leads is found out by the tool itself, behind the rules.
        let is_link = path.contains("way-out") || path.contains("door");
        assert!(is_link || finished.stderr.contains("not allowed: Read"), "{path}: {finished:?}");
        assert!(said.contains("\"is_error\":true"), "{path}: {said}");
        assert!(!said.contains("hush") && !said.contains("seen"), "{path}: {said}");
    }
}

#[test]
fn edits_are_accepted_below_an_added_directory_and_nowhere_else() {
    let outside = far_away();
    let far = outside.path().join("far").display().to_string();
    let write = |flags: &[&str], path: &str| {
        let path = outside.path().join(path);
        let (finished, _) =
            run_call(flags, "Write", json!({"file_path": path, "content": "new\n"}));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        (finished.stderr.contains("not allowed: Write"), path.exists())
    };
    let accepting: &[&str] = &["--permission-mode", "acceptEdits", "--add-dir", &far];
    assert_eq!(write(accepting, "far/deep/made.txt"), (false, true));
    assert_eq!(write(accepting, "far-off/made.txt"), (true, false));
    let (_, is_made) = write(accepting, "far/door/made.txt");
    assert!(!is_made, "a link leads out");
    // To be named is to be worked in, not to be changed without a word.
    assert_eq!(write(&["--add-dir", &far], "far/deep/other.txt"), (true, false));
}

#[test]
fn several_directories_can_be_added() {
    let one = far_away();
    let other = far_away();
    let first = one.path().join("far");
    let second = other.path().join("far");
    let first = first.display().to_string();
    let second = second.display().to_string();
    let both: [&[&str]; 2] =
        [&["--add-dir", &first, &second], &["--add-dir", &first, "--add-dir", &second]];
    for flags in both {
        for outside in [&one, &other] {
            let path = outside.path().join("far/deep/open.txt");
            let (finished, said) = run_call(flags, "Read", json!({"file_path": path}));
            assert_eq!(finished.answer(), "Over.\n");
            assert!(said.contains("seen"), "{said}");
        }
    }
}

/// One page for every request, and the number of requests.
fn page() -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::io::{BufRead, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = std::sync::Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let mut lines = std::io::BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\
                          Connection: close\r\n\r\nfetched!\n";
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    (address, count)
}

/// What permission says of a place close by is what the tool does.
#[test]
fn a_place_close_by_is_fetched_when_a_rule_names_it_and_only_then() {
    let (address, count) = page();
    let cases: &[(&[&str], bool)] = &[
        (&[], false),
        (&["--allowedTools", "WebFetch"], false),
        (&["--allowedTools", "WebFetch(domain:*)"], false),
        (&["--allowedTools", "WebFetch(domain:example.org)"], false),
        (&["--allowedTools", "WebFetch(domain:127.0.0.1)"], true),
        (&["--dangerously-skip-permissions"], true),
        (
            &["--dangerously-skip-permissions", "--disallowedTools", "WebFetch(domain:127.0.0.1)"],
            false,
        ),
    ];
    for (flags, expected) in cases {
        let before = count.load(std::sync::atomic::Ordering::SeqCst);
        let input = json!({"url": format!("http://{address}/x"), "prompt": "what is it?"});
        let (_, said) = run_call(flags, "WebFetch", input.clone());
        let came = count.load(std::sync::atomic::Ordering::SeqCst) > before;
        assert_eq!((came, said.contains("fetched!")), (*expected, *expected), "{flags:?}: {said}");
        let dirs = TestDirs::new();
        let mut command = dirs.windlass(&["permission", "explain", "--json", "--tool", "WebFetch"]);
        let finished = run(command.arg(input.to_string()).args(*flags));
        let report: Value = serde_json::from_str(finished.answer()).expect("JSON");
        assert_eq!(report["decision"] == "allow", *expected, "{flags:?}: {report}");
    }
}

/// Feeds lines to `permission check`.
fn checked(dirs: &TestDirs, input: &[u8]) -> FinishedCommand {
    let path = dirs.file("cases.jsonl");
    std::fs::write(&path, input).expect("a file");
    let mut command = dirs.windlass::<&str>(&[]);
    command.args(["permission", "check"]).stdin(std::fs::File::open(path).expect("a file"));
    run(&mut command)
}

#[test]
fn lines_that_are_no_cases_are_answered_and_do_not_stop_the_rest() {
    let good = "{\"id\":\"good\",\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"},\"files\":{}}\n";
    let mut input: Vec<u8> = good.as_bytes().to_vec();
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let huge = format!("{{\"id\":\"{}\"}}\n", "x".repeat(9 * 1024 * 1024));
    for bad in [&b"{\n"[..], b"\0\0\n", b"\xff\xfe\n", deep.as_bytes(), huge.as_bytes()] {
        input.extend_from_slice(bad);
        input.extend_from_slice(b"\n");
    }
    input.extend_from_slice(good.trim_end().as_bytes());
    let dirs = TestDirs::new();
    let finished = checked(&dirs, &input);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let lines: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 7, "{finished:?}");
    for line in &lines[1..6] {
        assert!(line["error"].is_string(), "{line}");
    }
    for line in [&lines[0], &lines[6]] {
        assert_eq!((&line["id"], &line["decision"]), (&json!("good"), &json!("allow")));
    }
    assert_eq!(checked(&dirs, good.as_bytes()).code, Some(0));
    // A folder cannot be read, however often one tries.
    let mut command = dirs.windlass::<&str>(&[]);
    command.args(["permission", "check"]);
    command.stdin(std::fs::File::open(dirs.file(".")).expect("a folder"));
    assert_eq!(run(&mut command).code, Some(1));
}

#[test]
fn there_is_no_mode_that_guesses() {
    let dirs = TestDirs::new();
    let mut command = dirs.windlass::<&str>(&[]);
    command.args(["permission", "explain", "ls", "--permission-mode", "auto"]);
    let finished = run(&mut command);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("there is no mode `auto`"), "{finished:?}");
    let mut command = dirs.windlass::<&str>(&[]);
    command.args(["permission", "explain", "ls", "--permission-mode", "manual"]);
    assert_eq!(run(&mut command).code, Some(0));
}

/// Lines that look as if they only read. In a real session none of them runs unasked, and none leaves
/// a trace on the disk or shows what lies outside.
#[cfg(unix)]
#[test]
fn what_only_looks_like_reading_does_not_run_unasked() {
    let dirs = TestDirs::new();
    let outside = dirs.home().join("outside");
    std::fs::create_dir_all(&outside).expect("a folder");
    std::fs::write(outside.join("secret"), "the-secret-words").expect("a file");
    std::os::unix::fs::symlink(outside.join("secret"), dirs.file("link1")).expect("a link");
    std::fs::create_dir_all(dirs.file("5")).expect("a folder");
    std::fs::write(dirs.file("a"), "b\na\n").expect("a file");
    std::fs::create_dir_all(dirs.file("vendor/x/.git")).expect("a folder");
    for line in [
        "cat link*",
        "cat *",
        "for f in link*; do cat \"$f\"; done",
        "sort -tk -opwned a",
        "RANDOM='a[$(touch pwned)]'",
        "declare -a x='([$(touch pwned)0]=1)'",
        "((PATH=5)); ls",
        "ls {PATH}>/dev/null; ls",
        "test \"$(cat a)\" 'a[$(touch pwned)]'; [ \"$(cat a)\" \"$(cat a)\" ]",
        "cd() { :; }; cd vendor; cat a",
        "sed 's/[/]/;s/e;p;/p;/p' a",
        "awk 'BEGIN{ARGV[1]=\"link1\";ARGC=2}{print}' a",
        "rg --files ..",
        "grep -R words .",
        "find . -fprint pwned",
        "cd vendor/x && git status",
        "f() { f | f & }; f",
    ] {
        let server = play(
            Script::new()
                .answer(ScriptedAnswer::call("Bash", json!({ "command": line })))
                .answer(ScriptedAnswer::text("Over.")),
        );
        let finished = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
        assert!(finished.stderr.contains("not allowed: Bash"), "{line}: {finished:?}");
        assert!(!dirs.file("pwned").exists(), "{line}");
        let last = server.requests().pop().expect("a request").body.to_string();
        assert!(!last.contains("the-secret-words"), "{line}: {last}");
    }
}

/// A rule is relative to where the session was started, wherever its shell has gone since.
#[test]
fn rules_do_not_move_with_the_shell() {
    let dirs = TestDirs::new();
    std::fs::create_dir_all(dirs.file("sub")).expect("a folder");
    std::fs::write(dirs.file("hidden.txt"), "the-hidden-words").expect("a file");
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({"command": "cd sub"})))
            .answer(ScriptedAnswer::call("Bash", json!({"command": "cat ../hidden.txt"})))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let flags = ["-p", "go", "--disallowedTools", "Read(./hidden.txt)"];
    let finished = run(&mut dirs.asking(&server.url(), &flags));
    assert!(finished.stderr.contains("not allowed: Bash"), "{finished:?}");
    let last = server.requests().pop().expect("a request").body.to_string();
    assert!(!last.contains("the-hidden-words"), "{last}");
}

#[test]
fn a_rejected_plan_is_told_as_the_published_adapter_expects() {
    let dirs = TestDirs::new();
    let plan = json!({"plan": "1. Do it."});
    let server = play(Script::new().answer(ScriptedAnswer::call("ExitPlanMode", plan)));
    let flags = ["--permission-mode", "plan", "--permission-prompt-tool", "stdio"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    driven.prompt("plan it");
    let question = driven.asked("can_use_tool");
    let no = json!({"behavior": "deny", "message": "Keep planning.", "interrupt": true});
    driven.answer(&question, &no);
    // The adapter takes the result for a cancel only after it saw what became of the call.
    let seen = driven.until(|frame| frame["type"] == "user");
    assert_eq!(seen["message"]["content"][0]["type"], "tool_result", "{seen}");
    let result = driven.result();
    assert_eq!(result["subtype"], "error_during_execution", "{result}");
    assert_eq!(result["is_error"], true, "{result}");
    let errors = result["errors"].as_array().expect("errors");
    let first = errors[0].as_str().expect("words");
    assert!(!first.starts_with('['), "people read the first: {first}");
    let line = errors[1].as_str().expect("a line");
    assert!(line.starts_with("[ede_diagnostic] "), "{line}");
    for pair in ["result_type=user", "stop_reason=tool_use"] {
        assert!(line.split(' ').any(|word| word == pair), "{line}");
    }
    driven.end();
}
