//! Sessions of which only the transcript is there: those of other programs, and what lies beside them.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::transcript::{
    SESSION, ask, conversation, entries, files, projects, requested, summarize, working,
};

#[test]
fn a_session_that_is_only_a_transcript_goes_on() {
    let dirs = TestDirs::new();
    let server = working();
    ask(&dirs, &server, &["--session-id", SESSION, "--allowedTools", "Bash", "-p", "look twice"]);
    let path = files(&projects(&dirs)).remove(0);
    let before = entries(&path);
    // Somewhere else, with nothing but that file: as a client's own store leaves it.
    let other = TestDirs::new();
    let config = other.home().join("temporary");
    let folder = config.join("projects/some-project");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(&path, folder.join(format!("{SESSION}.jsonl"))).expect("a copy");
    let resume = format!("--resume={SESSION}");
    let ask = |arguments: &[&str]| {
        let mut command = other.asking(&server.url(), &["--output-format", "json"]);
        let finished = run(command.args(arguments).env("CLAUDE_CONFIG_DIR", &config));
        serde_json::from_str::<Value>(finished.answer()).expect("one object")
    };
    std::fs::write(other.file("CLAUDE.md"), "Be kind to files.").expect("a file");
    let result = ask(&[&resume, "-p", "What did it say?"]);
    assert_eq!(result["session_id"], SESSION);
    let words = requested(&server);
    for said in ["look twice", "call_1", "call_2", "One and two.", "What did it say?", "Be kind"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    let own = files(&config.join("projects"));
    let own = own.iter().find(|path| !path.starts_with(&folder)).expect("its own transcript");
    let lines = entries(own);
    let names = |lines: &[Value]| -> Vec<String> {
        conversation(lines)
            .iter()
            .map(|line| line["uuid"].as_str().expect("it").to_owned())
            .collect()
    };
    assert_eq!(names(&lines)[..names(&before).len()], names(&before), "messages keep their names");
    assert_eq!(summarize(&lines)[summarize(&before).len()..], ["> What did it say?", "Noted."]);
    // From then on it is a session like any other.
    ask(&[&resume, "-p", "And then?"]);
    assert!(requested(&server).contains("What did it say?"));
    ask(&["-c", "--fork-session", "-p", "Elsewhere."]);
    assert!(requested(&server).contains("One and two."));
    let missing = "00000000-0000-4000-8000-000000000000";
    run(other
        .asking(&server.url(), &["-r", missing, "-p", "hi"])
        .env("CLAUDE_CONFIG_DIR", &config))
    .error_line(2);
}

/// A session as another program keeps it: a skill's text, a team, a parent that was lost.
fn write_foreign_session(dirs: &TestDirs, id: &str) -> PathBuf {
    let work = dirs.work().canonicalize().expect("the folder");
    let work = work.to_string_lossy();
    let key: String =
        work.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = projects(dirs).join(key);
    std::fs::create_dir_all(&folder).expect("a folder");
    let line = |kind: &str, uuid: &str, parent: Option<&str>, is_meta: bool, content: Value| {
        let role = if kind == "assistant" { "assistant" } else { "user" };
        json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false,
            "isMeta": is_meta, "teamName": "crew", "sessionId": id, "cwd": work,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": { "role": role, "id": format!("msg_{uuid}"), "content": content },
        })
    };
    let text = |words: &str| json!([{ "type": "text", "text": words }]);
    let lines = [
        line("user", "u1", None, false, json!("build the harbour")),
        line("user", "u2", Some("u1"), true, text("The skill says: measure twice.")),
        line("assistant", "u3", Some("u2"), false, text("Measured.")),
        line("user", "u4", Some("gone"), false, json!("and the pier")),
        line("assistant", "u5", Some("u4"), false, text("Built the pier.")),
    ];
    let path = folder.join(format!("{id}.jsonl"));
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, lines).expect("a transcript");
    path
}

#[test]
fn sessions_of_other_programs_are_found_shown_and_continued() {
    const FOREIGN: &str = "abcd1234-0f4e-4f6a-8d3c-1a2b3c4d5e6f";
    for arguments in [&["-c"][..], &["-r", "abcd12"], &["-r", FOREIGN], &["-r", "PATH"]] {
        let dirs = TestDirs::new();
        let path = write_foreign_session(&dirs, FOREIGN);
        let listed = run(&mut dirs.windlass(&["sessions", "list"]));
        assert!(listed.answer().contains("build the harbour"), "{listed:?}");
        let shown = run(&mut dirs.windlass(&["sessions", "show", "abcd12"]));
        assert!(shown.answer().contains("Built the pier."), "{shown:?}");
        let found = run(&mut dirs.windlass(&["sessions", "search", "PIER"]));
        assert!(found.answer().contains("abcd1234"), "{found:?}");
        let server = play(Script::new().answer(ScriptedAnswer::text("On it.").repeat(0)));
        let path = path.to_string_lossy();
        let arguments: Vec<&str> =
            arguments.iter().map(|one| if *one == "PATH" { &*path } else { one }).collect();
        let result = ask(&dirs, &server, &[&arguments[..], &["-p", "go on"]].concat());
        assert_eq!(result["session_id"], FOREIGN, "{arguments:?}");
        let body = &server.requests()[0].body;
        for words in ["build the harbour", "measure twice", "Measured.", "Built the pier.", "go on"]
        {
            assert!(body.contains(words), "{arguments:?} {words}: {body}");
        }
    }
}

