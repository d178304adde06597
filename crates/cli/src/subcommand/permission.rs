//! `windlass permission`: the decision about a call, without running it. It is made by the code that decides
//! in a run.

use std::io::{BufRead, Read, Write};

use serde_json::{Value, json};
use windlass_assembly::{cell::find_support, options::SettingsOptions};
use windlass_driver::{HostFileSystem, ToolRegistry, record_paths};
use windlass_permission::file_system_view::{FileSystemView, RecordedFileSystem};
use windlass_permission::policy_check::{
    PermissionDecisionKind, answer_case_on_machine, build_inspected_report, build_report,
    render_report,
};
use windlass_permission::{Policy, Rule};
use windlass_vocabulary::{Json, ToolCall, ToolInspection};

use crate::args::{
    PermissionCommand, PermissionCommandArgs, PermissionExplainArgs, PermissionRememberArgs,
};
use crate::words;
use windlass_assembly::settings;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;

pub(crate) fn run(
    args: &PermissionCommandArgs,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    match &args.command {
        PermissionCommand::Check => Ok(check_cases()),
        PermissionCommand::Explain(args) => explain_call(args, lookup),
        PermissionCommand::Remember(args) => remember_rules(args, lookup),
    }
}

/// Reads cases and writes decisions, one per line. An invalid line is answered with an error, and
/// the next one is read.
fn check_cases() -> Exit {
    let file_system = HostFileSystem::new();
    let registry = ToolRegistry::with_builtin_tools();
    let cell = find_support();
    let inspect = |policy: &Policy, call: &ToolCall, files: &dyn FileSystemView| {
        inspect_call(&registry, policy, call, files)
    };
    let mut is_fine = true;
    let mut out = std::io::stdout().lock();
    let mut lines = std::io::stdin().lock();
    loop {
        let (text, is_case) = match read_case_line(&mut lines) {
            Ok(None) => break,
            Ok(Some(PermissionCaseLine::Text(line))) if line.trim().is_empty() => continue,
            Ok(Some(PermissionCaseLine::Text(line))) => {
                answer_case_on_machine(&line, &file_system, &inspect, cell)
            }
            Ok(Some(PermissionCaseLine::Unreadable(problem))) => (error_line(&problem), false),
            Err(problem) => {
                // Reading again would fail again.
                let _ =
                    writeln!(out, "{}", error_line(&words::describe_unreadable_cases(&problem)));
                return Exit::FAILURE;
            }
        };
        is_fine &= is_case;
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            // The output is closed.
            break;
        }
    }
    if is_fine { Exit::SUCCESS } else { Exit::FAILURE }
}

/// Inspects a call like a session does before it decides: whether the tool accepts the input, and
/// the file system entries at the paths it names.
fn inspect_call(
    registry: &ToolRegistry,
    policy: &Policy,
    call: &ToolCall,
    files: &dyn FileSystemView,
) -> Option<ToolInspection> {
    registry.get(call.name.as_str())?;
    let mut inspection = registry.inspect(call.name.as_str(), &complete_input(call));
    if inspection.problem.is_none() {
        inspection.seen = record_paths(policy, call, &inspection, files);
    }
    Some(inspection)
}

/// The input, with texts that no rule mentions and that a case may omit.
fn complete_input(call: &ToolCall) -> Json {
    let texts: &[&str] = match call.name.as_str() {
        "Edit" => &["old_string", "new_string"],
        "Write" => &["content"],
        "NotebookEdit" => &["new_source"],
        "WebFetch" | "Agent" | "Task" => &["prompt", "description"],
        "Grep" | "Glob" => &["pattern"],
        _ => return call.input.clone(),
    };
    let Ok(Value::Object(mut fields)) = serde_json::from_str(call.input.as_str()) else {
        return call.input.clone();
    };
    for (at, name) in texts.iter().enumerate() {
        // An edit must change something.
        fields.entry(*name).or_insert_with(|| Value::from(format!("text {at}")));
    }
    Json::from_checked(&Value::Object(fields).to_string())
}

fn error_line(problem: &str) -> String {
    json!({ "id": null, "error": problem }).to_string()
}

