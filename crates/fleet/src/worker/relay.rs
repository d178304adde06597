//! The worker's end of the sockets: stores journals, and sends deadlines to the guard.
//!
//! Each session has its own socket, which is removed once its two connections exist: before the
//! session can start a program that might connect instead.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use windlass_journal::disk::{RELAY_GREETING, RelayReply, RelayRequest};

use super::claimed_session::SessionClaim;
use super::guard::GUARD_GREETING;
use super::handover::HandoverWorkspace;
use super::lease_clock::LeaseClock;
use super::process_tree;
use crate::store::{AppendRequest, MAIN_FILE, PATCH_BLOB, StoreError};

pub(crate) struct SessionSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl SessionSocket {
    pub(crate) fn bind(path: &Path) -> std::io::Result<Self> {
        // Left over from a claim that died on this host.
        let _ = std::fs::remove_file(path);
        Ok(Self { listener: UnixListener::bind(path)?, path: path.to_owned() })
    }

    /// Waits for the connection that begins with this greeting. Connections of other processes are
    /// closed.
    async fn accept(
        &self,
        greeting: &str,
        is_peer: impl Fn(u32) -> bool,
    ) -> std::io::Result<(UnixStream, u32)> {
        let accept = async {
            loop {
                let (mut stream, _) = self.listener.accept().await?;
                let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
                let Some(peer) = peer.filter(|peer| is_peer(*peer)) else { continue };
                let mut line = vec![0; greeting.len()];
                stream.read_exact(&mut line).await?;
                return match line == greeting.as_bytes() {
                    true => Ok((stream, peer)),
                    false => Err(std::io::Error::other("it does not begin as it should")),
                };
            }
        };
        tokio::time::timeout(CONNECT_WAIT, accept).await.map_err(std::io::Error::other)?
    }

    pub(crate) async fn accept_guard(&self, guard: u32) -> std::io::Result<UnixStream> {
        Ok(self.accept(GUARD_GREETING, |peer| peer == guard).await?.0)
    }

    /// Accepts the last connection and removes the socket.
    pub(crate) async fn accept_journal(self, guard: u32) -> std::io::Result<UnixStream> {
        let is_below = |peer| process_tree::is_descendant(peer, guard);
        let (stream, _) = self.accept(RELAY_GREETING, is_below).await?;
        drop(self);
        Ok(stream)
    }

    /// Accepts the next connection of a process, and leaves the socket for later ones. Also returns
    /// the pid.
    pub(crate) async fn accept_journal_from(
        &self,
        is_peer: impl Fn(u32) -> bool,
    ) -> std::io::Result<(UnixStream, u32)> {
        self.accept(RELAY_GREETING, is_peer).await
    }
}

impl Drop for SessionSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Sends every new deadline to the guard until the connection ends. Dropping this future ends the
/// session, because the guard sees the connection close.
pub(crate) async fn send_deadlines(mut guard: UnixStream, mut lease: LeaseClock) {
    let mut deadline = lease.deadline();
    loop {
        let line = format!("{}\n", deadline.as_nanos());
        if guard.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        let mut byte = [0];
        tokio::select! {
            next = lease.next_deadline() => deadline = next,
            // The guard sends nothing, so a read returns only when it has ended.
            _ = guard.read(&mut byte) => return,
        }
    }
}

/// Serves the journals of one session until its process closes the connection or the claim is lost.
pub(crate) struct JournalRelay {
    pub(crate) claim: SessionClaim,
    pub(crate) lease: LeaseClock,
    pub(crate) workspace: Option<HandoverWorkspace>,
    /// The folder of spilled outputs, which are stored with the session.
    pub(crate) spill: PathBuf,
    pub(crate) sent_spills: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    Closed,
    /// Another worker has the session, or the lease ended before the store responded.
    Lost,
}

/// Answers the requests of a process that writes journals.
pub(crate) trait RelayAnswer {
    async fn answer(
        &mut self,
        reader: &mut BufReader<OwnedReadHalf>,
        request: RelayRequest,
    ) -> Result<u64, StoreError>;
}

