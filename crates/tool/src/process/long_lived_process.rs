//! A process that runs beside a session and is used through its standard streams.
//!
//! Started like every other process, so it gets the same confinement. The caller interprets its
//! output; this module only ends it, with everything it started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::launch::{LaunchExit, ProgramSpec, SpawnedProcess, spawn_in_environment};
use super::process_confinement::ProcessConfinement;
use super::process_context::ProcessContext;
use crate::running_time::timeout;

#[derive(Clone, Debug)]
pub struct LongLivedProgram {
    /// Absolute.
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
}

#[derive(Debug)]
pub struct ProcessStreams {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// Dropping it kills the process and everything it started.
#[derive(Debug)]
pub struct LongLivedProcess {
    process: SpawnedProcess,
}

impl LongLivedProcess {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// It cannot be started, or cannot be confined as required.
    pub fn start(program: LongLivedProgram, processes: &ProcessContext) -> io::Result<Self> {
        let LongLivedProgram { path, arguments, directory, environment } = program;
        let program = ProgramSpec {
            path,
            arguments,
            directory,
            is_leaf_program: false,
            is_long_lived: true,
            is_unconfined: false,
            is_excluded: false,
            confinement: ProcessConfinement::default(),
        };
        let process = spawn_in_environment(&program, processes, environment, Stdio::piped)?;
        Ok(Self { process })
    }

    /// Its standard streams; only once.
    pub fn take_streams(&mut self) -> Option<ProcessStreams> {
        let child = &mut self.process.child;
        Some(ProcessStreams {
            stdin: child.stdin.take()?,
            stdout: child.stdout.take()?,
            stderr: child.stderr.take()?,
        })
    }

    /// Waits for the exit: the code, or `None` if a signal ended it.
    pub async fn wait_for_exit(&mut self) -> Option<i32> {
        self.process.child.wait().await.ok().and_then(|status| status.code())
    }

    /// Ends the process: waits for it to exit, asks it to, kills it. Its input must be closed
    /// before. Takes at most three times `grace`.
    pub async fn shut_down(mut self, grace: Duration) {
        let mut code = timeout(grace, self.wait_for_exit()).await;
        if code.is_err() {
            self.process.tree.terminate();
            code = timeout(grace, self.wait_for_exit()).await;
        }
        self.process.tree.kill();
        if code.is_err() {
            self.process.tree.kill_leader();
            code = timeout(grace, self.wait_for_exit()).await;
        }
        self.process.tree.wait_until_gone().await;
        if let Some(prepared) = self.process.prepared.take() {
            let end = LaunchExit { code: code.ok().flatten(), stderr: String::new() };
            // This may block for a moment.
            let _ = tokio::task::spawn_blocking(move || prepared.finish(&end)).await;
        }
    }
}
