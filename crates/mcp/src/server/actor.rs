//! The task that owns one server's connection.
//!
//! It connects, fetches the lists, and keeps the connection. After a loss it reconnects with a
//! pause, three times at most until a connection has been stable. All callers that wait for the
//! same attempt get the same result.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::list_cache::CachedServerLists;
use super::{
    McpServerConfig, McpServerContext, McpServerSnapshot, McpServerStatus, McpServerTransport,
    ServerActorCommand,
};
use crate::connection::{
    ElicitationFuture, ElicitationRequest, McpChannel, McpConnection, McpHost, McpListKind,
    ProtocolEra,
};
use crate::connection_change::McpConnectionState;
use crate::elicitation_prompter::PrompterSlot;
use crate::failure::McpFailure;
use crate::transport::header_command::with_command_headers;

/// Limits automatic restarts after losses.
const RESTARTS_MAX: u32 = 3;
/// A connection that lasted this long resets the count of restarts.
const STABLE_AFTER: Duration = Duration::from_secs(300);

type ConnectionWaiter = oneshot::Sender<Result<Arc<McpConnection>, McpFailure>>;

pub(super) struct McpServerActor {
    config: Arc<McpServerConfig>,
    context: McpServerContext,
    commands: mpsc::Receiver<ServerActorCommand>,
    /// Used for notifications of the server.
    command_sender: mpsc::WeakSender<ServerActorCommand>,
    snapshot: watch::Sender<McpServerSnapshot>,
    era: ProtocolEra,
    waiters: Vec<ConnectionWaiter>,
    restarts: u32,
    /// Connect before the first request.
    is_eager: bool,
}

enum DisconnectCause {
    /// The connection was lost, with the reason.
    Lost(String),
    ReconnectRequested,
    Disabled,
    HandleDropped,
}

impl McpServerActor {
    pub(super) fn new(
        config: Arc<McpServerConfig>,
        context: McpServerContext,
        commands: mpsc::Receiver<ServerActorCommand>,
        command_sender: mpsc::WeakSender<ServerActorCommand>,
    ) -> (Self, watch::Receiver<McpServerSnapshot>) {
        let known = context.list_cache.as_ref().and_then(|cache| cache.load(&config));
        let is_eager = !config.is_disabled && known.is_none();
        let status = match (config.is_disabled, &known) {
            (true, _) => McpServerStatus::Disabled,
            (false, Some(_)) => McpServerStatus::Idle,
            (false, None) => McpServerStatus::Pending,
        };
        let known = known.unwrap_or_default();
        let (snapshot, seen) = watch::channel(McpServerSnapshot {
            status,
            error: None,
            tools: known.tools.into(),
            prompts: known.prompts.into(),
            description: known.facts,
            connection: None,
        });
        let era = match config.transport {
            McpServerTransport::InProcess(_) => ProtocolEra::Handshake,
            McpServerTransport::Process(_)
            | McpServerTransport::Http(_)
            | McpServerTransport::Unavailable(_) => match known.is_stateless {
                Some(true) => ProtocolEra::Stateless,
                Some(false) => ProtocolEra::Handshake,
                None => ProtocolEra::Unknown,
            },
        };
        let waiters = Vec::new();
        let actor = Self {
            config,
            context,
            commands,
            command_sender,
            snapshot,
            era,
            waiters,
            restarts: 0,
            is_eager,
        };
        (actor, seen)
    }

    pub(super) async fn run(mut self, end: CancellationToken) {
        let over = end.clone();
        tokio::select! {
            () = end.cancelled() => {}
            () = self.run_loop(&over) => {}
        }
        let connection = self.snapshot.borrow().connection.clone();
        self.update_snapshot(|now| now.connection = None);
        if let Some(connection) = connection {
            connection.hang_up("the session is over");
            connection.wait_until_closed().await;
        }
    }

