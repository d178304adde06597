//! `windlass mcp serve`: our tools for other clients, under the rules in force here.
//!
//! Nobody can be asked, so what would ask is refused with the rule that would allow it. Hooks before a
//! call look at it as in a session; a hook can forbid, and its yes counts as in a session. Hooks after
//! a call are not asked: there is no conversation they could speak into.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::RwLock;
use windlass_driver::hooks::{HookEnvironment, HookEvent, HookInvocation};
use windlass_driver::mcp::tool_server::{self, ServedCallFuture, ServedTool};
use windlass_driver::{HostFileSystem, ToolCallContext, ToolSessionContext};
use windlass_permission::{
    PermissionDecision, Policy, PriorDecision, Rule, decide_with_file_system, rule_matches_call,
};
use windlass_vocabulary::{
    Concurrency, HookVerdict, Json, ToolCall, ToolCallId, ToolName, ToolOutcome,
};

use crate::args::McpServeArgs;
use windlass_assembly::tools_only::ToolsOnly;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;

/// Serves over standard input and output until the client goes.
pub(crate) async fn run(
    args: &McpServeArgs,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let mut signals = SignalListener::listen()?;
    let mut bench = windlass_assembly::tools_only::build_tools_only(
        &args.permission.clone().try_into()?,
        &args.settings.clone().into(),
        lookup,
    )?;
    if args.permission.tools.is_empty() {
        bench.registry.retain(|spec| DEFAULT_TOOLS.contains(&spec.name.as_str()));
    }
    for note in &bench.notes {
        eprintln!("{note}");
    }
    let scratch = bench.scratch_directory.take();
    let counter =
        Arc::new(McpToolServer { tools_only: Arc::new(bench), call_lock: Arc::default() });
    let served = tokio::select! {
        served = tool_server::serve(counter, tokio::io::stdin(), tokio::io::stdout()) => {
            served.map(|()| Exit::SUCCESS).map_err(|failure| CommandError::failure(failure.to_string()))
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
struct McpToolServer {
    tools_only: Arc<ToolsOnly>,
    /// Calls that only look go side by side, others alone.
    call_lock: Arc<RwLock<()>>,
}

impl tool_server::ToolServerBackend for McpToolServer {
    fn tools(&self) -> Vec<ServedTool> {
        let registry = &self.tools_only.registry;
        let offered = |name: &str| {
            let tool = registry.get(name)?;
            let is_reading = READ_ONLY_TOOLS.contains(&name);
            Some(ServedTool { spec: tool.spec().clone(), is_read_only: is_reading })
        };
        registry.names().filter(|name| *name != "ToolSearch").filter_map(offered).collect()
    }

    fn call(&self, name: &str, input: Json, job: ToolCallContext) -> ServedCallFuture {
        let (bench, turns) = (Arc::clone(&self.tools_only), Arc::clone(&self.call_lock));
        let (id, name) = (ToolCallId::from("served"), ToolName::from(name));
        let call = ToolCall { id, name, input, signature: None };
        Box::pin(async move { call_tool(&bench, &turns, call, job).await })
    }

    fn tool_context(&self) -> Arc<ToolSessionContext> {
        Arc::clone(&self.tools_only.tool_context)
    }
}

async fn call_tool(
    bench: &ToolsOnly,
    turns: &RwLock<()>,
    mut call: ToolCall,
    job: ToolCallContext,
) -> ToolOutcome {
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
    let opinion = match run_pre_tool_hooks(bench, &mut call, &job).await {
        Ok(opinion) => opinion,
        Err(why) => return ToolOutcome::failure(why),
    };
    // Judged when it is its turn: a call before it may have moved the shell.
    let shell = bench.tool_context.shell.directory();
    let standing =
        (shell != bench.tool_context.files.cwd).then(|| shell.to_string_lossy().into_owned());
    let policy = Policy { standing, ..bench.policy.clone() };
    let inspection = bench.registry.inspect(call.name.as_str(), &call.input);
    let Some(tool) = bench.registry.get(call.name.as_str()) else {
        return ToolOutcome::failure(format!("There is no tool `{}`.", call.name));
    };
    match decide_with_file_system(&policy, call, &inspection, opinion, &HostFileSystem::new()) {
        PermissionDecision::Allow(granted) => {
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
        PermissionDecision::Ask(question) => ToolOutcome::failure(question.view().why.clone()),
        PermissionDecision::Deny { why, .. } => ToolOutcome::failure(why),
    }
}

/// What hooks say to a call before it is judged; they may change it.
async fn run_pre_tool_hooks(
    bench: &ToolsOnly,
    call: &mut ToolCall,
    job: &ToolCallContext,
) -> Result<PriorDecision, String> {
    let event = HookEvent::PreToolUse;
    let speaks = |rule: &str| {
        Rule::parse(rule).map_or(true, |rule| {
            rule_matches_call(&rule, &bench.policy, call, &HostFileSystem::new())
        })
    };
    let name = call.name.as_str().to_owned();
    let chosen = bench.hooks.select(event, Some(&name), speaks);
    if chosen.is_empty() {
        return Ok(PriorDecision::None);
    }
    let cwd = bench.tool_context.files.cwd.clone();
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let told = json!({
        "session_id": "", "transcript_path": "", "cwd": cwd.to_string_lossy(),
        "hook_event_name": event.name(), "permission_mode": bench.policy.mode.name(),
        "tool_name": name, "tool_input": input, "tool_use_id": call.id.as_str(),
    });
    let (environment, spill) = (
        bench.tool_context.processes.environment.clone(),
        bench.tool_context.processes.spill_directory.clone(),
    );
    let ground = HookEnvironment::new(
        cwd.clone(),
        windlass_settings::find_project_root(&cwd),
        environment,
        spill,
    );
    let occasion = HookInvocation {
        input: told,
        subject: Some(name),
        tool_use_id: Some(call.id.as_str().to_owned()),
        cancel: job.cancel.clone(),
        ..HookInvocation::default()
    };
    let joint = chosen.run(occasion, &ground).await;
    if let Some(updated) = joint.updated_input {
        call.input = Json::from_checked(&updated.to_string());
    }
    match joint.verdict {
        HookVerdict::Block(why) | HookVerdict::Halt(why) => Err(why),
        HookVerdict::Ask(why) => Ok(PriorDecision::Ask(why)),
        HookVerdict::Allow => Ok(PriorDecision::Allow),
        // Nobody takes a call up again here, so it is as if nothing had been said.
        HookVerdict::Pass | HookVerdict::Defer(_) => Ok(PriorDecision::None),
    }
}

/// What is served where nobody says otherwise: what works on files, runs commands and fetches.
const DEFAULT_TOOLS: &[&str] = &[
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
const READ_ONLY_TOOLS: &[&str] = &["Read", "Glob", "Grep", "WebFetch", "Monitor"];
/// How long a cancelled tool may take to end by itself.
const CANCEL_GRACE: std::time::Duration = std::time::Duration::from_secs(3);
