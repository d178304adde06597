//! Runs one claimed session on this host: prepares it, runs it, ends the claim.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_journal::{LastRun, read_last_run};
use windlass_workspace::CancelFlag;

use super::WorkerContext;
use super::handover::{HandoverRequest, HandoverWorkspace};
use super::monotonic;
use super::process_tree;
use super::result_branch::BranchRequest;
use super::session_process::{ProcessEnd, ProcessPlan, SessionProcess};
use crate::session_spec::SessionSpec;
use crate::store::{
    BranchOutcome, ClaimEnd, ClaimedRow, HeldClaim, MAIN_FILE, SessionStore, StoreError,
};

/// A claim and the store it is held in.
#[derive(Clone, Debug)]
pub(crate) struct SessionClaim {
    pub(crate) store: SessionStore,
    pub(crate) id: String,
    pub(crate) epoch: u64,
    pub(crate) worker: String,
    /// When the claim was received, by the host's clock.
    pub(crate) claimed_at: Duration,
}

impl SessionClaim {
    /// What a change in the store needs to be under this claim.
    pub(crate) fn to_held_claim(&self) -> HeldClaim<'_> {
        HeldClaim { session: &self.id, epoch: self.epoch, worker: &self.worker }
    }

    pub(crate) fn report(&self, words: &str) {
        super::report_line(&format!("session {}: {words}", self.id));
    }
}

/// The folders of one session below the worker's directory. The path is the same under every claim
/// and on every host with the same directory, because the model has seen it.
pub(crate) struct SessionFolders {
    pub(crate) root: PathBuf,
    pub(crate) journal: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) temporary: PathBuf,
    pub(crate) guard_file: PathBuf,
}

impl SessionFolders {
    fn new(directory: &std::path::Path, id: &str) -> Self {
        let root = directory.join("sessions").join(id);
        Self {
            journal: root.join("journal").join(MAIN_FILE),
            workspace: root.join("workspace"),
            state: root.join("state"),
            temporary: root.join("tmp"),
            guard_file: root.join("guard"),
            root,
        }
    }

