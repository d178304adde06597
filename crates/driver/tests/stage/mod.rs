//! A session against a rehearsed model server, over real sockets, and ways to wait for what it
//! tells. Every wait has a deadline; none sleeps. Every request that is sent is held against the
//! law of its wire.
#![allow(dead_code, reason = "each program uses its own part")]

#[path = "../../../dialect/tests/fixture/checker/mod.rs"]
#[allow(unreachable_pub, clippy::too_many_lines, reason = "written for another crate's tests")]
pub(crate) mod law;
pub(crate) mod recorder;
pub(crate) mod tls;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use windlass_driver::engine_settings::Settings;
use windlass_driver::{
    Credential, Endpoint, ModelTimeouts, Notices, Session, SessionBuilder, ToolRegistry,
    ToolSessionContext,
};
use windlass_rehearsal::{ReceivedRequest, Rehearsal, RehearsalOptions, Script, ScriptedAnswer};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    Delta, FailureKind, Message, ModelFacts, ModelName, Notice, Outcome, PermissionMode, Prices,
    Terminal, Tokens, Transition, WireFormat,
};

/// Every wire.
pub(crate) const WIRES: [WireFormat; 4] = [
    WireFormat::AnthropicMessages,
    WireFormat::OpenaiResponses,
    WireFormat::OpenaiChat,
    WireFormat::Gemini,
];

/// The longest any test waits for one thing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A session on stage.
pub(crate) struct Stage {
    pub(crate) rehearsal: Rehearsal,
    pub(crate) session: Session,
    pub(crate) notices: Notices,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) wire: WireFormat,
}

/// What a session on stage is made of.
pub(crate) struct Setting {
    pub(crate) wire: WireFormat,
    pub(crate) credential: Credential,
    pub(crate) settings: Settings,
    pub(crate) registry: ToolRegistry,
    pub(crate) timeouts: ModelTimeouts,
    pub(crate) directory: tempfile::TempDir,
}

impl Default for Setting {
    fn default() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(facts("rehearsed-model"));
        settings.policy.mode = PermissionMode::BypassPermissions;
        settings.policy.directories = vec![directory.path().to_str().unwrap().to_owned()];
        settings.retry.jitter_seed = SHORT_WAITS;
        Self {
            wire: WireFormat::AnthropicMessages,
            credential: Credential::None,
            settings,
            registry: ToolRegistry::with_builtin_tools(),
            timeouts: ModelTimeouts::default(),
            directory,
        }
    }
}

impl Setting {
    /// The usual setting on another wire.
    pub(crate) fn on(wire: WireFormat) -> Self {
        Self { wire, ..Self::default() }
    }

    /// With these tools and no others.
    pub(crate) fn tools(self, registry: ToolRegistry) -> Self {
        Self { registry, ..self }
    }

