//! The process of one session: the ordinary `windlass` command under a guard, driven by stream-json
//! over stdin and stdout like by any other client.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::WorkerContext;
use super::asked_calls::AskedCalls;
use super::claimed_session::{SessionClaim, SessionFolders};
use super::handover::HandoverWorkspace;
use super::process_tree;
use super::relay::{JournalRelay, RelayEnd, SessionSocket, send_deadlines, serve_relay};
use super::running_calls::RunningCalls;
use crate::live::AbortedOnDrop;
use crate::live::live_sessions::OpenTail;
use crate::session_spec::SessionSpec;
use crate::store::{NewQuestion, SessionInbox};
use crate::tenant_policy::TenantPolicy;

#[derive(Debug)]
pub(crate) enum ProcessEnd {
    /// With the result of its last prompt.
    Result(Value),
    /// The same; it failed because the provider did.
    ProviderFailed(Value),
    Cancelled,
    /// The worker shuts down: another one continues the session.
    HandedBack,
    /// Nothing but an answer to a question is missing; with the messages that it was sent.
    Asks(Vec<String>),
    /// Its provider asked to wait this long.
    RateLimited(Duration),
    /// The claim was lost.
    Lost,
    /// Ended without a result, with the last line of stderr or another reason.
    Crashed(String),
}

pub(crate) struct SessionProcess {
    claim: SessionClaim,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: JoinHandle<String>,
    /// Dropping it ends the process and everything it started.
    deadlines: Option<AbortedOnDrop>,
    relay: JoinHandle<(RelayEnd, JournalRelay)>,
    control: Arc<Notify>,
    asked: AskedCalls,
    /// When a question was open and something happened last.
    asked_at: Option<Instant>,
    messages: SentMessages,
    running_calls: RunningCalls,
    outcome: RunOutcome,
    cancelled_at: Option<Instant>,
    tail: OpenTail,
}

/// How the last prompt ended.
#[derive(Default)]
struct RunOutcome {
    result: Option<Value>,
    /// The last call of the model failed in a way that may pass.
    has_failed_call: bool,
}

/// The messages that a process was sent.
#[derive(Default)]
struct SentMessages {
    sent: BTreeSet<String>,
    /// Those that have no result yet.
    unanswered: BTreeSet<String>,
}

impl SessionProcess {
    pub(crate) async fn start(
        context: &Arc<WorkerContext>,
        claim: &SessionClaim,
        folders: &SessionFolders,
        plan: ProcessPlan<'_>,
    ) -> Result<Self, String> {
        let words = |error: std::io::Error| format!("its process: {error}");
        let socket = SessionSocket::bind(&socket_path(context, claim)).map_err(words)?;
        let mut command = build_command(context, claim, folders, &plan).map_err(words)?;
        let ProcessPlan { policy, workspace, .. } = plan;
        let mut child = command
            .current_dir(&folders.workspace)
            .env("XDG_STATE_HOME", &folders.state)
            .env("TMPDIR", &folders.temporary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(words)?;
        let pid = child.id().ok_or("its process ended before it began")?;
        let started = process_tree::read_start_time(pid).unwrap_or_default();
        std::fs::write(&folders.guard_file, format!("{pid} {started}")).map_err(words)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err("its process has no streams".to_owned());
        };
        let stderr = tokio::spawn(read_tail(stderr));
        let guard = socket.accept_guard(pid).await.map_err(words)?;
        let deadlines = tokio::spawn(send_deadlines(guard, context.lease.clone()));
        let deadlines = Some(AbortedOnDrop(deadlines));
        let journal = tokio::select! {
            journal = socket.accept_journal(pid) => journal,
            _ = child.wait() => {
                let tail = stderr.await.unwrap_or_default();
                return Err(last_line(&tail, "it ended before it began"));
            }
        };
        let relay = JournalRelay {
            claim: claim.clone(),
            lease: context.lease.clone(),
            workspace: Some(workspace),
            spill: folders.journal.with_extension("spill"),
            sent_spills: Vec::new(),
        };
        let relay = tokio::spawn(serve_relay(journal.map_err(words)?, relay));
        Ok(Self {
            claim: claim.clone(),
            child,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            stderr,
            deadlines,
            relay,
            control: context.control_of(&claim.id),
            asked: AskedCalls::new(policy, folders.workspace.clone(), claim.epoch),
            asked_at: None,
            messages: SentMessages::default(),
            running_calls: RunningCalls::default(),
            outcome: RunOutcome::default(),
            cancelled_at: None,
            tail: context.live.open(&claim.id, claim.epoch),
        })
    }

