//! Transcripts as other programs read them: the chain is whole, calls and results hang together,
//! and the same journal always gives the same lines.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use session_fixtures::{recorded, settings};
use windlass_engine::{Event, Settings};
use windlass_journal::transcript::{TranscriptContext, agent_transcript_path, transcript_path};
use windlass_journal::{
    Durability, JournalReader, JournalWriter, Transcriber, TranscriptFile, replay,
};
use windlass_vocabulary::{ContentBlock, PermissionMode};

const SESSION: &str = "0d0e7a3c-5b1f-4a6e-9a55-0123456789ab";

fn about() -> TranscriptContext {
    TranscriptContext {
        session: SESSION.into(),
        cwd: "/home/u/\"project\"".into(),
        branch: Some("main".into()),
        version: "0.1.0".into(),
        agent: None,
    }
}

fn lines_of(path: &Path, settings: &Settings, about: TranscriptContext) -> Vec<String> {
    let mut transcriber = Transcriber::new(about);
    let mut lines = Vec::new();
    let reader = JournalReader::open(path).unwrap();
    replay(reader, settings, |step| lines.extend(transcriber.transcribe_step(&step))).unwrap();
    lines
}

fn written(path: &Path, settings: &Settings, events: &[Event]) {
    let (mut writer, _) = JournalWriter::open(path, Durability::Written, settings).unwrap();
    for (at, event) in (1_700_000_000_000..).zip(events) {
        writer.append_events(at, &[event]).unwrap();
    }
}

/// What the page about transcripts says, checked line by line.
fn check(lines: &[String]) {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        assert!(!line.contains('\n'));
        let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let kind = value["type"].as_str().unwrap();
        assert!(line.starts_with(&format!(r#"{{"type":"{kind}","#)), "{line}");
        let parent = value["parentUuid"].as_str();
        let is_boundary = value["subtype"] == "compact_boundary";
        assert_eq!(parent.is_none(), number == 0 || is_boundary, "one root: {line}");
        if is_boundary {
            assert!(seen.contains_key(value["logicalParentUuid"].as_str().unwrap()), "{line}");
            let uuid = value["uuid"].as_str().unwrap().to_owned();
            assert!(seen.insert(uuid, value).is_none(), "no uuid twice");
            continue;
        }
        assert!(matches!(kind, "user" | "assistant"), "{line}");
        assert!(parent.is_none_or(|parent| seen.contains_key(parent)), "{line}");
        for key in ["sessionId", "timestamp", "cwd"] {
            assert!(value[key].is_string(), "{key} is missing in {line}");
        }
        assert!(value["timestamp"].as_str().unwrap().ends_with('Z'));
        let content = &value["message"]["content"];
        assert_eq!(value["message"]["role"], value["type"]);
        if value["type"] == "assistant" {
            assert_eq!(content.as_array().unwrap().len(), 1, "one block a line: {line}");
        }
        if let Some(result) = content.get(0).filter(|block| block["type"] == "tool_result") {
            let caller = &seen[parent.unwrap()]["message"]["content"][0];
            assert_eq!(caller["type"], "tool_use", "{line}");
            assert_eq!(caller["id"], result["tool_use_id"], "{line}");
        }
        let uuid = value["uuid"].as_str().unwrap().to_owned();
        assert_eq!(uuid.len(), 36);
        assert!(seen.insert(uuid, value).is_none(), "no uuid twice");
    }
}

#[test]
fn drawn_sessions_give_whole_chains() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let (mut results, mut all, mut boundaries) = (0, 0, 0);
    for seed in 0..120 {
        let (settings, events) = recorded(seed, 400, 3);
        let _ = std::fs::remove_file(&path);
        written(&path, &settings, &events);
        let lines = lines_of(&path, &settings, about());
        check(&lines);
        assert_eq!(lines, lines_of(&path, &settings, about()), "made anew they are the same");
        results += lines.iter().filter(|line| line.contains(r#""tool_result""#)).count();
        boundaries += lines.iter().filter(|line| line.contains("compact_boundary")).count();
        all += lines.len();
    }
    println!("{all} lines, {results} results, {boundaries} boundaries");
    assert!(boundaries > 0);
    assert!(results > 200, "{results}");
}

#[test]
fn a_transcript_is_completed_whatever_it_lost_and_others_added() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let mut settings = settings();
    settings.policy.mode = PermissionMode::BypassPermissions;
    let events: Vec<Event> = session_fixtures::conversation("What is it?")
        .into_iter()
        .flat_map(|(events, _)| events)
        .collect();
    written(&path, &settings, &events);
    let lines = lines_of(&path, &settings, about());
    check(&lines);
    let kinds: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kinds[0]["message"]["content"], "What is it?", "a prompt is a plain string");
    assert_eq!(kinds[0]["gitBranch"], "main");
    let answers: Vec<&Value> = kinds.iter().filter(|line| line["type"] == "assistant").collect();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0]["message"]["id"], answers[1]["message"]["id"], "blocks of one answer");
    assert_eq!(answers[0]["message"]["usage"]["input_tokens"], 100);
    let config = directory.path().join("config");
    let transcript = transcript_path(&config, Path::new("/home/u/project"), SESSION);
    let expected = format!("projects/-home-u-project/{SESSION}.jsonl");
    assert_eq!(transcript, config.join(expected));
    assert!(
        agent_transcript_path(&transcript, "7")
            .ends_with(format!("{SESSION}/subagents/agent-7.jsonl"))
    );
    let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for cut in 0..=whole.len() {
        let _ = std::fs::remove_file(&transcript);
        drop(TranscriptFile::open(&transcript).unwrap());
        let title = Transcriber::new(about()).render_title_line("by hand");
        let at = whole.floor_char_boundary(cut);
        std::fs::write(&transcript, format!("{title}\n{}", &whole[..at])).unwrap();
        let mut file = TranscriptFile::open(&transcript).unwrap();
        file.append_missing(&lines).unwrap();
        assert_eq!(
            TranscriptFile::open(&transcript).unwrap().append_missing(&lines).unwrap(),
            [""; 0]
        );
        let text = std::fs::read_to_string(&transcript).unwrap();
        assert!(text.starts_with(&title) && text.ends_with('\n'));
        let ours: Vec<&str> = text.lines().filter(|line| lines.iter().any(|l| l == line)).collect();
        assert_eq!(ours, lines, "cut at {cut}");
    }
}

#[test]
fn what_the_loop_says_is_marked_and_agents_are_set_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let mut settings = settings();
    settings.prompt.user_context = Some("be kind".into());
    let content = vec![ContentBlock::Text("hello".into())];
    let submitted = Event::UserSubmitted { content, pinned: false };
    written(&path, &settings, &[submitted]);
    let lines =
        lines_of(&path, &settings, TranscriptContext { agent: Some("7".into()), ..about() });
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains(r#""isMeta":true"#), "{}", lines[0]);
    assert!(!lines[1].contains("isMeta"), "{}", lines[1]);
    assert!(lines.iter().all(|line| line.contains(r#""isSidechain":true,"agentId":"7""#)));
}
