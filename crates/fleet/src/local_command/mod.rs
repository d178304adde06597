//! `windlass --store URL …`: an ordinary command of `windlass` on sessions that a store keeps.
//!
//! `windlass` reads journals from files, so the sessions it may need are written to a folder of
//! their own first. A run sends what it writes through a relay, as a session of a worker does: it
//! holds a claim under a lease, and a guard ends it, with its tools, before the lease does. The
//! files of the working directory stay on this host; only a worker hands them over.

mod command_kind;
mod local_journals;
mod session_folder;
mod store_view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::{ExitSignal, SignalListener};
use windlass_host::user_directories::{STORE_RELAY_VARIABLE, STORE_SESSIONS_VARIABLE};
use windlass_journal::ClaimHolder;

use self::command_kind::CommandKind;
use self::local_journals::LocalJournals;
use self::session_folder::SessionFolder;
use self::store_view::{StoreView, follow_store};
use crate::live::AbortedOnDrop;
use crate::postgres_journal_store::LOCAL_TENANT;
use crate::store::{FleetStore, TenantChange};
use crate::worker::lease_clock::LeaseRenewals;
use crate::worker::relay::{SessionSocket, send_deadlines, serve_relay};
use crate::worker::{create_socket_folder, monotonic, process_tree, report_line};

/// Runs `windlass` with these arguments on the sessions of a store.
pub async fn run(
    store_url: &str,
    windlass: PathBuf,
    arguments: Vec<OsString>,
) -> Result<Exit, CommandError> {
    let failed = |words: String| CommandError::failure(words);
    let kind = CommandKind::of(&arguments)?;
    let store = FleetStore::open(store_url, CONNECTIONS).await;
    let store = store.map_err(|error| failed(error.to_string()))?;
    let folder = SessionFolder::make()?;
    folder.export(&store, &arguments).await.map_err(failed)?;
    let run = LocalCommand { store, windlass, arguments, folder };
    match kind {
        CommandKind::Session => run.run_session().await,
        CommandKind::Look => run.look().await,
        CommandKind::View => run.view().await,
        CommandKind::Change => {
            let exit = run.look().await?;
            if exit == Exit::SUCCESS {
                run.folder.import_titles(&run.store).await.map_err(failed)?;
                run.folder.import_deletions(&run.store).await.map_err(failed)?;
            }
            Ok(exit)
        }
    }
}

struct LocalCommand {
    store: FleetStore,
    windlass: PathBuf,
    arguments: Vec<OsString>,
    folder: SessionFolder,
}

impl LocalCommand {
    /// Runs a command that writes no journal through a relay.
    async fn look(&self) -> Result<Exit, CommandError> {
        let mut signals = SignalListener::listen()?;
        let mut command = Command::new(&self.windlass);
        self.set_environment(command.args(&self.arguments));
        let mut child = self.spawn(&mut command)?;
        wait_for_exit(&mut child, &mut signals, |child| child.id()).await
    }

    /// Runs the viewer, and keeps the files that it shows up to date.
    async fn view(&self) -> Result<Exit, CommandError> {
        let mut view = StoreView::new(self.folder.make_project().map_err(CommandError::failure)?);
        view.refresh(&self.store).await.map_err(CommandError::failure)?;
        let following = follow_store(view, self.store.clone());
        let _following = AbortedOnDrop(tokio::spawn(following));
        self.look().await
    }

    async fn run_session(&self) -> Result<Exit, CommandError> {
        let failed = |words: String| CommandError::failure(words);
        let mut signals = SignalListener::listen()?;
        let worker = random::generate_uuid();
        let host = ClaimHolder::current_process().host;
        let began = monotonic::now();
        let registered = async {
            self.store.put_tenant(LOCAL_TENANT, &TenantChange::default()).await?;
            self.store.register_worker(&worker, &host, 0, LEASE).await
        };
        registered.await.map_err(|error| failed(error.to_string()))?;
        let (renewals, lease) = LeaseRenewals::new(LEASE, began);
        let sockets = RemovedOnDrop(create_socket_folder()?);
        let path = sockets.0.join("relay");
        let words = |error: std::io::Error| failed(format!("its process: {error}"));
        let socket = SessionSocket::bind(&path).map_err(words)?;
        let mut command = Command::new(std::env::current_exe().map_err(words)?);
        command.args(["guard", "--foreground", "--socket"]).arg(&path).arg("--");
        self.set_environment(command.arg(&self.windlass).args(&self.arguments));
        let mut child = self.spawn(command.env(STORE_RELAY_VARIABLE, &path))?;
        let guard = child.id().unwrap_or_default();
        let connection = socket.accept_guard(guard).await.map_err(words)?;
        let journals = LocalJournals::new(
            self.store.clone(),
            worker.clone(),
            lease.clone(),
            self.folder.sessions(),
        );
        let journals = Arc::new(tokio::sync::Mutex::new(journals));
        // Aborted when this function returns; the guard then ends what is left of the session.
        let mut tasks = JoinSet::new();
        tasks.spawn(send_deadlines(connection, lease));
        tasks.spawn(renew_lease(self.store.clone(), worker.clone(), renewals));
        tasks.spawn(accept_journals(socket, guard, Arc::clone(&journals)));
        let ended = wait_for_exit(&mut child, &mut signals, |_| find_session(guard)).await;
        // What the session wrote last was answered before it ended, so nothing is cut off.
        tasks.shutdown().await;
        let release = async {
            journals.lock().await.release().await;
            self.store.remove_worker(&worker).await
        };
        // If this fails, the claims end with their lease.
        let _ = tokio::time::timeout(RELEASE_WAIT, release).await;
        let named =
            tokio::time::timeout(RELEASE_WAIT, self.folder.import_titles(&self.store)).await;
        if let Ok(Err(error)) = named {
            report_line(&format!("the session's name is not in the store: {error}"));
        }
        ended
    }