    async fn run_loop(&mut self, over: &CancellationToken) {
        while !over.is_cancelled() {
            if !std::mem::take(&mut self.is_eager) && !self.wait_until_needed().await {
                return;
            }
            self.update_snapshot(|now| {
                now.status = McpServerStatus::Pending;
                now.error = None;
            });
            let began = Instant::now();
            let connection = match self.connect().await {
                Ok(Some(connection)) => connection,
                Ok(None) => continue,
                Err(failure) => {
                    let took = began.elapsed();
                    let error = failure.to_string();
                    self.tell_change(McpConnectionState::Failed, Some(took), Some(error));
                    self.report_failure(&failure);
                    continue;
                }
            };
            self.tell_change(McpConnectionState::Connected, Some(began.elapsed()), None);
            for waiter in self.waiters.drain(..) {
                let _ = waiter.send(Ok(Arc::clone(&connection)));
            }
            let since = Instant::now();
            let left = self.serve_connection(&connection).await;
            self.update_snapshot(|now| now.connection = None);
            let reason = match &left {
                DisconnectCause::Lost(reason) => Some(reason.clone()),
                DisconnectCause::ReconnectRequested
                | DisconnectCause::Disabled
                | DisconnectCause::HandleDropped => None,
            };
            self.tell_change(McpConnectionState::Disconnected, None, reason);
            if since.elapsed() >= STABLE_AFTER {
                self.restarts = 0;
            }
            match left {
                DisconnectCause::HandleDropped => return,
                DisconnectCause::Disabled => {
                    connection.hang_up("it was switched off");
                    self.update_snapshot(|now| now.status = McpServerStatus::Disabled);
                }
                DisconnectCause::ReconnectRequested => {
                    connection.hang_up("it is connected anew");
                    self.restarts = 0;
                    self.is_eager = true;
                }
                DisconnectCause::Lost(reason) => self.recover_from_loss(reason).await,
            }
        }
    }

    /// Waits until a caller needs the server. Returns `false` when all handles are dropped.
    async fn wait_until_needed(&mut self) -> bool {
        loop {
            match self.commands.recv().await {
                None => return false,
                Some(ServerActorCommand::Connect(waiter)) => {
                    if self.snapshot.borrow().status == McpServerStatus::Disabled {
                        let reason = "it is switched off".to_owned();
                        let _ = waiter.send(Err(McpFailure::Unreachable { reason }));
                        continue;
                    }
                    self.waiters.push(waiter);
                    return true;
                }
                Some(ServerActorCommand::Reconnect(waiter)) => {
                    self.restarts = 0;
                    self.waiters.push(waiter);
                    return true;
                }
                Some(ServerActorCommand::SetEnabled(true)) => return true,
                Some(ServerActorCommand::SetEnabled(false)) => {
                    self.update_snapshot(|now| now.status = McpServerStatus::Disabled);
                }
                Some(ServerActorCommand::RefreshLists) => {}
            }
        }
    }

    /// Connects and fetches the lists. Callers that arrive meanwhile share the result. Returns
    /// `None` if the server was disabled meanwhile.
    async fn connect(&mut self) -> Result<Option<Arc<McpConnection>>, McpFailure> {
        let config = Arc::clone(&self.config);
        let context = self.context.clone();
        let era = self.era;
        let host: Arc<dyn McpHost> = Arc::new(ActorHost {
            host: Arc::clone(&context.host),
            prompter: context.prompter.clone(),
            command_sender: self.command_sender.clone(),
        });
        let mut opening = Box::pin(async move {
            match open_connection(&config, &context, era, Arc::clone(&host)).await {
                // Some older servers answer unknown requests with a success.
                Err(McpFailure::ProtocolViolation { .. }) if era == ProtocolEra::Unknown => {
                    open_connection(&config, &context, ProtocolEra::Handshake, host).await
                }
                opened => opened,
            }
        });
        let began = Instant::now();
        let slow_after = self.context.timeouts.slow_after();
        let mut is_slow = false;
        let (connection, known) = loop {
            tokio::select! {
                biased;
                opened = &mut opening => break opened?,
                () = tokio::time::sleep_until(began + slow_after), if !is_slow => {
                    is_slow = true;
                    let why = self.describe_slow_start(slow_after);
                    self.update_snapshot(|now| now.error = Some(why));
                }
                command = self.commands.recv() => match command {
                    Some(ServerActorCommand::Connect(waiter) | ServerActorCommand::Reconnect(waiter)) => self.waiters.push(waiter),
                    Some(ServerActorCommand::SetEnabled(false)) => {
                        self.update_snapshot(|now| now.status = McpServerStatus::Disabled);
                        self.waiters.clear();
                        return Ok(None);
                    }
                    Some(ServerActorCommand::SetEnabled(true) | ServerActorCommand::RefreshLists) => {}
                    None => return Ok(None),
                },
            }
        };
        self.era = connection.era();
        let connection = Arc::new(connection);
        connection.follow_list_changes();
        self.apply_lists(known, Some(&connection));
        Ok(Some(connection))
    }

