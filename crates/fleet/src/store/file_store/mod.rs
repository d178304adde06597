//! A store in a folder, for a gateway without a database that runs its sessions itself.
//!
//! One process has it, under a lock. Each session is a folder with its journals as on one machine,
//! its events, and `session.json` with everything that changes; that file is replaced as a whole.
//! Workers and their leases are not kept: they end with the process, and its sessions go back into
//! the queue when it is opened again.

mod file_question;
mod file_session;
mod session_folder;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::broadcast;
use windlass_journal::store::journal_lines::summarize_lines;
use windlass_vocabulary::to_hex;

use self::file_session::{FileSession, unix_millis};
use self::session_folder::FileSessionFolder;
use super::{
    AnsweredQuestion, AppendRequest, BranchOutcome, ClaimEnd, ClaimedRow, HeldClaim, HeldSession,
    JournalFile, LiveEndpoint, MAIN_FILE, NewAnswer, NewBatch, NewFork, NewPack, NewQuestion,
    NewSession, RenewedLease, SCHEMA_VERSION, SessionFilter, SessionInbox, SessionRow, StoreError,
    StoredBatch, TokenHolder, TokenRole, WorkerRow, to_i64,
};
use crate::postgres_journal_store::LOCAL_TENANT;
use crate::session_spec::SessionSpec;
use crate::tenant_policy::TenantPolicy;

/// What a store notifies of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreNews {
    /// There may be a session to claim.
    Queue,
    /// A running session has input.
    Control(String),
    /// A session has events, or ended.
    Events(String),
}

#[derive(Debug)]
pub struct FileStore {
    root: PathBuf,
    token: String,
    state: Mutex<FileStoreState>,
    news: broadcast::Sender<StoreNews>,
    _lock: File,
}

#[derive(Debug, Default)]
struct FileStoreState {
    sessions: BTreeMap<String, FileSession>,
    workers: BTreeMap<String, FileWorker>,
    batches: BTreeSet<String>,
    /// Until when no session of a provider is claimed.
    back_offs: BTreeMap<String, Instant>,
}

#[derive(Clone, Debug)]
struct FileWorker {
    host: String,
    capacity: u32,
    is_draining: bool,
    lease_until: Instant,
}

impl FileStoreState {
    fn find(&mut self, id: &str) -> Result<&mut FileSession, StoreError> {
        self.sessions.get_mut(id).ok_or_else(|| StoreError::NoSession(id.to_owned()))
    }

    fn find_held(&mut self, claim: HeldClaim<'_>) -> Result<&mut FileSession, StoreError> {
        let session = self.find(claim.session)?;
        match session.is_held(claim) {
            true => Ok(session),
            false => Err(StoreError::Fenced { ours: claim.epoch, current: session.claim.epoch }),
        }
    }
}

impl FileStore {
    /// Opens the store in this folder, or makes one.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let words = |error: std::io::Error| {
            StoreError::Invalid(format!("{}: {error}; name another with --dir", root.display()))
        };
        let sessions = root.join("sessions");
        DirBuilder::new().recursive(true).mode(0o700).create(&sessions).map_err(words)?;
        let lock = File::create(root.join("lock")).map_err(words)?;
        lock.try_lock().map_err(|_| {
            let words = format!("{} is in use by another `windlass serve`", root.display());
            StoreError::Invalid(words)
        })?;
        let mut state = FileStoreState::default();
        for entry in std::fs::read_dir(&sessions).map_err(words)?.flatten() {
            let id = entry.file_name().to_string_lossy().into_owned();
            let session =
                FileSession::load(FileSessionFolder::new(entry.path())).map_err(|error| {
                    StoreError::Invalid(format!("{}: {error}", entry.path().display()))
                })?;
            // Without `session.json` its submission was never acknowledged.
            let Some(mut session) = session else { continue };
            session.take_back();
            session.save()?;
            state.batches.extend(session.batch.clone());
            state.sessions.insert(id, session);
        }
        Ok(Self {
            root: root.to_owned(),
            token: read_or_make_token(&root.join("token"))?,
            state: Mutex::new(state),
            news: broadcast::Sender::new(NEWS_MAX),
            _lock: lock,
        })
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<StoreNews> {
        self.news.subscribe()
    }

    fn notify(&self, news: StoreNews) {
        // Fails when nothing listens.
        let _ = self.news.send(news);
    }

    fn lock(&self) -> MutexGuard<'_, FileStoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sessions whose worker is gone go back into the queue.
    fn take_back_lost(state: &mut FileStoreState) -> Result<(), StoreError> {
        let now = Instant::now();
        let FileStoreState { sessions, workers, .. } = state;
        let is_live = |id: &String| workers.get(id).is_some_and(|one| one.lease_until > now);
        for session in sessions.values_mut() {
            if session.state == "running" && !session.claim.worker.as_ref().is_some_and(is_live) {
                session.take_back();
                session.save()?;
            }
        }
        Ok(())
    }
}