enum PermissionCaseLine {
    Text(String),
    /// The reason.
    Unreadable(String),
}

/// Skips the rest of a line that is too long, so that memory stays bounded.
fn read_case_line(lines: &mut impl BufRead) -> std::io::Result<Option<PermissionCaseLine>> {
    let mut bytes = Vec::new();
    lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let is_long = bytes.len() as u64 >= LINE_BYTES_MAX && !bytes.ends_with(b"\n");
    if is_long {
        lines.skip_until(b'\n')?;
        return Ok(Some(PermissionCaseLine::Unreadable(words::describe_long_case(
            &LINE_BYTES_MAX,
        ))));
    }
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => PermissionCaseLine::Text(text),
        Err(error) => PermissionCaseLine::Unreadable(words::describe_case_without_text(&error)),
    }))
}

const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Saves rules for this project, as an answer to a permission prompt would.
fn remember_rules(
    args: &PermissionRememberArgs,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let rules = windlass_assembly::tool_selection::parse_rules(&args.rules)?;
    if let Some((rule, why)) =
        rules.iter().find_map(|rule| Some((rule, rule.explain_idle_allow()?)))
    {
        return Err(CommandError::usage(words::describe_idle_rule(rule, &why)));
    }
    let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
    let cwd = windlass_assembly::directories::working_directory()?;
    let request = settings::build_load_request(&SettingsOptions::default(), &cwd, lookup)?;
    let path = windlass_settings::add_local_allow_rules(&request, &texts)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let line = words::describe_saved_rules(&path.display(), &texts.join(", "));
    let _ = writeln!(std::io::stdout(), "{}", to_single_line(&line));
    Ok(Exit::SUCCESS)
}

fn explain_call(
    args: &PermissionExplainArgs,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let (mut policy, layers) = windlass_assembly::resolved::load_policy(
        &args.permission.clone().try_into()?,
        &args.settings.clone().into(),
        lookup,
    )?;
    for warning in layers.warnings() {
        // A closed standard error does not change the answer.
        let _ = writeln!(std::io::stderr(), "windlass: {}", to_single_line(&warning));
    }
    // Without this, everything that would be asked would be reported as denied.
    policy.can_ask = true;
    let tool = args.tool.as_deref().unwrap_or("Bash");
    let input = match &args.tool {
        None => json!({ "command": args.command }),
        Some(_) => serde_json::from_str::<Value>(&args.command)
            .map_err(|error| CommandError::usage(words::describe_bad_tool_input(&tool, &error)))?,
    };
    let call = ToolCall {
        id: "explained".into(),
        name: tool.into(),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    let files = HostFileSystem::new();
    let registry = ToolRegistry::with_builtin_tools();
    let report = match inspect_call(&registry, &policy, &call, &files) {
        Some(inspection) => {
            let seen = RecordedFileSystem(&inspection.seen);
            build_inspected_report(&policy, &call, &inspection, &seen)
        }
        None => build_report(&policy, &call, &files),
    };
    let rule = report.rule.as_deref().and_then(|rule| Rule::parse(rule).ok());
    let is_allowed = report.decision == PermissionDecisionKind::Allow;
    let width = rule.filter(|_| is_allowed).and_then(|rule| rule.describe_width());
    let source = report.rule.as_deref().and_then(|rule| layers.loaded.rule_origin(rule));
    let text = match args.json {
        true => {
            let mut object = serde_json::to_value(&report).unwrap_or_default();
            if let (Some(source), Some(object)) = (source, object.as_object_mut()) {
                object.insert("rule_source".to_owned(), Value::from(source));
            }
            if let (Some(width), Some(object)) = (width, object.as_object_mut()) {
                object.insert("rule_width".to_owned(), Value::from(width));
            }
            format!("{object}\n")
        }
        false => {
            let source = source.map(|source| words::describe_rule_origin(&to_single_line(source)));
            let width = width.map(|width| words::describe_rule_width(&width));
            format!(
                "{}{}{}",
                render_report(&report).trim_end(),
                width.unwrap_or_default().trim_end(),
                source.unwrap_or_default()
            )
        }
    };
    // A closed output is not an error.
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stdout(), "{text}{end}");
    Ok(Exit::SUCCESS)
}