    /// Returns how it ended, and its working directory if that is known.
    pub(crate) async fn run(
        mut self,
        context: &WorkerContext,
        folders: &SessionFolders,
    ) -> (ProcessEnd, Option<HandoverWorkspace>) {
        let claim = self.claim.clone();
        // Losing the claim ends every wait, including that for an unresponsive database.
        let end = tokio::select! {
            end = self.run_until_end(context) => end,
            () = context.wait_for_loss(&claim) => ProcessEnd::Lost,
            () = context.wait_for_handback() => ProcessEnd::HandedBack,
        };
        match end {
            ProcessEnd::Result(_) | ProcessEnd::ProviderFailed(_) => drop(self.stdin.take()),
            // Killed before its input ends: it would take that for an answer to its questions.
            ProcessEnd::Cancelled
            | ProcessEnd::HandedBack
            | ProcessEnd::Asks(_)
            | ProcessEnd::RateLimited(_)
            | ProcessEnd::Lost
            | ProcessEnd::Crashed(_) => drop(self.deadlines.take()),
        }
        self.wait_until_gone().await;
        drop(self.stdin.take());
        let relay = tokio::time::timeout(GUARD_END_WAIT, &mut self.relay).await;
        let workspace = match relay {
            Ok(Ok((RelayEnd::Lost, _))) => return (ProcessEnd::Lost, None),
            Ok(Ok((RelayEnd::Closed, mut relay))) => {
                let is_handed_on = matches!(end, ProcessEnd::Asks(_) | ProcessEnd::HandedBack);
                // Otherwise the files of a call that was killed would be stored as those of its end.
                let is_quiet = self.running_calls.are_all_among(&self.asked.tool_uses());
                if is_handed_on && is_quiet {
                    let journals = folders.journal.parent().unwrap_or(&folders.root);
                    relay.append_rest(journals.to_owned()).await;
                }
                relay.workspace
            }
            Ok(Err(_)) | Err(_) => None,
        };
        if let ProcessEnd::Crashed(_) = end {
            let tail = tokio::time::timeout(GUARD_END_WAIT, &mut self.stderr).await;
            let tail = tail.ok().and_then(Result::ok).unwrap_or_default();
            let words = last_line(&tail, "its process ended without a result");
            return (ProcessEnd::Crashed(words), workspace);
        }
        (end, workspace)
    }

    /// Returns when no process of the session is left: only then may the claim end.
    async fn wait_until_gone(&mut self) {
        // The guard also ends processes the session left running.
        if tokio::time::timeout(GUARD_END_WAIT, self.child.wait()).await.is_ok() {
            return;
        }
        drop(self.deadlines.take());
        if tokio::time::timeout(GUARD_END_WAIT, self.child.wait()).await.is_ok() {
            return;
        }
        // The guard itself is stuck.
        if let Some(pid) = self.child.id() {
            let killed = tokio::task::spawn_blocking(move || process_tree::kill_descendants(pid));
            let _ = killed.await;
        }
        let _ = self.child.kill().await;
    }

    async fn run_until_end(&mut self, context: &WorkerContext) -> ProcessEnd {
        let mut line = Vec::new();
        let mut poll = tokio::time::interval(INBOX_POLL);
        loop {
            let cancel_end = self.cancelled_at.map(|at| at + CANCEL_WAIT);
            let question_end = self.asked_at.map(|at| at + context.options.question_wait);
            tokio::select! {
                read = read_line(&mut self.stdout, &mut line) => match read {
                    Some(()) => {
                        let bytes = std::mem::take(&mut line);
                        let Ok(frame) = serde_json::from_slice::<Value>(&bytes) else { continue };
                        self.running_calls.follow(&frame);
                        self.note_failed_call(&frame);
                        if !self.take_frame(&frame).await {
                            return ProcessEnd::Lost;
                        }
                        self.note_progress();
                        if let Some(wait) = read_rate_limit(&frame)
                            && self.running_calls.is_idle()
                        {
                            return ProcessEnd::RateLimited(wait);
                        }
                    }
                    None if self.cancelled_at.is_some() => return ProcessEnd::Cancelled,
                    None if context.lease.is_over() => return ProcessEnd::Lost,
                    None => return match self.outcome.result.take() {
                        // The result of an earlier message does not answer the last one.
                        Some(result) if self.messages.unanswered.is_empty() => {
                            match self.outcome.has_failed_call && is_error(&result) {
                                true => ProcessEnd::ProviderFailed(result),
                                false => ProcessEnd::Result(result),
                            }
                        }
                        Some(_) | None => ProcessEnd::Crashed(String::new()),
                    },
                },
                () = self.control.notified() => self.deliver_inbox().await,
                _ = poll.tick() => self.deliver_inbox().await,
                () = sleep_until(cancel_end) => return ProcessEnd::Cancelled,
                () = sleep_until(question_end) => {
                    if self.running_calls.are_all_among(&self.asked.tool_uses()) {
                        return ProcessEnd::Asks(self.messages.sent.iter().cloned().collect());
                    }
                    self.asked_at = Some(Instant::now());
                }
            }
        }
    }

