//! Standard streams of a child process: one JSON document per line.
//!
//! The process has its own group, which is ended with everything it started. Its standard error is
//! kept only to explain a failure.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use windlass_tool::{LongLivedProcess, LongLivedProgram, ProcessStreams, ToolSessionContext};

use super::capped_lines::{CappedLine, CappedLines, send_line, write_lines};
use super::{
    IncomingMessage, MESSAGE_BYTES_MAX, PeerDisconnect, parse_message, parse_message_bytes,
};
use crate::connection::ConnectionHealth;

/// Capacity of the output queue.
const OUTGOING_MAX: usize = 16;
/// Time to exit after its input is closed, and again after a signal.
const GRACE: Duration = Duration::from_secs(2);
/// Time for reading the rest of the pipe after the exit.
const DRAIN: Duration = Duration::from_millis(250);
const STDERR_LINE_MAX: usize = 8 * 1024;

/// A server that runs as a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StdioServerConfig {
    /// The program: a path, or a name looked up in `PATH`.
    pub command: String,
    pub arguments: Vec<String>,
    /// Added to the base environment.
    pub environment: Vec<(String, String)>,
    pub directory: PathBuf,
}

pub(crate) struct StdioTransport {
    process: Option<LongLivedProcess>,
    lines: CappedLines<ChildStdout>,
    /// `None` after closing: the process sees the end of its input.
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    health: Arc<ConnectionHealth>,
    has_exited: bool,
}

impl StdioTransport {
    pub(crate) fn start(
        config: &StdioServerConfig,
        tool_context: &ToolSessionContext,
        health: Arc<ConnectionHealth>,
    ) -> io::Result<Self> {
        let environment = build_environment(config, tool_context);
        let path = find_program(&config.command, &config.directory, &environment)?;
        let program = LongLivedProgram {
            path,
            arguments: config.arguments.iter().map(OsString::from).collect(),
            directory: config.directory.clone(),
            environment,
        };
        let mut process = LongLivedProcess::start(program, &tool_context.processes)?;
        let ProcessStreams { stdin, stdout, stderr } =
            process.take_streams().ok_or_else(|| io::Error::other("it has no streams"))?;
        let (outgoing, messages) = mpsc::channel(OUTGOING_MAX);
        tokio::spawn(write_lines(stdin, messages));
        tokio::spawn(log_stderr(stderr, Arc::clone(&health)));
        Ok(Self {
            process: Some(process),
            lines: CappedLines::new(stdout, MESSAGE_BYTES_MAX),
            outgoing: Some(outgoing),
            health,
            has_exited: false,
        })
    }

    /// The next line; `None` at the end of the stream.
    async fn next_line(&mut self) -> Option<CappedLine> {
        if self.has_exited {
            return tokio::time::timeout(DRAIN, self.lines.next_line()).await.ok().flatten();
        }
        let process = self.process.as_mut()?;
        let code = tokio::select! {
            biased;
            line = self.lines.next_line() => match line {
                Some(line) => return Some(line),
                // A process that closes its output is usually about to exit, so wait for its status.
                None => tokio::time::timeout(DRAIN, process.wait_for_exit()).await.ok()?,
            },
            code = process.wait_for_exit() => code,
        };
        self.has_exited = true;
        self.health.note_reason(&match code {
            Some(code) => format!("its process exited with code {code}"),
            None => "its process was ended by a signal".to_owned(),
        });
        tokio::time::timeout(DRAIN, self.lines.next_line()).await.ok().flatten()
    }

    fn parse_line(&self, line: CappedLine) -> IncomingMessage {
        let bytes = match line {
            CappedLine::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => {
                return IncomingMessage::Skip;
            }
            CappedLine::Whole(bytes) => bytes,
            CappedLine::TooLong(id) => return self.answer_too_long(id.as_deref()),
        };
        parse_message_bytes(&bytes, &self.health)
    }

    /// The waiting caller gets an error that the answer was too long.
    fn answer_too_long(&self, id: Option<&str>) -> IncomingMessage {
        let megabytes = MESSAGE_BYTES_MAX / (1024 * 1024);
        self.health.log_skipped(&format!("a message over {megabytes} MiB"));
        match id.and_then(|id| serde_json::from_str::<Value>(id).ok()) {
            Some(id) => {
                let message = format!("the answer was over {megabytes} MiB and was dropped");
                let error = json!({"code": -32000, "message": message});
                parse_message(json!({"jsonrpc": "2.0", "id": id, "error": error}), &self.health)
            }
            None => IncomingMessage::Skip,
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = PeerDisconnect;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), PeerDisconnect>> + Send + 'static {
        send_line(self.outgoing.clone(), message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.next_line().await?;
            match self.parse_line(line) {
                IncomingMessage::Message(message) => return Some(*message),
                IncomingMessage::Skip => {}
                IncomingMessage::GiveUp => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), PeerDisconnect> {
        self.outgoing = None;
        if let Some(process) = self.process.take() {
            process.shut_down(GRACE).await;
        }
        Ok(())
    }
}

async fn log_stderr(stderr: ChildStderr, health: Arc<ConnectionHealth>) {
    let mut lines = CappedLines::new(stderr, STDERR_LINE_MAX);
    while let Some(line) = lines.next_line().await {
        if let CappedLine::Whole(line) = line
            && !line.iter().all(u8::is_ascii_whitespace)
        {
            health.log_line(&String::from_utf8_lossy(&line));
        }
    }
}

/// The environment that every server gets.
pub(super) fn base_environment(tool_context: &ToolSessionContext) -> Vec<(OsString, OsString)> {
    let is_base = |name: &OsString| name.to_str().is_some_and(is_base_variable);
    tool_context.processes.environment.iter().filter(|(name, _)| is_base(name)).cloned().collect()
}

/// The base environment, overridden by the configured one.
fn build_environment(
    config: &StdioServerConfig,
    tool_context: &ToolSessionContext,
) -> Vec<(OsString, OsString)> {
    let is_own = |name: &OsString| config.environment.iter().any(|(own, _)| name == own.as_str());
    let mut all = base_environment(tool_context);
    all.retain(|(name, _)| !is_own(name));
    let project = ("CLAUDE_PROJECT_DIR".to_owned(), tool_context.files.cwd.display().to_string());
    let own = config.environment.iter().filter(|(name, _)| *name != project.0);
    all.extend(own.chain([&project]).map(|(name, value)| (name.into(), value.into())));
    all
}

/// Variables every server gets: paths, the user, the language, proxies.
fn is_base_variable(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "HOME",
        "USER",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "PWD",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "VIRTUAL_ENV",
        "JAVA_HOME",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "GOPATH",
        "DOCKER_HOST",
        "CLAUDECODE",
    ];
    const PREFIXES: &[&str] = &["LC_", "XDG_", "NVM_", "VOLTA_", "FNM_", "PYENV_", "UV_"];
    let upper = name.to_ascii_uppercase();
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || upper.starts_with("NPM_CONFIG_")
            && !upper.contains("AUTH")
            && !upper.contains("PASSWORD")
        || ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"].contains(&upper.as_str())
}

/// Finds the program in the `PATH` that the server will have.
fn find_program(
    command: &str,
    directory: &Path,
    environment: &[(OsString, OsString)],
) -> io::Result<PathBuf> {
    if command.contains('/') {
        return Ok(directory.join(command));
    }
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let mut candidates = folders.map(|folder| directory.join(folder).join(command));
    candidates.find(|candidate| candidate.is_file()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no program `{command}` in PATH"))
    })
}
