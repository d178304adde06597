//! Sessions that are written down: continued by another session, whatever was cut off.

use std::sync::Arc;

use crate::fixture::{
    FixtureOptions, PATIENCE, SessionFixture, WIRES, again, assert_ended, block_on, is_again,
};
use serde_json::json;
use windlass_driver::{Durability, JournalHead};
use windlass_engine::Event;
use windlass_journal::{JournalNote, JournalReader, RecordItem};
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{Notice, PermissionMode, Terminal, Tokens, WireFormat};

#[tokio::test]
async fn a_session_is_continued_from_its_journal() {
    for durability in [Durability::Written, Durability::Synced] {
        let options = FixtureOptions::default();
        let journal = options.directory.path().join("session.jsonl");
        let rehearsal = crate::fixture::rehearse([
            Says::call("Bash", json!({ "command": "echo marker-$((1 + 1))" })),
            Says::text("noted").when_result("marker-2"),
            Says::text("as I said").when("what was it"),
        ])
        .await;
        let builder = || options.builder(&rehearsal.url()).journal(&journal, durability);
        let (session, mut notices) = builder().start().unwrap();
        session.submit("look").unwrap();
        assert_ended(&notices.wait_for_run_end().await.unwrap(), Terminal::Completed);
        session.close().await;
        let (session, mut notices) = builder().start().unwrap();
        session.submit("what was it").unwrap();
        assert_ended(&notices.wait_for_run_end().await.unwrap(), Terminal::Completed);
        let last = rehearsal.requests().pop().unwrap();
        assert!(last.body.contains("marker-2"), "{}", last.body);
    }
}

/// A resumed session sends what would have been sent without the pause, byte for byte, so the
/// provider's prompt cache is read on: the same conversation in one session, and in a new one for
/// every message.
#[tokio::test]
async fn a_continued_session_sends_the_same_bytes() {
    for wire in WIRES {
        let options = FixtureOptions::on(wire).with(|settings| {
            settings.prompt.user_context = Some("The project is called Pawl.".into());
            settings.prompt.system_prompt = "Be brief.".into();
        });
        let talk = async |journal: &str, breaks: bool| -> Vec<Arc<str>> {
            let rehearsal = crate::fixture::rehearse([
                Says::call("Bash", json!({ "command": "echo one" })).thinking("Let me see."),
                Says::text("one").when_result("one"),
                Says::call("Bash", json!({ "command": "exit 3" })).when("second"),
                Says::text("it failed").when_result("3"),
                Says::text("third answer").when("third"),
            ])
            .await;
            let journal = options.directory.path().join(journal);
            let builder = || {
                let builder = options.builder(&rehearsal.url());
                builder.journal(&journal, Durability::Written).start().unwrap()
            };
            let (mut session, mut notices) = builder();
            for prompt in ["first", "second", "third"] {
                session.submit(prompt).unwrap();
                assert_ended(&notices.wait_for_run_end().await.unwrap(), Terminal::Completed);
                if breaks {
                    session.close().await;
                    (session, notices) = builder();
                }
            }
            session.close().await;
            rehearsal.requests().into_iter().map(|request| request.body).collect()
        };
        let whole = talk("whole.jsonl", false).await;
        let broken = talk("broken.jsonl", true).await;
        assert_eq!(whole.len(), 5, "{wire:?}: {whole:#?}");
        assert_eq!(whole, broken, "{wire:?}");
    }
}

