//! Runs a program with input and a deadline, and returns its output.
//!
//! For programs that answer the engine. The user's own ones run without a launcher. Output is kept
//! up to a limit and drained beyond it, so that a program that writes too much can still exit. The
//! caller interprets the output.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::launch::{ProcessLauncher, ProgramSpec, spawn_in_environment};
use super::process_confinement::ProcessConfinement;
use super::process_context::ProcessContext;
use super::supervisor::{
    FirstLineReporter, ProcessEndCause, ProcessOwner, SuperviseOptions, SuperviseOutputOptions,
    supervise,
};
use crate::limits::ToolLimits;
use crate::process_output::{HeadAndTail, OutputSpill};

#[derive(Clone, Debug)]
pub struct OneShotCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    pub input: Vec<u8>,
    /// The deadline, after which the whole process tree is ended.
    pub timeout: Duration,
    pub output_bytes_max: usize,
    /// Ends the whole process tree early.
    pub cancel: CancellationToken,
    /// Confines it, unless it is the user's own program.
    pub held_by: Option<OneShotLauncher>,
}

#[derive(Clone, Debug)]
pub struct OneShotLauncher {
    pub launcher: Arc<dyn ProcessLauncher>,
    /// A directory that the launcher lets the program write to.
    pub scratch_directory: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneShotResult {
    pub cause: OneShotEndCause,
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneShotEndCause {
    Exited,
    Deadline,
    Cancelled,
    TooManyProcesses,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    pub bytes: Vec<u8>,
    pub total: u64,
}

impl CapturedStream {
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    fn from_head_and_tail(ends: HeadAndTail) -> Self {
        Self { total: ends.total(), bytes: ends.into_head() }
    }
}

impl OneShotCommand {
    /// Runs the program. Dropping the future ends the whole tree at once.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn run(self) -> io::Result<OneShotResult> {
        self.run_inner(None).await
    }

    /// The same, and sends the first line of standard output as soon as it is complete.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn run_reporting_first_line(
        self,
        first: oneshot::Sender<String>,
    ) -> io::Result<OneShotResult> {
        self.run_inner(Some(FirstLineReporter::new(first))).await
    }

    async fn run_inner(self, first: Option<FirstLineReporter>) -> io::Result<OneShotResult> {
        let program = ProgramSpec {
            path: self.program,
            arguments: self.arguments,
            directory: self.directory,
            is_leaf_program: false,
            is_long_lived: false,
            is_unconfined: self.held_by.is_none(),
            is_excluded: false,
            confinement: ProcessConfinement::default(),
        };
        // Without a launcher, even if the session has one: it is the user's own program.
        let processes = match self.held_by {
            Some(OneShotLauncher { launcher, scratch_directory }) => {
                let mut processes = ProcessContext::without_launcher(scratch_directory);
                processes.launcher = Some(launcher);
                processes
            }
            None => ProcessContext::without_launcher(program.directory.clone()),
        };
        let mut process =
            spawn_in_environment(&program, &processes, self.environment, Stdio::piped)?;
        let stdin = process.child.stdin.take();
        let options = SuperviseOptions {
            timeout: self.timeout,
            output: SuperviseOutputOptions {
                spill: OutputSpill::discarding(),
                inline_max: self.output_bytes_max,
                processes_max: ToolLimits::default().processes_max,
                first_line: first,
            },
            owner: ProcessOwner { cancel: self.cancel, ..ProcessOwner::default() },
            handover: None,
        };
        let mut end = pin!(supervise(process, options));
        let mut writing_input = pin!(write_stdin(stdin, self.input));
        let mut is_written = false;
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended?,
                () = &mut writing_input, if !is_written => is_written = true,
            }
        };
        Ok(OneShotResult {
            cause: match ended.cause {
                ProcessEndCause::Exited | ProcessEndCause::TooMuchOutput => OneShotEndCause::Exited,
                ProcessEndCause::Deadline => OneShotEndCause::Deadline,
                ProcessEndCause::Cancelled => OneShotEndCause::Cancelled,
                ProcessEndCause::TooManyProcesses => OneShotEndCause::TooManyProcesses,
            },
            code: ended.status.and_then(|status| status.code()),
            signal: ended.status.and_then(|status| status.signal()),
            stdout: CapturedStream::from_head_and_tail(ended.stdout),
            stderr: CapturedStream::from_head_and_tail(ended.stderr),
        })
    }
}

/// Many programs do not read their input; that is not an error.
async fn write_stdin(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}