    fn set_environment(&self, command: &mut Command) {
        command.env(STORE_SESSIONS_VARIABLE, self.folder.sessions());
        // Tools of a session must not have access to the store.
        command.env_remove("WINDLASS_STORE").env_remove("WINDLASS_LIVE");
    }

    fn spawn(&self, command: &mut Command) -> Result<Child, CommandError> {
        command.stdin(Stdio::inherit()).kill_on_drop(true).spawn().map_err(|error| {
            let program = self.windlass.display();
            CommandError::failure(format!("{program} cannot be started: {error}"))
        })
    }
}

/// Waits for the child, and passes on signals that only this process received.
async fn wait_for_exit(
    child: &mut Child,
    signals: &mut SignalListener,
    find_target: impl Fn(&Child) -> Option<u32>,
) -> Result<Exit, CommandError> {
    // The terminal sends an interrupt to all processes of the group, the child included.
    let has_terminal = std::fs::File::open("/dev/tty").is_ok();
    loop {
        let signal = tokio::select! {
            status = child.wait() => {
                let status = status.map_err(|error| CommandError::failure(error.to_string()))?;
                return Ok(Exit::from_exit_status(status));
            }
            signal = signals.next() => signal,
        };
        let signal = match signal {
            ExitSignal::Interrupt if has_terminal => continue,
            ExitSignal::Interrupt => rustix::process::Signal::INT,
            ExitSignal::Terminate => rustix::process::Signal::TERM,
            ExitSignal::HangUp => rustix::process::Signal::HUP,
        };
        let target = find_target(child).and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = target.and_then(rustix::process::Pid::from_raw) {
            // Fails only if it has just ended.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// The session's process: the first child of the guard.
fn find_session(guard: u32) -> Option<u32> {
    process_tree::find_children(guard).into_iter().min()
}

/// Serves the journals of the session's process, which connects once for each session it opens.
async fn accept_journals(
    socket: SessionSocket,
    guard: u32,
    journals: Arc<tokio::sync::Mutex<LocalJournals>>,
) {
    let mut connections = JoinSet::new();
    let mut session = None;
    loop {
        // Programs that the session starts may not write its journal: they come after it, and
        // their pids differ.
        let known = session;
        let is_session = move |peer: u32| match known {
            Some(pid) => peer == pid,
            None => process_tree::is_descendant(peer, guard),
        };
        let accepted = socket.accept_journal_from(is_session).await;
        let Ok((stream, pid)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        session = Some(pid);
        connections.spawn(serve_relay(stream, Arc::clone(&journals)));
    }
}

async fn renew_lease(store: FleetStore, worker: String, renewals: LeaseRenewals) {
    let mut pause = LEASE / 3;
    loop {
        tokio::time::sleep(pause).await;
        let began = monotonic::now();
        let call = store.renew_worker(&worker, LEASE, false);
        pause = match tokio::time::timeout(LEASE / 3, call).await {
            Ok(Ok(Some(_))) => {
                renewals.record_renewal(began);
                LEASE / 3
            }
            Ok(Ok(None)) => {
                report_line("the store does not know this command any more");
                return std::future::pending().await;
            }
            Ok(Err(error)) => {
                report_line(&format!("the lease was not renewed: {error}"));
                LEASE / 12
            }
            Err(_) => {
                report_line("the lease was not renewed: the database does not answer");
                LEASE / 12
            }
        };
    }
}

/// A folder that is removed on drop.
pub(crate) struct RemovedOnDrop(pub(crate) PathBuf);

impl RemovedOnDrop {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.path());
    }
}

const CONNECTIONS: u32 = 4;
const LEASE: Duration = Duration::from_secs(30);
const RELEASE_WAIT: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