/// A session is replayed as it was decided, whatever the settings of the process that takes it up: what
/// was allowed then happened, and what is allowed now counts from now on.
#[tokio::test]
async fn a_session_is_continued_with_other_settings() {
    let mut options = FixtureOptions::default();
    let journal = options.directory.path().join("session.jsonl");
    let touch = |name: &str| Says::call("Bash", json!({ "command": format!("touch {name}") }));
    let rehearsal = crate::fixture::rehearse([
        touch("first"),
        Says::text("touched"),
        touch("second").when("again"),
        Says::text("not allowed"),
    ])
    .await;
    options.settings.prompt.user_context = Some("As it was.".into());
    let builder = |options: &FixtureOptions| {
        options.builder(&rehearsal.url()).journal(&journal, Durability::Written)
    };
    let (session, mut notices) = builder(&options).start().unwrap();
    session.submit("go").unwrap();
    assert_ended(&notices.wait_for_run_end().await.unwrap(), Terminal::Completed);
    session.close().await;
    options.settings.policy.mode = PermissionMode::DontAsk;
    options.settings.prompt.user_context = Some("As it is.".into());
    options.settings.model.window = Tokens(50_000);
    let (session, mut notices) = builder(&options).start().unwrap();
    session.submit("again").unwrap();
    assert_ended(&notices.wait_for_run_end().await.unwrap(), Terminal::Completed);
    session.close().await;
    assert!(options.directory.path().join("first").exists());
    assert!(!options.directory.path().join("second").exists(), "the new rules hold");
    let requests: Vec<Arc<str>> = rehearsal.requests().into_iter().map(|r| r.body).collect();
    let received =
        |text: &str| requests.iter().map(|body| body.matches(text).count()).collect::<Vec<_>>();
    assert_eq!(received("As it was."), [1, 1, 1, 1], "{requests:#?}");
    assert_eq!(received("As it is."), [0, 0, 0, 0]);
    // Marks of the cache move on; the words do not.
    let history = |body: &str| {
        let messages = body.split_once("\"messages\":[").unwrap().1;
        messages.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
    };
    let before = history(&requests[1]);
    let before = before.strip_suffix("]}").unwrap();
    assert!(history(&requests[2]).starts_with(before), "what was said stays as it was");
}

/// A reader of the journal finds without replaying it what was about to run, what it cost and what
/// filled the window.
#[tokio::test]
async fn what_follows_from_events_is_noted_beside_them() {
    let options = FixtureOptions::default();
    let journal = options.directory.path().join("session.jsonl");
    let rehearsal = crate::fixture::rehearse([
        Says::call("Bash", json!({ "command": "echo once >> log" })),
        Says::text("done"),
    ])
    .await;
    let head = JournalHead { project: Some("/w/repo".to_owned()), ..JournalHead::default() };
    let builder = options.builder(&rehearsal.url()).journal(&journal, Durability::Synced);
    let builder = builder.journal_head(head).price_table("today");
    let (session, mut notices) = builder.start().unwrap();
    session.submit("look").unwrap();
    assert_ended(&notices.wait_for_run_end().await.unwrap(), Terminal::Completed);
    session.close().await;
    let mut reader = JournalReader::open(&journal).unwrap();
    let mut notes = Vec::new();
    let mut is_started = false;
    while let Some(record) = reader.next_record().unwrap() {
        match record.item {
            RecordItem::Note(note) => {
                is_started |= matches!(note, JournalNote::Intended(_));
                notes.push(note);
            }
            RecordItem::Event(Event::ToolEnded { .. }) => {
                assert!(is_started, "the intent stands first");
            }
            RecordItem::Event(_) => {}
        }
    }
    let intents = notes.iter().filter(|note| matches!(note, JournalNote::Intended(_))).count();
    let bills = notes.iter().filter(
        |note| matches!(note, JournalNote::Billed(row) if row.prices.as_deref() == Some("today")),
    );
    assert_eq!((intents, bills.count()), (1, 2), "{notes:#?}");
    let ended =
        notes.iter().any(|note| matches!(note, JournalNote::Ended(ended) if ended.turns == 2));
    let drawn = notes
        .iter()
        .any(|note| matches!(note, JournalNote::Context(inventory) if inventory.total.0 > 0));
    assert!(ended && drawn, "{notes:#?}");
}

