//! Runs a command hook: JSON on its standard input, the answer on its standard output.
//!
//! It runs in the session's directory, in a process session without a terminal, and is ended at its
//! deadline with everything it started. `answer` parses its output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use windlass_tool::{
    OneShotCommand, OneShotEndCause, OneShotLauncher, OneShotResult, TraceContext,
};

use crate::hook_environment::HookEnvironment;
use crate::raw_hook_output::{HookCompletion, RawHookOutput};
use windlass_tool::ScriptGuard;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandHook {
    pub(crate) line: String,
    /// With arguments it is executed directly; without, by a shell.
    pub(crate) arguments: Option<Vec<String>>,
    pub(crate) shell: HookShell,
    /// Further environment variables: the directories of a plugin.
    pub(crate) variables: Arc<[(String, PathBuf)]>,
    pub(crate) script_guard: ScriptGuard,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HookShell {
    #[default]
    Sh,
    Bash,
    PowerShell,
}

pub(crate) struct HookCommandRun<'a> {
    pub(crate) input: Vec<u8>,
    pub(crate) env_file: Option<&'a Path>,
    pub(crate) limit: Duration,
    pub(crate) cancel: CancellationToken,
    pub(crate) first_line: oneshot::Sender<String>,
    pub(crate) trace_context: Option<&'a TraceContext>,
}

/// How long a hook that announced it may continue in the background: the time it asks for, up to a
/// day.
pub(crate) fn parse_async_announcement(line: &str) -> Option<Option<Duration>> {
    let announcement: Value = serde_json::from_str(line.trim()).ok()?;
    if announcement.get("async") != Some(&Value::Bool(true)) {
        return None;
    }
    let millis = announcement.get("asyncTimeout").and_then(Value::as_u64);
    Some(millis.map(|millis| Duration::from_millis(millis.min(ASYNC_TIMEOUT_MILLIS_MAX))))
}

pub(crate) async fn run_command(
    command: &CommandHook,
    session: &HookEnvironment,
    run: HookCommandRun<'_>,
) -> RawHookOutput {
    let line = std::iter::once(&command.line).chain(command.arguments.iter().flatten());
    let line = line.map(String::as_str).collect::<Vec<_>>().join(" ");
    if let Some(path) = command.script_guard.find_changed_script(&line) {
        return RawHookOutput {
            end: HookCompletion::Failed(format!(
                "was not run: {path} has changed since you trusted it; look at it and run `windlass trust`"
            )),
            ..RawHookOutput::default()
        };
    }
    let variables = build_variables(command, session, run.env_file);
    let (program, arguments) = build_command_line(command, &variables);
    let mut environment = session.env_vars.clone();
    environment.retain(|(name, _)| !variables.iter().any(|(own, _)| name == own.as_str()));
    environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value)));
    if let Some(trace) = run.trace_context {
        trace.apply_to(&mut environment);
    }
    let command_run =
        OneShotCommand {
            program,
            arguments,
            directory: session.cwd.clone(),
            environment,
            input: run.input,
            timeout: run.limit,
            output_bytes_max: OUTPUT_BYTES_MAX,
            cancel: run.cancel,
            // The user's own commands run unconfined; the project's are confined like the session's
            // commands.
            held_by: session.launcher.clone().filter(|_| command.script_guard.is_set()).map(
                |launcher| OneShotLauncher { launcher, scratch_directory: session.spill.clone() },
            ),
        };
    match command_run.run_reporting_first_line(run.first_line).await {
        Ok(end) => build_raw_output(end),
        Err(error) => RawHookOutput {
            end: HookCompletion::Failed(format!("could not be started: {error}")),
            ..RawHookOutput::default()
        },
    }
}

fn build_raw_output(end: OneShotResult) -> RawHookOutput {
    let OneShotResult { cause, code, signal, stdout, stderr } = end;
    let problem = match std::str::from_utf8(&stdout.bytes) {
        _ if stdout.is_cut() => Some(format!(
            "wrote {} bytes, more than the {OUTPUT_BYTES_MAX} that are read",
            stdout.total
        )),
        Err(_) => Some("wrote output that is not text".to_owned()),
        Ok(text) if text.contains('\0') => Some("wrote output that is not text".to_owned()),
        Ok(_) => None,
    };
    let end = match (cause, code) {
        (OneShotEndCause::Deadline, _) => HookCompletion::TimedOut,
        (OneShotEndCause::Cancelled, _) => HookCompletion::Cancelled,
        (OneShotEndCause::TooManyProcesses, _) => {
            HookCompletion::Failed("started too many processes".to_owned())
        }
        (OneShotEndCause::Exited, Some(code)) => match problem {
            Some(problem) => HookCompletion::InvalidOutput(code, problem),
            None => HookCompletion::Exited(code),
        },
        (OneShotEndCause::Exited, None) => match signal {
            Some(signal) => HookCompletion::Failed(format!("was ended by signal {signal}")),
            None => HookCompletion::Failed("could not be ended".to_owned()),
        },
    };
    let stdout = decode_lossy(&stdout.bytes);
    let stderr = decode_lossy(&stderr.bytes);
    RawHookOutput { end, exit_code: code, stdout, stderr, ..RawHookOutput::default() }
}

fn decode_lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

fn build_variables(
    command: &CommandHook,
    session: &HookEnvironment,
    env_file: Option<&Path>,
) -> Vec<(String, OsString)> {
    let mut variables = vec![
        ("CLAUDE_PROJECT_DIR".to_owned(), session.project.clone().into_os_string()),
        ("CLAUDECODE".to_owned(), "1".into()),
    ];
    let file = env_file.map(|file| ("CLAUDE_ENV_FILE".to_owned(), file.to_owned().into()));
    variables.extend(file);
    let own = command.variables.iter();
    variables.extend(own.map(|(name, value)| (name.clone(), value.clone().into_os_string())));
    variables
}

/// The program and its arguments. A shell expands variables itself; without one, we do.
fn build_command_line(
    command: &CommandHook,
    variables: &[(String, OsString)],
) -> (PathBuf, Vec<OsString>) {
    let Some(arguments) = &command.arguments else {
        let (shell, flags): (&str, &[&str]) = match command.shell {
            HookShell::Sh => ("/bin/sh", &["-c"]),
            HookShell::Bash => ("bash", &["-c"]),
            HookShell::PowerShell => ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
        };
        let arguments = flags.iter().copied().chain([command.line.as_str()]);
        return (shell.into(), arguments.map(OsString::from).collect());
    };
    let expanded = |text: &String| {
        let mut text = text.clone();
        for (name, value) in variables {
            text = text.replace(&format!("${{{name}}}"), &value.to_string_lossy());
        }
        text
    };
    let arguments = arguments.iter().map(|text| expanded(text).into()).collect();
    (expanded(&command.line).into(), arguments)
}

/// A day.
const ASYNC_TIMEOUT_MILLIS_MAX: u64 = 86_400_000;
/// Limit on the bytes read of each output stream.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