    /// With this patience.
    pub(crate) fn timeouts(self, timeouts: ModelTimeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// Changes the settings.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// No second try after a failure.
    pub(crate) fn without_retries(self) -> Self {
        self.with(|settings| settings.limits.retries_max = 0)
    }

    /// A builder for this setting at an address.
    pub(crate) fn builder(&self, url: &str) -> SessionBuilder {
        let endpoint = Endpoint::new(self.wire, url).credential(self.credential.clone());
        SessionBuilder::new(self.settings.clone(), endpoint)
            .registry(self.registry.clone())
            .timeouts(self.timeouts)
            .tool_context(surroundings(self.directory.path()))
    }

    /// Starts a session that will hear these answers.
    pub(crate) async fn play(self, answers: impl IntoIterator<Item = ScriptedAnswer>) -> Stage {
        let rehearsal = rehearse(answers).await;
        let (session, notices) = self.builder(&rehearsal.url()).start().unwrap();
        Stage { rehearsal, session, notices, directory: self.directory, wire: self.wire }
    }
}

pub(crate) fn surroundings(directory: &Path) -> ToolSessionContext {
    ToolSessionContext::new(directory, directory.join("spill"))
}

pub(crate) async fn rehearse(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Rehearsal {
    let script = answers.into_iter().fold(Script::new(), Script::answer);
    Rehearsal::start(script, RehearsalOptions::default()).await.unwrap()
}

pub(crate) fn facts(name: &str) -> ModelFacts {
    ModelFacts {
        name: ModelName(Arc::from(name)),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    }
}

impl Stage {
    /// Submits a message and reads to the end of the run.
    pub(crate) async fn run(&mut self, message: &str) -> (RunEnding, Vec<Notice>) {
        self.session.submit(message).unwrap();
        self.ending().await
    }

    /// Reads to the end of the run.
    pub(crate) async fn ending(&mut self) -> (RunEnding, Vec<Notice>) {
        let ended = ended(&mut self.notices).await;
        assert_lawful(self.wire, &self.rehearsal);
        ended
    }

    /// Reads up to the first notice that is meant.
    pub(crate) async fn until(&mut self, is_meant: impl Fn(&Notice) -> bool) -> Vec<Notice> {
        until(&mut self.notices, is_meant).await
    }
}

/// Reads to the end of the run.
pub(crate) async fn ended(notices: &mut Notices) -> (RunEnding, Vec<Notice>) {
    let told = until(notices, |notice| matches!(notice, Notice::RunEnded(_))).await;
    match told.last() {
        Some(Notice::RunEnded(ending)) => (ending.clone(), told),
        other => panic!("not an ending: {other:?}"),
    }
}

/// Every request so far is one that the provider would take.
#[track_caller]
pub(crate) fn assert_lawful(wire: WireFormat, rehearsal: &Rehearsal) {
    for ReceivedRequest { number, body, .. } in rehearsal.requests() {
        let broken = law::breaches(wire, body.as_bytes());
        assert!(broken.is_empty(), "{wire:?}, request {number}: {broken:#?} in {body}");
    }
}

/// The last request, as JSON.
pub(crate) fn last_request(rehearsal: &Rehearsal) -> serde_json::Value {
    rehearsal.requests().pop().unwrap().json().unwrap()
}

/// Reads up to the first notice that is meant.
pub(crate) async fn until(
    notices: &mut Notices,
    is_meant: impl Fn(&Notice) -> bool,
) -> Vec<Notice> {
    let mut told = Vec::new();
    let read = async {
        while let Some(notice) = notices.next().await {
            told.push(notice);
            if told.last().is_some_and(&is_meant) {
                return true;
            }
        }
        false
    };
    let found = tokio::time::timeout(PATIENCE, read).await;
    assert_eq!(found, Ok(true), "what was waited for was not told; told: {told:#?}");
    told
}

/// All streamed text, joined.
pub(crate) fn streamed(told: &[Notice]) -> String {
    let texts = told.iter().filter_map(|notice| match notice {
        Notice::Streamed { delta: Delta::Text(text), .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// What stays of what was streamed: text of attempts that were not taken back.
pub(crate) fn shown(told: &[Notice]) -> String {
    let mut shown: Vec<(windlass_vocabulary::AttemptId, &str)> = Vec::new();
    for notice in told {
        match notice {
            Notice::Streamed { attempt, delta: Delta::Text(text) } => shown.push((*attempt, text)),
            Notice::Retracted { attempt, .. } => shown.retain(|(other, _)| other != attempt),
            _ => {}
        }
    }
    shown.into_iter().map(|(_, text)| text).collect()
}

/// Every message that was added to the transcript.
pub(crate) fn added(told: &[Notice]) -> Vec<Arc<Message>> {
    let messages = told.iter().filter_map(|notice| match notice {
        Notice::MessageAdded(message) => Some(Arc::clone(message)),
        _ => None,
    });
    messages.collect()
}

/// Why the loop went round again, each time.
pub(crate) fn transitions(told: &[Notice]) -> Vec<Transition> {
    let all = told.iter().filter_map(|notice| match notice {
        Notice::Continued { transition, .. } => Some(*transition),
        _ => None,
    });
    all.collect()
}

/// The pauses that were told: what failed, and how long.
pub(crate) fn waits(told: &[Notice]) -> Vec<(FailureKind, u64)> {
    let all = told.iter().filter_map(|notice| match notice {
        Notice::RetryScheduled { failure, wait, .. } => Some((failure.kind, wait.0)),
        _ => None,
    });
    all.collect()
}

/// Everything people were warned of.
pub(crate) fn warnings(told: &[Notice]) -> Vec<&str> {
    let all = told.iter().filter_map(|notice| match notice {
        Notice::Warning(words) => Some(words.as_str()),
        _ => None,
    });
    all.collect()
}

/// How many answers were taken back.
pub(crate) fn retractions(told: &[Notice]) -> usize {
    told.iter().filter(|notice| matches!(notice, Notice::Retracted { .. })).count()
}

pub(crate) fn is_streamed_text(notice: &Notice) -> bool {
    matches!(notice, Notice::Streamed { delta: Delta::Text(_), .. })
}

#[track_caller]
pub(crate) fn assert_ended(ending: &RunEnding, terminal: Terminal) {
    assert_eq!(ending.terminal, terminal, "{ending:#?}");
}

/// The run completed of itself.
#[track_caller]
pub(crate) fn assert_completed(ending: &RunEnding) {
    assert_ended(ending, Terminal::Completed);
    assert_eq!(ending.outcome, Some(Outcome::Natural), "{ending:#?}");
}

/// The run ended in this failure.
#[track_caller]
pub(crate) fn assert_failed(ending: &RunEnding, kind: FailureKind) {
    assert_ended(ending, Terminal::ModelError);
    assert_eq!(ending.failure.as_ref().map(|failure| failure.kind), Some(kind), "{ending:#?}");
}

/// Answers every request with these bytes as an event stream; for streams so large that a script
/// would take too long over them.
pub(crate) async fn serve_bytes(stream: Vec<u8>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stream = Arc::new(stream);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let stream = Arc::clone(&stream);
            tokio::spawn(async move {
                let mut heard = Vec::new();
                while !is_whole_request(&heard) {
                    client.read_buf(&mut heard).await.unwrap();
                }
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n",
                    stream.len()
                );
                client.write_all(head.as_bytes()).await.unwrap();
                // A client that has seen enough hangs up.
                let _ = client.write_all(&stream).await;
            });
        }
    });
    url
}

fn is_whole_request(heard: &[u8]) -> bool {
    let heard = String::from_utf8_lossy(heard);
    let Some((head, body)) = heard.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.unwrap().parse().unwrap()
}

/// Passes bytes on and counts the connections it was asked for.
pub(crate) async fn counting_proxy(
    to: std::net::SocketAddr,
) -> (String, tokio::sync::watch::Receiver<u32>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (count, counted) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            count.send_modify(|count| *count += 1);
            let server = tokio::net::TcpStream::connect(to).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move {
                let mut buffer = [0_u8; 4096];
                while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
                    to_server.write_all(&buffer[..read]).await.unwrap();
                }
            });
            tokio::spawn(async move {
                let mut buffer = [0_u8; 4096];
                while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                    to_client.write_all(&buffer[..read]).await.unwrap();
                }
            });
        }
    });
    (url, counted)
}

/// Runs one test of this program again in a process of its own, prepared by a line of shell, and
/// demands that it passes there. Inside, [`is_again`] says so.
pub(crate) fn again(test: &str, shell: &str, variables: &[(&str, &Path)]) {
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", &format!(r#"{shell}; exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("RUN_AGAIN", "yes")
        .envs(variables.iter().copied());
    let ran = command.output().unwrap();
    let [said, told] = [&ran.stderr, &ran.stdout].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(ran.status.success() && told.contains("1 passed"), "{}\n{told}\n{said}", ran.status);
}

pub(crate) fn is_again() -> bool {
    std::env::var_os("RUN_AGAIN").is_some()
}

pub(crate) fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

/// A seed whose first waits are all below 60 ms: full jitter may be long, and tests are not.
pub(crate) const SHORT_WAITS: u64 = 37_119_934_576;
