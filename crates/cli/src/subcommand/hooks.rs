//! `windlass hooks`: which hooks are in force, and what they answer to a sample.
//!
//! The hooks really run; their answers have no effect.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_driver::hooks::{
    CombinedHookResult, HookEnvironment, HookEvent, HookInvocation, HookListing, HookRunResult,
    OnFailure,
};
use windlass_driver::{HookSet, HostFileSystem, ToolSessionContext};
use windlass_permission::{Policy, Rule, rule_matches_call};
use windlass_vocabulary::{HookVerdict, Json, ToolCall};

use crate::args::{HooksCommand, HooksListArgs, HooksTestArgs, SettingsArgs};
use crate::words;
use windlass_assembly::directories::working_directory;
use windlass_assembly::settings::SettingsLayers;
use windlass_config_text::find_similar_name;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::text_table::{ColumnAlignment, render_table};
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;

pub(crate) async fn run(
    command: HooksCommand,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    match command {
        HooksCommand::List(args) => Ok(crate::print_answer(&list(&args, lookup)?)),
        HooksCommand::Test(args) => {
            let mut signals = SignalListener::listen()?;
            tokio::select! {
                signal = signals.next() => Ok(signal.exit()),
                result = test_hooks(&args, lookup) => {
                    let (text, exit) = result?;
                    Ok(match crate::print_answer(&text) {
                        Exit::SUCCESS => exit,
                        failed => failed,
                    })
                }
            }
        }
    }
}

pub(crate) fn list(args: &HooksListArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let (set, notes) = load_hooks(&args.settings, lookup)?;
    let hooks = set.list();
    if args.json {
        let hooks: Vec<Value> = hooks.iter().map(hook_to_json).collect();
        return Ok(format!("{}\n", json!({ "hooks": hooks, "problems": notes })));
    }
    let mut text = match hooks.is_empty() {
        true => words::NO_HOOKS.to_owned(),
        false => {
            let rows: Vec<[String; 5]> = hooks.iter().map(build_hook_row).collect();
            render_table([ColumnAlignment::Left; 5], &rows)
        }
    };
    for note in notes {
        text.push_str(&format!("! {}\n", to_single_line(&note)));
    }
    Ok(text)
}

fn build_hook_row(hook: &HookListing) -> [String; 5] {
    let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
    let condition = hook.condition.as_ref().map(|rule| format!(" if {rule}")).unwrap_or_default();
    let note = if hook.event.is_supported() { "" } else { words::HOOK_EVENT_UNUSED };
    [
        format!("{}{note}", hook.event.name()),
        format!("{matcher}{condition}"),
        hook.kind.name().to_owned(),
        hook.name.clone(),
        hook.source.clone(),
    ]
    .map(|cell| to_single_line(&cell))
}

fn hook_to_json(hook: &HookListing) -> Value {
    let on_failure = hook.on_failure.map(|what| match what {
        OnFailure::Continue => "continue",
        OnFailure::Block => "block",
    });
    json!({
        "event": hook.event.name(),
        "matcher": hook.matcher,
        "if": hook.condition,
        "type": hook.kind.name(),
        "hook": hook.name,
        "timeout_ms": u64::try_from(hook.timeout_millis).unwrap_or(u64::MAX),
        "on_failure": on_failure,
        "source": hook.source,
    })
}

async fn test_hooks(
    args: &HooksTestArgs,
    lookup: &impl EnvLookup,
) -> Result<(String, Exit), CommandError> {
    let event = parse_hook_event(&args.event)?;
    let given = parse_sample_input(args)?;
    let (set, notes) = load_hooks(&args.settings, lookup)?;
    let cwd = working_directory()?;
    let tool = args.tool.as_deref().unwrap_or("Bash");
    let (target, input) = build_sample_input(event, tool, given, &cwd);
    let policy =
        Policy { directories: vec![cwd.to_string_lossy().into_owned()], ..Policy::default() };
    let call = ToolCall {
        id: "sample".into(),
        name: tool.into(),
        input: Json::from_checked(&input.get("tool_input").unwrap_or(&json!({})).to_string()),
        signature: None,
    };
    let matches_call = |rule: &str| {
        Rule::parse(rule)
            .map_or(true, |rule| rule_matches_call(&rule, &policy, &call, &HostFileSystem::new()))
    };
    let selected = set.select(event, target.as_deref(), matches_call);
    let spill_directory =
        std::env::temp_dir().join(format!("windlass-hooks-{}", std::process::id()));
    let environment = HookEnvironment {
        project: windlass_settings::find_project_root(&cwd),
        env_vars: ToolSessionContext::new(&cwd, &spill_directory).processes.environment,
        launcher: None,
        spill: spill_directory,
        background: Arc::default(),
        watcher: None,
        backend: None,
        waker: None,
        cwd,
    };
    let invocation = HookInvocation {
        input: Value::Object(input),
        subject: target,
        tool_use_id: event.is_about_tool_call().then(|| "sample".to_owned()),
        ..HookInvocation::default()
    };
    let combined = selected.run(invocation, &environment).await;
    let objects = matches!(combined.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_));
    let is_fine = !objects && combined.warnings.is_empty();
    let text = match args.json {
        true => format!("{}\n", test_result_to_json(event, &combined, &notes)),
        false => render_test_result(event, &combined, &notes),
    };
    Ok((text, if is_fine { Exit::SUCCESS } else { Exit::FAILURE }))
}

