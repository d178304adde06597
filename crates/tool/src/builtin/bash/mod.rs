//! Runs a shell command and returns its outcome, or starts it in the background.
//!
//! `outcome` describes the result, `shell_state_capture` carries over the shell's directory and
//! variables. The permission check comes before.

mod outcome;
mod shell_state_capture;
mod trial;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_permission::is_excluded_from_sandbox;
use windlass_permission::shell_command::{analyze_read_only, is_read_only_line, parse_plain_words};
use windlass_vocabulary::ToolInspection;

use crate::background::{AwaitedCommand, AwaitedCommandEnd, BackgroundCommand};
use crate::input::{self, InputError};
use crate::process::{
    self, HeldProgramsLine, ProcessConfinement, ProcessOwner, ProgramSpec, SuperviseOptions,
    SuperviseOutputOptions, hold_programs, spawn_with_retry,
};
use crate::process_output::OutputSpill;
use crate::shell_state::CommandSide;
use crate::tool::ToolCallContext;
use crate::tool_session_context::ToolSessionContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, TypedToolResult};
use shell_state_capture::{ShellStateCapture, find_side};

#[derive(Debug)]
pub(crate) struct BashTool {
    shell: ShellProgram,
}

#[derive(Clone, Debug)]
struct ShellProgram {
    program: PathBuf,
    is_bash: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BashInput {
    /// The command line, run by bash.
    command: String,
    /// What it does, in five to ten words, for people.
    #[serde(default)]
    #[expect(dead_code, reason = "shown by front ends, which read it from the call")]
    description: Option<String>,
    /// Milliseconds until it is stopped: 120000 unless given, 600000 at most.
    #[serde(default, deserialize_with = "input::whole_number")]
    timeout: Option<u64>,
    /// Let it run and return at once; look at it with Monitor, end it with TaskStop.
    #[serde(default, deserialize_with = "input::flag")]
    run_in_background: bool,
    /// Run outside the sandbox, where there is one and it is in the way.
    #[serde(default, rename = "dangerouslyDisableSandbox", deserialize_with = "input::flag")]
    dangerously_disable_sandbox: bool,
    /// Run it on an overlay first and ask whether what it changed is wanted. Set by the user's answer
    /// to a permission prompt; models are not told of it.
    #[serde(default, deserialize_with = "input::flag")]
    #[schemars(skip)]
    dry_run: bool,
}

const DESCRIPTION: &str = "Runs a command line with bash and returns what it wrote. The working \
directory and exported variables are kept between calls. There is no terminal and no input: a \
command that asks or pages fails or gets nothing. Processes it leaves behind are stopped when it \
ends; use run_in_background for servers and long work. Long output is shortened and saved to a \
file. Prefer Read, Edit, Write, Glob and Grep for files.";

/// The output is truncated here, by a limit that settings may raise to 150,000; this limit must be
/// higher.
const RESULT_BYTES_MAX: usize = 160_000;

impl BashTool {
    pub(crate) fn new() -> Self {
        Self { shell: ShellProgram::find() }
    }

    async fn perform(&self, input: BashInput, call: ToolCallContext) -> TypedToolResult {
        let context = &call.tool_context;
        let limits = &context.limits;
        let words = parse_plain_words(&input.command);
        let is_plain = words.as_deref().is_some_and(|words| analyze_read_only(words).is_some());
        if input.dry_run && input.run_in_background {
            return Err("A command that runs in the background cannot be tried first.".into());
        }
        if input.run_in_background {
            return self.start_in_background(&input, &call).await;
        }
        let confinement = ProcessConfinement::prepare(call.call_confinement(), context)?;
        let shell_state =
            ShellStateCapture::prepare(context, &confinement, &input, words.as_deref()).await?;
        let confinement =
            confinement.neutralize_git(&input.command, &shell_state.directory, context).await?;
        let limit = match input.timeout {
            None | Some(0) => limits.command_timeout_default,
            Some(millis) => Duration::from_millis(millis).min(limits.command_timeout_max),
        };
        let granted = call.call_confinement();
        let held = hold_programs(&input.command, granted, &shell_state.directory, context).await?;
        let (line, confinement) = take_held_line(&input.command, held, confinement);
        let shell = self.choose_shell(context);
        let script = shell_state.wrap_script(&line, shell.is_bash);
        let program = ProgramSpec {
            is_leaf_program: is_plain && context.processes.command_prefix.is_none(),
            confinement,
            ..self.build_program(&input, script, shell_state.directory.clone(), context)
        };
        let output = context.processes.new_spill_path("output");
        let options = SuperviseOptions {
            timeout: limit,
            output: SuperviseOutputOptions {
                spill: OutputSpill::new(
                    output.clone(),
                    limits.output_inline_bytes_max,
                    limits.output_spill_bytes_max,
                )
                .with_redaction(&context.secrets),
                inline_max: limits.output_inline_bytes_max,
                processes_max: limits.processes_max,
                first_line: None,
            },
            owner: ProcessOwner {
                cancel: call.cancel.clone(),
                progress: call.progress.clone(),
                update_signal: None,
            },
            handover: None,
        };
        let environment = build_environment(&call, shell_state.side);
        let not_started = |error| process::explain_spawn_failure(&error, &shell.program);
        let trial = match input.dry_run {
            true => Some(trial::begin(context, &program.confinement).await?),
            false => None,
        };
        let trial_processes =
            trial.as_ref().map(|trial| context.processes.with_launcher(trial.launcher()));
        let processes = trial_processes.as_ref().unwrap_or(&context.processes);
        let process =
            spawn_with_retry(&program, processes, &environment).await.map_err(not_started)?;
        let awaited = AwaitedCommand {
            command: &input.command,
            call_id: &call.call_id,
            output_path: output,
            report_files: shell_state.list_report_files(),
            context,
        };
        let ended = context.background.await_command(awaited, process, options).await;
        let ended = match ended.map_err(not_started)? {
            AwaitedCommandEnd::Finished(ended) => ended,
            AwaitedCommandEnd::Moved(task) => {
                return Ok(outcome::build_background_outcome(&task.id, &task.output_path));
            }
        };
        let build = |moved: Option<&str>| {
            outcome::build_command_outcome(&ended, words.as_deref(), limits, limit, moved)
        };
        let Some(trial) = trial else {
            return Ok(build(shell_state.apply_report(context).await.as_deref()));
        };
        let exit_code = ended.status.and_then(|status| status.code());
        let settled =
            trial::settle(trial, &call.call_id, &input.command, exit_code, build(None)).await?;
        if settled.is_applied {
            shell_state.apply_report(context).await;
        }
        Ok(settled.outcome)
    }

