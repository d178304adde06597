//! `windlass mcp serve`: serves our tools to other clients, under the permission rules of this
//! directory.
//!
//! There are no permission prompts: a call that would need one is refused with the rule that would allow
//! it. `PreToolUse` hooks run as in a session and can deny or allow. `PostToolUse` hooks do not run, because
//! there is no conversation to add their output to.

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

/// Serves over standard input and output until the client disconnects.
pub(crate) async fn run(
    args: &McpServeArgs,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let mut signals = SignalListener::listen()?;
    let mut tools_only = windlass_assembly::tools_only::build_tools_only(
        &args.permission.clone().try_into()?,
        &args.settings.clone().into(),
        lookup,
    )?;
    if args.permission.tools.is_empty() {
        tools_only.registry.retain(|spec| DEFAULT_TOOLS.contains(&spec.name.as_str()));
    }
    for note in &tools_only.notes {
        eprintln!("{note}");
    }
    let scratch_directory = tools_only.scratch_directory.take();
    let server =
        Arc::new(McpToolServer { tools_only: Arc::new(tools_only), call_lock: Arc::default() });
    let served = tokio::select! {
        served = tool_server::serve(server, tokio::io::stdin(), tokio::io::stdout()) => {
            served.map(|()| Exit::SUCCESS).map_err(|failure| CommandError::failure(failure.to_string()))
        }
        signal = signals.next() => Ok(signal.exit()),
    };
    if let Some(scratch_directory) = scratch_directory {
        // Belongs to this process alone; it may never have been created.
        let _ = std::fs::remove_dir_all(scratch_directory);
    }
    served
}

struct McpToolServer {
    tools_only: Arc<ToolsOnly>,
    /// Read-only calls share it, others take it alone.
    call_lock: Arc<RwLock<()>>,
}

impl tool_server::ToolServerBackend for McpToolServer {
    fn tools(&self) -> Vec<ServedTool> {
        let registry = &self.tools_only.registry;
        let build_served_tool = |name: &str| {
            let tool = registry.get(name)?;
            let is_read_only = READ_ONLY_TOOLS.contains(&name);
            Some(ServedTool { spec: tool.spec().clone(), is_read_only })
        };
        registry
            .names()
            .filter(|name| *name != "ToolSearch")
            .filter_map(build_served_tool)
            .collect()
    }

    fn call(&self, name: &str, input: Json, context: ToolCallContext) -> ServedCallFuture {
        let tools_only = Arc::clone(&self.tools_only);
        let call_lock = Arc::clone(&self.call_lock);
        let call = ToolCall {
            id: ToolCallId::from("served"),
            name: ToolName::from(name),
            input,
            signature: None,
        };
        Box::pin(async move { call_tool(&tools_only, &call_lock, call, context).await })
    }

    fn tool_context(&self) -> Arc<ToolSessionContext> {
        Arc::clone(&self.tools_only.tool_context)
    }
}

async fn call_tool(
    tools_only: &ToolsOnly,
    call_lock: &RwLock<()>,
    mut call: ToolCall,
    context: ToolCallContext,
) -> ToolOutcome {
    let cancel = context.cancel.clone();
    let is_exclusive = tools_only.registry.inspect(call.name.as_str(), &call.input).concurrency
        != Concurrency::Shared;
    // Held until the call is done.
    let _exclusive;
    let _shared;
    tokio::select! {
        biased;
        () = cancel.cancelled() => return ToolOutcome::failure("Interrupted before it began."),
        guard = call_lock.write(), if is_exclusive => _exclusive = guard,
        guard = call_lock.read(), if !is_exclusive => _shared = guard,
    }
    let prior_decision = match run_pre_tool_hooks(tools_only, &mut call, &context).await {
        Ok(prior_decision) => prior_decision,
        Err(why) => return ToolOutcome::failure(why),
    };
    // Decided after the lock is taken: an earlier call may have changed the shell's directory.
    let shell = tools_only.tool_context.shell.directory();
    let standing =
        (shell != tools_only.tool_context.files.cwd).then(|| shell.to_string_lossy().into_owned());
    let policy = Policy { standing, ..tools_only.policy.clone() };
    let inspection = tools_only.registry.inspect(call.name.as_str(), &call.input);
    let Some(tool) = tools_only.registry.get(call.name.as_str()) else {
        return ToolOutcome::failure(format!("There is no tool `{}`.", call.name));
    };
    match decide_with_file_system(
        &policy,
        call,
        &inspection,
        prior_decision,
        &HostFileSystem::new(),
    ) {
        PermissionDecision::Allow(granted) => {
            let grace_over = async {
                cancel.cancelled().await;
                tokio::time::sleep(CANCEL_GRACE).await;
            };
            tokio::select! {
                biased;
                outcome = tool.run(granted, context) => outcome,
                () = grace_over => ToolOutcome::failure("It was asked to stop, did not, and was dropped."),
            }
        }
        PermissionDecision::Ask(question) => ToolOutcome::failure(question.view().why.clone()),
        PermissionDecision::Deny { why, .. } => ToolOutcome::failure(why),
    }
}

/// Runs the `PreToolUse` hooks, which may change the call.
async fn run_pre_tool_hooks(
    tools_only: &ToolsOnly,
    call: &mut ToolCall,
    context: &ToolCallContext,
) -> Result<PriorDecision, String> {
    let event = HookEvent::PreToolUse;
    let matches_call = |rule: &str| {
        Rule::parse(rule).map_or(true, |rule| {
            rule_matches_call(&rule, &tools_only.policy, call, &HostFileSystem::new())
        })
    };
    let name = call.name.as_str().to_owned();
    let selected = tools_only.hooks.select(event, Some(&name), matches_call);
    if selected.is_empty() {
        return Ok(PriorDecision::None);
    }
    let cwd = tools_only.tool_context.files.cwd.clone();
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let hook_input = json!({
        "session_id": "", "transcript_path": "", "cwd": cwd.to_string_lossy(),
        "hook_event_name": event.name(), "permission_mode": tools_only.policy.mode.name(),
        "tool_name": name, "tool_input": input, "tool_use_id": call.id.as_str(),
    });
    let processes = &tools_only.tool_context.processes;
    let environment = HookEnvironment::new(
        cwd.clone(),
        windlass_settings::find_project_root(&cwd),
        processes.environment.clone(),
        processes.spill_directory.clone(),
    );
    let invocation = HookInvocation {
        input: hook_input,
        subject: Some(name),
        tool_use_id: Some(call.id.as_str().to_owned()),
        cancel: context.cancel.clone(),
        ..HookInvocation::default()
    };
    let combined = selected.run(invocation, &environment).await;
    if let Some(updated) = combined.updated_input {
        call.input = Json::from_checked(&updated.to_string());
    }
    match combined.verdict {
        HookVerdict::Block(why) | HookVerdict::Halt(why) => Err(why),
        HookVerdict::Ask(why) => Ok(PriorDecision::Ask(why)),
        HookVerdict::Allow => Ok(PriorDecision::Allow),
        // Deferred calls cannot be resumed here, so a deferral has no effect.
        HookVerdict::Pass | HookVerdict::Defer(_) => Ok(PriorDecision::None),
    }
}

/// Served unless `--tools` names others.
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
const READ_ONLY_TOOLS: &[&str] = &["Read", "Glob", "Grep", "WebFetch", "Monitor"];
const CANCEL_GRACE: std::time::Duration = std::time::Duration::from_secs(3);
