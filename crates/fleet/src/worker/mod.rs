//! `windlass-fleet worker`: claims sessions, runs each under a guard, renews its lease, hands
//! sessions back.
//!
//! A worker has one lease for everything it holds, and renews it every third of its length. When
//! renewal fails, every guard ends its session a quarter of the lease before its end, by a clock
//! that cannot be set. The store measures leases by the database's clock alone.

mod asked_calls;
mod checkout;
pub(crate) mod claimed_session;
mod event_recovery;
mod git_call;
pub mod guard;
mod handover;
pub(crate) mod lease_clock;
pub(crate) mod monotonic;
pub(crate) mod process_tree;
mod provider_keys;
pub(crate) mod relay;
mod result_branch;
mod running_calls;
mod session_process;
mod workspace_patch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::SignalListener;
use windlass_host::standard_streams::write_error_line;
use windlass_journal::ClaimHolder;

use self::claimed_session::{SessionClaim, run_claimed_session};
use self::lease_clock::{LeaseClock, LeaseRenewals};
use self::provider_keys::find_provider_keys;
use crate::live::live_sessions::LiveSessions;
use crate::live::nats_live::publish_tails;
use crate::live::owner_server::{OwnerServer, to_own_address};
use crate::live::{AbortedOnDrop, LiveOption};
use crate::store::{
    ClaimedRow, FleetStore, HeldSession, RenewedLease, SCHEMA_VERSION, SessionStore, StoreError,
    StoreNews,
};

#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Limit on concurrent sessions.
    pub capacity: u32,
    /// Bytes of memory that must be available for another session.
    pub memory_min: u64,
    pub lease: Duration,
    /// The folder of sessions and repositories on this host.
    pub directory: PathBuf,
    /// Path of the `windlass` command.
    pub windlass: PathBuf,
    pub is_unsandboxed: bool,
    /// Losses in a row after which a session is parked.
    pub attempts_max: u32,
    /// How long sessions may continue after a request to terminate.
    pub drain: Duration,
    /// How long a session that only waits for an answer holds its place.
    pub question_wait: Duration,
    /// How live text gets to gateways.
    pub live: LiveOption,
}

/// Shared by all sessions of a worker.
pub(crate) struct WorkerContext {
    pub(crate) store: SessionStore,
    pub(crate) id: String,
    pub(crate) options: WorkerOptions,
    pub(crate) lease: LeaseClock,
    /// The folder of sockets: a short path, because the length of socket paths is limited.
    pub(crate) sockets: PathBuf,
    pub(crate) live: Arc<LiveSessions>,
    /// Serves live text to gateways, if it does.
    owner_server: Option<OwnerServer>,
    /// By provider. Only their digests leave this process.
    provider_keys: BTreeMap<String, String>,
    /// The sessions that run in this process.
    running: Mutex<BTreeMap<String, RunningSession>>,
    /// Held from a claim until its session is in `running`.
    claiming: tokio::sync::Mutex<()>,
    held: watch::Sender<HeldSessions>,
    is_handing_back: watch::Sender<bool>,
    /// Set when the store's schema is newer than this program knows.
    is_outdated: watch::Sender<bool>,
    wake: Notify,
}

#[derive(Debug)]
struct RunningSession {
    epoch: u64,
    control: Arc<Notify>,
}

/// The sessions the store attributes to this worker, and when it was asked.
#[derive(Debug, Default)]
struct HeldSessions {
    asked_at: Duration,
    sessions: Vec<HeldSession>,
}

impl std::fmt::Debug for WorkerContext {
    /// Without the keys.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "worker {}", self.id)
    }
}

