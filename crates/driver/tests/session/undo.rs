//! Files go back while the session is open, to a message its sender named; and a client can hear
//! of every line of the transcript before its message is told.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_driver::rewind::{
    OverwriteChoice, RestoreStatus, RewindError, RewindOptions, RewindScope,
};
use windlass_driver::{
    AppendedTranscriptLines, Durability, PromptSubmission, TranscriptConfig, TranscriptContext,
};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{MessageId, MicroUsd, Notice, Terminal};

use crate::fixture::{FixtureOptions, assert_completed, ended, last_request, rehearse, until};

/// The message a line belongs to, what its lines are called, and how many there are.
type Append = (Option<MessageId>, Vec<String>, usize);

const SESSION: &str = "2b0a7d11-93c4-4e57-8a60-5d1f0c9e7b42";
const PROMPT: &str = "c0ffee00-0000-4000-8000-000000000001";

#[tokio::test]
async fn files_go_back_to_a_message_that_was_named() {
    let options = FixtureOptions::default();
    let directory = options.directory.path().to_owned();
    let (file, shell) = (directory.join("made"), directory.join("by-shell"));
    let write = json!({ "file_path": file.to_string_lossy(), "content": "one\ntwo\n" });
    let touch = json!({ "command": format!("echo by hand > {}", shell.display()) });
    let answers =
        [Says::empty().tool("Write", write).tool("Bash", touch), Says::text("done").repeat(0)];
    let rehearsal = rehearse(answers).await;
    let appends: Arc<Mutex<Vec<Append>>> = Arc::default();
    let appends_of_listener = Arc::clone(&appends);
    let about = TranscriptContext { session: SESSION.into(), ..TranscriptContext::default() };
    let transcript = directory.join("transcript.jsonl");
    let (session, mut notices) = options
        .builder(&rehearsal.url())
        .journal(directory.join("session.jsonl"), Durability::Written)
        .transcript(TranscriptConfig::new(Some(transcript.clone()), about, None))
        .transcript_listener(Arc::new(move |appended: &AppendedTranscriptLines<'_>| {
            let append = (appended.message, appended.uuids.to_vec(), appended.lines.len());
            appends_of_listener.lock().unwrap().push(append);
        }))
        .start()
        .unwrap();
    session.submit(PromptSubmission::from("make it").with_name(PROMPT)).unwrap();
    let (ending, received) = ended(&mut notices).await;
    assert_completed(&ending);
    let added = received.iter().filter(|notice| matches!(notice, Notice::MessageAdded(_))).count();
    {
        let appends = appends.lock().unwrap();
        assert_eq!(appends.iter().filter(|(message, ..)| message.is_some()).count(), added);
        assert!(appends.iter().any(|(_, uuids, _)| uuids == &[PROMPT]), "{appends:?}");
        let lines: usize = appends.iter().map(|(.., lines)| lines).sum();
        let written = std::fs::read_to_string(&transcript).unwrap();
        assert_eq!(written.lines().count(), lines);
        assert!(written.contains(PROMPT));
    }
    let look = RewindOptions { dry_run: true, ..RewindOptions::default() };
    let shown = session.rewind_files(PROMPT, look.clone()).await.unwrap();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].is_removed && shown[0].file_state == RestoreStatus::Restorable, "{shown:?}");
    assert_eq!((shown[0].insertions, shown[0].deletions), (0, 2));
    assert!(file.exists());
    let unknown = session.rewind_files("somebody else's", look).await;
    assert!(matches!(unknown, Err(RewindError::NoMessage(_))), "{unknown:?}");
    // Another program changes it meanwhile.
    std::fs::write(&file, "by hand\n").unwrap();
    let refused = session.rewind_files(PROMPT, RewindOptions::default()).await;
    assert!(matches!(refused, Err(RewindError::ChangedByOthers(_))), "{refused:?}");
    assert!(file.exists());
    let all = RewindOptions { overwrite: OverwriteChoice::All, ..RewindOptions::default() };
    session.rewind_files(PROMPT, all).await.unwrap();
    assert!(!file.exists());
    assert!(shell.exists(), "what commands did is not covered");
    session.close().await;
}

#[tokio::test]
async fn a_session_that_is_not_kept_cannot_go_back() {
    let fixture = FixtureOptions::default().play([Says::text("hi")]).await;
    let refused = fixture.session.rewind_files(PROMPT, RewindOptions::default()).await;
    assert!(matches!(refused, Err(RewindError::NotKept)), "{refused:?}");
}

