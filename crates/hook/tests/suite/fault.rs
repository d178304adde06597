//! The rows of the fault matrix that are a hook's own: it crashes, hangs, floods, leaves children.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_hook::{HookEvent, HookInvocation};
use windlass_vocabulary::HookVerdict::{Ask, Pass};

use crate::test_bed::{HookTestBed, command_hook};

/// Waits until a process whose number a hook wrote to a file is gone.
async fn is_gone(stage: &HookTestBed, file: &str) -> bool {
    let id = std::fs::read_to_string(stage.path().join(file)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        let lives = stat.is_ok_and(|stat| !stat.contains(") Z "));
        if !lives || Instant::now() > deadline {
            return !lives;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn h1_a_crash_is_warned_of_and_a_guard_then_asks() {
    let stage = HookTestBed::new();
    let missing = json!({ "type": "command", "command": "./missing-guard", "args": [] });
    let no_interpreter = "printf '#!/missing/interpreter\\n' > guard; chmod +x guard; ./guard";
    let table = [
        (command_hook("exit 1"), "exit code 1"),
        (command_hook("kill -SEGV $$"), "signal 11"),
        (command_hook("kill -KILL $$"), "signal 9"),
        (command_hook("./missing-guard"), "exit code 127"),
        (command_hook(no_interpreter), "exit code"),
        (missing, "exit code 127"),
    ];
    for (hook, words) in table {
        let joint = stage.run(HookEvent::PreToolUse, std::slice::from_ref(&hook)).await;
        assert!(matches!(&joint.verdict, Ask(why) if why.contains(words)), "{joint:?}");
        assert!(joint.warnings[0].contains(words), "{joint:?}");
        let joint = stage.run(HookEvent::PostToolUse, &[hook]).await;
        assert_eq!((joint.verdict, joint.warnings.len()), (Pass, 1));
    }
}

#[tokio::test]
async fn h2_a_hook_that_hangs_is_ended_with_its_whole_tree() {
    let stage = HookTestBed::new();
    // A child in the group, one in a session of its own, and nobody heeds a polite request.
    let line = "trap '' TERM; sleep 1000 & echo $! > child; setsid sh -c 'trap \"\" TERM; echo $$ > stray; sleep 1000' & while :; do wait; done";
    let mut hook = command_hook(line);
    hook["timeout"] = 1.into();
    let joint = stage.run(HookEvent::PreToolUse, &[hook]).await;
    assert!(matches!(&joint.verdict, Ask(why) if why.contains("longer than 1 s")), "{joint:?}");
    assert!(is_gone(&stage, "child").await && is_gone(&stage, "stray").await);
}

#[tokio::test]
async fn a_hook_that_is_called_off_or_dropped_leaves_nothing_behind() {
    let stage = HookTestBed::new();
    let hook = command_hook("sleep 1000 & echo $! > child; echo $$ > self; mv self ready; wait");
    let occasion = HookInvocation::default();
    let cancel = occasion.cancel.clone();
    let ready = stage.path().join("ready");
    let wait = async {
        while !ready.exists() {
            tokio::task::yield_now().await;
        }
    };
    let asked = async {
        let hooks = [hook.clone()];
        tokio::join!(stage.run_with(HookEvent::PreToolUse, &hooks, occasion), async {
            wait.await;
            cancel.cancel();
        })
        .0
    };
    let joint = asked.await;
    assert!(joint.results[0].is_cancelled && joint.warnings.is_empty(), "{joint:?}");
    assert!(is_gone(&stage, "child").await && is_gone(&stage, "ready").await);
    std::fs::remove_file(&ready).unwrap();
    let hooks = [hook];
    tokio::select! {
        _ = stage.run(HookEvent::PreToolUse, &hooks) => panic!("it does not end by itself"),
        () = async { while !ready.exists() { tokio::task::yield_now().await; } } => {}
    }
    assert!(is_gone(&stage, "child").await && is_gone(&stage, "ready").await);
}

#[tokio::test]
async fn h3_a_flood_and_binary_output_are_bounded_and_ignored() {
    let stage = HookTestBed::new();
    let flood = command_hook("echo '{\"decision\":\"approve\"}'; head -c 100000000 /dev/zero");
    let joint = stage.run(HookEvent::PreToolUse, &[flood]).await;
    assert!(matches!(&joint.verdict, Ask(why) if why.contains("1000000")), "{joint:?}");
    assert!(joint.results[0].stdout.len() < 50_000);
    let binary = command_hook("printf '\\377\\376\\000\\001'");
    let joint = stage.run(HookEvent::SessionStart, std::slice::from_ref(&binary)).await;
    assert!(joint.context.is_empty() && joint.warnings[0].contains("not text"), "{joint:?}");
    let joint = stage.run(HookEvent::PreToolUse, &[binary]).await;
    assert!(matches!(joint.verdict, Ask(_)));
}

#[tokio::test]
async fn a_hook_that_reads_nothing_of_a_large_input_is_no_failure() {
    let stage = HookTestBed::new();
    let input = json!({ "hook_event_name": "PostToolUse", "tool_response": "x".repeat(3 << 20) });
    let occasion = HookInvocation { input, ..HookInvocation::default() };
    let joint = stage.run_with(HookEvent::PostToolUse, &[command_hook("exit 0")], occasion).await;
    assert_eq!((joint.verdict, joint.warnings.len()), (Pass, 0));
}

#[tokio::test]
async fn hooks_run_side_by_side() {
    let stage = HookTestBed::new();
    // Each waits for the other, so in a row neither would end.
    let line = |own: &str, other: &str| {
        let mut hook = command_hook(&format!(
            "mkfifo -m 600 {own} 2>/dev/null; : > {own}.up; while [ ! -e {other}.up ]; do sleep 0.01; done"
        ));
        hook["timeout"] = 60.into();
        hook
    };
    let joint = stage.run(HookEvent::PreToolUse, &[line("a", "b"), line("b", "a")]).await;
    assert_eq!((joint.verdict, joint.results.len(), joint.warnings.len()), (Pass, 2, 0));
    let watched = stage.recorded.0.lock().unwrap().clone();
    assert_eq!(
        watched.iter().filter(|line| *line == "start PreToolUse:Bash PreToolUse").count(),
        2
    );
    assert_eq!(
        watched.iter().filter(|line| line.starts_with("end PreToolUse:Bash Some(0)")).count(),
        2
    );
}

#[tokio::test]
async fn a_hook_nobody_waits_for_has_an_owner() {
    let stage = HookTestBed::new();
    let hook =
        json!({ "type": "command", "async": true, "command": "echo $$ > child; sleep 1000" });
    let joint = stage.run(HookEvent::PostToolUse, &[hook]).await;
    assert!(joint.results.is_empty());
    let child = stage.path().join("child");
    while std::fs::read_to_string(&child).unwrap_or_default().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stage.environment.background.close(Duration::ZERO).await;
    assert!(is_gone(&stage, "child").await);
}