fn load_hooks(
    args: &SettingsArgs,
    lookup: &impl EnvLookup,
) -> Result<(HookSet, Vec<String>), CommandError> {
    let mut layers =
        SettingsLayers::load(&args.clone().into(), false, &working_directory()?, lookup)?;
    let set = layers.load_hooks();
    Ok((set, layers.warnings()))
}

fn parse_hook_event(name: &str) -> Result<HookEvent, CommandError> {
    HookEvent::from_name(name).ok_or_else(|| {
        let all =
            HookEvent::ALL.iter().filter(|event| event.is_supported()).map(|event| event.name());
        let similar = find_similar_name(name, all.clone());
        let all = all.collect::<Vec<&str>>().join(", ");
        CommandError::usage(match similar {
            Some(similar) => words::describe_similar_event(&name, &similar, &all),
            None => words::describe_unknown_event(&name, &all),
        })
    })
}

fn parse_sample_input(args: &HooksTestArgs) -> Result<Map<String, Value>, CommandError> {
    match args.input.as_deref().map(serde_json::from_str) {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(fields))) => Ok(fields),
        Some(_) => Err(CommandError::usage(words::HOOK_INPUT_IS_OBJECT)),
    }
}

/// The text that the matcher is compared with, and the input that a hook would receive.
fn build_sample_input(
    event: HookEvent,
    tool: &str,
    given: Map<String, Value>,
    cwd: &Path,
) -> (Option<String>, Map<String, Value>) {
    let mut fields = Map::from_iter(
        [
            ("session_id", json!("00000000-0000-4000-8000-000000000000")),
            ("transcript_path", json!("")),
            ("cwd", json!(cwd.to_string_lossy())),
            ("hook_event_name", json!(event.name())),
            ("permission_mode", json!("default")),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let event_fields = match event {
        HookEvent::PreToolUse
        | HookEvent::PermissionRequest
        | HookEvent::PermissionDenied
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure => {
            let input = match given.is_empty() && tool == "Bash" {
                true => json!({ "command": "echo sample" }),
                false => Value::Object(given.clone()),
            };
            json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "sample" })
        }
        HookEvent::SessionStart => json!({ "source": "startup" }),
        HookEvent::UserPromptSubmit => json!({ "prompt": "a sample prompt" }),
        HookEvent::UserPromptExpansion => json!({
            "expansion_type": "slash_command",
            "command_name": "sample",
            "command_args": "",
            "command_source": "user",
            "prompt": "a sample prompt",
        }),
        HookEvent::Notification => {
            json!({ "message": "a sample", "notification_type": "permission_prompt" })
        }
        HookEvent::SubagentStart => {
            json!({ "agent_id": "agent-1", "agent_type": "general-purpose" })
        }
        HookEvent::Stop | HookEvent::SubagentStop => json!({
            "stop_hook_active": false, "last_assistant_message": "Done.",
            "background_tasks": [], "session_crons": [],
            "agent_id": "agent-1", "agent_type": "general-purpose",
        }),
        HookEvent::StopFailure => json!({ "error": "server_error" }),
        HookEvent::PreCompact => json!({ "trigger": "manual", "custom_instructions": "" }),
        HookEvent::PostCompact => json!({ "trigger": "manual", "compact_summary": "A summary." }),
        HookEvent::PostToolBatch => json!({ "tool_calls": [{
            "tool_name": tool, "tool_input": {}, "tool_use_id": "sample", "tool_response": "",
        }] }),
        HookEvent::SessionEnd => json!({ "reason": "other" }),
        HookEvent::TaskCreated | HookEvent::TaskCompleted => {
            json!({ "task_id": "1", "task_subject": "a sample task" })
        }
        HookEvent::TeammateIdle => json!({ "teammate_name": "agent-1", "team_name": "sample" }),
        HookEvent::ConfigChange => json!({
            "source": "user_settings", "file_path": cwd.join(".claude/settings.json"),
        }),
        HookEvent::Setup
        | HookEvent::CwdChanged
        | HookEvent::DirectoryAdded
        | HookEvent::FileChanged
        | HookEvent::InstructionsLoaded
        | HookEvent::WorktreeCreate
        | HookEvent::WorktreeRemove
        | HookEvent::Elicitation
        | HookEvent::ElicitationResult
        | HookEvent::MessageDisplay
        | HookEvent::PreModelSwitch
        | HookEvent::PostModelSwitch => json!({}),
    };
    fields.extend(event_fields.as_object().cloned().unwrap_or_default());
    if !event.is_about_tool_call() {
        fields.extend(given);
    }
    if event == HookEvent::PostToolUse {
        fields.insert("tool_response".to_owned(), json!({}));
    }
    if event == HookEvent::PostToolUseFailure {
        fields.insert("error".to_owned(), json!("failed"));
    }
    if event == HookEvent::PermissionRequest {
        fields.remove("tool_use_id");
    }
    let target_names =
        ["tool_name", "source", "notification_type", "agent_type", "error", "trigger", "reason"];
    let target =
        target_names.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::to_owned);
    (target, fields)
}