/// The messages of the last request, as one text.
fn last_request_text(rehearsal: &windlass_rehearsal::Rehearsal) -> String {
    last_request(rehearsal)["messages"].to_string()
}

const BOTH: RewindScope = RewindScope { conversation: true, files: true };
const SECOND: &str = "c0ffee00-0000-4000-8000-000000000002";

#[tokio::test]
async fn an_open_session_goes_back_and_on_from_there() {
    let options = FixtureOptions::default().with(|settings| {
        settings.model.prices.output = 1_000_000;
        settings.budget.budget_max = Some(MicroUsd(1_000_000));
    });
    let directory = options.directory.path().to_owned();
    let (journal, file) = (directory.join("session.jsonl"), directory.join("made"));
    let write = json!({ "file_path": file.to_string_lossy(), "content": "one\n" });
    let answers =
        [Says::text("hello"), Says::empty().tool("Write", write), Says::text("made it").repeat(0)];
    let rehearsal = rehearse(answers).await;
    let about = TranscriptContext { session: SESSION.into(), ..TranscriptContext::default() };
    let transcript = directory.join("transcript.jsonl");
    let start = || {
        options
            .builder(&rehearsal.url())
            .journal(&journal, Durability::Synced)
            .transcript(TranscriptConfig::new(Some(transcript.clone()), about.clone(), None))
            .start()
            .unwrap()
    };
    let (session, mut notices) = start();
    session.submit(PromptSubmission::from("first").with_name(PROMPT)).unwrap();
    assert_completed(&ended(&mut notices).await.0);
    session.submit(PromptSubmission::from("second").with_name(SECOND)).unwrap();
    let paid = ended(&mut notices).await.0;
    assert_completed(&paid);
    let look = session
        .rewind(SECOND, BOTH, RewindOptions { dry_run: true, ..RewindOptions::default() })
        .await;
    assert_eq!(look.unwrap().files.len(), 1);
    assert!(file.exists());
    let rewound = session.rewind(SECOND, BOTH, RewindOptions::default()).await.unwrap();
    assert_eq!((rewound.prompt.as_str(), rewound.files.len()), ("second", 1));
    assert!(!file.exists());
    session.submit("another way").unwrap();
    let ending = ended(&mut notices).await.0;
    assert_completed(&ending);
    let words = last_request_text(&rehearsal);
    assert!(words.contains("first") && words.contains("another way"), "{words}");
    assert!(!words.contains("second") && !words.contains("made it"), "{words}");
    // Once more, from the same process, to the very beginning.
    session.rewind(PROMPT, BOTH, RewindOptions::default()).await.unwrap();
    session.submit("from scratch").unwrap();
    assert_completed(&ended(&mut notices).await.0);
    assert!(!last_request_text(&rehearsal).contains("first"), "{}", last_request_text(&rehearsal));
    session.close().await;
    // Another process finds what is left, and that what was paid for stays paid.
    let (session, mut notices) = start();
    session.submit("and on").unwrap();
    assert_completed(&ended(&mut notices).await.0);
    let words = last_request_text(&rehearsal);
    assert!(words.contains("from scratch") && !words.contains("another way"), "{words}");
    session.close().await;
    let heads = std::fs::read_to_string(directory.join("session.3.jsonl")).unwrap();
    let head = heads.lines().next().unwrap();
    let spent = head.split_once(r#""spent":"#).unwrap().1;
    let spent: u64 = spent.split(',').next().unwrap().parse().unwrap();
    assert!(spent > paid.cost.0, "{head}: {paid:?}");
    let settings = windlass_journal::fold(&journal, &options.settings).unwrap().settings;
    assert_eq!(settings.budget.budget_max, Some(MicroUsd(1_000_000 - spent)));
}

#[tokio::test]
async fn a_run_is_ended_before_the_session_goes_back() {
    let options = FixtureOptions::default();
    let directory = options.directory.path().to_owned();
    let wait = json!({ "command": "sleep 60" });
    let answers =
        [Says::text("hello"), Says::empty().tool("Bash", wait), Says::text("in time").repeat(0)];
    let rehearsal = rehearse(answers).await;
    let about = TranscriptContext { session: SESSION.into(), ..TranscriptContext::default() };
    let (session, mut notices) = options
        .builder(&rehearsal.url())
        .journal(directory.join("session.jsonl"), Durability::Written)
        .transcript(TranscriptConfig::new(None, about, None))
        .start()
        .unwrap();
    session.submit("first").unwrap();
    assert_completed(&ended(&mut notices).await.0);
    session.submit(PromptSubmission::from("second").with_name(PROMPT)).unwrap();
    until(&mut notices, |notice| matches!(notice, Notice::ToolStarted { .. })).await;
    let unknown = session.rewind("nobody's", BOTH, RewindOptions::default()).await;
    assert!(matches!(unknown, Err(RewindError::NoMessage(_))), "{unknown:?}");
    let ending = ended(&mut notices).await.0;
    assert_eq!(ending.terminal, Terminal::AbortedTools, "{ending:?}");
    let rewound = session.rewind(PROMPT, BOTH, RewindOptions::default()).await.unwrap();
    assert_eq!(rewound.prompt, "second");
    session.submit("third").unwrap();
    assert_completed(&ended(&mut notices).await.0);
    let words = last_request_text(&rehearsal);
    assert!(words.contains("first") && words.contains("third"), "{words}");
    assert!(!words.contains("second") && !words.contains("sleep"), "{words}");
    session.close().await;
    let gone = session.rewind(PROMPT, BOTH, RewindOptions::default()).await;
    assert!(matches!(gone, Err(RewindError::Closed)), "{gone:?}");
}

#[tokio::test]
async fn task_lists_go_back_with_the_conversation_and_are_there_when_it_is_resumed() {
    let options = FixtureOptions::default();
    let directory = options.directory.path().to_owned();
    let create = |subject: &str| json!({ "subject": subject, "description": "in full" });
    let list = || Says::empty().tool("TaskList", json!({}));
    let complete_first = json!({ "taskId": "1", "status": "completed" });
    let answers = [
        Says::empty().tool("TaskCreate", create("look")).tool("TaskCreate", create("fix")),
        Says::text("planned"),
        Says::empty().tool("TaskUpdate", complete_first).tool("TaskCreate", create("dropped")),
        Says::text("worked"),
        list(),
        Says::empty().tool("TaskCreate", create("test")),
        Says::text("planned anew"),
        list(),
        Says::text("resumed"),
    ];
    let rehearsal = rehearse(answers).await;
    let about = TranscriptContext { session: SESSION.into(), ..TranscriptContext::default() };
    let start = || {
        options
            .builder(&rehearsal.url())
            .journal(directory.join("session.jsonl"), Durability::Written)
            .transcript(TranscriptConfig::new(None, about.clone(), None))
            .start()
            .unwrap()
    };
    let (session, mut notices) = start();
    session.submit("plan").unwrap();
    assert_completed(&ended(&mut notices).await.0);
    session.submit(PromptSubmission::from("work").with_name(PROMPT)).unwrap();
    assert_completed(&ended(&mut notices).await.0);
    let conversation = RewindScope { conversation: true, files: false };
    session.rewind(PROMPT, conversation, RewindOptions::default()).await.unwrap();
    session.submit("another way").unwrap();
    let (ending, received) = ended(&mut notices).await;
    assert_completed(&ending);
    let words = last_request_text(&rehearsal);
    assert!(words.contains("[ ] #1 look") && words.contains("[ ] #2 fix"), "{words}");
    assert!(!words.contains("dropped") && words.contains("Made task #3: test"), "{words}");
    // A list that is as it was is not told as news with the first call.
    let updates = received.iter().filter_map(|notice| match notice {
        Notice::ToolEnded { outcome, .. } => outcome.update.as_ref()?.tasks.as_deref(),
        _ => None,
    });
    assert_eq!(updates.collect::<Vec<_>>(), ["Tasks:\n[ ] #1 look\n[ ] #2 fix\n[ ] #3 test\n"]);
    session.close().await;

    let (session, mut notices) = start();
    session.submit("and on").unwrap();
    assert_completed(&ended(&mut notices).await.0);
    let words = last_request_text(&rehearsal);
    let resumed = words.split("and on").nth(1).unwrap();
    assert!(resumed.contains("[ ] #1 look") && resumed.contains("[ ] #3 test"), "{words}");
    session.close().await;
}