impl WorkerContext {
    fn lock_running(&self) -> MutexGuard<'_, BTreeMap<String, RunningSession>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_session(&self, claimed: &ClaimedRow) {
        let session = RunningSession { epoch: claimed.epoch, control: Arc::default() };
        self.lock_running().insert(claimed.id.clone(), session);
    }

    /// Removes this claim of the session, but not a later one.
    pub(crate) fn forget_session(&self, session: &str, epoch: u64) {
        let mut running = self.lock_running();
        if running.get(session).is_some_and(|one| one.epoch == epoch) {
            running.remove(session);
        }
    }

    /// Notified when there is new input for the session.
    pub(crate) fn control_of(&self, session: &str) -> Arc<Notify> {
        let running = self.lock_running();
        running.get(session).map(|one| Arc::clone(&one.control)).unwrap_or_default()
    }

    fn notify_control(&self, session: &str) {
        if let Some(one) = self.lock_running().get(session) {
            one.control.notify_one();
        }
    }

    fn notify_all(&self) {
        self.lock_running().values().for_each(|one| one.control.notify_one());
        self.wake.notify_one();
    }

    pub(crate) fn is_handing_back(&self) -> bool {
        *self.is_handing_back.borrow()
    }

    /// Gives back sessions that the store attributes to this worker and that do not run here: lost
    /// while it was cut off, or claimed in a call whose response was lost.
    async fn give_back_unknown(&self, held: &[HeldSession]) {
        let is_known = |one: &HeldSession| {
            self.lock_running().get(&one.id).is_some_and(|running| running.epoch == one.epoch)
        };
        if held.iter().all(is_known) {
            return;
        }
        // A claim in progress is not in `running` yet. The next renewal checks again.
        let Ok(_claiming) = self.claiming.try_lock() else { return };
        let running: Vec<(String, u64)> =
            self.lock_running().iter().map(|(id, one)| (id.clone(), one.epoch)).collect();
        let attempts_max = self.options.attempts_max;
        match self.store.give_back_sessions(&self.id, &running, attempts_max).await {
            Ok(0) => {}
            Ok(count) => report_line(&format!("{count} sessions that do not run here go back")),
            Err(error) => report_line(&format!("sessions cannot be given back: {error}")),
        }
    }

    /// Returns when the lease is over or the store says that the claim does not hold.
    pub(crate) async fn wait_for_loss(&self, claim: &SessionClaim) {
        let mut held = self.held.subscribe();
        held.mark_unchanged();
        loop {
            let left = self.lease.deadline().saturating_sub(monotonic::now());
            tokio::select! {
                changed = held.changed() => {
                    let is_held = {
                        let HeldSessions { asked_at, sessions } = &*held.borrow_and_update();
                        // A response from before the claim does not include it.
                        *asked_at < claim.claimed_at || sessions.iter().any(|one| {
                            one.id == claim.id && one.epoch == claim.epoch
                        })
                    };
                    if changed.is_err() || !is_held {
                        return;
                    }
                }
                () = tokio::time::sleep(left) => {
                    if self.lease.is_over() {
                        return;
                    }
                }
            }
        }
    }

    /// Returns when the worker stops waiting for its sessions.
    pub(crate) async fn wait_for_handback(&self) {
        let mut handing_back = self.is_handing_back.subscribe();
        // An error means that the sender is gone, so there is nothing to wait for.
        let _ = handing_back.wait_for(|is_so| *is_so).await;
    }
}

/// Runs a worker of the fleet with this database.
pub async fn run(store_url: &str, options: WorkerOptions) -> Result<Exit, CommandError> {
    // One connection per session, and a few for the worker itself.
    let connections = options.capacity.saturating_add(4).min(CONNECTIONS_MAX);
    let store = FleetStore::open(store_url, connections).await;
    let store = store.map_err(|error| CommandError::failure(error.to_string()))?;
    let (live, _publishing) = match &options.live {
        LiveOption::Nats(server) => {
            let (publisher, news) = tokio::sync::mpsc::channel(LIVE_NEWS_MAX);
            let live = Arc::new(LiveSessions::with_publisher(publisher));
            let publishing = publish_tails(server.clone(), Arc::clone(&live), news);
            (live, Some(AbortedOnDrop(tokio::spawn(publishing))))
        }
        LiveOption::Owner | LiveOption::Address(_) | LiveOption::Off => Default::default(),
    };
    run_on(SessionStore::Database(store), options, live).await
}

/// Serves live text at the address that is named, or at the one the database sees this host at.
async fn start_owner_server(
    store: &SessionStore,
    options: &WorkerOptions,
    live: &Arc<LiveSessions>,
) -> Result<Option<OwnerServer>, CommandError> {
    let failed = |error: StoreError| CommandError::failure(error.to_string());
    let address = match (&options.live, store) {
        (LiveOption::Address(address), _) => *address,
        (LiveOption::Owner, SessionStore::Database(_)) => {
            to_own_address(store.read_client_address().await.map_err(failed)?.as_deref())
        }
        (LiveOption::Owner | LiveOption::Nats(_) | LiveOption::Off, _) => return Ok(None),
    };
    match OwnerServer::start(address, Arc::clone(live)).await {
        Ok(server) => Ok(Some(server)),
        // The database sees another host between the two.
        Err(words) if options.live == LiveOption::Owner => {
            report_line(&format!(
                "no live text: cannot listen at {address}: {words}; name this host's address \
                 with --live"
            ));
            Ok(None)
        }
        Err(words) => {
            Err(CommandError::failure(format!("--live: cannot listen at {address}: {words}")))
        }
    }
}