fn render_test_result(event: HookEvent, combined: &CombinedHookResult, notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        text.push_str(&format!("! {}\n", to_single_line(note)));
    }
    if combined.results.is_empty() {
        text.push_str(&words::describe_no_matching_hook(&event.name()));
        return text;
    }
    for run in &combined.results {
        text.push_str(&render_hook_run(run));
    }
    text.push_str(&words::describe_combined(&describe_verdict(&combined.verdict)));
    if let Some(request) = &combined.permission_answer {
        text.push_str(&words::describe_combined_answer(&format!("{request:?}")));
    }
    text
}

fn render_hook_run(run: &HookRunResult) -> String {
    let code = run.exit_code.map(|code| words::describe_exit_code(&code)).unwrap_or_default();
    let name = to_single_line(&run.name);
    let source = to_single_line(&run.source);
    let millis = run.duration.as_millis();
    let mut text = format!("{name} ({source}): {millis} ms{code}\n");
    let mut line = |what: &str, content: &str| {
        if !content.trim().is_empty() {
            text.push_str(&format!("  {what}: {}\n", to_single_line(content.trim())));
        }
    };
    line(words::HOOK_FAILED, run.failure.as_deref().unwrap_or_default());
    line(words::HOOK_SAYS, &describe_verdict(&run.answer.verdict));
    run.answer.context.iter().for_each(|content| line(words::HOOK_TELLS_MODEL, content));
    line(words::HOOK_TELLS_USER, run.answer.message.as_deref().unwrap_or_default());
    let input = run.answer.updated_input.as_ref().map(Value::to_string);
    line(words::HOOK_CHANGES_INPUT, &input.unwrap_or_default());
    line(words::HOOK_WROTE, &run.stdout);
    line(words::HOOK_WROTE_ERRORS, &run.stderr);
    text
}

fn describe_verdict(verdict: &HookVerdict) -> String {
    match verdict {
        HookVerdict::Pass => words::HOOK_NO_OPINION.to_owned(),
        HookVerdict::Allow => words::HOOK_ALLOWS.to_owned(),
        HookVerdict::Ask(why) => words::describe_hook_ask(why),
        HookVerdict::Defer(why) => words::describe_hook_defer(why),
        HookVerdict::Block(why) => words::describe_hook_block(why),
        HookVerdict::Halt(why) => words::describe_hook_halt(why),
    }
}

fn test_result_to_json(event: HookEvent, combined: &CombinedHookResult, notes: &[String]) -> Value {
    let run_to_json = |run: &HookRunResult| {
        json!({
            "hook": run.name, "source": run.source,
            "duration_ms": u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX),
            "exit_code": run.exit_code, "stdout": run.stdout, "stderr": run.stderr,
            "failure": run.failure, "verdict": verdict_to_json(&run.answer.verdict),
            "context": run.answer.context, "updated_input": run.answer.updated_input,
        })
    };
    json!({
        "event": event.name(),
        "hooks": combined.results.iter().map(run_to_json).collect::<Vec<_>>(),
        "verdict": verdict_to_json(&combined.verdict),
        "decided_by": combined.decided_by,
        "problems": notes,
    })
}

fn verdict_to_json(verdict: &HookVerdict) -> Value {
    let (word, why) = match verdict {
        HookVerdict::Pass => ("pass", None),
        HookVerdict::Allow => ("allow", None),
        HookVerdict::Ask(why) => ("ask", Some(why)),
        HookVerdict::Defer(why) => ("defer", Some(why)),
        HookVerdict::Block(why) => ("block", Some(why)),
        HookVerdict::Halt(why) => ("halt", Some(why)),
    };
    json!({ "decision": word, "reason": why })
}