/// Serves a process until it closes the connection or loses a claim. Gives the answerer back.
pub(crate) async fn serve_relay<A: RelayAnswer>(
    stream: UnixStream,
    mut answerer: A,
) -> (RelayEnd, A) {
    let end = serve_requests(stream, &mut answerer).await;
    (end, answerer)
}

async fn serve_requests(stream: UnixStream, answerer: &mut impl RelayAnswer) -> RelayEnd {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let Some(request) = read_request(&mut reader).await else { return RelayEnd::Closed };
        let (reply, is_lost) = match answerer.answer(&mut reader, request).await {
            Ok(length) => (RelayReply { length, error: None }, false),
            Err(error) => {
                let is_lost = !matches!(error, StoreError::Conflict { .. });
                (RelayReply { length: 0, error: Some(error.to_string()) }, is_lost)
            }
        };
        let Ok(mut line) = serde_json::to_vec(&reply) else { return RelayEnd::Closed };
        line.push(b'\n');
        if writer.write_all(&line).await.is_err() {
            return RelayEnd::Closed;
        }
        if is_lost {
            return RelayEnd::Lost;
        }
    }
}

impl RelayAnswer for JournalRelay {
    async fn answer(
        &mut self,
        reader: &mut BufReader<OwnedReadHalf>,
        request: RelayRequest,
    ) -> Result<u64, StoreError> {
        let invalid = |words: &str| StoreError::Invalid(words.to_owned());
        match request {
            RelayRequest::Open { file } => {
                check_file_name(&file)?;
                let claim = self.claim.clone();
                self.retry(|| claim.store.read_journal_length(&claim.id, &file)).await
            }
            RelayRequest::Append { file, position, bytes } => {
                check_file_name(&file)?;
                let length = usize::try_from(bytes).ok().filter(|_| bytes <= APPEND_BYTES_MAX);
                let length = length.ok_or_else(|| invalid("too much at once"))?;
                let mut content = vec![0; length];
                let read = reader.read_exact(&mut content).await;
                read.map_err(|error| StoreError::Database(sqlx::Error::Io(error)))?;
                self.append(&file, position, &content).await
            }
            RelayRequest::Cut { file, length } => {
                check_file_name(&file)?;
                let SessionClaim { store, id, epoch, worker, .. } = self.claim.clone();
                self.retry(|| store.cut_journal(&id, epoch, &worker, &file, length)).await?;
                Ok(length)
            }
        }
    }
}

impl JournalRelay {
    async fn append(&mut self, file: &str, position: u64, bytes: &[u8]) -> Result<u64, StoreError> {
        let summary = windlass_journal::store::journal_lines::summarize_lines(bytes);
        if summary.has_tool_end {
            // The files are stored before the record that the tool has ended, so that a host that
            // takes over never has such a record without its files.
            self.keep_files().await?;
        }
        if summary.has_run_end && file == MAIN_FILE {
            self.keep_patch().await?;
        }
        let claim = self.claim.clone();
        let request = AppendRequest {
            session: &claim.id,
            epoch: claim.epoch,
            worker: &claim.worker,
            file,
            position: Some(position),
            expected_seq: None,
            bytes,
        };
        self.retry(|| claim.store.append_journal(request)).await
    }

    /// Stores what the process, which is gone, had written and not sent yet: it sends records only
    /// before something depends on them. Without them the next process would ask the model again.
    /// `folder` has this host's copy of the journals.
    pub(crate) async fn append_rest(&mut self, folder: PathBuf) {
        let found = tokio::task::spawn_blocking(move || list_journals(&folder));
        for (file, bytes) in found.await.unwrap_or_default() {
            let claim = self.claim.clone();
            let length = self.retry(|| claim.store.read_journal_length(&claim.id, &file)).await;
            let Ok(length) = length else { return };
            let rest = usize::try_from(length).ok().and_then(|length| bytes.get(length..));
            // A torn line is not a record.
            let end = rest.and_then(|rest| Some(rest.iter().rposition(|byte| *byte == b'\n')? + 1));
            let Some(rest) = rest.zip(end).and_then(|(rest, end)| rest.get(..end)) else {
                continue;
            };
            if let Err(error) = self.append(&file, length, rest).await {
                return self.claim.report(&format!("its last records are lost: {error}"));
            }
        }
    }

