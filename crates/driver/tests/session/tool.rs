//! Tools of the embedder's own: panics, progress, deafness.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fixture::{FixtureOptions, assert_completed, assert_ended, last_request, streamed};
use serde_json::json;
use windlass_driver::{Interrupt, Tool, ToolCallContext, ToolFuture, ToolRegistry};
use windlass_permission::PermissionGrant;
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::{
    Json, Notice, PermissionMode, Terminal, ToolCall, ToolInspection, ToolName, ToolOutcome,
    ToolSpec,
};

type Inspect = fn(&Json) -> ToolInspection;
type Run = fn(ToolCallContext) -> ToolFuture<'static>;

/// A tool that is a pair of functions.
struct Custom {
    spec: ToolSpec,
    inspect: Inspect,
    run: Run,
}

impl Tool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> ToolInspection {
        (self.inspect)(input)
    }

    fn run<'a>(&'a self, _call: PermissionGrant<ToolCall>, job: ToolCallContext) -> ToolFuture<'a> {
        (self.run)(job)
    }
}

fn custom(name: &str, inspect: Inspect, run: Run) -> FixtureOptions {
    let spec = ToolSpec {
        name: ToolName::from(name),
        description: "A tool of the test.".into(),
        input_schema: Json::from_checked(r#"{"type":"object"}"#),
        result_bytes_max: 10_000,
    };
    let mut registry = ToolRegistry::empty();
    registry.insert(Arc::new(Custom { spec, inspect, run }));
    FixtureOptions { registry, ..FixtureOptions::default() }
}

#[tokio::test]
async fn panic_in_a_tool_is_a_result_and_the_session_goes_on() {
    let cases: [(Inspect, Run); 3] = [
        (|_| ToolInspection::SHARED_READ, |_| panic!("before it began")),
        (|_| ToolInspection::SHARED_READ, |_| Box::pin(async { panic!("in the middle") })),
        (|_| panic!("at the look"), |_| Box::pin(async { ToolOutcome::from_text("never") })),
    ];
    for ((inspect, run), words) in cases.into_iter().zip(["before", "middle", "look"]) {
        let answers = [Says::call("Fragile", json!({})), Says::text("noted").when_result(words)];
        let mut fixture = custom("Fragile", inspect, run).play(answers).await;
        let (ending, received) = fixture.run("try it").await;
        assert_ended(&ending, Terminal::Completed);
        assert_eq!(streamed(&received), "noted", "{received:#?}");
    }
}

#[tokio::test]
async fn progress_is_told() {
    let options = custom(
        "Slow",
        |_| ToolInspection::EXCLUSIVE_EFFECT,
        |job| {
            Box::pin(async move {
                job.progress.report(|| "half way".to_owned());
                tokio::task::yield_now().await;
                ToolOutcome::from_text("there")
            })
        },
    );
    let answers = [Says::call("Slow", json!({})), Says::text("fine").when_result("there")];
    let mut fixture = options.play(answers).await;
    let (ending, received) = fixture.run("go").await;
    assert_ended(&ending, Terminal::Completed);
    let is_progress = |notice: &Notice| matches!(notice, Notice::ToolProgressed { text, .. } if text == "half way");
    assert!(received.iter().any(is_progress), "{received:#?}");
}

#[tokio::test]
async fn a_tool_that_does_not_hear_is_dropped() {
    static DROPPED: AtomicBool = AtomicBool::new(false);
    struct Trace;
    impl Drop for Trace {
        fn drop(&mut self) {
            DROPPED.store(true, Ordering::SeqCst);
        }
    }
    let options = custom(
        "Deaf",
        |_| ToolInspection::EXCLUSIVE_EFFECT,
        |_| {
            Box::pin(async {
                let _trace = Trace;
                std::future::pending().await
            })
        },
    );
    let answers = [Says::call("Deaf", json!({})), Says::text("fresh")];
    let mut fixture = options.play(answers).await;
    fixture.session.submit("go").unwrap();
    fixture.until(|notice| matches!(notice, Notice::ToolStarted(_))).await;
    fixture.session.interrupt(Interrupt::User).unwrap();
    assert_ended(&fixture.ending().await.0, Terminal::AbortedTools);
    assert_ended(&fixture.run("again").await.0, Terminal::Completed);
    fixture.session.close().await;
    assert!(DROPPED.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_long_result_is_kept_on_disk_where_the_model_is_told() {
    let options = custom(
        "Long",
        |_| ToolInspection::SHARED_READ,
        |_| Box::pin(async { ToolOutcome::from_text("0123456789".repeat(5_000)) }),
    );
    let answers = [Says::call("Long", json!({})), Says::text("seen")];
    let mut fixture = options.play(answers).await;
    assert_ended(&fixture.run("go").await.0, Terminal::Completed);
    fixture.session.close().await;
    let spill = fixture.directory.path().join("spill");
    let kept: Vec<_> = std::fs::read_dir(&spill).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(std::fs::read_to_string(kept[0].path()).unwrap(), "0123456789".repeat(5_000));
    assert_eq!(kept[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let request = fixture.rehearsal.requests().pop().unwrap();
    assert!(request.body.contains(kept[0].path().to_str().unwrap()), "{}", request.body);
    assert!(request.body.len() < 40_000);
}

/// A link in the project leads where it leads: what it points to is judged, not how it is spelled.
#[tokio::test]
async fn a_link_out_of_the_project_is_no_way_out() {
    let options =
        FixtureOptions::default().with(|settings| settings.policy.mode = PermissionMode::Default);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "the secret").unwrap();
    let folder = options.directory.path().to_owned();
    std::os::unix::fs::symlink(outside.path(), folder.join("out")).unwrap();
    std::fs::write(folder.join("inside.txt"), "the inside").unwrap();
    let answers = [
        Says::call("Read", json!({ "file_path": folder.join("out/secret.txt") })),
        Says::call("Bash", json!({ "command": "cat out/secret.txt" })),
        Says::call("Read", json!({ "file_path": folder.join("inside.txt") })),
        Says::call("Bash", json!({ "command": "cat inside.txt | head -1" })),
        Says::text("done"),
    ];
    let mut fixture = options.play(answers).await;
    let (ending, received) = fixture.run("look").await;
    assert_completed(&ending);
    let denied =
        received.iter().filter(|notice| matches!(notice, Notice::ToolDenied { .. })).count();
    let sent = last_request(&fixture.rehearsal).to_string();
    assert!(!sent.contains("the secret"), "{sent}");
    assert_eq!((denied, sent.matches("the inside").count()), (2, 2), "{sent}");
}
