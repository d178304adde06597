//! What a cell adds to a command, held loosely on any machine; `benches/cell.rs` measures it exactly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_driver::{CommandCellConfig, ToolCellLauncher, ToolSessionContext};
use windlass_permission::{Confinement, PermissionDecision, Policy, PriorDecision, decide};
use windlass_sandbox::SandboxProbeOptions;
use windlass_tool::{ToolCallContext, ToolRegistry};
use windlass_vocabulary::{Json, ToolCall, ToolCallId, ToolInspection, ToolName};

const ROUNDS: usize = 25;

/// Five times what the bench allows: a debug build on a machine with other work.
const ADDED_MAX: Duration = Duration::from_millis(10);

/// Both kinds run in turn, so what the machine does besides slows both. It fails only if the cell takes as long again as the
/// command, as it would if its rules were made anew for each one.
#[tokio::test(flavor = "multi_thread")]
async fn a_cell_costs_less_than_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    // Each entry beside a hidden one is a rule.
    for (directory, entries) in [(".cargo", 200), (".cache", 200), (".gradle", 200), ("w", 1)] {
        for entry in 0..entries {
            std::fs::create_dir_all(home.join(directory).join(entry.to_string())).unwrap();
        }
    }
    let work = home.join("w/0");
    std::fs::write(work.join("a.txt"), "a\n").unwrap();
    let new_context = || ToolSessionContext::new(&work, home.join("spill"));
    let mut held = new_context();
    let config = CommandCellConfig {
        roots: vec![work.clone()],
        home: Some(home.clone()),
        hidden: Vec::new(),
        shown: Vec::new(),
        sandbox: SandboxProbeOptions::best_available("windlass", ["__sandbox"]),
    };
    let Ok(launcher) = ToolCellLauncher::probe(config) else {
        println!("there is no cell here");
        return;
    };
    held.processes.cell = Some(Arc::new(launcher));
    let (plain, held) = (Arc::new(new_context()), Arc::new(held));
    let registry = ToolRegistry::with_builtin_tools();
    let (mut without, mut added) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let is_first = round % 2 == 0;
        let early = run(&registry, if is_first { &plain } else { &held }).await;
        let late = run(&registry, if is_first { &held } else { &plain }).await;
        let (plain_time, held_time) = if is_first { (early, late) } else { (late, early) };
        without.push(plain_time);
        added.push(held_time.saturating_sub(plain_time));
    }
    let (without, added) = (median(without), median(added));
    assert!(added <= ADDED_MAX.max(without), "{added:?} beside {without:?}");
}

async fn run(registry: &ToolRegistry, context: &Arc<ToolSessionContext>) -> Duration {
    let call = ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from("Bash"),
        input: Json::from_checked(&json!({ "command": "cat a.txt" }).to_string()),
        signature: None,
    };
    let directories = vec![context.files.cwd.to_string_lossy().into_owned()];
    let policy = Policy { directories, ..Policy::default() };
    let inspection = ToolInspection::EXCLUSIVE_EFFECT;
    let PermissionDecision::Allow(granted) =
        decide(&policy, call, &inspection, PriorDecision::None)
    else {
        panic!("it is asked about");
    };
    assert_eq!(granted.confinement(), Confinement::ReadOnly);
    let tool = registry.get("Bash").unwrap();
    let began = Instant::now();
    let ended = tool.run(granted, ToolCallContext::new(Arc::clone(context))).await;
    assert!(!ended.is_error, "{ended:?}");
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