    async fn start_in_background(
        &self,
        input: &BashInput,
        call: &ToolCallContext,
    ) -> TypedToolResult {
        let context = &call.tool_context;
        let shell_state = ShellStateCapture::in_current_directory(context)?;
        let timeout_max = context.limits.background_timeout_max;
        let limit = match input.timeout {
            None | Some(0) => timeout_max,
            Some(millis) => Duration::from_millis(millis).min(timeout_max),
        };
        let confinement = ProcessConfinement::prepare(call.call_confinement(), context)?
            .neutralize_git(&input.command, &shell_state.directory, context)
            .await?;
        let granted = call.call_confinement();
        let held = hold_programs(&input.command, granted, &shell_state.directory, context).await?;
        let (script, confinement) = take_held_line(&input.command, held, confinement);
        let program = ProgramSpec {
            confinement,
            ..self.build_program(input, script, shell_state.directory.clone(), context)
        };
        let start = BackgroundCommand {
            program: &program,
            command: &input.command,
            timeout: limit,
            environment: &build_environment(call, find_side(context, call.confinement, input)),
            processes: &context.processes,
            limits: &context.limits,
            secrets: &context.secrets,
        };
        let task = context.background.start_command(start).await?;
        Ok(outcome::build_background_outcome(&task.id, &task.output_path))
    }

    fn choose_shell(&self, context: &ToolSessionContext) -> ShellProgram {
        match &context.processes.bash_program {
            Some(bash) => ShellProgram { program: bash.clone(), is_bash: true },
            None => self.shell.clone(),
        }
    }

    fn build_program(
        &self,
        input: &BashInput,
        script: String,
        directory: PathBuf,
        context: &ToolSessionContext,
    ) -> ProgramSpec {
        let outside = &context.processes.unsandboxed_commands;
        let shell = self.choose_shell(context);
        let mut arguments: Vec<OsString> = Vec::new();
        if shell.is_bash {
            arguments.extend(["--noprofile".into(), "--norc".into()]);
        }
        let script = match &context.processes.command_prefix {
            Some(prefix) => format!("{prefix} '{}'", script.replace('\'', "'\\''")),
            None => script,
        };
        arguments.extend(["-c".into(), script.into()]);
        ProgramSpec {
            path: shell.program,
            arguments,
            directory,
            is_leaf_program: false,
            is_long_lived: input.run_in_background,
            is_unconfined: input.dangerously_disable_sandbox,
            is_excluded: is_excluded_from_sandbox(outside, &input.command),
            confinement: ProcessConfinement::default(),
        }
    }
}

/// The command line with its confined programs.
fn take_held_line(
    command: &str,
    held: Option<HeldProgramsLine>,
    confinement: ProcessConfinement,
) -> (String, ProcessConfinement) {
    match held {
        Some(held) => (held.text, confinement.with_held_programs(held.directory)),
        None => (command.to_owned(), confinement),
    }
}

/// The environment of the command: the session's, and the trace context of the call.
fn build_environment(call: &ToolCallContext, side: CommandSide) -> Vec<(OsString, OsString)> {
    let mut environment = call.tool_context.build_child_environment(side);
    if let Some(trace) = &call.trace_context {
        trace.apply_to(&mut environment);
    }
    environment
}

impl TypedTool for BashTool {
    type Input = BashInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Bash", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &BashInput) -> Result<ToolInspection, InputError> {
        if input.command.trim().is_empty() {
            return Err(InputError::field("command", "empty"));
        }
        if input.command.contains('\0') {
            return Err(InputError::field("command", "contains a NUL byte"));
        }
        Ok(match !input.run_in_background && is_read_only_line(&input.command) {
            true => ToolInspection::SHARED_READ,
            false => ToolInspection::EXCLUSIVE_EFFECT,
        })
    }

    fn run(&self, input: BashInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(self.perform(input, call))
    }
}

impl ShellProgram {
    fn find() -> Self {
        let first = |paths: &[&str]| {
            paths.iter().map(Path::new).find(|path| path.exists()).map(Path::to_path_buf)
        };
        let bash = first(&["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]);
        Self { is_bash: bash.is_some(), program: bash.unwrap_or_else(|| PathBuf::from("/bin/sh")) }
    }
}
