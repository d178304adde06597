//! Runs a shell command and tells what came of it, or lets it run in the background.
//!
//! `report` puts the result into words, `place` keeps track of where the shell stands and what it
//! has exported. Whether the command may run was decided before.

mod place;
pub(crate) mod report;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_permission::command::{plain_words, reading, reads_only};
use windlass_permission::runs_outside;
use windlass_vocabulary::Inspection;

use crate::action::{Action, Doing, Done};
use crate::background;
use crate::input::{self, Wrong};
use crate::output::Spill;
use crate::process::{Order, Output, Program, Running, spawn, stay};
use crate::tool::Job;
use place::Place;

/// The tool.
#[derive(Debug)]
pub(crate) struct Bash {
    shell: Shell,
}

/// The shell in use.
#[derive(Debug)]
struct Shell {
    program: PathBuf,
    is_bash: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
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
}

const DESCRIPTION: &str = "Runs a command line with bash and returns what it wrote. The working \
directory and exported variables are kept between calls. There is no terminal and no input: a \
command that asks or pages fails or gets nothing. Processes it leaves behind are stopped when it \
ends; use run_in_background for servers and long work. Long output is shortened and saved to a \
file. Prefer Read, Edit, Write, Glob and Grep for files.";

/// The output is cut here, by a limit that settings may raise up to 150,000; this only has to lie
/// above it.
const RESULT_BYTES_MAX: usize = 160_000;

impl Bash {
    /// The tool, with the shell of this machine.
    pub(crate) fn new() -> Self {
        Self { shell: Shell::find() }
    }

    async fn perform(&self, input: Input, job: Job) -> Done {
        let surroundings = &job.surroundings;
        let limits = &surroundings.limits;
        let words = plain_words(&input.command);
        let is_plain = words.as_deref().is_some_and(|words| reading(words).is_some());
        if input.run_in_background {
            return self.leave(&input, &job).await;
        }
        let place = Place::find(surroundings, words.as_deref()).await?;
        let limit = match input.timeout {
            None | Some(0) => limits.command_default,
            Some(millis) => Duration::from_millis(millis).min(limits.command_max),
        };
        let script = place.script(&input.command, self.shell.is_bash);
        let program =
            self.program(&input, script, place.directory.clone(), is_plain, &surroundings.outside);
        let output = surroundings.spill_path("output");
        let order = Order {
            limit,
            output: Output {
                spill: Spill::new(output, limits.output_inline_max, limits.output_spill_max)
                    .without(&surroundings.secrets),
                inline_max: limits.output_inline_max,
                processes_max: limits.processes_max,
                bell: None,
                first: None,
            },
            cancel: job.cancel.clone(),
            progress: job.progress.clone(),
        };
        let not_started = |error| report::not_started(&error, &self.shell.program);
        let process = spawn(&program, surroundings).await.map_err(not_started)?;
        let note = Running::note(surroundings, None, &process);
        let ended = stay(process, order).await.map_err(not_started)?;
        drop(note);
        let moved = place.settle(surroundings).await;
        Ok(report::outcome(&ended, words.as_deref(), limits, limit, moved.as_deref()))
    }

    /// Starts a command and does not wait for it.
    async fn leave(&self, input: &Input, job: &Job) -> Done {
        let surroundings = &job.surroundings;
        let place = Place::standing(surroundings)?;
        let most = surroundings.limits.background_max;
        let limit = match input.timeout {
            None | Some(0) => most,
            Some(millis) => Duration::from_millis(millis).min(most),
        };
        let program = self.program(
            input,
            input.command.clone(),
            place.directory.clone(),
            false,
            &surroundings.outside,
        );
        let task = background::start(surroundings, &program, &input.command, limit).await?;
        Ok(report::left(&task.id, &task.output))
    }

    fn program(
        &self,
        input: &Input,
        script: String,
        directory: PathBuf,
        is_plain: bool,
        outside: &[String],
    ) -> Program {
        let mut arguments: Vec<OsString> = Vec::new();
        if self.shell.is_bash {
            arguments.extend(["--noprofile".into(), "--norc".into()]);
        }
        arguments.extend(["-c".into(), script.into()]);
        Program {
            path: self.shell.program.clone(),
            arguments,
            directory,
            is_plain,
            is_lasting: input.run_in_background,
            unconfined: input.dangerously_disable_sandbox,
            is_excluded: runs_outside(outside, &input.command),
        }
    }
}

impl Action for Bash {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Bash", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        if input.command.trim().is_empty() {
            return Err(Wrong::field("command", "empty"));
        }
        if input.command.contains('\0') {
            return Err(Wrong::field("command", "contains a NUL byte"));
        }
        Ok(match !input.run_in_background && reads_only(&input.command) {
            true => Inspection::SHARED_READ,
            false => Inspection::EXCLUSIVE_EFFECT,
        })
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(self.perform(input, job))
    }
}

impl Shell {
    fn find() -> Self {
        let first = |paths: &[&str]| {
            paths.iter().map(Path::new).find(|path| path.exists()).map(Path::to_path_buf)
        };
        let bash = first(&["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]);
        Self { is_bash: bash.is_some(), program: bash.unwrap_or_else(|| PathBuf::from("/bin/sh")) }
    }
}