async fn register(context: &WorkerContext) -> Result<(), StoreError> {
    let WorkerContext { store, id, options, .. } = context;
    let host = ClaimHolder::current_process().host;
    store.register_worker(id, &host, options.capacity, options.lease).await?;
    store.put_provider_keys(id, &context.provider_keys).await?;
    if let Some(server) = &context.owner_server {
        store.put_live_endpoint(id, &server.endpoint).await?;
    }
    Ok(())
}

/// Runs a worker until it receives a signal to terminate, or the store is migrated.
pub(crate) async fn run_on(
    store: SessionStore,
    options: WorkerOptions,
    live: Arc<LiveSessions>,
) -> Result<Exit, CommandError> {
    let failed = |error: StoreError| CommandError::failure(error.to_string());
    let report = check_windlass(&options).await?;
    let provider_keys = find_provider_keys(&report, |name| std::env::var(name).ok());
    std::fs::create_dir_all(&options.directory).map_err(|error| {
        let path = options.directory.display();
        CommandError::failure(format!("{path} cannot be used: {error}; name another with --dir"))
    })?;
    let owner_server = start_owner_server(&store, &options, &live).await?;
    let sockets = create_socket_folder()?;
    let began = monotonic::now();
    let (renewals, lease) = LeaseRenewals::new(options.lease, began);
    let context = Arc::new(WorkerContext {
        store,
        id: random::generate_uuid(),
        options,
        lease,
        sockets,
        live,
        owner_server,
        provider_keys,
        running: Mutex::default(),
        claiming: tokio::sync::Mutex::default(),
        held: watch::Sender::default(),
        is_handing_back: watch::Sender::new(false),
        is_outdated: watch::Sender::new(false),
        wake: Notify::new(),
    });
    register(&context).await.map_err(failed)?;
    report_line(&format!(
        "worker {} is ready for {} sessions",
        context.id, context.options.capacity
    ));
    let exit = run_loop(&context, renewals).await;
    let _ = std::fs::remove_dir_all(&context.sockets);
    exit
}

async fn run_loop(
    context: &Arc<WorkerContext>,
    renewals: LeaseRenewals,
) -> Result<Exit, CommandError> {
    let mut signals = SignalListener::listen()?;
    let drains = watch::Sender::new(false);
    let renewer = tokio::spawn(renew_lease(Arc::clone(context), renewals, drains.subscribe()));
    let listener = tokio::spawn(listen(Arc::clone(context)));
    let mut sessions = JoinSet::new();
    let mut outdated = context.is_outdated.subscribe();
    let mut report = tokio::time::interval(REPORT_INTERVAL);
    report.tick().await;
    let mut finished = 0_u64;
    let mut pause = Duration::ZERO;
    let mut claim = None;
    let exit = loop {
        let is_full = sessions.len() >= usize::try_from(context.options.capacity).unwrap_or(0);
        if claim.is_none() && !is_full {
            // A separate task, so that an unresponsive database does not delay signals.
            claim = Some(tokio::spawn(claim_next(Arc::clone(context), pause)));
        }
        tokio::select! {
            signal = signals.next() => break signal.exit(),
            Ok(_) = outdated.wait_for(|is_so| *is_so) => {
                report_line("the store was migrated; this worker finishes what it has; start it \
                             in the newer version");
                break Exit::FAILURE;
            }
            _ = report.tick() => {
                report_line(&format!(
                    "{} of {} sessions run, {finished} left this worker",
                    sessions.len(), context.options.capacity
                ));
                let repositories = context.options.directory.join("repositories");
                // Not waited for: the disk may be slow.
                drop(tokio::task::spawn_blocking(move || {
                    checkout::remove_unused_repositories(&repositories, REPOSITORY_AGE)
                }));
            }
            Some(_) = sessions.join_next() => finished += 1,
            claimed = wait_for_claim(&mut claim) => {
                claim = None;
                pause = match claimed {
                    Ok(ClaimAttempt::Claimed(claimed)) => {
                        sessions.spawn(run_claimed_session(Arc::clone(context), *claimed));
                        Duration::ZERO
                    }
                    Ok(ClaimAttempt::NothingDue) => CLAIM_POLL,
                    // Every claim that passes sessions over holds up those of other workers.
                    Ok(ClaimAttempt::NothingCovered) => {
                        (pause.max(CLAIM_POLL) * 3 / 2).min(COVERED_POLL_MAX)
                    }
                    // The database is unavailable: polls at growing intervals.
                    Err(error) => {
                        report_line(&format!("nothing can be claimed: {error}"));
                        (pause.max(CLAIM_POLL) * 2).min(CLAIM_POLL_MAX)
                    }
                };
            }
        }
    };
    if let Some(claim) = claim {
        claim.abort();
        // A session claimed at the last moment is not started: the next renewal gives it back.
        if let Ok(Ok(ClaimAttempt::Claimed(claimed))) = claim.await {
            context.forget_session(&claimed.id, claimed.epoch);
        }
    }
    drains.send_replace(true);
    drain_sessions(context, &mut sessions, &mut signals).await;
    renewer.abort();
    listener.abort();
    let _ = tokio::time::timeout(LEAVE_WAIT, context.store.remove_worker(&context.id)).await;
    report_line("worker ended");
    Ok(exit)
}