    /// Kills what an earlier claim left running on this host, and removes its files: a session must
    /// never continue in a folder that another process may still write to.
    fn remove_leftovers(&self) -> std::io::Result<()> {
        let left = std::fs::read_to_string(&self.guard_file).unwrap_or_default();
        let mut numbers = left.split_whitespace();
        let pid: Option<u32> = numbers.next().and_then(|pid| pid.parse().ok());
        let started: Option<u64> = numbers.next().and_then(|started| started.parse().ok());
        if let (Some(pid), Some(_)) = (pid, started)
            && process_tree::read_start_time(pid) == started
        {
            process_tree::kill_descendants(pid);
        }
        match std::fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum SessionEnd {
    Ended(ClaimEnd),
    /// Another worker has the session, or the store did not respond within the lease.
    Lost,
}

/// Runs a claimed session to its end and records that end.
pub(crate) async fn run_claimed_session(context: Arc<WorkerContext>, row: ClaimedRow) {
    let claim = SessionClaim {
        store: context.store.clone(),
        id: row.id.clone(),
        epoch: row.epoch,
        worker: context.id.clone(),
        claimed_at: monotonic::now(),
    };
    let folders = SessionFolders::new(&context.options.directory, &row.id);
    let cancel = PreparationCancel(CancelFlag::new());
    let prepared = tokio::select! {
        prepared = prepare(&context, &claim, &row, &folders, &cancel.0) => prepared,
        () = context.wait_for_loss(&claim) => Ok(PreparedSession::Ended(SessionEnd::Lost)),
        () = context.wait_for_handback() => {
            Ok(PreparedSession::Ended(SessionEnd::Ended(handed_back_end())))
        }
    };
    drop(cancel);
    let end = match prepared {
        Ok(PreparedSession::Started(process)) => {
            let (end, workspace) = process.run(&context, &folders).await;
            let end = describe_process_end(&context, &row, end);
            push_result(&context, &claim, &row, end, workspace).await
        }
        Ok(PreparedSession::Finished(end, workspace)) => {
            let workspace = workspace.map(|workspace| *workspace);
            push_result(&context, &claim, &row, SessionEnd::Ended(end), workspace).await
        }
        Ok(PreparedSession::Ended(end)) => end,
        Err(words) => SessionEnd::Ended(crashed_end(&context, &row, words)),
    };
    match end {
        SessionEnd::Lost => claim.report("lost to another worker"),
        SessionEnd::Ended(end) => {
            claim.report(&describe_end(&end));
            end_claim(&context, &claim, &end).await;
            let _ = std::fs::remove_dir_all(&folders.root);
        }
    }
    context.forget_session(&row.id, row.epoch);
}

/// On drop, cancels the blocking work that a claim started on other threads.
struct PreparationCancel(CancelFlag);

impl Drop for PreparationCancel {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Repeats a call while the database is unavailable: that is no fault of the session. The loss of the
/// claim ends the wait.
pub(crate) async fn wait_for_store<T, F: Future<Output = Result<T, StoreError>>>(
    mut call: impl FnMut() -> F,
) -> Result<T, String> {
    loop {
        match call().await {
            Err(error) if error.is_transient() => tokio::time::sleep(END_RETRY_PAUSE).await,
            outcome => return outcome.map_err(|error| error.to_string()),
        }
    }
}

/// Records an end, retrying while the database is unavailable and the lease lasts.
async fn end_claim(context: &WorkerContext, claim: &SessionClaim, end: &ClaimEnd) {
    let began = monotonic::now();
    loop {
        // A worker that shuts down does not wait for a database that may never come back.
        let is_late = context.is_handing_back() && monotonic::now() - began > LAST_END_WAIT;
        if context.lease.is_over() || is_late {
            return;
        }
        match claim.store.end_claim(&claim.id, claim.epoch, &claim.worker, end).await {
            Err(error) if error.is_transient() => tokio::time::sleep(END_RETRY_PAUSE).await,
            Err(error) => return claim.report(&error.to_string()),
            Ok(_) => return,
        }
    }
}

/// A session whose process was started, or that needs none.
enum PreparedSession {
    Started(Box<SessionProcess>),
    /// Its run had ended under an earlier claim.
    Finished(ClaimEnd, Option<Box<HandoverWorkspace>>),
    Ended(SessionEnd),
}

async fn prepare(
    context: &Arc<WorkerContext>,
    claim: &SessionClaim,
    row: &ClaimedRow,
    folders: &SessionFolders,
    cancel: &CancelFlag,
) -> Result<PreparedSession, String> {
    let ended = |end| Ok(PreparedSession::Ended(SessionEnd::Ended(end)));
    // Checked against the current policy: trust may have been revoked since the session was
    // submitted.
    let spec = SessionSpec::parse(&row.spec);
    let spec = match spec.and_then(|spec| row.policy.check(&spec).map(|()| spec)) {
        Ok(spec) => spec,
        Err(words) => return ended(refused_end(&words)),
    };
    folders.remove_leftovers().map_err(|error| format!("its folder: {error}"))?;
    restore_journals(claim, folders).await?;
    let last_run = match folders.journal.exists() {
        true => read_last_run(&folders.journal).map_err(|error| error.to_string())?,
        false => LastRun::None,
    };
    let inbox = wait_for_store(|| claim.store.read_inbox(claim.to_held_claim())).await?;
    if inbox.is_cancelled {
        return ended(cancelled_end());
    }
    let continues_run = matches!(last_run, LastRun::Open | LastRun::Asking);
    super::event_recovery::add_missing_events(claim, &folders.journal).await?;
    if !continues_run && inbox.messages.is_empty() {
        // The last worker died after the run ended and before it recorded the result.
        let end = super::event_recovery::read_end(&folders.journal, last_run);
        let workspace = match branch_of(&spec) {
            Some(_) => {
                let restored = restore_workspace(context, claim, row, folders, &spec, cancel);
                Some(Box::new(restored.await?))
            }
            None => None,
        };
        return Ok(PreparedSession::Finished(end, workspace));
    }
    let workspace = restore_workspace(context, claim, row, folders, &spec, cancel).await?;
    if let (None, Some(commit)) = (&row.base_commit, &workspace.commit) {
        wait_for_store(|| claim.store.put_base_commit(claim.to_held_claim(), commit)).await?;
    }
    let plan = ProcessPlan { spec: &spec, policy: &row.policy, workspace, continues_run };
    let process = SessionProcess::start(context, claim, folders, plan).await?;
    Ok(PreparedSession::Started(Box::new(process)))
}

fn describe_process_end(context: &WorkerContext, row: &ClaimedRow, end: ProcessEnd) -> SessionEnd {
    match end {
        ProcessEnd::Result(result) => SessionEnd::Ended(result_end(&result)),
        ProcessEnd::ProviderFailed(result) => {
            let spec = SessionSpec::parse(&row.spec).unwrap_or_default();
            SessionEnd::Ended(ClaimEnd {
                wake_after: RETRY_PAUSE,
                retries_max: Some(spec.retries()),
                ..result_end(&result)
            })
        }
        ProcessEnd::Cancelled => SessionEnd::Ended(cancelled_end()),
        ProcessEnd::RateLimited(wait) => SessionEnd::Ended(ClaimEnd {
            state: "queued",
            reason: Some(format!("the provider limits the rate for {} seconds", wait.as_secs())),
            is_orderly: true,
            wake_after: wait,
            is_rate_limited: true,
            ..ClaimEnd::default()
        }),
        ProcessEnd::Asks(sent) => SessionEnd::Ended(ClaimEnd {
            state: "queued",
            reason: Some("waits for the answer to a question".to_owned()),
            is_orderly: true,
            asks: Some(sent),
            ..ClaimEnd::default()
        }),
        ProcessEnd::Lost => SessionEnd::Lost,
        ProcessEnd::HandedBack => SessionEnd::Ended(handed_back_end()),
        ProcessEnd::Crashed(words) => SessionEnd::Ended(crashed_end(context, row, words)),
    }
}

fn branch_of(spec: &SessionSpec) -> Option<&str> {
    spec.workspace.as_ref()?.push_branch.as_deref()
}

/// Pushes what a session that is done changed, if its spec asks for it. A push that fails is told
/// beside the result; without the claim nothing is pushed, and another worker does it.
async fn push_result(
    context: &Arc<WorkerContext>,
    claim: &SessionClaim,
    row: &ClaimedRow,
    end: SessionEnd,
    workspace: Option<HandoverWorkspace>,
) -> SessionEnd {
    let SessionEnd::Ended(ClaimEnd { state: "done", .. }) = &end else { return end };
    let spec = SessionSpec::parse(&row.spec).unwrap_or_default();
    let Some(branch) = branch_of(&spec).map(str::to_owned) else { return end };
    let cancel = PreparationCancel(CancelFlag::new());
    let pushed = tokio::select! {
        pushed = push_branch(context, claim, spec, branch, workspace, cancel.0.clone()) => pushed,
        () = context.wait_for_loss(claim) => return SessionEnd::Lost,
        () = context.wait_for_handback() => return SessionEnd::Ended(handed_back_end()),
    };
    match pushed {
        Ok(()) => end,
        Err(StoreError::Fenced { .. } | StoreError::NoSession(_)) => SessionEnd::Lost,
        // The store cannot be reached, and soon the lease ends. The next claim pushes the same again.
        Err(error) => SessionEnd::Ended(crashed_end(context, row, error.to_string())),
    }
}

/// Pushes, and records how that went.
async fn push_branch(
    context: &Arc<WorkerContext>,
    claim: &SessionClaim,
    spec: SessionSpec,
    branch: String,
    workspace: Option<HandoverWorkspace>,
    cancel: CancelFlag,
) -> Result<(), StoreError> {
    let repositories = context.options.directory.join("repositories");
    let session = claim.id.clone();
    let pushing = tokio::task::spawn_blocking(move || {
        let parts = spec.workspace.as_ref().zip(workspace.as_ref());
        let parts = parts.and_then(|(spec, it)| Some((spec, it, it.commit.as_deref()?)));
        let (spec, workspace, base_commit) = parts.ok_or("its files cannot be read")?;
        let repositories = &repositories;
        workspace.push_branch(&BranchRequest {
            spec,
            branch: &branch,
            session: &session,
            base_commit,
            repositories,
            cancel: &cancel,
        })
    });
    let pushed = pushing.await.unwrap_or_else(|error| Err(error.to_string()));
    let outcome = match pushed {
        Ok(None) => return Ok(()),
        Ok(Some(outcome)) => outcome,
        Err(words) => BranchOutcome::Refused(words.chars().take(PROBLEM_CHARS_MAX).collect()),
    };
    loop {
        match claim.store.put_branch(claim.to_held_claim(), &outcome).await {
            Err(error) if error.is_transient() && !context.lease.is_over() => {
                tokio::time::sleep(END_RETRY_PAUSE).await;
            }
            recorded => return recorded,
        }
    }
}

/// Writes the session's journals and spilled outputs to files.
async fn restore_journals(claim: &SessionClaim, folders: &SessionFolders) -> Result<(), String> {
    let words = |error: std::io::Error| format!("its folder: {error}");
    let parent = folders.journal.parent().unwrap_or(&folders.root);
    for folder in [parent, &folders.state, &folders.temporary] {
        std::fs::create_dir_all(folder).map_err(words)?;
    }
    let files = wait_for_store(|| claim.store.read_journals(&claim.id)).await?;
    for file in files {
        let path = parent.join(&file.name);
        std::fs::create_dir_all(path.parent().unwrap_or(parent)).map_err(words)?;
        std::fs::write(&path, &file.bytes).map_err(words)?;
    }
    let spills = wait_for_store(|| claim.store.read_spills(&claim.id)).await?;
    let folder = folders.journal.with_extension("spill");
    for (name, bytes) in spills {
        std::fs::create_dir_all(&folder).map_err(words)?;
        std::fs::write(folder.join(name), bytes).map_err(words)?;
    }
    Ok(())
}

async fn restore_workspace(
    context: &WorkerContext,
    claim: &SessionClaim,
    row: &ClaimedRow,
    folders: &SessionFolders,
    spec: &SessionSpec,
    cancel: &CancelFlag,
) -> Result<HandoverWorkspace, String> {
    let packs = wait_for_store(|| claim.store.read_packs(&claim.id)).await?;
    let request = HandoverRequest {
        root: folders.workspace.clone(),
        store: folders.root.join("snapshots"),
        repositories: context.options.directory.join("repositories"),
        spec: spec.workspace.clone(),
        base_commit: row.base_commit.clone(),
        packs,
        cancel: cancel.clone(),
    };
    let prepared = tokio::task::spawn_blocking(move || HandoverWorkspace::prepare(&request));
    prepared.await.map_err(|error| error.to_string())?
}

/// The spec does not permit the session to start. Parked, because its pending message would requeue
/// it at once after any other end.
fn refused_end(words: &str) -> ClaimEnd {
    let reason = Some(format!("its spec: {words}"));
    ClaimEnd { state: "parked", reason, is_orderly: true, ..ClaimEnd::default() }
}

/// Back into the queue for another worker.
fn handed_back_end() -> ClaimEnd {
    ClaimEnd { state: "queued", is_orderly: true, ..ClaimEnd::default() }
}

fn cancelled_end() -> ClaimEnd {
    let reason = Some("cancelled".to_owned());
    ClaimEnd { state: "cancelled", reason, is_orderly: true, ..ClaimEnd::default() }
}

/// The end of a claim for a result frame.
pub(crate) fn result_end(result: &Value) -> ClaimEnd {
    let is_error = super::session_process::is_error(result);
    let reason = result.get("terminal_reason").and_then(Value::as_str).map(str::to_owned);
    ClaimEnd {
        state: if is_error { "failed" } else { "done" },
        reason,
        result: Some(result.to_string()),
        is_orderly: true,
        ..ClaimEnd::default()
    }
}

/// Requeued after a growing delay, or parked after `attempts_max` attempts.
fn crashed_end(context: &WorkerContext, row: &ClaimedRow, words: String) -> ClaimEnd {
    let attempts = u32::try_from(row.attempts).unwrap_or(u32::MAX);
    let is_last = attempts >= context.options.attempts_max;
    let pause = CRASH_PAUSE * 2u32.saturating_pow(attempts.saturating_sub(1).min(6));
    ClaimEnd {
        state: if is_last { "parked" } else { "queued" },
        reason: Some(match is_last {
            true => format!("it failed {attempts} times in a row: {words}"),
            false => words,
        }),
        wake_after: pause,
        ..ClaimEnd::default()
    }
}

fn describe_end(end: &ClaimEnd) -> String {
    let ClaimEnd { state, reason, .. } = end;
    json!({ "state": state, "reason": reason }).to_string()
}

/// How long a worker that shuts down tries to record the end of a session.
const LAST_END_WAIT: Duration = Duration::from_secs(10);
const END_RETRY_PAUSE: Duration = Duration::from_millis(200);
const PROBLEM_CHARS_MAX: usize = 500;
/// Before the first retry after a failure of a provider; doubled for each further one.
const RETRY_PAUSE: Duration = Duration::from_secs(60);
const CRASH_PAUSE: Duration = Duration::from_secs(1);
