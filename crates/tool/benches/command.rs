//! What a shell command costs besides the shell itself, in the same run.
//! `cargo bench -p windlass-tool --bench command`
//!
//! Prints a table and fails when a command that only reads takes more than three milliseconds longer
//! than the same shell started by hand, any other (which is followed, and may leave variables) more
//! than eight, or eight that wait more than 560 together. Without `--bench` (when tests build
//! everything) each is tried once.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_permission::{PermissionDecision, PermissionGrant, Policy, PriorDecision, decide};
use windlass_tool::{ToolCallContext, ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName};

/// What may be added to the shell's own time, to a command that only reads and to any other.
const ADDED_MAX: [Duration; 2] = [Duration::from_millis(3), Duration::from_millis(8)];
/// Eight times half a second, side by side.
const TOGETHER_MAX: Duration = Duration::from_millis(560);
const ROUNDS: usize = 60;

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_measured { ROUNDS } else { 1 };
    let Ok(place) = tempfile::tempdir() else { return ExitCode::FAILURE };
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let registry = Arc::new(ToolRegistry::with_builtin_tools());
    let context = Arc::new(ToolSessionContext::new(place.path(), place.path().join("spill")));
    let run = async |command: &'static str| {
        let (Some(tool), Some(granted)) = (registry.get("Bash"), granted(command)) else {
            return;
        };
        tool.run(granted, ToolCallContext::new(Arc::clone(&context))).await;
    };
    println!("{:<28} {:>10} {:>10} {:>10}", "command", "shell", "ours", "added");
    let mut is_missed = false;
    for command in ["echo ok", "echo ok; true", "export A=1", "cd . && echo ok"] {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let began = Instant::now();
            runtime.block_on(shell(command));
            plain.push(began.elapsed());
            let began = Instant::now();
            runtime.block_on(run(command));
            ours.push(began.elapsed());
        }
        let (ours, plain) = (middle(ours), middle(plain));
        let added = ours.saturating_sub(plain);
        println!("{command:<28} {plain:>10.2?} {ours:>10.2?} {added:>10.2?}");
        let [reading, other] = ADDED_MAX;
        is_missed |= is_measured && added > if command == "echo ok" { reading } else { other };
    }
    if is_measured {
        let began = Instant::now();
        runtime.block_on(async {
            let (a, b, c, d) =
                (run("sleep 0.5"), run("sleep 0.5"), run("sleep 0.5"), run("sleep 0.5"));
            let (e, f, g, h) =
                (run("sleep 0.5"), run("sleep 0.5"), run("sleep 0.5"), run("sleep 0.5"));
            tokio::join!(a, b, c, d, e, f, g, h)
        });
        let took = began.elapsed();
        println!("{:<28} {:>10} {took:>10.2?}", "eight times sleep 0.5", "");
        is_missed |= took > TOGETHER_MAX;
    }
    match is_missed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn shell(command: &str) {
    let _ = tokio::process::Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", command])
        .stdin(std::process::Stdio::null())
        .output()
        .await;
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn granted(command: &str) -> Option<PermissionGrant<ToolCall>> {
    let call = ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from("Bash"),
        input: Json::from_checked(&json!({ "command": command }).to_string()),
        signature: None,
    };
    let policy = Policy { mode: PermissionMode::BypassPermissions, ..Policy::default() };
    match decide(&policy, call, &ToolInspection::EXCLUSIVE_EFFECT, PriorDecision::None) {
        PermissionDecision::Allow(granted) => Some(granted),
        PermissionDecision::Ask(_) | PermissionDecision::Deny { .. } => None,
    }
}
