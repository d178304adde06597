//! `windlass mcp serve`: our tools for other clients, under the rules in force here.
//!
//! Nobody can be asked, so what would ask is refused with the rule that would allow it. Hooks before a
//! call look at it as in a session; a hook can forbid, and its yes counts as in a session. Hooks after
//! a call are not asked: there is no conversation they could speak into.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::RwLock;
use windlass_driver::hooks::{Ground, HookEvent, Occasion};
use windlass_driver::mcp::serve::{self, Offered, Working};
use windlass_driver::{Disk, Job, Surroundings};
use windlass_permission::{Opinion, Policy, Rule, Ruling, decide_in, speaks_of};
use windlass_vocabulary::{
    Concurrency, HookVerdict, Json, ToolCall, ToolCallId, ToolName, ToolOutcome,
};

use crate::args::ServeArgs;
use crate::compose::{self, Bench};
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::folder;
use crate::refusal::Refusal;
use crate::signals::Signals;

/// Serves over standard input and output until the client goes.
pub(crate) async fn run(args: &ServeArgs, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    let mut signals = Signals::listen()?;
    let mut bench = compose::bench(&args.permission, &args.settings, lookup)?;
    if args.permission.tools.is_empty() {
        bench.registry.retain(|spec| SERVED.contains(&spec.name.as_str()));
    }
    for note in &bench.notes {
        eprintln!("{note}");
    }
    let scratch = bench.scratch.take();
    let counter = Arc::new(Served { bench: Arc::new(bench), turns: Arc::default() });
    let served = tokio::select! {
        served = serve::serve(counter, tokio::io::stdin(), tokio::io::stdout()) => {
            served.map(|()| Exit::DONE).map_err(|failure| Refusal::failed(failure.to_string()))
        }
        signal = signals.next() => Ok(signal.exit()),
    };
    if let Some(scratch) = scratch {
        // Ours alone and perhaps never made.
        let _ = std::fs::remove_dir_all(scratch);
    }
    served
}

/// The tools behind the counter.
struct Served {
    bench: Arc<Bench>,
    /// Calls that only look go side by side, others alone.
    turns: Arc<RwLock<()>>,
}

impl serve::Bench for Served {
    fn tools(&self) -> Vec<Offered> {
        let registry = &self.bench.registry;
        let offered = |name: &str| {
            let tool = registry.get(name)?;
            let is_reading = LOOKING.contains(&name);
            Some(Offered { spec: tool.spec().clone(), is_reading })
        };
        registry.names().filter(|name| *name != "ToolSearch").filter_map(offered).collect()
    }

    fn call(&self, name: &str, input: Json, job: Job) -> Working {
        let (bench, turns) = (Arc::clone(&self.bench), Arc::clone(&self.turns));
        let (id, name) = (ToolCallId::from("served"), ToolName::from(name));
        let call = ToolCall { id, name, input, signature: None };
        Box::pin(async move { called(&bench, &turns, call, job).await })
    }

    fn surroundings(&self) -> Arc<Surroundings> {
        Arc::clone(&self.bench.surroundings)
    }
}

async fn called(bench: &Bench, turns: &RwLock<()>, mut call: ToolCall, job: Job) -> ToolOutcome {
    let cancel = job.cancel.clone();
    let is_alone =
        bench.registry.inspect(call.name.as_str(), &call.input).concurrency != Concurrency::Shared;
    let (_alone, _beside);
    tokio::select! {
        biased;
        () = cancel.cancelled() => return ToolOutcome::failure("Interrupted before it began."),
        turn = turns.write(), if is_alone => _alone = turn,
        turn = turns.read(), if !is_alone => _beside = turn,
    }
    let opinion = match heard(bench, &mut call, &job).await {
        Ok(opinion) => opinion,
        Err(why) => return ToolOutcome::failure(why),
    };
    // Judged when it is its turn: a call before it may have moved the shell.
    let shell = bench.surroundings.shell_directory();
    let standing = (shell != bench.surroundings.cwd).then(|| shell.to_string_lossy().into_owned());
    let policy = Policy { standing, ..bench.policy.clone() };
    let inspection = bench.registry.inspect(call.name.as_str(), &call.input);
    let Some(tool) = bench.registry.get(call.name.as_str()) else {
        return ToolOutcome::failure(format!("There is no tool `{}`.", call.name));
    };
    match decide_in(&policy, call, &inspection, opinion, &Disk::new()) {
        Ruling::Allow(granted) => {
            let overdue = async {
                cancel.cancelled().await;
                tokio::time::sleep(CANCEL_GRACE).await;
            };
            tokio::select! {
                biased;
                outcome = tool.run(granted, job) => outcome,
                () = overdue => ToolOutcome::failure("It was asked to stop, did not, and was dropped."),
            }
        }
        Ruling::Ask(question) => ToolOutcome::failure(question.view().why.clone()),
        Ruling::Deny { why, .. } => ToolOutcome::failure(why),
    }
}

/// What hooks say to a call before it is judged; they may change it.
async fn heard(bench: &Bench, call: &mut ToolCall, job: &Job) -> Result<Opinion, String> {
    let event = HookEvent::PreToolUse;
    let speaks = |rule: &str| {
        Rule::parse(rule).map_or(true, |rule| speaks_of(&rule, &bench.policy, call, &Disk::new()))
    };
    let name = call.name.as_str().to_owned();
    let chosen = bench.hooks.chosen(event, Some(&name), speaks);
    if chosen.is_empty() {
        return Ok(Opinion::None);
    }
    let cwd = bench.surroundings.cwd.clone();
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let told = json!({
        "session_id": "", "transcript_path": "", "cwd": cwd.to_string_lossy(),
        "hook_event_name": event.name(), "permission_mode": bench.policy.mode.name(),
        "tool_name": name, "tool_input": input, "tool_use_id": call.id.as_str(),
    });
    let (environment, spill) =
        (bench.surroundings.environment.clone(), bench.surroundings.spill.clone());
    let ground = Ground::new(cwd.clone(), folder::project(&cwd), environment, spill);
    let occasion = Occasion {
        input: told,
        about: Some(name),
        tool_use_id: Some(call.id.as_str().to_owned()),
        cancel: job.cancel.clone(),
        ..Occasion::default()
    };
    let joint = chosen.run(occasion, &ground).await;
    if let Some(updated) = joint.updated_input {
        call.input = Json::from_checked(&updated.to_string());
    }
    match joint.verdict {
        HookVerdict::Block(why) | HookVerdict::Halt(why) => Err(why),
        HookVerdict::Ask(why) => Ok(Opinion::Ask(why)),
        HookVerdict::Allow => Ok(Opinion::Allow),
        // Nobody takes a call up again here, so it is as if nothing had been said.
        HookVerdict::Pass | HookVerdict::Defer(_) => Ok(Opinion::None),
    }
}

/// What is served where nobody says otherwise: what works on files, runs commands and fetches.
const SERVED: &[&str] = &[
    "Bash",
    "Read",
    "Edit",
    "Write",
    "Glob",
    "Grep",
    "WebFetch",
    "NotebookEdit",
    "Monitor",
    "TaskStop",
];
/// Those that only look.
const LOOKING: &[&str] = &["Read", "Glob", "Grep", "WebFetch", "Monitor"];
/// How long a cancelled tool may take to end by itself.
const CANCEL_GRACE: std::time::Duration = std::time::Duration::from_secs(3);