/// Waits for sessions to end, then hands back the remaining ones.
async fn drain_sessions(
    context: &WorkerContext,
    sessions: &mut JoinSet<()>,
    signals: &mut SignalListener,
) {
    report_line(&format!("draining: {} sessions run", sessions.len()));
    // An outdated worker finishes its sessions, however long that takes.
    let drain = match *context.is_outdated.borrow() {
        true => OUTDATED_DRAIN,
        false => context.options.drain,
    };
    let drain_end = tokio::time::sleep(drain);
    tokio::pin!(drain_end);
    while !sessions.is_empty() {
        tokio::select! {
            _ = sessions.join_next() => {}
            () = &mut drain_end, if !context.is_handing_back() => {
                context.is_handing_back.send_replace(true);
            }
            _ = signals.next() => drop(context.is_handing_back.send_replace(true)),
        }
    }
}

/// Waits for a notification of the queue. Also polls, for sessions whose wake time has come and for
/// those of dead workers.
async fn wait_for_work(context: &WorkerContext, pause: Duration) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = context.wake.notified() => {}
    }
}

async fn claim_next(
    context: Arc<WorkerContext>,
    pause: Duration,
) -> Result<ClaimAttempt, StoreError> {
    wait_for_work(&context, pause).await;
    let _claiming = context.claiming.lock().await;
    let outcome = try_claim(&context).await?;
    if let ClaimAttempt::Claimed(claimed) = &outcome {
        context.add_session(claimed);
    }
    Ok(outcome)
}

enum ClaimAttempt {
    Claimed(Box<ClaimedRow>),
    NothingDue,
    /// Sessions are due, and a budget or a limit covers none of them.
    NothingCovered,
}

type ClaimTask = tokio::task::JoinHandle<Result<ClaimAttempt, StoreError>>;

/// Waits for the claim in progress; forever if there is none.
async fn wait_for_claim(claim: &mut Option<ClaimTask>) -> Result<ClaimAttempt, StoreError> {
    match claim {
        Some(claim) => claim.await.unwrap_or(Ok(ClaimAttempt::NothingDue)),
        None => std::future::pending().await,
    }
}

async fn try_claim(context: &WorkerContext) -> Result<ClaimAttempt, StoreError> {
    let WorkerContext { store, id, options, .. } = context;
    let is_short = read_available_memory().is_some_and(|bytes| bytes < options.memory_min);
    if is_short || context.lease.is_over() || !store.has_claimable(id).await? {
        return Ok(ClaimAttempt::NothingDue);
    }
    let claimed = store.claim_session(id, options.attempts_max).await?;
    Ok(claimed.map_or(ClaimAttempt::NothingCovered, |row| ClaimAttempt::Claimed(Box::new(row))))
}

/// Bytes that programs can still get; `None` where the system does not say.
fn read_available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes << 10)
}

