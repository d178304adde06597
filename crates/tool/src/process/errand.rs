//! A program that is told something and says something: input in, output out, one deadline.
//!
//! For programs of the user's own that answer the engine: no launcher stands before them. Output is
//! kept up to a cap and drained beyond it, so a program that writes too much still comes to its end.
//! What is said, and what it means, is not known here.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::launch::{Program, spawn_in};
use super::watch::{Cause, FirstLine, Order, Output, stay};
use crate::output::{Ends, Spill};
use crate::surroundings::{Limits, Surroundings};
use crate::tool::Progress;

/// A program to be run to its end.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its environment, complete.
    pub environment: Vec<(OsString, OsString)>,
    /// What it is told on standard input.
    pub input: Vec<u8>,
    /// How long it may take; then its whole tree is ended.
    pub limit: Duration,
    /// Bytes of each stream that are kept.
    pub output_max: usize,
    /// Ends it early, with its whole tree.
    pub cancel: CancellationToken,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrandEnd {
    /// By whose doing.
    pub cause: ErrandCause,
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Written,
    /// What it wrote to standard error.
    pub stderr: Written,
}

/// By whose doing it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrandCause {
    /// Its own.
    Itself,
    /// It took too long.
    Deadline,
    /// It was called off.
    Cancelled,
    /// It started processes without end.
    Swarm,
}

/// What came through a pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// How many there were in all.
    pub total: u64,
}

impl Written {
    /// Was there more than was kept?
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    fn of(ends: Ends) -> Self {
        Self { total: ends.total(), bytes: ends.into_head() }
    }
}

impl Errand {
    /// Runs it. Dropping the future ends the whole tree at once.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn run(self) -> io::Result<ErrandEnd> {
        self.run_with(None).await
    }

    /// The same; the first line of standard output is told as soon as it is there.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn run_telling(self, first: oneshot::Sender<String>) -> io::Result<ErrandEnd> {
        self.run_with(Some(FirstLine::new(first))).await
    }

    async fn run_with(self, first: Option<FirstLine>) -> io::Result<ErrandEnd> {
        let program = Program {
            path: self.program,
            arguments: self.arguments,
            directory: self.directory,
            is_plain: false,
            is_lasting: false,
            unconfined: true,
            is_excluded: false,
        };
        // Without a launcher, whatever the session has: it is the user's own program.
        let free = Surroundings::new(&program.directory, &program.directory);
        let mut process = spawn_in(&program, &free, self.environment, Stdio::piped)?;
        let stdin = process.child.stdin.take();
        let order = Order {
            limit: self.limit,
            output: Output {
                spill: Spill::nowhere(),
                inline_max: self.output_max,
                processes_max: Limits::default().processes_max,
                bell: None,
                first,
            },
            cancel: self.cancel,
            progress: Progress::default(),
        };
        let mut end = pin!(stay(process, order));
        let mut told = pin!(tell(stdin, self.input));
        let mut is_told = false;
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended?,
                () = &mut told, if !is_told => is_told = true,
            }
        };
        Ok(ErrandEnd {
            cause: match ended.cause {
                Cause::Itself | Cause::Flood => ErrandCause::Itself,
                Cause::Deadline => ErrandCause::Deadline,
                Cause::Cancel => ErrandCause::Cancelled,
                Cause::Swarm => ErrandCause::Swarm,
            },
            code: ended.status.and_then(|status| status.code()),
            signal: ended.status.and_then(|status| status.signal()),
            stdout: Written::of(ended.stdout),
            stderr: Written::of(ended.stderr),
        })
    }
}

/// Many programs do not read what they are told; that is no mistake.
async fn tell(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}
