//! Input typed during a run is kept, in order, and its sender's to change until it is delivered; a
//! question that was open when a process died is asked again by the next one.

use std::path::Path;

use serde_json::json;
use windlass_driver::{Durability, PromptSubmission, QueuedMessage, SendError};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{ContentBlock, Notice, PermissionAnswer, PermissionMode, Role, Terminal};

use crate::fixture::{
    FixtureOptions, assert_completed, assert_ended, ended, last_request, rehearse, until,
};

/// A tool that waits until the test writes into its pipe.
fn held(directory: &Path) -> Says {
    let pipe = directory.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    Says::call("Bash", json!({ "command": format!("cat {}", pipe.display()) }))
}

fn words(queued: &[QueuedMessage]) -> Vec<(String, Option<&str>)> {
    let text = |content: &[ContentBlock]| match content {
        [ContentBlock::Text(text)] => text.clone(),
        other => format!("{other:?}"),
    };
    queued.iter().map(|one| (text(&one.content), one.name.as_deref())).collect()
}

#[tokio::test]
async fn a_sender_can_wait_until_there_is_room_for_another_prompt() {
    let options = FixtureOptions::default();
    let answers = [held(options.directory.path()), Says::text("done").repeat(0)];
    let mut fixture = options.play(answers).await;
    let session = fixture.session.clone();
    session.submit("begin").unwrap();
    fixture.until(|notice| matches!(notice, Notice::ToolStarted(_))).await;
    let mut sent = 0;
    // The answer to the question shows that the session has taken in what was sent before it.
    while session.queued_messages().await.unwrap().len() < 1_024 {
        session.submit("more").unwrap();
        sent += 1;
    }
    assert_eq!(session.submit("one too many"), Err(SendError::Full));
    tokio::select! {
        biased;
        _ = session.wait_for_room() => panic!("there is no room"),
        _ = session.queued_messages() => {}
    }
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.wait_for_room().await }
    });
    std::fs::write(fixture.directory.path().join("pipe"), "go on").unwrap();
    assert!(waiting.await.unwrap(), "room for the next");
    session.submit("the next").unwrap();
    let messages = loop {
        fixture.until(|notice| matches!(notice, Notice::RunEnded(_))).await;
        let messages = last_request(&fixture.rehearsal)["messages"].to_string();
        if messages.contains("the next") {
            break messages;
        }
    };
    assert_eq!(messages.matches("more").count(), sent, "each prompt came in once");
    session.close().await;
    assert!(!session.wait_for_room().await, "a closed session has none");
}

