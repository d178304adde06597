//! Commands in the background: started, waited for, looked at, ended, and never left behind.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_tool::ToolSessionContext;

use crate::world::{World, is_running, structured, text};

async fn start(world: &World, command: &str) -> String {
    let input = json!({"command": command, "run_in_background": true});
    let outcome = world.call("Bash", input).await;
    assert!(!outcome.is_error, "{}", text(&outcome));
    structured(&outcome)["backgroundTaskId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn output_is_shown_once_and_the_end_is_told_once() {
    let world = World::new();
    world.bash("mkfifo go").await;
    let began = Instant::now();
    let id = start(&world, "echo one; read -r line < go; echo two; exit 3").await;
    assert!(began.elapsed() < Duration::from_secs(2));
    let wait = json!({"task_id": id, "until": "^one$"});
    let outcome = world.call("Monitor", wait.clone()).await;
    let shown = text(&outcome);
    assert!(shown.ends_with("what you waited for is there.\none"), "{shown}");
    let outcome = world.call("Monitor", json!({"task_id": id, "timeout": 0})).await;
    assert!(text(&outcome).ends_with(" s so far.\n[Nothing new was written]"));
    assert_eq!(world.surroundings.background.take_end_notices(), []);

    let waiting = world.call("Monitor", json!({"task_id": id}));
    let (outcome, _) = tokio::join!(waiting, world.bash("echo > go"));
    assert_eq!(text(&outcome), format!("`{id}` has ended: Exit code 3\ntwo"));
    assert!(outcome.is_error);
    assert_eq!(world.surroundings.background.take_end_notices(), [], "Monitor told it already");
}

#[tokio::test]
async fn an_end_nobody_waited_for_is_told_to_the_driver_once() {
    let world = World::new();
    let background = &world.surroundings.background;
    let ended = background.wait_for_next_end();
    let id = start(&world, "echo $((6*7))").await;
    tokio::time::timeout(Duration::from_secs(5), async {
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
    let mut world = World::new();
    let command = "setsid bash -c 'echo $$ > child; exec sleep 60' & echo $$ > leader; wait";
    let id = start(&world, &format!("{command} # ready")).await;
    let both = ["leader", "child"].map(|name| world.path(name));
    let ready = async || {
        while !both.iter().all(|file| std::fs::read(file).is_ok_and(|id| !id.is_empty())) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ready()).await.unwrap();
    let outcome = world.call("TaskStop", json!({"task_id": id})).await;
    assert!(text(&outcome).starts_with(&format!("Ended `{id}`.")), "{}", text(&outcome));
    assert!(both.iter().all(|file| !is_running(file)));
    let outcome = world.call("TaskStop", json!({"task_id": id})).await;
    assert!(text(&outcome).contains("had ended already: Stopped."));
    let outcome = world.call("Monitor", json!({"task_id": "b9"})).await;
    assert!(text(&outcome).contains("There is no task `b9`. There are: b1."));

    for file in &both {
        std::fs::remove_file(file).unwrap();
    }
    start(&world, command).await;
    tokio::time::timeout(Duration::from_secs(5), ready()).await.unwrap();
    world.surroundings.background.close().await;
    assert_eq!(world.surroundings.background.running_count(), 0);
    assert!(both.iter().all(|file| !is_running(file)));

    // Without anybody to wait for them they are killed at once.
    for file in &both {
        std::fs::remove_file(file).unwrap();
    }
    start(&world, &format!("trap '' TERM; {command}")).await;
    tokio::time::timeout(Duration::from_secs(5), ready()).await.unwrap();
    world.surroundings = std::sync::Arc::new(ToolSessionContext::new(&world.root, "/nowhere"));
    let gone = Instant::now();
    while both.iter().any(|file| is_running(file)) {
        assert!(gone.elapsed() < Duration::from_secs(1), "they were not killed");
    }
}

/// T1 and T5 hold in the background too.
#[tokio::test]
async fn deadline_cap_and_number_hold_in_the_background() {
    let world = World::with(|surroundings| {
        surroundings.limits.output_spill_bytes_max = 100_000;
        surroundings.limits.background_tasks_max = 3;
    });
    let input = json!({"command": "echo a; sleep 30", "run_in_background": true, "timeout": 2000});
    world.call("Bash", input).await;
    let flood = start(&world, "yes").await;
    let outcome = world.call("Monitor", json!({"task_id": "b1"})).await;
    let shown = text(&outcome);
    assert_eq!(shown, "`b1` has ended: Timed out after 2000 ms and was stopped.\na");
    let outcome = world.call("Monitor", json!({"task_id": flood})).await;
    let shown = text(&outcome);
    assert!(shown.contains("Stopped: it wrote more than 100000 bytes"), "{shown}");
    assert!(shown.len() < 32_000);
    let tasks = world.surroundings.background.list_tasks();
    assert_eq!(std::fs::metadata(&tasks[1].output_path).unwrap().len(), 100_000);
    for _ in 0..3 {
        start(&world, "sleep 30").await;
    }
    let input = json!({"command": "sleep 30", "run_in_background": true});
    let refused = world.call("Bash", input).await;
    assert!(refused.is_error && text(&refused).contains("End one with TaskStop first"));
}

#[tokio::test]
async fn waiting_can_be_interrupted_and_the_command_runs_on() {
    let world = World::new();
    let id = start(&world, "echo early; sleep 30").await;
    let job = world.job();
    job.cancel.cancel();
    let outcome = world.call_in("Monitor", json!({"task_id": id}), job).await;
    assert!(outcome.is_error && text(&outcome).starts_with("Interrupted; `b1` runs on, "));
    assert_eq!(world.surroundings.background.running_count(), 1);
    let wrong = world.inspect("Monitor", &json!({"task_id": id, "until": "("}));
    assert!(wrong.problem.unwrap().contains("field `until`"));
}

/// A nested session keeps its outputs in the same place.
#[tokio::test]
async fn sessions_that_share_a_place_do_not_share_files() {
    let world = World::new();
    let mut other = World::new();
    other.surroundings = std::sync::Arc::new(world.surroundings.for_subagent());
    for world in [&world, &other] {
        start(world, "echo hi").await;
        let outcome = world.bash("seq 1 20000").await;
        assert!(text(&outcome).contains("[All 108894 bytes are in"), "{}", text(&outcome));
    }
    let outputs =
        [&world, &other].map(|it| it.surroundings.background.list_tasks()[0].output_path.clone());
    assert_ne!(outputs[0], outputs[1]);
}

const OWNER: &str = "WINDLASS_TEST_OWNER";

/// J14: what a killed process left running is ended by the next one, also if it was killed before it
/// could write down which process the command is.
#[tokio::test]
async fn what_a_killed_process_left_is_ended_by_the_next() {
    if let Some(place) = std::env::var_os(OWNER) {
        let place = std::path::PathBuf::from(place);
        let mut world = World::new();
        let owned = ToolSessionContext::new(&place, place.join("spill"));
        world.surroundings = std::sync::Arc::new(owned);
        start(&world, "setsid bash -c 'echo $$ > child; exec sleep 60' & wait").await;
        return std::future::pending().await;
    }
    for is_noted in [true, false] {
        ends_what_is_left(is_noted).await;
    }
}

async fn ends_what_is_left(is_noted: bool) {
    let world = World::new();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "background::what_a_killed_process_left_is_ended_by_the_next"])
        .env(OWNER, &world.root)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let child = world.path("child");
    let ready = async {
        while !std::fs::read(&child).is_ok_and(|id| !id.is_empty()) {
            tokio::task::yield_now().await;
        }
    };
    let is_ready = tokio::time::timeout(Duration::from_secs(20), ready).await;
    let next = ToolSessionContext::new(&world.root, world.root.join("spill"));
    let early = next.processes.end_orphaned_commands();
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(is_ready.is_ok());
    assert_eq!(early, [""; 0].map(std::path::PathBuf::from), "its owner was alive");
    assert!(is_running(&child));
    let notes = std::fs::read_dir(world.root.join("spill")).unwrap().flatten();
    let own = notes.filter(|note| !note.file_name().to_string_lossy().starts_with("owner-"));
    let own = own.map(|note| note.path()).filter(|path| path.extension().is_some());
    own.filter(|_| !is_noted).for_each(|note| std::fs::remove_file(note).unwrap());
    assert_eq!(next.processes.end_orphaned_commands().len(), 1, "noted: {is_noted}");
    let gone = async {
        while is_running(&child) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(3), gone).await.unwrap();
    assert_eq!(next.processes.end_orphaned_commands().len(), 0);
}
