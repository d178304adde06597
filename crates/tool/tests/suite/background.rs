//! Commands in the background: started, waited for, looked at, ended, and never left behind.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_tool::ToolSessionContext;

use crate::test_project::{TestProject, is_running, structured, text};

async fn start(project: &TestProject, command: &str) -> String {
    let input = json!({"command": command, "run_in_background": true});
    let outcome = project.call("Bash", input).await;
    assert!(!outcome.is_error, "{}", text(&outcome));
    structured(&outcome)["backgroundTaskId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn output_is_shown_once_and_the_end_is_told_once() {
    let project = TestProject::new();
    project.bash("mkfifo go").await;
    let began = Instant::now();
    let id = start(&project, "echo one; read -r line < go; echo two; exit 3").await;
    assert!(began.elapsed() < Duration::from_secs(240));
    let wait = json!({"task_id": id, "until": "^one$"});
    let outcome = project.call("Monitor", wait.clone()).await;
    let shown = text(&outcome);
    assert!(shown.ends_with("what you waited for is there.\none"), "{shown}");
    let outcome = project.call("Monitor", json!({"task_id": id, "timeout": 0})).await;
    assert!(text(&outcome).ends_with(" s so far.\n[Nothing new was written]"));
    assert_eq!(project.context.background.take_end_notices(), []);

    let waiting = project.call("Monitor", json!({"task_id": id}));
    let (outcome, _) = tokio::join!(waiting, project.bash("echo > go"));
    assert_eq!(text(&outcome), format!("`{id}` has ended: Exit code 3\ntwo"));
    assert!(outcome.is_error);
    assert_eq!(project.context.background.take_end_notices(), [], "Monitor told it already");
}

/// The user sends a command that a call waits for into the background: it goes on as if begun there.
#[tokio::test]
async fn a_command_that_is_waited_for_can_be_moved() {
    let project = TestProject::new();
    project.bash("mkfifo go").await;
    let background = &project.context.background;
    assert!(!background.move_to_background(None), "there is none yet");
    let input =
        json!({"command": "export X=1; echo one; echo > go; read -r line < go; echo two; exit 3"});
    let cancel = tokio_util::sync::CancellationToken::new();
    let call = windlass_tool::ToolCallContext { cancel: cancel.clone(), ..project.call_context() };
    let moving = async {
        // It has written, and waits.
        project.bash("read -r line < go").await;
        // Only the other call is left to be moved.
        assert!(background.move_to_background(Some("")));
    };
    let (outcome, ()) = tokio::join!(project.call_in("Bash", input, call), moving);
    assert!(!outcome.is_error, "{}", text(&outcome));
    let id = structured(&outcome)["backgroundTaskId"].as_str().unwrap().to_owned();
    assert!(text(&outcome).contains(&format!("`{id}`")), "{}", text(&outcome));
    assert!(!background.move_to_background(None), "nothing is waited for any more");
    // The turn it came from is interrupted, which is no affair of its.
    cancel.cancel();
    let task = background.list_tasks().remove(0);
    assert_eq!(std::fs::read(&task.output_path).unwrap(), b"one\n");
    assert_eq!(task.end_summary, None);
    let waiting = project.call("Monitor", json!({"task_id": id}));
    let (outcome, _) = tokio::join!(waiting, project.bash("echo > go"));
    assert_eq!(text(&outcome), format!("`{id}` has ended: Exit code 3\none\ntwo"));
    let left = std::fs::read_dir(task.output_path.parent().unwrap()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.starts_with("directory")), "{left:?}");
}

#[tokio::test]
async fn an_end_nobody_waited_for_is_told_to_the_driver_once() {
    let project = TestProject::new();
    let background = &project.context.background;
    let ended = background.wait_for_next_end();
    let id = start(&project, "echo $((6*7))").await;
    tokio::time::timeout(Duration::from_secs(240), async {
        tokio::select! {
            () = ended => {}
            () = async { while background.running_count() > 0 { tokio::task::yield_now().await } } => {}
        }
    })
    .await
    .unwrap();
    let told = background.take_end_notices();
    assert_eq!(told.len(), 1);
    assert!(told[0].note.contains(&format!("`{id}` (echo $((6*7))) has ended: Exit code 0.")));
    assert_eq!(std::fs::read(&told[0].task.output_path).unwrap(), b"42\n");
    assert_eq!(background.take_end_notices(), []);
}

#[tokio::test]
async fn stopping_ends_all_of_it_and_so_does_the_end_of_the_session() {
    let mut project = TestProject::new();
    let command = "setsid bash -c 'echo $$ > child; exec sleep 900' & echo $$ > leader; wait";
    let id = start(&project, &format!("{command} # ready")).await;
    let both = ["leader", "child"].map(|name| project.path(name));
    let ready = async || {
        while !both.iter().all(|file| std::fs::read(file).is_ok_and(|id| !id.is_empty())) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(240), ready()).await.unwrap();
    let outcome = project.call("TaskStop", json!({"task_id": id})).await;
    assert!(text(&outcome).starts_with(&format!("Ended `{id}`.")), "{}", text(&outcome));
    assert!(both.iter().all(|file| !is_running(file)));
    let outcome = project.call("TaskStop", json!({"task_id": id})).await;
    assert!(text(&outcome).contains("had ended already: Stopped."));
    let outcome = project.call("Monitor", json!({"task_id": "b9"})).await;
    assert!(text(&outcome).contains("There is no task `b9`. There are: b1."));

    for file in &both {
        std::fs::remove_file(file).unwrap();
    }
    start(&project, command).await;
    tokio::time::timeout(Duration::from_secs(240), ready()).await.unwrap();
    project.context.background.close().await;
    assert_eq!(project.context.background.running_count(), 0);
    assert!(both.iter().all(|file| !is_running(file)));

    // Without anybody to wait for them they are killed at once.
    for file in &both {
        std::fs::remove_file(file).unwrap();
    }
    start(&project, &format!("trap '' TERM; {command}")).await;
    tokio::time::timeout(Duration::from_secs(240), ready()).await.unwrap();
    project.context = std::sync::Arc::new(ToolSessionContext::new(&project.root, "/nowhere"));
    let gone = Instant::now();
    while both.iter().any(|file| is_running(file)) {
        assert!(gone.elapsed() < Duration::from_secs(240), "they were not killed");
        tokio::task::yield_now().await;
    }
}