/// Workers and claims.
impl FileStore {
    pub(super) fn register_worker(
        &self,
        id: &str,
        host: &str,
        capacity: u32,
        lease: Duration,
    ) -> Result<(), StoreError> {
        let lease_until = Instant::now() + lease;
        let worker =
            FileWorker { host: host.to_owned(), capacity, is_draining: false, lease_until };
        self.lock().workers.insert(id.to_owned(), worker);
        Ok(())
    }

    /// Live text does not leave the process.
    pub(super) fn put_live_endpoint(
        &self,
        _worker: &str,
        _endpoint: &LiveEndpoint,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    pub(super) fn read_live_endpoint(
        &self,
        _session: &str,
        _epoch: u64,
    ) -> Result<Option<LiveEndpoint>, StoreError> {
        Ok(None)
    }

    pub(super) fn read_client_address(&self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    pub(super) fn renew_worker(
        &self,
        id: &str,
        lease: Duration,
        drains: bool,
    ) -> Result<Option<RenewedLease>, StoreError> {
        let mut state = self.lock();
        let Some(worker) = state.workers.get_mut(id) else { return Ok(None) };
        worker.lease_until = Instant::now() + lease;
        worker.is_draining = drains;
        let is_held =
            |one: &FileSession| one.state == "running" && one.claim.worker.as_deref() == Some(id);
        let held = state.sessions.iter().filter(|(_, one)| is_held(one));
        let held = held.map(|(id, one)| HeldSession {
            id: id.clone(),
            epoch: one.claim.epoch,
            is_cancelled: one.is_cancelled,
        });
        Ok(Some(RenewedLease { held: held.collect(), schema: SCHEMA_VERSION }))
    }

    pub(super) fn give_back_sessions(
        &self,
        worker: &str,
        except: &[(String, u64)],
        _attempts_max: u32,
    ) -> Result<i64, StoreError> {
        let mut state = self.lock();
        let mut count = 0;
        for (id, session) in &mut state.sessions {
            let is_held =
                session.state == "running" && session.claim.worker.as_deref() == Some(worker);
            if is_held && !except.contains(&(id.clone(), session.claim.epoch)) {
                session.take_back();
                session.save()?;
                count += 1;
            }
        }
        Ok(count)
    }

    pub(super) fn remove_worker(&self, id: &str) -> Result<(), StoreError> {
        self.lock().workers.remove(id);
        Ok(())
    }

    pub(super) fn list_workers(&self) -> Result<Vec<WorkerRow>, StoreError> {
        let state = self.lock();
        let now = Instant::now();
        let to_row = |(id, worker): (&String, &FileWorker)| {
            let held = state.sessions.values().filter(|one| one.claim.worker.as_ref() == Some(id));
            let left = worker.lease_until.saturating_duration_since(now);
            WorkerRow {
                id: id.clone(),
                host: worker.host.clone(),
                pid: i32::try_from(std::process::id()).unwrap_or(0),
                capacity: i32::try_from(worker.capacity).unwrap_or(i32::MAX),
                running: i64::try_from(held.count()).unwrap_or(i64::MAX),
                is_draining: worker.is_draining,
                lease_millis: i64::try_from(left.as_millis()).unwrap_or(i64::MAX),
            }
        };
        Ok(state.workers.iter().map(to_row).collect())
    }

    /// All sessions run with the keys of this process.
    pub(super) fn put_provider_keys(
        &self,
        _worker: &str,
        _keys: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    pub(super) fn has_claimable(&self, _worker: &str) -> Result<bool, StoreError> {
        let now = unix_millis();
        let is_due = |one: &FileSession| one.state == "queued" && one.claim.wake_at <= now;
        Ok(self.lock().sessions.values().any(is_due))
    }

    pub(super) fn claim_session(
        &self,
        worker: &str,
        _attempts_max: u32,
    ) -> Result<Option<ClaimedRow>, StoreError> {
        let mut state = self.lock();
        Self::take_back_lost(&mut state)?;
        let now = Instant::now();
        let may_claim =
            state.workers.get(worker).is_some_and(|one| one.lease_until > now && !one.is_draining);
        if !may_claim {
            return Ok(None);
        }
        let FileStoreState { sessions, back_offs, .. } = &mut *state;
        let is_due = |one: &FileSession| {
            one.state == "queued"
                && one.claim.wake_at <= unix_millis()
                && back_offs.get(&one.provider).is_none_or(|until| *until <= now)
        };
        let next = sessions
            .iter()
            .filter(|(_, one)| is_due(one))
            .min_by_key(|(id, one)| (-one.priority, one.about.created, (*id).clone()));
        let Some(id) = next.map(|(id, _)| id.clone()) else { return Ok(None) };
        let session = state.find(&id)?;
        session.begin_claim(worker);
        session.save()?;
        Ok(Some(ClaimedRow {
            id,
            epoch: session.claim.epoch,
            spec: session.spec.clone(),
            attempts: session.claim.attempts,
            base_commit: session.base_commit.clone(),
            policy: OWN_POLICY,
        }))
    }

    pub(super) fn end_claim(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        end: &ClaimEnd,
    ) -> Result<bool, StoreError> {
        let mut state = self.lock();
        let row = match state.find_held(HeldClaim { session, epoch, worker }) {
            Ok(row) => row,
            Err(StoreError::Fenced { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        match end.retries_max {
            Some(retries_max) => row.retry(end, retries_max),
            None => row.end_claim(end),
        }
        row.save()?;
        let provider = row.provider.clone();
        if end.is_rate_limited {
            state.back_offs.insert(provider, Instant::now() + end.wake_after);
        }
        drop(state);
        self.notify(StoreNews::Events(session.to_owned()));
        self.notify(StoreNews::Queue);
        Ok(true)
    }
}

/// Journals and files.
impl FileStore {
    pub(super) fn append_journal(&self, request: AppendRequest<'_>) -> Result<u64, StoreError> {
        let AppendRequest { session, epoch, worker, file, position, bytes, .. } = request;
        let mut state = self.lock();
        let row = state.find_held(HeldClaim { session, epoch, worker })?;
        let found = row.folder.file_length(file)?;
        if let Some(expected) = position.filter(|position| *position != found) {
            return Err(StoreError::Conflict { expected, found });
        }
        let summary = summarize_lines(bytes);
        row.folder.append(file, bytes)?;
        if file == MAIN_FILE || !file.contains('/') {
            row.seq = row.seq.max(summary.last_seq.unwrap_or(0));
        }
        row.cost_micro += summary.cost.0;
        let has_news = !summary.message_names.is_empty() || summary.cost.0 > 0;
        row.take_messages(&summary.message_names);
        if has_news {
            row.save()?;
        }
        Ok(found + u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    }

    pub(super) fn cut_journal(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        file: &str,
        length: u64,
    ) -> Result<(), StoreError> {
        self.lock().find_held(HeldClaim { session, epoch, worker })?.folder.cut(file, length)
    }

    pub(super) fn read_journal_length(&self, session: &str, file: &str) -> Result<u64, StoreError> {
        self.lock().find(session)?.folder.file_length(file)
    }

    pub(super) fn read_journals(&self, session: &str) -> Result<Vec<JournalFile>, StoreError> {
        self.lock().find(session)?.folder.read_journals()
    }

    pub(super) fn read_spills(&self, session: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.lock().find(session)?.folder.read_blobs("spill.")
    }

    pub(super) fn read_packs(&self, session: &str) -> Result<Vec<(i32, Vec<u8>)>, StoreError> {
        let packs = self.lock().find(session)?.folder.read_blobs("pack.")?;
        let numbered =
            packs.into_iter().filter_map(|(name, bytes)| Some((name.parse().ok()?, bytes)));
        Ok(numbered.collect())
    }

    pub(super) fn put_pack(
        &self,
        claim: HeldClaim<'_>,
        pack: NewPack<'_>,
    ) -> Result<(), StoreError> {
        // With leading zeros, so that they are read in order.
        self.put_blob(claim, &format!("pack.{:010}", pack.number), pack.bytes)
    }

    pub(super) fn put_blob(
        &self,
        claim: HeldClaim<'_>,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        self.lock().find_held(claim)?.folder.put_blob(name, bytes)
    }

    pub(super) fn read_blob(
        &self,
        session: &str,
        name: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.lock().find(session)?.folder.read_blob(name)
    }

    pub(super) fn put_base_commit(
        &self,
        claim: HeldClaim<'_>,
        commit: &str,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        let row = state.find_held(claim)?;
        row.base_commit.get_or_insert_with(|| commit.to_owned());
        row.save()
    }

    pub(super) fn put_branch(
        &self,
        claim: HeldClaim<'_>,
        outcome: &BranchOutcome,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        let row = state.find_held(claim)?;
        row.set_branch(outcome);
        row.save()
    }
}

/// Messages, questions and events.
impl FileStore {
    pub(super) fn read_inbox(&self, claim: HeldClaim<'_>) -> Result<SessionInbox, StoreError> {
        Ok(self.lock().find_held(claim)?.read_inbox(claim.epoch))
    }

    pub(super) fn take_message(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        uuid: &str,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        let row = state.find_held(HeldClaim { session, epoch, worker })?;
        row.take_messages(&[uuid.to_owned()]);
        row.save()
    }

    pub(super) fn add_message(
        &self,
        session: &str,
        uuid: &str,
        content: &str,
        sender: &str,
    ) -> Result<i64, StoreError> {
        let mut state = self.lock();
        let row = state.find(session)?;
        let number = row.add_message(uuid, content, sender);
        row.save()?;
        drop(state);
        self.notify(StoreNews::Queue);
        self.notify(StoreNews::Control(session.to_owned()));
        Ok(number)
    }

    pub(super) fn add_question(
        &self,
        claim: HeldClaim<'_>,
        question: NewQuestion<'_>,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        let row = state.find_held(claim)?;
        row.add_question(claim.epoch, question);
        row.save()
    }

    pub(super) fn close_question(
        &self,
        claim: HeldClaim<'_>,
        request: &str,
        outcome: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut state = self.lock();
        let row = state.find_held(claim)?;
        row.close_question(request, outcome);
        row.save()
    }

    pub(super) fn list_questions(
        &self,
        session: &str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        Ok(self.lock().find(session)?.list_questions())
    }

    pub(super) fn list_answers(&self, session: &str) -> Result<Vec<AnsweredQuestion>, StoreError> {
        Ok(self.lock().find(session)?.list_answers())
    }

    pub(super) fn answer_question(
        &self,
        session: &str,
        answer: NewAnswer<'_>,
    ) -> Result<bool, StoreError> {
        let mut state = self.lock();
        let row = state.find(session)?;
        if !row.answer_question(answer) {
            return Ok(false);
        }
        row.save()?;
        row.add_event(Some(answer.frame_uuid), answer.frame)?;
        drop(state);
        self.notify(StoreNews::Queue);
        self.notify(StoreNews::Control(session.to_owned()));
        self.notify(StoreNews::Events(session.to_owned()));
        Ok(true)
    }

    pub(super) fn add_event(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        uuid: Option<&str>,
        frame: &str,
    ) -> Result<Option<u64>, StoreError> {
        let mut state = self.lock();
        let Ok(row) = state.find_held(HeldClaim { session, epoch, worker }) else {
            return Ok(None);
        };
        let number = row.add_event(uuid, frame)?;
        drop(state);
        self.notify(StoreNews::Events(session.to_owned()));
        Ok(Some(number))
    }

    pub(super) fn read_events(
        &self,
        session: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<(u64, String)>, StoreError> {
        self.lock().find(session)?.read_events(after, limit)
    }

    pub(super) fn list_event_ids(&self, session: &str) -> Result<Vec<String>, StoreError> {
        Ok(self.lock().find(session)?.list_event_ids())
    }
}

/// Sessions, batches and tokens.
impl FileStore {
    pub(super) fn submit_session(&self, new: &NewSession) -> Result<(), StoreError> {
        let spec = SessionSpec::parse(&new.spec).map_err(StoreError::Invalid)?;
        if new.tenant != LOCAL_TENANT {
            return Err(StoreError::Invalid(
                "without a database there is no tenant but `local`; leave `tenant` out".to_owned(),
            ));
        }
        let mut state = self.lock();
        if new.batch.as_ref().is_some_and(|(batch, _)| !state.batches.contains(batch)) {
            return Err(StoreError::Invalid("there is no such batch".to_owned()));
        }
        if state.sessions.contains_key(&new.id) {
            return Err(StoreError::SessionExists(new.id.clone()));
        }
        let folder = FileSessionFolder::new(self.root.join("sessions").join(&new.id));
        folder.create()?;
        let mut session = FileSession::new(new, spec.provider(), folder);
        session.add_message(&new.id, &new.content, &new.sender);
        session.save()?;
        state.sessions.insert(new.id.clone(), session);
        drop(state);
        self.notify(StoreNews::Queue);
        Ok(())
    }

    pub(super) fn fork_session(&self, fork: &NewFork) -> Result<(), StoreError> {
        let NewFork { new, source, journal } = fork;
        let mut state = self.lock();
        if state.sessions.contains_key(&new.id) {
            return Err(StoreError::SessionExists(new.id.clone()));
        }
        let folder = FileSessionFolder::new(self.root.join("sessions").join(&new.id));
        folder.create()?;
        let source = state.find(source)?;
        for prefix in ["pack.", "spill."] {
            for (name, bytes) in source.folder.read_blobs(prefix)? {
                folder.put_blob(&format!("{prefix}{name}"), &bytes)?;
            }
        }
        folder.append(MAIN_FILE, journal)?;
        let mut session = FileSession::new(new, &source.provider, folder);
        session.base_commit = source.base_commit.clone();
        session.seq = summarize_lines(journal).last_seq.unwrap_or(0);
        session.add_message(&new.id, &new.content, &new.sender);
        // From here on the copy exists.
        session.save()?;
        state.sessions.insert(new.id.clone(), session);
        drop(state);
        self.notify(StoreNews::Queue);
        Ok(())
    }

    pub(super) fn read_spec(&self, id: &str) -> Result<Option<String>, StoreError> {
        Ok(self.lock().sessions.get(id).map(|session| session.spec.clone()))
    }

    pub(super) fn read_session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        Ok(self.lock().sessions.get(id).map(|session| session.to_row(id)))
    }

    pub(super) fn list_sessions(
        &self,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let state = self.lock();
        let is_wanted = |(id, one): &(&String, &FileSession)| {
            let matches = |wanted: &Option<String>, found: &str| {
                wanted.as_deref().is_none_or(|wanted| wanted == found)
            };
            matches(&filter.tenant, LOCAL_TENANT)
                && matches(&filter.state, &one.state)
                && matches(&filter.batch, one.batch.as_deref().unwrap_or_default())
                && filter.after.as_ref().is_none_or(|after| *id > after)
        };
        let found = state.sessions.iter().filter(is_wanted);
        let count_max = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        Ok(found.take(count_max).map(|(id, one)| one.to_row(id)).collect())
    }

    pub(super) fn count_states(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let mut counts = BTreeMap::new();
        for session in self.lock().sessions.values() {
            *counts.entry(session.state.clone()).or_insert(0) += 1;
        }
        Ok(counts.into_iter().collect())
    }

    pub(super) fn cancel_session(&self, id: &str) -> Result<String, StoreError> {
        let mut state = self.lock();
        let row = state.find(id)?;
        row.cancel();
        row.save()?;
        let now = row.state.clone();
        drop(state);
        self.notify(StoreNews::Control(id.to_owned()));
        Ok(now)
    }

    pub(super) fn add_batch(&self, batch: NewBatch<'_>) -> Result<(), StoreError> {
        if batch.budget_micro.is_some() {
            return Err(StoreError::Invalid(
                "without a database a batch has no budget; leave max_budget_usd out".to_owned(),
            ));
        }
        self.lock().batches.insert(batch.id.to_owned());
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, reason = "the same for each store")]
    pub(super) fn list_batches(
        &self,
        _tenant: Option<&str>,
    ) -> Result<Vec<StoredBatch>, StoreError> {
        let state = self.lock();
        let to_batch = |id: &String| {
            let all = state.sessions.values().filter(|one| one.batch.as_ref() == Some(id));
            let ended = all.clone().filter(|one| !one.is_active());
            let spent = all.clone().map(|one| one.cost_micro).sum();
            StoredBatch {
                id: id.clone(),
                name: id.split_once('/').map_or(id.as_str(), |(_, name)| name).to_owned(),
                tenant: LOCAL_TENANT.to_owned(),
                budget_micro: None,
                spent_micro: to_i64(spent),
                reserved_micro: 0,
                ended: i64::try_from(ended.count()).unwrap_or(i64::MAX),
                sessions: i64::try_from(all.count()).unwrap_or(i64::MAX),
            }
        };
        Ok(state.batches.iter().map(to_batch).collect())
    }

    pub(super) fn find_token(&self, token: &str) -> Result<Option<TokenHolder>, StoreError> {
        let is_ours = ring::digest::digest(&ring::digest::SHA256, token.as_bytes()).as_ref()
            == ring::digest::digest(&ring::digest::SHA256, self.token.as_bytes()).as_ref();
        Ok(is_ours.then(|| TokenHolder {
            name: "owner".to_owned(),
            tenant: LOCAL_TENANT.to_owned(),
            role: TokenRole::Admin,
        }))
    }

    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same for each store")]
    pub(super) fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The token lies in a file that only its owner can read.
fn read_or_make_token(path: &Path) -> Result<String, StoreError> {
    let words = |error: std::io::Error| StoreError::Invalid(format!("{}: {error}", path.display()));
    if let Ok(text) = std::fs::read_to_string(path)
        && !text.trim().is_empty()
    {
        return Ok(text.trim().to_owned());
    }
    let mut secret = [0; 32];
    SystemRandom::new()
        .fill(&mut secret)
        .map_err(|_| StoreError::Invalid("the system has no random bytes".to_owned()))?;
    let token = format!("wlf_{}", to_hex(&secret));
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(token.as_bytes())).map_err(words)?;
    Ok(token)
}

/// The only one with a token is the user who runs the sessions.
const OWN_POLICY: TenantPolicy =
    TenantPolicy { is_trusted: true, repositories: Vec::new(), push_prefix: None };
const NEWS_MAX: usize = 1024;