    /// Sends pending input to the session. Messages already sent to this process are skipped, even
    /// if they are not in the journal yet.
    async fn deliver_inbox(&mut self) {
        // On failure, the next poll tries again.
        let Ok(inbox) = self.claim.store.read_inbox(self.claim.to_held_claim()).await else {
            return;
        };
        let SessionInbox { messages, answers, is_cancelled } = inbox;
        if is_cancelled && self.cancelled_at.is_none() {
            self.cancelled_at = Some(Instant::now());
            self.send(&json!({ "type": "control_request", "request_id": "cancel",
                "request": { "subtype": "interrupt" } }))
                .await;
            self.stdin = None;
            return;
        }
        for message in messages {
            if !self.messages.sent.insert(message.uuid.clone()) || self.stdin.is_none() {
                continue;
            }
            let mut frame = json!({ "type": "user", "uuid": message.uuid,
                "session_id": self.claim.id, "parent_tool_use_id": null,
                "message": { "role": "user", "content": message.content } });
            self.messages.unanswered.insert(message.uuid.clone());
            self.add_event(&frame).await;
            if let Some(fields) = frame.as_object_mut() {
                // Returned in the `origin` of the result.
                fields.insert("origin".to_owned(), json!({ MESSAGE_ORIGIN: message.uuid }));
                let is_plain = self.asked.policy.takes_as_it_is(&message.content);
                fields.insert("client_composed".to_owned(), json!(is_plain));
            }
            self.send(&frame).await;
        }
        for answer in answers {
            let Some(delivery) = self.asked.take_answer(&answer) else { continue };
            if let Some((request, response)) = delivery.response {
                self.send(&json!({ "type": "control_response", "response": {
                    "subtype": "success", "request_id": request, "response": response } }))
                    .await;
            }
            let claim = self.claim.to_held_claim();
            let outcome = Some(delivery.outcome);
            // On failure, the next poll records it.
            if self.claim.store.close_question(claim, &answer.request, outcome).await.is_ok() {
                self.asked.forget(&answer.request);
            }
            self.note_progress();
        }
    }

    /// Tries are reported only for failures that may pass: an overload, a rate limit, the network.
    fn note_failed_call(&mut self, frame: &Value) {
        let is_retry = frame.get("subtype").and_then(Value::as_str) == Some("api_retry");
        let status = frame.get("api_error_status").and_then(Value::as_u64);
        match frame.get("type").and_then(Value::as_str) {
            Some("assistant" | "user") => self.outcome.has_failed_call = false,
            _ if is_retry || status.is_some_and(|status| status >= 500) => {
                self.outcome.has_failed_call = true;
            }
            _ => {}
        }
    }

    /// The time to wait for an answer begins anew whenever something happens.
    fn note_progress(&mut self) {
        self.asked_at = (!self.asked.is_empty()).then(Instant::now);
    }

    /// Handles a frame of the process. Returns whether the claim holds, as far as is known.
    async fn take_frame(&mut self, frame: &Value) -> bool {
        let request = frame.get("request_id").and_then(Value::as_str).map(str::to_owned);
        match frame.get("type").and_then(Value::as_str) {
            Some("control_request") => {
                let request = request.unwrap_or_default();
                self.ask(&request, frame.get("request").unwrap_or(&Value::Null)).await;
                self.add_event(&self.with_public_id(frame)).await
            }
            Some("control_cancel_request") => {
                if let Some(request) = request {
                    let request = self.asked.remove(&request);
                    let claim = self.claim.to_held_claim();
                    // On failure, the end of the claim removes it.
                    let _ = self.claim.store.close_question(claim, &request, None).await;
                }
                self.add_event(&self.with_public_id(frame)).await
            }
            Some("stream_event") => {
                self.tail.push_frame(frame);
                true
            }
            Some("control_response" | "keep_alive") => true,
            Some("result") => {
                let is_held = self.add_event(frame).await;
                self.take_result(frame.clone()).await;
                is_held
            }
            _ => self.add_event(frame).await,
        }
    }

