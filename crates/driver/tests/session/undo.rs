//! Files go back while the session is open, to a message its sender named; and whoever wants to hears
//! of every line of the transcript before its message is told.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_driver::undo::{RewindError, Standing, Wish};
use windlass_driver::{About, Appended, Durability, Submission, Transcript};
use windlass_rehearsal::Answer as Says;
use windlass_vocabulary::{MessageId, Notice};

use crate::stage::{Setting, assert_completed, ended, rehearse};

/// The message a line belongs to, what its lines are called, and how many there are.
type Heard = (Option<MessageId>, Vec<String>, usize);

const SESSION: &str = "2b0a7d11-93c4-4e57-8a60-5d1f0c9e7b42";
const PROMPT: &str = "c0ffee00-0000-4000-8000-000000000001";

#[tokio::test]
async fn files_go_back_to_a_message_that_was_named() {
    let setting = Setting::default();
    let directory = setting.directory.path().to_owned();
    let (file, shell) = (directory.join("made"), directory.join("by-shell"));
    let write = json!({ "file_path": file.to_string_lossy(), "content": "one\ntwo\n" });
    let touch = json!({ "command": format!("echo by hand > {}", shell.display()) });
    let answers =
        [Says::empty().tool("Write", write).tool("Bash", touch), Says::text("done").repeat(0)];
    let rehearsal = rehearse(answers).await;
    let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
    let ears = Arc::clone(&heard);
    let about = About { session: SESSION.into(), ..About::default() };
    let transcript = directory.join("transcript.jsonl");
    let (session, mut notices) = setting
        .builder(&rehearsal.url())
        .journal(directory.join("session.jsonl"), Durability::Written)
        .transcript(Transcript::new(Some(transcript.clone()), about, None))
        .hear_transcript(Arc::new(move |appended: &Appended<'_>| {
            let heard = (appended.message, appended.uuids.to_vec(), appended.lines.len());
            ears.lock().unwrap().push(heard);
        }))
        .start()
        .unwrap();
    session.submit(Submission::from("make it").named(PROMPT)).unwrap();
    let (ending, told) = ended(&mut notices).await;
    assert_completed(&ending);
    let added = told.iter().filter(|notice| matches!(notice, Notice::MessageAdded(_))).count();
    {
        let heard = heard.lock().unwrap();
        assert_eq!(heard.iter().filter(|(message, ..)| message.is_some()).count(), added);
        assert!(heard.iter().any(|(_, uuids, _)| uuids == &[PROMPT]), "{heard:?}");
        let lines: usize = heard.iter().map(|(.., lines)| lines).sum();
        let written = std::fs::read_to_string(&transcript).unwrap();
        assert_eq!(written.lines().count(), lines);
        assert!(written.contains(PROMPT));
    }
    let look = Wish { dry_run: true, ..Wish::default() };
    let shown = session.rewind_files(PROMPT, look).await.unwrap();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].is_removed && shown[0].standing == Standing::Unchanged, "{shown:?}");
    assert_eq!((shown[0].insertions, shown[0].deletions), (0, 2));
    assert!(file.exists());
    let unknown = session.rewind_files("somebody else's", look).await;
    assert!(matches!(unknown, Err(RewindError::NoMessage(_))), "{unknown:?}");
    // Somebody else changes it meanwhile.
    std::fs::write(&file, "by hand\n").unwrap();
    let refused = session.rewind_files(PROMPT, Wish::default()).await;
    assert!(matches!(refused, Err(RewindError::ChangedByOthers(_))), "{refused:?}");
    assert!(file.exists());
    let all = Wish { overwrite: true, ..Wish::default() };
    session.rewind_files(PROMPT, all).await.unwrap();
    assert!(!file.exists());
    assert!(shell.exists(), "what commands did is not covered");
    session.close().await;
}

#[tokio::test]
async fn a_session_that_is_not_kept_cannot_go_back() {
    let stage = Setting::default().play([Says::text("hi")]).await;
    let refused = stage.session.rewind_files(PROMPT, Wish::default()).await;
    assert!(matches!(refused, Err(RewindError::NotKept)), "{refused:?}");
}
