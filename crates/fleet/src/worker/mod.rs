//! `windlass-fleet worker`: claims sessions, runs each below a guard, renews its lease, hands back.
//!
//! A worker has one lease for everything it holds. It renews a third of the time before the lease ends;
//! when it cannot, every guard ends its session a quarter before, by a clock nobody can set. The store
//! counts leases by the database's clock alone.

mod claimed_session;
mod event_recovery;
pub mod guard;
mod handover;
mod lease_clock;
mod monotonic;
mod process_tree;
mod relay;
mod session_process;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgListener;
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
use crate::store::{ClaimedRow, FleetStore, HeldSession, StoreError};

/// What a worker is started with.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub store_url: String,
    /// Sessions at once.
    pub capacity: u32,
    pub lease: Duration,
    /// Where sessions and repositories lie on this host.
    pub directory: PathBuf,
    /// The `windlass` command.
    pub windlass: PathBuf,
    pub is_unsandboxed: bool,
    /// Losses in a row after which a session is parked.
    pub attempts_max: u32,
    /// How long sessions may go on after a request to terminate.
    pub drain: Duration,
}

/// What all sessions of a worker share.
#[derive(Debug)]
pub(crate) struct WorkerContext {
    pub(crate) store: FleetStore,
    pub(crate) id: String,
    pub(crate) options: WorkerOptions,
    pub(crate) lease: LeaseClock,
    /// Where sockets lie: a short path of its own, because their length is limited.
    pub(crate) sockets: PathBuf,
    controls: Mutex<BTreeMap<String, Arc<Notify>>>,
    held: watch::Sender<HeldSessions>,
    is_handing_back: watch::Sender<bool>,
    wake: Notify,
}

/// What the store said we hold, and when it was asked.
#[derive(Debug, Default)]
struct HeldSessions {
    asked_at: Duration,
    sessions: Vec<HeldSession>,
}