async fn renew_lease(
    context: Arc<WorkerContext>,
    renewals: LeaseRenewals,
    drains: watch::Receiver<bool>,
) {
    let WorkerContext { store, id, options, .. } = &*context;
    let lease = options.lease;
    let mut pause = lease / 3;
    loop {
        tokio::time::sleep(pause).await;
        let began = monotonic::now();
        let call = store.renew_worker(id, lease, *drains.borrow());
        match tokio::time::timeout(lease / 3, call).await {
            Ok(Ok(Some(RenewedLease { held, schema }))) => {
                renewals.record_renewal(began);
                for session in held.iter().filter(|session| session.is_cancelled) {
                    context.notify_control(&session.id);
                }
                if schema > SCHEMA_VERSION {
                    context.is_outdated.send_replace(true);
                }
                let sessions = held.clone();
                context.held.send_replace(HeldSessions { asked_at: began, sessions });
                let giving_back = context.give_back_unknown(&held);
                if tokio::time::timeout(lease / 6, giving_back).await.is_err() {
                    report_line("sessions cannot be given back: the database does not answer");
                }
                pause = lease / 3;
            }
            // The worker's row was removed, and with it all its claims: registers again.
            Ok(Ok(None)) => {
                context
                    .held
                    .send_replace(HeldSessions { asked_at: began, ..HeldSessions::default() });
                let began = monotonic::now();
                if register(&context).await.is_ok() {
                    renewals.record_renewal(began);
                }
            }
            Ok(Err(error)) => {
                report_line(&format!("the lease was not renewed: {error}"));
                pause = lease / 12;
            }
            Err(_) => {
                report_line("the lease was not renewed: the database does not answer");
                pause = lease / 12;
            }
        }
    }
}

/// Listens for notifications of the store. Without them everything still works, by polling.
async fn listen(context: Arc<WorkerContext>) {
    loop {
        if let Some(mut listener) = context.store.listen().await {
            context.notify_all();
            // Reconnects after a silence, since a dead connection cannot be told from an idle one.
            while let Ok(Some(heard)) = tokio::time::timeout(LISTEN_SILENCE, listener.next()).await
            {
                match heard {
                    StoreNews::Queue => context.wake.notify_one(),
                    StoreNews::Control(session) => context.notify_control(&session),
                    StoreNews::Events(_) => {}
                }
            }
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

/// Checks that the command runs and, if required, that its sandbox works. Returns its report.
async fn check_windlass(options: &WorkerOptions) -> Result<Value, CommandError> {
    let program = options.windlass.display();
    let mut command = tokio::process::Command::new(&options.windlass);
    command.args(["doctor", "--offline", "--json"]).stdin(std::process::Stdio::null());
    // A child that is dropped, because it took too long, is killed.
    let output = tokio::time::timeout(DOCTOR_WAIT, command.kill_on_drop(true).output()).await;
    let output = output.map_err(|_| {
        let seconds = DOCTOR_WAIT.as_secs();
        CommandError::failure(format!(
            "`{program} doctor` does not answer within {seconds} seconds; run it by hand"
        ))
    })?;
    let output = output.map_err(|error| {
        CommandError::failure(format!(
            "{program} cannot be started: {error}; install `windlass` beside `windlass-fleet`, or \
             name it with --windlass"
        ))
    })?;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let has_sandbox = report.pointer("/sandbox/available").and_then(Value::as_bool);
    match options.is_unsandboxed || has_sandbox == Some(true) {
        true => Ok(report),
        false => {
            let why = report.pointer("/sandbox/report").and_then(Value::as_str);
            Err(CommandError::failure(format!(
                "commands of models would run without a sandbox here: {}; install bubblewrap, or \
                 accept that with --allow-unsandboxed",
                why.unwrap_or("`windlass doctor` does not say why")
            )))
        }
    }
}

pub(crate) fn create_socket_folder() -> Result<PathBuf, CommandError> {
    use std::os::unix::fs::DirBuilderExt;
    let path = std::env::temp_dir().join(format!("wlf-{}", random::generate_name()));
    std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
        CommandError::failure(format!("{} cannot be made: {error}; set TMPDIR", path.display()))
    })?;
    Ok(path)
}

/// Writes one line to stderr, for the administrator.
pub(crate) fn report_line(words: &str) {
    write_error_line(&format!("windlass-fleet: {words}"));
}

const CONNECTIONS_MAX: u32 = 64;
/// Items that wait for NATS.
const LIVE_NEWS_MAX: usize = 10_000;
/// Time after which a mirror that no session used is removed.
const REPOSITORY_AGE: Duration = Duration::from_secs(14 * 24 * 3600);
const DOCTOR_WAIT: Duration = Duration::from_secs(60);
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
const CLAIM_POLL: Duration = Duration::from_secs(1);
/// A session that ends makes room, and its own worker claims at once.
const COVERED_POLL_MAX: Duration = Duration::from_secs(5);
const CLAIM_POLL_MAX: Duration = Duration::from_secs(10);
/// In effect unlimited; the store prevents others from claiming what this worker holds.
const OUTDATED_DRAIN: Duration = Duration::from_secs(30 * 24 * 3600);
const LISTEN_SILENCE: Duration = Duration::from_secs(60);
const LISTEN_PAUSE: Duration = Duration::from_secs(5);
const LEAVE_WAIT: Duration = Duration::from_secs(5);