    fn describe_slow_start(&self, waited: Duration) -> String {
        let limit = self.context.timeouts.connect_limit(&self.config).as_secs_f64();
        let waited = waited.as_secs_f64();
        match self.config.installs_first() {
            true => format!(
                "still starting after {waited:.1} s, perhaps it is being installed; it has {limit:.0} s"
            ),
            false => format!("still starting after {waited:.1} s; it has {limit:.0} s"),
        }
    }

    /// Publishes the lists, and stores them for the next session.
    fn apply_lists(&mut self, known: CachedServerLists, connection: Option<&Arc<McpConnection>>) {
        if let Some(cache) = &self.context.list_cache {
            cache.store(&self.config, &known);
        }
        self.update_snapshot(|now| {
            now.tools = known.tools.into();
            now.prompts = known.prompts.into();
            now.description = known.facts;
            if let Some(connection) = connection {
                now.status = McpServerStatus::Connected;
                now.error = None;
                now.connection = Some(Arc::clone(connection));
            }
        });
    }

    async fn serve_connection(&mut self, connection: &Arc<McpConnection>) -> DisconnectCause {
        loop {
            tokio::select! {
                biased;
                reason = connection.wait_until_gone() => return DisconnectCause::Lost(reason),
                command = self.commands.recv() => match command {
                    None => return DisconnectCause::HandleDropped,
                    Some(ServerActorCommand::Connect(waiter)) => drop(waiter.send(Ok(Arc::clone(connection)))),
                    Some(ServerActorCommand::Reconnect(waiter)) => {
                        self.waiters.push(waiter);
                        return DisconnectCause::ReconnectRequested;
                    }
                    Some(ServerActorCommand::SetEnabled(true)) => {}
                    Some(ServerActorCommand::SetEnabled(false)) => return DisconnectCause::Disabled,
                    Some(ServerActorCommand::RefreshLists) => {
                        let limit = self.context.timeouts.connect;
                        if let Ok(known) = fetch_lists(connection, limit).await {
                            self.apply_lists(known, None);
                        }
                    }
                },
            }
        }
    }

    /// After a loss: pauses and reconnects, or gives up.
    async fn recover_from_loss(&mut self, reason: String) {
        self.restarts += 1;
        if self.restarts > RESTARTS_MAX
            || matches!(self.config.transport, McpServerTransport::InProcess(_))
        {
            let reason = match self.restarts {
                1 => reason,
                times => format!("{reason} (lost {times} times)"),
            };
            self.report_failure(&McpFailure::Gone { reason });
            return;
        }
        self.update_snapshot(|now| {
            now.status = McpServerStatus::Pending;
            now.error = Some(reason);
        });
        let pause = self.context.timeouts.restart_pause * 2u32.pow(self.restarts - 1);
        let until = Instant::now() + pause;
        while let Ok(command) = tokio::time::timeout_at(until, self.commands.recv()).await {
            match command {
                Some(
                    ServerActorCommand::Connect(waiter) | ServerActorCommand::Reconnect(waiter),
                ) => self.waiters.push(waiter),
                Some(ServerActorCommand::SetEnabled(false)) => {
                    self.update_snapshot(|now| now.status = McpServerStatus::Disabled);
                    self.waiters.clear();
                    return;
                }
                Some(ServerActorCommand::SetEnabled(true) | ServerActorCommand::RefreshLists) => {}
                None => return,
            }
        }
        self.is_eager = true;
    }

    fn report_failure(&mut self, failure: &McpFailure) {
        let status = match failure {
            McpFailure::NeedsLogin { .. } => McpServerStatus::NeedsLogin,
            McpFailure::TimedOut { .. }
            | McpFailure::Refused { .. }
            | McpFailure::Gone { .. }
            | McpFailure::Unreachable { .. }
            | McpFailure::ProtocolViolation { .. }
            | McpFailure::Cancelled => McpServerStatus::Failed,
        };
        self.update_snapshot(|now| {
            now.status = status;
            now.error = Some(failure.to_string());
        });
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(Err(failure.clone()));
        }
    }

    fn tell_change(
        &self,
        state: McpConnectionState,
        took: Option<Duration>,
        error: Option<String>,
    ) {
        self.context.connection_listener.tell(&self.config, state, took, error);
    }

    fn update_snapshot(&self, change: impl FnOnce(&mut McpServerSnapshot)) {
        self.snapshot.send_modify(change);
    }
}