/// T1 and T5 hold in the background too.
#[tokio::test]
async fn deadline_cap_and_number_hold_in_the_background() {
    let project = TestProject::with(|context| {
        context.limits.output_spill_bytes_max = 100_000;
        context.limits.background_tasks_max = 3;
    });
    let input = json!({"command": "echo a; sleep 30", "run_in_background": true, "timeout": 2000});
    project.call("Bash", input).await;
    let flood = start(&project, "yes").await;
    let outcome = project.call("Monitor", json!({"task_id": "b1"})).await;
    let shown = text(&outcome);
    assert_eq!(shown, "`b1` has ended: Timed out after 2000 ms and was stopped.\na");
    let outcome = project.call("Monitor", json!({"task_id": flood})).await;
    let shown = text(&outcome);
    assert!(shown.contains("Stopped: it wrote more than 100000 bytes"), "{shown}");
    assert!(shown.len() < 32_000);
    let tasks = project.context.background.list_tasks();
    assert_eq!(std::fs::metadata(&tasks[1].output_path).unwrap().len(), 100_000);
    for _ in 0..3 {
        start(&project, "sleep 30").await;
    }
    let input = json!({"command": "sleep 30", "run_in_background": true});
    let refused = project.call("Bash", input).await;
    assert!(refused.is_error && text(&refused).contains("End one with TaskStop first"));
}

#[tokio::test]
async fn waiting_can_be_interrupted_and_the_command_runs_on() {
    let project = TestProject::new();
    let id = start(&project, "echo early; sleep 30").await;
    let call = project.call_context();
    call.cancel.cancel();
    let outcome = project.call_in("Monitor", json!({"task_id": id}), call).await;
    assert!(outcome.is_error && text(&outcome).starts_with("Interrupted; `b1` runs on, "));
    assert_eq!(project.context.background.running_count(), 1);
    let wrong = project.inspect("Monitor", &json!({"task_id": id, "until": "("}));
    assert!(wrong.problem.unwrap().contains("field `until`"));
}

/// A nested session keeps its outputs in the same place.
#[tokio::test]
async fn sessions_that_share_a_place_do_not_share_files() {
    let project = TestProject::new();
    let mut other = TestProject::new();
    other.context = std::sync::Arc::new(project.context.for_subagent());
    for project in [&project, &other] {
        start(project, "echo hi").await;
        let outcome = project.bash("seq 1 20000").await;
        assert!(text(&outcome).contains("[All 108894 bytes are in"), "{}", text(&outcome));
    }
    let outputs =
        [&project, &other].map(|it| it.context.background.list_tasks()[0].output_path.clone());
    assert_ne!(outputs[0], outputs[1]);
}

const OWNER: &str = "WINDLASS_TEST_OWNER";

/// J14: what a killed process left running is ended by the next one, also if it was killed before it
/// could write down which process the command is.
#[tokio::test]
async fn what_a_killed_process_left_is_ended_by_the_next() {
    if let Some(place) = std::env::var_os(OWNER) {
        let place = std::path::PathBuf::from(place);
        let mut project = TestProject::new();
        let owned = ToolSessionContext::new(&place, place.join("spill"));
        project.context = std::sync::Arc::new(owned);
        start(&project, "setsid bash -c 'echo $$ > child; exec sleep 900' & wait").await;
        return std::future::pending().await;
    }
    for is_noted in [true, false] {
        ends_what_is_left(is_noted).await;
    }
}

async fn ends_what_is_left(is_noted: bool) {
    let project = TestProject::new();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "background::what_a_killed_process_left_is_ended_by_the_next"])
        .env(OWNER, &project.root)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let child = project.path("child");
    let ready = async {
        while !std::fs::read(&child).is_ok_and(|id| !id.is_empty()) {
            tokio::task::yield_now().await;
        }
    };
    let is_ready = tokio::time::timeout(Duration::from_secs(240), ready).await;
    let next = ToolSessionContext::new(&project.root, project.root.join("spill"));
    let early = next.processes.end_orphaned_commands();
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(is_ready.is_ok());
    assert_eq!(early, [""; 0].map(std::path::PathBuf::from), "its owner was alive");
    assert!(is_running(&child));
    let notes = std::fs::read_dir(project.root.join("spill")).unwrap().flatten();
    let own = notes.filter(|note| !note.file_name().to_string_lossy().starts_with("owner-"));
    let own = own.map(|note| note.path()).filter(|path| path.extension().is_some());
    own.filter(|_| !is_noted).for_each(|note| std::fs::remove_file(note).unwrap());
    // It has exited when its own note was followed, so the note of its owner finds nothing.
    let ended = next.processes.end_orphaned_commands();
    assert_eq!(ended.len(), 1, "noted: {is_noted}: {ended:?}");
    assert!(!is_running(&child));
    assert_eq!(next.processes.end_orphaned_commands().len(), 0);
}