    async fn take_result(&mut self, frame: Value) {
        let message = frame.get("origin").and_then(|origin| origin.get(MESSAGE_ORIGIN)?.as_str());
        if let Some(message) = message {
            self.messages.unanswered.remove(message);
            // A message answered without a model has no record that would mark it. If this call
            // fails, it is answered once more.
            let SessionClaim { store, id, epoch, worker, .. } = &self.claim;
            let _ = store.take_message(id, *epoch, worker, message).await;
        }
        self.outcome.result = Some(frame);
        self.close_if_done().await;
    }

    /// The frame as users see it.
    fn with_public_id(&self, frame: &Value) -> Value {
        let mut frame = frame.clone();
        if let Some(id) = frame.get_mut("request_id")
            && let Some(request) = id.as_str()
        {
            *id = json!(self.asked.to_public_id(request));
        }
        frame
    }

    async fn ask(&mut self, request: &str, body: &Value) {
        let subtype = body.get("subtype").and_then(Value::as_str);
        if subtype == Some("can_use_tool") {
            let call = self.asked.add(request, body);
            if self.store_question(request, &call, &body.to_string()).await {
                // An earlier claim's answer may be there already.
                self.control.notify_one();
                return;
            }
            self.asked.remove(request);
        }
        // The question cannot be stored for an answer: the session continues without.
        self.send(&json!({ "type": "control_response", "response": {
            "subtype": "error", "request_id": request, "error": "nobody answers this here" } }))
            .await;
    }

    /// Returns false if the store refuses the question. One that cannot be reached is waited for: the
    /// loss of the claim ends the wait.
    async fn store_question(&self, request: &str, call: &str, body: &str) -> bool {
        let request = self.asked.to_public_id(request);
        let question = NewQuestion { request: &request, call, body };
        loop {
            match self.claim.store.add_question(self.claim.to_held_claim(), question).await {
                Ok(()) => return true,
                Err(error) if error.is_transient() => tokio::time::sleep(EVENT_PAUSE).await,
                Err(_) => return false,
            }
        }
    }

    /// Closes stdin when no message is pending, so that the process ends.
    async fn close_if_done(&mut self) {
        let inbox = self.claim.store.read_inbox(self.claim.to_held_claim()).await;
        match inbox {
            Ok(inbox) if !inbox.messages.is_empty() && !inbox.is_cancelled => {
                self.deliver_inbox().await;
            }
            // A later message starts the session again.
            Ok(_) | Err(_) => self.stdin = None,
        }
    }

    async fn send(&mut self, frame: &Value) {
        let Some(stdin) = &mut self.stdin else { return };
        let line = format!("{frame}\n");
        let sent = tokio::time::timeout(SEND_WAIT, stdin.write_all(line.as_bytes())).await;
        if !matches!(sent, Ok(Ok(()))) {
            // The end of its output shows that the process has ended.
            self.stdin = None;
        }
    }

    /// Stores a frame for clients. Returns whether the claim holds. A database that does not respond
    /// is waited for: the loss of the claim ends the wait.
    async fn add_event(&self, frame: &Value) -> bool {
        let uuid = frame.get("uuid").and_then(Value::as_str);
        let is_result = frame.get("type").and_then(Value::as_str) == Some("result");
        let SessionClaim { store, id, epoch, worker, .. } = &self.claim;
        let text = frame.to_string();
        loop {
            match store.add_event(id, *epoch, worker, uuid, &text).await {
                Ok(Some(number)) => {
                    self.tail.push_stored(number, is_result);
                    return true;
                }
                Ok(None) => return false,
                Err(error) if error.is_transient() => tokio::time::sleep(EVENT_PAUSE).await,
                Err(_) => return true,
            }
        }
    }
}

pub(crate) struct ProcessPlan<'a> {
    pub(crate) spec: &'a SessionSpec,
    pub(crate) policy: &'a TenantPolicy,
    pub(crate) workspace: HandoverWorkspace,
    pub(crate) continues_run: bool,
}