    /// Runs a question to the workspace on a blocking thread. `None` if there is nothing new, or if
    /// the workspace cannot be read, which must not end the session.
    async fn ask_workspace<T: Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut HandoverWorkspace) -> Result<Option<T>, String> + Send + 'static,
    ) -> Option<T> {
        let mut workspace = self.workspace.take()?;
        let asked = tokio::task::spawn_blocking(move || {
            let answer = question(&mut workspace);
            (workspace, answer)
        });
        let (workspace, answer) = asked.await.ok()?;
        self.workspace = Some(workspace);
        answer.unwrap_or_else(|words| {
            self.claim.report(&format!("files are not handed over: {words}"));
            None
        })
    }

    /// Stores the changes so far as a patch.
    async fn keep_patch(&mut self) -> Result<(), StoreError> {
        let claim = self.claim.clone();
        if let Some(patch) = self.ask_workspace(HandoverWorkspace::render_patch).await {
            self.retry(|| {
                claim.store.put_blob(claim.to_held_claim(), PATCH_BLOB, patch.as_bytes())
            })
            .await?;
        }
        Ok(())
    }

    /// Stores the changes of the working directory and new spilled outputs.
    async fn keep_files(&mut self) -> Result<(), StoreError> {
        let claim = self.claim.clone();
        if let Some(pack) = self.ask_workspace(HandoverWorkspace::pack_changes).await {
            self.retry(|| claim.store.put_pack(claim.to_held_claim(), pack.to_new())).await?;
        }
        for (name, bytes) in self.read_new_spills() {
            let blob = format!("spill.{name}");
            self.retry(|| claim.store.put_blob(claim.to_held_claim(), &blob, &bytes)).await?;
            self.sent_spills.push(name);
        }
        Ok(())
    }

    fn read_new_spills(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(&self.spill).into_iter().flatten().flatten();
        let mut found = Vec::new();
        for entry in entries.take(SPILL_FILES_MAX) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_small =
                entry.metadata().is_ok_and(|it| it.is_file() && it.len() <= SPILL_BYTES_MAX);
            if is_small
                && windlass_journal::store::is_blob_name(&name)
                && !self.sent_spills.contains(&name)
                && let Ok(bytes) = std::fs::read(entry.path())
            {
                found.push((name, bytes));
            }
        }
        found
    }

    /// Repeats a call that fails with a transient error until the lease is over: a restarting
    /// database is waited for only as long as the session is ours.
    async fn retry<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut call: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut pause = RETRY_PAUSE_MIN;
        loop {
            match call().await {
                Err(error) if error.is_transient() && !self.lease.is_over() => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
    }
}

/// The journals in this folder and below: names as the store has them, and contents.
fn list_journals(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut journals = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            if check_file_name(&name).is_ok()
                && let Ok(bytes) = std::fs::read(&path)
            {
                journals.push((name, bytes));
            }
        }
    }
    // The session's own journal comes last: it refers to those of its agents.
    journals.sort_by_key(|(name, _)| (!name.contains('/'), name.clone()));
    journals
}

async fn read_request(reader: &mut BufReader<OwnedReadHalf>) -> Option<RelayRequest> {
    let mut line = Vec::new();
    let mut limited = reader.take(REQUEST_BYTES_MAX);
    limited.read_until(b'\n', &mut line).await.ok()?;
    serde_json::from_slice(&line).ok()
}

/// Checks for a relative path of a `.jsonl` file below the session's journal folder.
fn check_file_name(name: &str) -> Result<(), StoreError> {
    let is_plain = |part: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        !part.is_empty() && part != "." && part != ".." && part.chars().all(is_known)
    };
    match name.len() <= 512 && name.ends_with(".jsonl") && name.split('/').all(is_plain) {
        true => Ok(()),
        false => Err(StoreError::Invalid("that is not the name of a journal".to_owned())),
    }
}

const CONNECT_WAIT: Duration = Duration::from_secs(60);
const REQUEST_BYTES_MAX: u64 = 4 << 10;
const APPEND_BYTES_MAX: u64 = 256 << 20;
const SPILL_FILES_MAX: usize = 10_000;
const SPILL_BYTES_MAX: u64 = 32 << 20;
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(50);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(1);