#[tokio::test]
async fn a_run_that_was_cut_off_is_closed_and_a_torn_record_left_out() {
    let options = FixtureOptions::default();
    let journal = options.directory.path().join("session.jsonl");
    let rehearsal = crate::fixture::rehearse([
        Says::text("never finished").fault(ScriptedFault::stall_after_event(4)),
        Says::text("better").when("again"),
    ])
    .await;
    let builder = |path: &std::path::Path| {
        options.builder(&rehearsal.url()).journal(path, Durability::Written)
    };
    let (session, mut notices) = builder(&journal).start().unwrap();
    session.submit("go").unwrap();
    crate::fixture::until(&mut notices, crate::fixture::is_streamed_text).await;
    // What a crash would leave: everything up to here, and half of a record.
    let crashed = options.directory.path().join("crashed.jsonl");
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes.extend_from_slice(br#"{"v":1,"crc":"0123"#);
    std::fs::write(&crashed, bytes).unwrap();

    let (session, notices) = builder(&crashed).start().unwrap();
    let mut fixture = SessionFixture {
        rehearsal,
        session,
        notices,
        directory: tempfile::tempdir().unwrap(),
        wire: WireFormat::AnthropicMessages,
    };
    fixture
        .until(|notice| matches!(notice, Notice::Warning(text) if text.contains("was cut off")))
        .await;
    assert_ended(&fixture.ending().await.0, Terminal::AbortedStreaming);
    assert_ended(&fixture.run("again").await.0, Terminal::Completed);
}

/// The process died while a tool ran; the next one goes on with the same run. What ran is not run
/// again.
#[tokio::test]
async fn a_run_that_was_cut_off_goes_on_if_it_is_wanted() {
    let options = FixtureOptions::default();
    let journal = options.directory.path().join("session.jsonl");
    let log = options.directory.path().join("log");
    let command = format!("echo once >> {}; sleep 1000", log.display());
    let rehearsal = crate::fixture::rehearse([
        Says::call("Bash", json!({ "command": command })),
        Says::text("I looked, and it had happened").when_result("outcome is unknown"),
    ])
    .await;
    let builder = |path: &std::path::Path| {
        options.builder(&rehearsal.url()).journal(path, Durability::Written)
    };
    let (session, mut notices) = builder(&journal).start().unwrap();
    session.submit("go").unwrap();
    crate::fixture::until(&mut notices, |notice| matches!(notice, Notice::ToolStarted(_))).await;
    let written = async {
        while !log.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, written).await.unwrap();
    // What a crash would leave: everything up to here.
    let crashed = options.directory.path().join("crashed.jsonl");
    std::fs::copy(&journal, &crashed).unwrap();
    session.close().await;
    let (session, mut notices) = builder(&crashed).resume_run(true).start().unwrap();
    let ending = notices.wait_for_run_end().await.unwrap();
    assert_ended(&ending, Terminal::Completed);
    assert_eq!(ending.turns, 2, "the turn is counted on");
    session.close().await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "once\n");
}

#[tokio::test]
async fn one_writer_at_a_time() {
    let options = FixtureOptions::default();
    let journal = options.directory.path().join("session.jsonl");
    let builder = || options.builder("http://127.0.0.1:1").journal(&journal, Durability::Written);
    let (session, _notices) = builder().start().unwrap();
    let error = builder().start().map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    session.close().await;
    builder().start().unwrap();
}

/// A limit on the size of files is what a full disk looks like.
#[test]
fn a_journal_that_cannot_be_written_ends_the_session_in_words() {
    if is_again() {
        return block_on(fill_the_journal());
    }
    again(
        "journal::a_journal_that_cannot_be_written_ends_the_session_in_words",
        r#"trap "" XFSZ; ulimit -f 16"#,
        &[],
    );
}

async fn fill_the_journal() {
    let options = FixtureOptions::default();
    let path = options.directory.path().join("session.jsonl");
    let answers = [
        Says::call("Bash", json!({ "command": "head -c 29000 /dev/zero | tr '\\0' x; touch ran" })),
        Says::text("never asked for"),
    ];
    let rehearsal = crate::fixture::rehearse(answers).await;
    let builder = options.builder(&rehearsal.url()).journal(&path, Durability::Written);
    let (session, mut notices) = builder.start().unwrap();
    session.submit("fill it").unwrap();
    let received =
        crate::fixture::until(&mut notices, |notice| matches!(notice, Notice::RunEnded(_))).await;
    let warned = |notice: &Notice| matches!(notice, Notice::Warning(text) if text.contains("could not be written"));
    assert!(received.iter().any(warned), "{received:#?}");
    let Some(Notice::RunEnded(ending)) = received.last() else { panic!("no ending") };
    assert_ended(ending, Terminal::AbortedStreaming);
    while notices.next().await.is_some() {}
    assert!(session.is_closed() || session.submit("more").is_err());
    // The result that could not be written down went nowhere.
    assert_eq!(rehearsal.request_count(), 1);
    windlass_journal::fold(&path, &options.settings).unwrap();
}