#[tokio::test]
async fn input_that_waits_can_be_changed_and_taken_back_and_survives() {
    let options = FixtureOptions::default();
    let journal = options.directory.path().join("session.jsonl");
    let answers = [held(options.directory.path()), Says::text("done").repeat(0)];
    let rehearsal = rehearse(answers).await;
    let builder = options.builder(&rehearsal.url()).journal(&journal, Durability::Synced);
    let (session, mut notices) = builder.start().unwrap();
    session.submit("begin").unwrap();
    until(&mut notices, |notice| matches!(notice, Notice::ToolStarted(_))).await;
    session.submit("first").unwrap();
    session.submit(PromptSubmission::from("second").with_name("name-2")).unwrap();
    session.submit("third").unwrap();
    let queued = session.queued_messages().await.unwrap();
    assert_eq!(
        words(&queued),
        [("first".into(), None), ("second".into(), Some("name-2")), ("third".into(), None)]
    );
    let changed = Some(vec![ContentBlock::Text("second, otherwise".into())]);
    assert!(session.change_queued_message(queued[1].clone(), changed.clone()).await);
    assert!(!session.change_queued_message(queued[1].clone(), changed).await, "it is no longer so");
    assert!(session.change_queued_message(queued[0].clone(), None).await);
    // What the answer promised is on disk, whatever happens now.
    let folded = windlass_journal::fold(&journal, &options.settings).unwrap();
    let kept: Vec<String> = folded
        .state
        .inbox
        .queued
        .iter()
        .map(|submission| format!("{:?}", submission.content))
        .collect();
    assert_eq!(kept, [r#"[Text("second, otherwise")]"#, r#"[Text("third")]"#]);
    // Killed here: the next process goes on from what is on the disk.
    let copy = options.directory.path().join("copy.jsonl");
    std::fs::copy(&journal, &copy).unwrap();
    session.close().await;
    let builder = options.builder(&rehearsal.url()).journal(&copy, Durability::Synced);
    let (session, mut notices) = builder.start().unwrap();
    let queued = session.queued_messages().await.unwrap();
    assert_eq!(
        words(&queued),
        [("second, otherwise".into(), Some("name-2")), ("third".into(), None)]
    );
    session.submit("go on").unwrap();
    until(&mut notices, |notice| matches!(notice, Notice::RunStarted)).await;
    assert_completed(&ended(&mut notices).await.0);
    let messages = last_request(&rehearsal)["messages"].to_string();
    let places: Vec<usize> = ["begin", "second, otherwise", "third", "go on"]
        .iter()
        .map(|words| messages.find(words).unwrap_or_else(|| panic!("{words}: {messages}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}: {messages}");
    assert!(!messages.contains("first"), "{messages}");
    assert_eq!(session.queued_messages().await.unwrap(), []);
}

#[tokio::test]
async fn a_question_that_was_open_is_asked_again() {
    let options = FixtureOptions::default().with(|settings| {
        settings.policy.mode = PermissionMode::Default;
        settings.policy.can_ask = true;
    });
    let journal = options.directory.path().join("session.jsonl");
    let file = options.directory.path().join("made");
    let command = json!({ "command": format!("touch {}", file.display()) });
    let rehearsal = rehearse([Says::call("Bash", command), Says::text("made").repeat(0)]).await;
    let builder = options.builder(&rehearsal.url()).journal(&journal, Durability::Synced);
    let (session, mut notices) = builder.start().unwrap();
    session.submit("make it").unwrap();
    // The answer is whole: one that was cut off before its call began to run is asked for again.
    let is_whole = |notice: &Notice| matches!(notice, Notice::MessageAdded(message) if message.role == Role::Assistant);
    let received = until(&mut notices, is_whole).await;
    let asked = received.iter().find(|notice| matches!(notice, Notice::PermissionAsked { .. }));
    let Some(Notice::PermissionAsked { ticket, question }) = asked else { panic!("{received:#?}") };
    // Killed here.
    let copies = ["one.jsonl", "two.jsonl"].map(|name| options.directory.path().join(name));
    for copy in &copies {
        std::fs::copy(&journal, copy).unwrap();
    }
    session.close().await;
    let builder = options.builder(&rehearsal.url()).journal(&copies[0], Durability::Synced);
    let (session, mut notices) = builder.resume_run(true).start().unwrap();
    let again =
        until(&mut notices, |notice| matches!(notice, Notice::PermissionAsked { .. })).await;
    let expected = Notice::PermissionAsked { ticket: *ticket, question: question.clone() };
    assert_eq!(again.last(), Some(&expected), "the same question");
    assert!(!file.exists());
    let yes = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
    session.answer(*ticket, yes).unwrap();
    assert_completed(&ended(&mut notices).await.0);
    assert!(file.exists(), "{}", last_request(&rehearsal)["messages"]);
    assert_eq!(rehearsal.request_count(), 2, "nothing is asked twice of the model");
    // Who does not go on with the run is told that it was interrupted, and nothing runs.
    std::fs::remove_file(&file).unwrap();
    let builder = options.builder(&rehearsal.url()).journal(&copies[1], Durability::Synced);
    let (_session, mut notices) = builder.start().unwrap();
    assert_ended(&ended(&mut notices).await.0, Terminal::AbortedTools);
    assert!(!file.exists());
}