#[test]
fn to_continue_where_there_is_nothing_begins_a_session() {
    let dirs = TestDirs::new();
    let server = working();
    ask(&dirs, &server, &["-c", "-p", "look", "--allowedTools", "Bash"]);
    assert_eq!(files(&projects(&dirs)).len(), 1);
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.asking(&server.url(), &["-c", "--fork-session", "-p", "look"]));
    assert!(finished.error_line(2).contains("no session in this directory"), "{finished:?}");
}

/// What lies among the transcripts is not always one.
#[test]
fn a_pipe_a_loop_or_nonsense_among_the_transcripts_is_passed_over() {
    let dirs = TestDirs::new();
    let path = write_foreign_session(&dirs, "abcd1234-0f4e-4f6a-8d3c-1a2b3c4d5e6f");
    let folder = path.parent().expect("a folder");
    let pipe = folder.join("11111111-0f4e-4f6a-8d3c-1a2b3c4d5e6f.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let wrong = folder.join("22222222-0f4e-4f6a-8d3c-1a2b3c4d5e6f.jsonl");
    std::fs::write(&wrong, b"\xff\x00[[[[{\"type\":\"user\"\n".repeat(100)).expect("a file");
    let circle =
        json!({"type": "user", "uuid": "a", "parentUuid": "a", "message": {"content": "x"}});
    let round = folder.join("33333333-0f4e-4f6a-8d3c-1a2b3c4d5e6f.jsonl");
    std::fs::write(round, format!("{circle}\n")).expect("a file");
    let listed = run(&mut dirs.windlass(&["sessions", "list"]));
    assert!(listed.answer().contains("build the harbour"), "{listed:?}");
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    write_foreign_session(&dirs, "abcd1299-0f4e-4f6a-8d3c-1a2b3c4d5e6f");
    let twice = run(&mut dirs.asking(&server.url(), &["-r", "abcd12", "-p", "go on"]));
    assert!(twice.error_line(2).contains("several sessions"), "{twice:?}");
    for wanted in ["11111111", "22222222", "33333333", "no such name"] {
        let finished = run(&mut dirs.asking(&server.url(), &["-r", wanted, "-p", "go on"]));
        finished.error_line(2);
    }
    assert_eq!(server.request_count(), 0);
}

#[test]
fn a_list_with_a_limit_says_how_many_there_are() {
    let dirs = TestDirs::new();
    for number in 1..=5 {
        write_foreign_session(&dirs, &format!("abcd000{number}-0f4e-4f6a-8d3c-1a2b3c4d5e6f"));
    }
    let folder = write_foreign_session(&dirs, "abcd0006-0f4e-4f6a-8d3c-1a2b3c4d5e6f");
    let folder = folder.parent().expect("a folder");
    // None of these is a session, so none is counted.
    std::fs::write(folder.join("11111111-0f4e-4f6a-8d3c-1a2b3c4d5e6f.jsonl"), "").expect("a file");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("22222222-0f4e-4f6a-8d3c-1a2b3c4d5e6f.jsonl"))
        .status();
    assert!(made.expect("mkfifo").success());
    let agent = json!({"type": "user", "isSidechain": true, "message": {"content": "look"}});
    let path = folder.join("33333333-0f4e-4f6a-8d3c-1a2b3c4d5e6f.jsonl");
    std::fs::write(path, format!("{agent}\n")).expect("a file");
    let server = working();
    ask(&dirs, &server, &["-p", "look", "--allowedTools", "Bash"]);
    let list = |arguments: &[&str]| run(dirs.windlass(&["sessions", "list"]).args(arguments));
    let listed: Value =
        serde_json::from_str(list(&["--limit", "2", "--json"]).answer()).expect("JSON");
    assert_eq!(listed["total"], 7, "{listed}");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(2), "{listed}");
    let text = list(&["--limit", "2"]);
    assert!(text.answer().contains("5 more; --limit 0 lists all."), "{text:?}");
    let all: Value =
        serde_json::from_str(list(&["--limit", "0", "--json"]).answer()).expect("JSON");
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(7), "{all}");
}
