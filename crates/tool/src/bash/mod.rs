//! Runs a shell command in a process group of its own and tells what came of it.
//!
//! `process` owns the child from start to end, `report` puts the result into words, `place`
//! keeps track of where the shell stands. Whether the command may run was decided before.

mod group;
mod place;
mod process;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_permission::command::{plain_words, reading};
use windlass_vocabulary::Inspection;

use crate::action::{Action, Doing, Done};
use crate::input::{self, Wrong};
use crate::tool::Job;
use place::Place;
use process::Command;

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
    /// Starts the shell in a session of its own, where there is a terminal to keep it away from.
    session: Option<PathBuf>,
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
}

const DESCRIPTION: &str = "Runs a command line with bash and returns what it wrote. The working \
directory is kept between calls; variables are not. There is no terminal and no input: a command \
that asks or pages fails or gets nothing. Processes left in the background are stopped when the \
command ends. Long output is shortened and saved to a file. Prefer Read, Edit, Write, Glob and \
Grep for files.";

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
        let place = match Place::find(surroundings, words.as_deref()).await {
            Ok(place) => place,
            Err(problem) => return Err(problem),
        };
        let limit = match input.timeout {
            None | Some(0) => limits.command_default,
            Some(millis) => Duration::from_millis(millis).min(limits.command_max),
        };
        let command = Command {
            shell: &self.shell,
            script: &place.script(&input.command),
            directory: &place.directory,
            limit,
        };
        let ended = match process::run(command, &job).await {
            Ok(ended) => ended,
            Err(error) => {
                return Err(report::not_started(&error, &self.shell.program));
            }
        };
        let moved = place.settle(surroundings).await;
        Ok(report::outcome(&ended, words.as_deref(), limits, limit, moved.as_deref()))
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
        Ok(match plain_words(&input.command).and_then(|words| reading(&words)) {
            Some(reading) if !reading.moves => Inspection::SHARED_READ,
            _ => Inspection::EXCLUSIVE_EFFECT,
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
        let has_terminal = std::fs::File::open("/dev/tty").is_ok();
        Self {
            is_bash: bash.is_some(),
            program: bash.unwrap_or_else(|| PathBuf::from("/bin/sh")),
            session: has_terminal.then(|| first(&["/usr/bin/setsid", "/bin/setsid"])).flatten(),
        }
    }
}