/// Forwards to the session's host, and refreshes the lists on changes.
struct ActorHost {
    host: Arc<dyn McpHost>,
    prompter: PrompterSlot,
    command_sender: mpsc::WeakSender<ServerActorCommand>,
}

impl McpHost for ActorHost {
    fn roots(&self) -> Vec<std::path::PathBuf> {
        self.host.roots()
    }

    fn can_elicit(&self) -> bool {
        self.prompter.is_available() || self.host.can_elicit()
    }

    fn elicit(&self, question: ElicitationRequest) -> ElicitationFuture {
        match self.prompter.is_available() {
            true => self.prompter.elicit(question),
            false => self.host.elicit(question),
        }
    }

    fn elicitation_completed(&self, id: &str) {
        self.prompter.complete(id);
        self.host.elicitation_completed(id);
    }

    fn list_changed(&self, list: McpListKind) {
        // If the queue is full it contains a refresh already, or the server is closing.
        if let Some(command_sender) = self.command_sender.upgrade() {
            let _ = command_sender.try_send(ServerActorCommand::RefreshLists);
        }
        self.host.list_changed(list);
    }
}

async fn open_connection(
    config: &McpServerConfig,
    context: &McpServerContext,
    era: ProtocolEra,
    host: Arc<dyn McpHost>,
) -> Result<(McpConnection, CachedServerLists), McpFailure> {
    // The semaphore is closed only with the runtime.
    let turn = context.start_slots.acquire().await;
    let mut opening = std::pin::pin!(open_in_turn(config, context, era, host));
    // A server that is being installed takes minutes and must not hold up the others.
    tokio::select! {
        biased;
        opened = &mut opening => return opened,
        () = tokio::time::sleep(context.timeouts.slow_after()) => drop(turn),
    }
    opening.await
}

async fn open_in_turn(
    config: &McpServerConfig,
    context: &McpServerContext,
    era: ProtocolEra,
    host: Arc<dyn McpHost>,
) -> Result<(McpConnection, CachedServerLists), McpFailure> {
    let limit = context.timeouts.connect_limit(config);
    let name = config.name.as_str();
    config
        .command_line
        .check()
        .map_err(|why| McpFailure::Unreachable { reason: format!("it {why}") })?;
    let http;
    let channel = match &config.transport {
        McpServerTransport::Process(process) => {
            McpChannel::Process { config: process, tool_context: &context.tool_context }
        }
        McpServerTransport::Http(configured) => {
            http = with_command_headers(configured, &context.tool_context).await?;
            match &context.login_store {
                // Credentials in the configuration take precedence over those of a login.
                Some(store) if !http.is_authorized() => {
                    let loading =
                        windlass_tool::running_time::timeout(limit, store.load_access(&http.url))
                            .await;
                    match loading.unwrap_or(Ok(None))? {
                        Some(access) => McpChannel::HttpAuthorized(&http, access),
                        None => McpChannel::Http(&http),
                    }
                }
                Some(_) | None => McpChannel::Http(&http),
            }
        }
        McpServerTransport::InProcess(in_process) => {
            let (outgoing, incoming) = in_process.open_channels();
            McpChannel::InProcess { outgoing, incoming }
        }
        McpServerTransport::Unavailable(reason) => {
            return Err(McpFailure::Unreachable { reason: reason.clone() });
        }
    };
    let connection = McpConnection::open(name, channel, era, host, limit).await?;
    // The server runs by now, so the shorter limit without installation applies.
    let known = fetch_lists(&connection, context.timeouts.connect).await?;
    Ok((connection, known))
}

async fn fetch_lists(
    connection: &McpConnection,
    limit: Duration,
) -> Result<CachedServerLists, McpFailure> {
    let mut tools = connection.list_tools(limit).await?;
    // Servers may list in any order. Ours must be stable, or it would invalidate the prompt cache.
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools.dedup_by(|one, other| one.name == other.name);
    // A server that cannot list prompts is still usable.
    let prompts = connection.list_prompts(limit).await.unwrap_or_default();
    let is_stateless = Some(connection.era() == ProtocolEra::Stateless);
    Ok(CachedServerLists {
        tools,
        prompts,
        facts: Some(connection.description().clone()),
        is_stateless,
    })
}