/// Builds the command: the guard, which runs `windlass` with a relay for its journal.
fn build_command(
    context: &WorkerContext,
    claim: &SessionClaim,
    folders: &SessionFolders,
    plan: &ProcessPlan<'_>,
) -> std::io::Result<Command> {
    let socket_path = socket_path(context, claim);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("guard").arg("--socket").arg(&socket_path).arg("--");
    command.arg(&context.options.windlass);
    command.args(["-p", "--verbose", "--input-format=stream-json"]);
    command.args(["--output-format=stream-json", "--include-partial-messages"]);
    command.arg("--journal").arg(&folders.journal);
    command.arg("--journal-relay").arg(&socket_path).arg(format!("--session-id={}", claim.id));
    if plan.continues_run {
        command.arg("--continue-run");
    }
    command.arg(match context.options.is_unsandboxed {
        true => "--sandbox=auto",
        false => "--sandbox=required",
    });
    command.arg("--settings").arg(fence_settings(context, folders).to_string());
    command.args(plan.spec.to_flags());
    // Tools of a session must not have access to the store.
    for name in ["WINDLASS_STORE", "WINDLASS_TOKEN", "WINDLASS_LIVE"] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_database_variable(name)) {
        command.env_remove(name);
    }
    Ok(command)
}

fn socket_path(context: &WorkerContext, claim: &SessionClaim) -> PathBuf {
    context.sockets.join(format!("{}.{}", claim.id, claim.epoch))
}

/// Hides the worker's other sessions, repositories and sockets from a session's commands.
fn fence_settings(context: &WorkerContext, folders: &SessionFolders) -> Value {
    json!({ "sandbox": { "filesystem": {
        "denyRead": [context.options.directory, context.sockets, "~/.pgpass"],
        "allowRead": [folders.root],
    } } })
}

pub(super) fn is_error(result: &Value) -> bool {
    result.get("is_error").and_then(Value::as_bool).unwrap_or(true)
}

/// The retry delay of a rate limited request, if it is too long to hold a worker for.
fn read_rate_limit(frame: &Value) -> Option<Duration> {
    let is_limit = frame.get("subtype").and_then(Value::as_str) == Some("api_retry")
        && frame.get("error_status").and_then(Value::as_u64) == Some(429);
    let wait = frame.get("retry_delay_ms").and_then(Value::as_u64).map(Duration::from_millis);
    wait.filter(|wait| is_limit && *wait >= RATE_LIMIT_MIN).map(|wait| wait.min(RATE_LIMIT_MAX))
}

/// Variables with which libpq connects, the password among them.
fn is_database_variable(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"PG")
}

/// Reads one line. Cancel safe: what was read stays in `line`.
async fn read_line(stdout: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> Option<()> {
    loop {
        let available = stdout.fill_buf().await.ok()?;
        if available.is_empty() {
            return None;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        if line.len() + taken > FRAME_BYTES_MAX {
            return None;
        }
        line.extend(available.get(..taken).unwrap_or_default());
        stdout.consume(taken);
        if end.is_some() {
            return Some(());
        }
    }
}

/// Reads stderr to its end and keeps the last part.
async fn read_tail(mut stderr: ChildStderr) -> String {
    let mut tail = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        tail.extend(buffer.get(..count).unwrap_or_default());
        let excess = tail.len().saturating_sub(TAIL_BYTES_MAX);
        tail.drain(..excess);
    }
    String::from_utf8_lossy(&tail).into_owned()
}

fn last_line(tail: &str, otherwise: &str) -> String {
    let line = tail.lines().rev().find(|line| !line.trim().is_empty() && !line.contains("guard:"));
    line.map_or_else(
        || otherwise.to_owned(),
        |line| line.trim_start_matches("windlass: ").to_owned(),
    )
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Field in a message's `origin` that has the message's id.
const MESSAGE_ORIGIN: &str = "fleet_message";
/// Time limit for a guard to end everything.
const GUARD_END_WAIT: Duration = Duration::from_secs(10);
/// Time limit for a cancelled session to end by itself.
const CANCEL_WAIT: Duration = Duration::from_secs(10);
/// Shorter waits cost less than restarting the process.
const RATE_LIMIT_MIN: Duration = Duration::from_secs(10);
const RATE_LIMIT_MAX: Duration = Duration::from_secs(3600);
const INBOX_POLL: Duration = Duration::from_secs(10);
const SEND_WAIT: Duration = Duration::from_secs(30);
const FRAME_BYTES_MAX: usize = 64 << 20;
const TAIL_BYTES_MAX: usize = 8 << 10;
const EVENT_PAUSE: Duration = Duration::from_millis(100);
