//! What a cell adds to a command that runs unasked, in the same run and in turn.
//! `cargo bench -p windlass-driver --bench cell`
//!
//! Prints a table, with the usual secrets of a home hidden, and fails when the cell adds more than two
//! milliseconds at the median of the differences, which stands still on a busy machine. Without `--bench` each is tried once.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_driver::{CommandCellConfig, ToolCellLauncher, ToolSessionContext};
use windlass_permission::{Confinement, PermissionDecision, Policy, PriorDecision, decide};
use windlass_sandbox::SandboxProbeOptions;
use windlass_tool::{ToolCallContext, ToolRegistry};
use windlass_vocabulary::{Json, ToolCall, ToolCallId, ToolInspection, ToolName};

const ADDED_MAX: Duration = Duration::from_millis(2);
const ROUNDS: usize = 400;

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_measured { ROUNDS } else { 1 };
    let Ok(place) = tempfile::tempdir() else { return ExitCode::FAILURE };
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let plain = Arc::new(ToolSessionContext::new(place.path(), place.path().join("spill")));
    let mut held = ToolSessionContext::new(place.path(), place.path().join("spill"));
    let config = CommandCellConfig {
        roots: vec![place.path().to_owned()],
        home: std::env::home_dir(),
        hidden: Vec::new(),
        shown: Vec::new(),
        sandbox: SandboxProbeOptions::best_available("windlass", ["__sandbox"]),
    };
    let began = Instant::now();
    match ToolCellLauncher::probe(config) {
        Ok(launcher) => held.processes.cell = Some(Arc::new(launcher)),
        Err(missing) => {
            println!("there is no cell here: {missing}");
            return ExitCode::SUCCESS;
        }
    }
    println!("looking whether there is a cell took {:.2?}", began.elapsed());
    let held = Arc::new(held);
    let registry = ToolRegistry::with_builtin_tools();
    println!("{:<28} {:>10} {:>10} {:>10}", "command", "plain", "cell", "added");
    let mut is_missed = false;
    for command in ["cat a.txt", "ls | head -3", "cd . && ls"] {
        let (mut without, mut with, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            // In turn, and each as often first: what the machine does meanwhile weighs on both alike.
            let (first, second) = if round % 2 == 0 { (&plain, &held) } else { (&held, &plain) };
            let (Some(one), Some(other)) = (
                runtime.block_on(run(&registry, first, command)),
                runtime.block_on(run(&registry, second, command)),
            ) else {
                return ExitCode::FAILURE;
            };
            let (plain, held) = if round % 2 == 0 { (one, other) } else { (other, one) };
            without.push(plain);
            with.push(held);
            added.push(held.saturating_sub(plain));
        }
        let (without, with, added) = (median(without), median(with), median(added));
        println!("{command:<28} {without:>10.2?} {with:>10.2?} {added:>10.2?}");
        is_missed |= is_measured && added > ADDED_MAX;
    }
    match is_missed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn run(
    registry: &ToolRegistry,
    context: &Arc<ToolSessionContext>,
    command: &str,
) -> Option<Duration> {
    let call = ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from("Bash"),
        input: Json::from_checked(&json!({ "command": command }).to_string()),
        signature: None,
    };
    let directories = vec![context.files.cwd.to_string_lossy().into_owned()];
    let policy = Policy { directories, ..Policy::default() };
    let inspection = ToolInspection::EXCLUSIVE_EFFECT;
    let decision = decide(&policy, call, &inspection, PriorDecision::None);
    let PermissionDecision::Allow(granted) = decision else { return None };
    if granted.confinement() != Confinement::ReadOnly {
        return None;
    }
    let tool = registry.get("Bash")?;
    let began = Instant::now();
    tool.run(granted, ToolCallContext::new(Arc::clone(context))).await;
    Some(began.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