impl WorkerContext {
    fn lock_controls(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Notify>>> {
        self.controls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the session when something waits for it.
    pub(crate) fn control_of(&self, session: &str) -> Arc<Notify> {
        Arc::clone(self.lock_controls().entry(session.to_owned()).or_default())
    }

    pub(crate) fn forget_control(&self, session: &str) {
        self.lock_controls().remove(session);
    }

    fn notify_control(&self, session: &str) {
        if let Some(control) = self.lock_controls().get(session) {
            control.notify_one();
        }
    }

    fn notify_all(&self) {
        self.lock_controls().values().for_each(|control| control.notify_one());
        self.wake.notify_one();
    }

    /// Returns when the lease is over or the store says that another worker has the session.
    pub(crate) async fn wait_for_loss(&self, claim: &SessionClaim) {
        let mut held = self.held.subscribe();
        held.mark_unchanged();
        loop {
            let left = self.lease.deadline().saturating_sub(monotonic::now());
            tokio::select! {
                changed = held.changed() => {
                    let is_held = {
                        let HeldSessions { asked_at, sessions } = &*held.borrow_and_update();
                        // An answer from before the claim does not know of it.
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

    /// Returns when the worker no longer waits for its sessions.
    pub(crate) async fn wait_for_handback(&self) {
        let mut handing_back = self.is_handing_back.subscribe();
        // Without a sender there is nothing to wait for.
        let _ = handing_back.wait_for(|is_so| *is_so).await;
    }
}

/// Runs a worker until it is told to terminate.
pub async fn run(options: WorkerOptions) -> Result<Exit, CommandError> {
    let failed = |error: StoreError| CommandError::failure(error.to_string());
    // Each session may wait for the store; a few more are for the worker itself.
    let connections = options.capacity.saturating_add(4).min(CONNECTIONS_MAX);
    let store = FleetStore::open(&options.store_url, connections).await.map_err(failed)?;
    check_windlass(&options)?;
    std::fs::create_dir_all(&options.directory).map_err(|error| {
        let path = options.directory.display();
        CommandError::failure(format!("{path} cannot be used: {error}; name another with --dir"))
    })?;
    let sockets = create_socket_folder()?;
    let id = random::generate_uuid();
    let host = ClaimHolder::current_process().host;
    let began = monotonic::now();
    store.register_worker(&id, &host, options.capacity, options.lease).await.map_err(failed)?;
    let (renewals, lease) = LeaseRenewals::new(options.lease, began);
    let context = Arc::new(WorkerContext {
        store,
        id,
        options,
        lease,
        sockets,
        controls: Mutex::default(),
        held: watch::Sender::default(),
        is_handing_back: watch::Sender::new(false),
        wake: Notify::new(),
    });
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
    let mut report = tokio::time::interval(REPORT_INTERVAL);
    report.tick().await;
    let mut finished = 0_u64;
    let mut pause = Duration::ZERO;
    let exit = loop {
        let is_full = sessions.len() >= usize::try_from(context.options.capacity).unwrap_or(0);
        tokio::select! {
            signal = signals.next() => break signal.exit(),
            _ = report.tick() => report_line(&format!(
                "{} of {} sessions run, {finished} left this worker",
                sessions.len(), context.options.capacity
            )),
            Some(_) = sessions.join_next() => finished += 1,
            () = wait_for_work(context, pause), if !is_full => {
                // Not raced against anything: a claim that is not taken up would run nowhere.
                pause = match try_claim(context).await {
                    Ok(Some(claimed)) => {
                        sessions.spawn(run_claimed_session(Arc::clone(context), claimed));
                        Duration::ZERO
                    }
                    Ok(None) => CLAIM_POLL,
                    // The database is away: ask less and less often.
                    Err(error) => {
                        report_line(&format!("nothing can be claimed: {error}"));
                        (pause.max(CLAIM_POLL) * 2).min(CLAIM_POLL_MAX)
                    }
                };
            }
        }
    };
    drains.send_replace(true);
    report_line(&format!("draining: {} sessions run", sessions.len()));
    let drain_end = tokio::time::sleep(context.options.drain);
    tokio::pin!(drain_end);
    while !sessions.is_empty() {
        tokio::select! {
            _ = sessions.join_next() => {}
            () = &mut drain_end, if !*context.is_handing_back.borrow() => {
                context.is_handing_back.send_replace(true);
            }
            _ = signals.next() => drop(context.is_handing_back.send_replace(true)),
        }
    }
    renewer.abort();
    listener.abort();
    let _ = tokio::time::timeout(LEAVE_WAIT, context.store.remove_worker(&context.id)).await;
    report_line("worker ended");
    Ok(exit)
}

/// The queue says when there may be a session; it is looked at now and then anyway, for sessions whose
/// time has come and for those of workers that are gone.
async fn wait_for_work(context: &WorkerContext, pause: Duration) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = context.wake.notified() => {}
    }
}

async fn try_claim(context: &WorkerContext) -> Result<Option<ClaimedRow>, StoreError> {
    let WorkerContext { store, id, options, .. } = context;
    match !context.lease.is_over() && store.has_claimable().await? {
        true => store.claim_session(id, options.attempts_max).await,
        false => Ok(None),
    }
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
            Ok(Ok(Some(held))) => {
                renewals.renewed(began);
                for session in held.iter().filter(|session| session.is_cancelled) {
                    context.notify_control(&session.id);
                }
                context.held.send_replace(HeldSessions { asked_at: began, sessions: held });
                pause = lease / 3;
            }
            // The row was removed: nothing is ours any more.
            Ok(Ok(None)) => {
                context
                    .held
                    .send_replace(HeldSessions { asked_at: began, ..HeldSessions::default() });
                let host = ClaimHolder::current_process().host;
                let began = monotonic::now();
                if store.register_worker(id, &host, options.capacity, lease).await.is_ok() {
                    renewals.renewed(began);
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

/// Hears of new work from the database. Without it everything goes on, by polling.
async fn listen(context: Arc<WorkerContext>) {
    loop {
        if let Ok(mut listener) = PgListener::connect_with(&context.store.pool).await
            && listener.listen_all(["windlass_queue", "windlass_control"]).await.is_ok()
        {
            context.notify_all();
            while let Ok(Some(heard)) = listener.try_recv().await {
                match heard.channel() {
                    "windlass_queue" => context.wake.notify_one(),
                    _ => context.notify_control(heard.payload()),
                }
            }
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

/// Refuses to start without the command, or without a sandbox that works.
fn check_windlass(options: &WorkerOptions) -> Result<(), CommandError> {
    let program = options.windlass.display();
    let output = std::process::Command::new(&options.windlass)
        .args(["doctor", "--offline", "--json"])
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| {
            CommandError::failure(format!(
                "{program} cannot be started: {error}; install `windlass` beside `windlass-fleet`, \
                 or name it with --windlass"
            ))
        })?;
    if options.is_unsandboxed {
        return Ok(());
    }
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match report.pointer("/sandbox/available").and_then(serde_json::Value::as_bool) {
        Some(true) => Ok(()),
        _ => {
            let why = report.pointer("/sandbox/report").and_then(serde_json::Value::as_str);
            Err(CommandError::failure(format!(
                "commands of models would run without a sandbox here: {}; install bubblewrap, or \
                 accept that with --allow-unsandboxed",
                why.unwrap_or("`windlass doctor` does not say why")
            )))
        }
    }
}

fn create_socket_folder() -> Result<PathBuf, CommandError> {
    use std::os::unix::fs::DirBuilderExt;
    let path = std::env::temp_dir().join(format!("wlf-{}", random::generate_name()));
    std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
        CommandError::failure(format!("{} cannot be made: {error}; set TMPDIR", path.display()))
    })?;
    Ok(path)
}

/// One line for the administrator.
pub(crate) fn report_line(words: &str) {
    write_error_line(&format!("windlass-fleet: {words}"));
}

const CONNECTIONS_MAX: u32 = 64;
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
const CLAIM_POLL: Duration = Duration::from_secs(1);
const CLAIM_POLL_MAX: Duration = Duration::from_secs(10);
const LISTEN_PAUSE: Duration = Duration::from_secs(5);
const LEAVE_WAIT: Duration = Duration::from_secs(5);
