//! The task that owns one server's connection.
//!
//! It connects, fetches the lists, and stays: a connection that breaks is made again after a pause,
//! three times at most until it has held for a while. Everybody who needs the server while it is
//! being connected gets the same answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::memory::Known;
use super::{Command, Common, ServerOrder, Snapshot, Status, Way};
use crate::connection::{Asking, Channel, Connection, Era, Host, List, Question};
use crate::failure::Failure;
use crate::person::Seat;
use crate::transport::said_headers::helped;

/// How often a server that was lost is started again by itself.
const RESTARTS_MAX: u32 = 3;
/// A connection that held this long is a good one.
const HELD: Duration = Duration::from_secs(300);

type Waiter = oneshot::Sender<Result<Arc<Connection>, Failure>>;

pub(super) struct Actor {
    order: Arc<ServerOrder>,
    common: Common,
    commands: mpsc::Receiver<Command>,
    /// For what the server says of its own accord.
    own: mpsc::WeakSender<Command>,
    snapshot: watch::Sender<Snapshot>,
    era: Era,
    waiters: Vec<Waiter>,
    restarts: u32,
    /// Connect without being asked.
    is_eager: bool,
}

/// What ended a stay.
enum Left {
    /// The connection is gone; why.
    Lost(String),
    /// It is wanted anew.
    Renewed,
    /// Switched off.
    Off,
    /// Nobody is left.
    Over,
}

impl Actor {
    pub(super) fn new(
        order: Arc<ServerOrder>,
        common: Common,
        commands: mpsc::Receiver<Command>,
        own: mpsc::WeakSender<Command>,
    ) -> (Self, watch::Receiver<Snapshot>) {
        let known = common.memory.as_ref().and_then(|memory| memory.recall(&order));
        let is_eager = !order.is_disabled && known.is_none();
        let status = match (order.is_disabled, &known) {
            (true, _) => Status::Disabled,
            (false, Some(_)) => Status::Idle,
            (false, None) => Status::Pending,
        };
        let known = known.unwrap_or_default();
        let (snapshot, seen) = watch::channel(Snapshot {
            status,
            error: None,
            tools: known.tools.into(),
            prompts: known.prompts.into(),
            facts: known.facts,
            connection: None,
        });
        let era = match order.way {
            Way::Inside(_) => Era::Handshake,
            _ if known.is_stateless == Some(true) => Era::Stateless,
            _ if known.is_stateless == Some(false) => Era::Handshake,
            _ => Era::Unknown,
        };
        let waiters = Vec::new();
        let actor =
            Self { order, common, commands, own, snapshot, era, waiters, restarts: 0, is_eager };
        (actor, seen)
    }

    pub(super) async fn run(mut self, end: CancellationToken) {
        let over = end.clone();
        tokio::select! {
            () = end.cancelled() => {}
            () = self.live(&over) => {}
        }
        let connection = self.snapshot.borrow().connection.clone();
        self.change(|now| now.connection = None);
        if let Some(connection) = connection {
            connection.hang_up("the session is over");
            connection.until_closed().await;
        }
    }

    async fn live(&mut self, over: &CancellationToken) {
        while !over.is_cancelled() {
            if !std::mem::take(&mut self.is_eager) && !self.wanted().await {
                return;
            }
            self.change(|now| (now.status, now.error) = (Status::Pending, None));
            let connection = match self.connect().await {
                Ok(Some(connection)) => connection,
                Ok(None) => continue,
                Err(failure) => {
                    self.fail(&failure);
                    continue;
                }
            };
            for waiter in self.waiters.drain(..) {
                let _ = waiter.send(Ok(Arc::clone(&connection)));
            }
            let since = Instant::now();
            let left = self.stay(&connection).await;
            self.change(|now| now.connection = None);
            if since.elapsed() >= HELD {
                self.restarts = 0;
            }
            match left {
                Left::Over => return,
                Left::Off => {
                    connection.hang_up("it was switched off");
                    self.change(|now| now.status = Status::Disabled);
                }
                Left::Renewed => {
                    connection.hang_up("it is connected anew");
                    (self.restarts, self.is_eager) = (0, true);
                }
                Left::Lost(reason) => self.lost(reason).await,
            }
        }
    }

    /// Waits until somebody needs it. Says whether anybody is left.
    async fn wanted(&mut self) -> bool {
        loop {
            match self.commands.recv().await {
                None => return false,
                Some(Command::Need(waiter)) => {
                    if self.snapshot.borrow().status == Status::Disabled {
                        let reason = "it is switched off".to_owned();
                        let _ = waiter.send(Err(Failure::Unreachable { reason }));
                        continue;
                    }
                    self.waiters.push(waiter);
                    return true;
                }
                Some(Command::Renew(waiter)) => {
                    self.restarts = 0;
                    self.waiters.push(waiter);
                    return true;
                }
                Some(Command::Switch(true)) => return true,
                Some(Command::Switch(false)) => {
                    self.change(|now| now.status = Status::Disabled);
                }
                Some(Command::Refresh) => {}
            }
        }
    }

    /// Connects and fetches the lists. Who asks meanwhile waits with the others. `None` when it was
    /// switched off meanwhile.
    async fn connect(&mut self) -> Result<Option<Arc<Connection>>, Failure> {
        let (order, common) = (Arc::clone(&self.order), self.common.clone());
        let (era, own) = (self.era, self.own.clone());
        let mut opening = Box::pin(async move {
            let (host, seat) = (Arc::clone(&common.host), common.seat.clone());
            let host = Arc::new(Own { host, seat, own });
            let host: Arc<dyn Host> = host;
            match open(&order, &common, era, Arc::clone(&host)).await {
                // Some older servers answer what they do not know as if they did.
                Err(Failure::Nonsense { .. }) if era == Era::Unknown => {
                    open(&order, &common, Era::Handshake, host).await
                }
                opened => opened,
            }
        });
        let (connection, known) = loop {
            tokio::select! {
                biased;
                opened = &mut opening => break opened?,
                command = self.commands.recv() => match command {
                    Some(Command::Need(waiter) | Command::Renew(waiter)) => self.waiters.push(waiter),
                    Some(Command::Switch(false)) => {
                        self.change(|now| now.status = Status::Disabled);
                        self.waiters.clear();
                        return Ok(None);
                    }
                    Some(Command::Switch(true) | Command::Refresh) => {}
                    None => return Ok(None),
                },
            }
        };
        self.era = connection.era();
        let connection = Arc::new(connection);
        connection.follow_changes();
        self.take(known, Some(&connection));
        Ok(Some(connection))
    }

    /// Shows what is known now, and keeps it for the next session.
    fn take(&mut self, known: Known, connection: Option<&Arc<Connection>>) {
        if let Some(memory) = &self.common.memory {
            memory.keep(&self.order, &known);
        }
        self.change(|now| {
            (now.tools, now.prompts) = (known.tools.into(), known.prompts.into());
            now.facts = known.facts;
            if let Some(connection) = connection {
                now.status = Status::Connected;
                now.connection = Some(Arc::clone(connection));
            }
        });
    }

    async fn stay(&mut self, connection: &Arc<Connection>) -> Left {
        loop {
            tokio::select! {
                biased;
                reason = connection.until_gone() => return Left::Lost(reason),
                command = self.commands.recv() => match command {
                    None => return Left::Over,
                    Some(Command::Need(waiter)) => drop(waiter.send(Ok(Arc::clone(connection)))),
                    Some(Command::Renew(waiter)) => {
                        self.waiters.push(waiter);
                        return Left::Renewed;
                    }
                    Some(Command::Switch(true)) => {}
                    Some(Command::Switch(false)) => return Left::Off,
                    Some(Command::Refresh) => {
                        let limit = self.common.patience.connect;
                        if let Ok(known) = lists(connection, limit).await {
                            self.take(known, None);
                        }
                    }
                },
            }
        }
    }

    /// After a loss: a pause and another try, or no more.
    async fn lost(&mut self, reason: String) {
        self.restarts += 1;
        if self.restarts > RESTARTS_MAX || matches!(self.order.way, Way::Inside(_)) {
            let reason = match self.restarts {
                1 => reason,
                times => format!("{reason} (lost {times} times)"),
            };
            self.fail(&Failure::Gone { reason });
            return;
        }
        self.change(|now| (now.status, now.error) = (Status::Pending, Some(reason)));
        let pause = self.common.patience.restart * 2u32.pow(self.restarts - 1);
        let until = Instant::now() + pause;
        while let Ok(command) = tokio::time::timeout_at(until, self.commands.recv()).await {
            match command {
                Some(Command::Need(waiter) | Command::Renew(waiter)) => self.waiters.push(waiter),
                Some(Command::Switch(false)) => {
                    self.change(|now| now.status = Status::Disabled);
                    self.waiters.clear();
                    return;
                }
                Some(Command::Switch(true) | Command::Refresh) => {}
                None => return,
            }
        }
        self.is_eager = true;
    }

    fn fail(&mut self, failure: &Failure) {
        let status = match failure {
            Failure::NeedsLogin { .. } => Status::NeedsLogin,
            _ => Status::Failed,
        };
        self.change(|now| (now.status, now.error) = (status, Some(failure.to_string())));
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(Err(failure.clone()));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        self.snapshot.send_modify(change);
    }
}

/// The session's host, and an ear for changes.
struct Own {
    host: Arc<dyn Host>,
    seat: Seat,
    own: mpsc::WeakSender<Command>,
}

impl Host for Own {
    fn roots(&self) -> Vec<std::path::PathBuf> {
        self.host.roots()
    }

    fn can_ask(&self) -> bool {
        self.seat.is_kept() || self.host.can_ask()
    }

    fn ask(&self, question: Question) -> Asking {
        match self.seat.is_kept() {
            true => self.seat.ask(question),
            false => self.host.ask(question),
        }
    }

    fn changed(&self, list: List) {
        // A full queue holds a refresh already, or the server has other worries.
        if let Some(own) = self.own.upgrade() {
            let _ = own.try_send(Command::Refresh);
        }
        self.host.changed(list);
    }
}

async fn open(
    order: &ServerOrder,
    common: &Common,
    era: Era,
    host: Arc<dyn Host>,
) -> Result<(Connection, Known), Failure> {
    // Closed only with the runtime.
    let _turn = common.starting.acquire().await;
    let limit = common.patience.connect;
    let name = order.name.as_str();
    let helped = match &order.way {
        Way::Http(http) => Some(helped(http, &common.surroundings).await?),
        _ => None,
    };
    let channel = match (&order.way, &helped) {
        (Way::Process(order), _) => Channel::Process { order, surroundings: &common.surroundings },
        // What is written for this server goes before what a login gave.
        (Way::Http(_), None) => return Err(Failure::Cancelled),
        (Way::Http(_), Some(order)) => match &common.vault {
            None => Channel::Http(order),
            Some(_) if order.is_authorized() => Channel::Http(order),
            Some(vault) => {
                let asking = tokio::time::timeout(limit, vault.pass(&order.url)).await;
                match asking.unwrap_or(Ok(None))? {
                    Some(pass) => Channel::HttpAs(order, pass),
                    None => Channel::Http(order),
                }
            }
        },
        (Way::Inside(inside), _) => {
            let (outgoing, incoming) = inside.open();
            Channel::Values { outgoing, incoming }
        }
        (Way::None(reason), _) => return Err(Failure::Unreachable { reason: reason.clone() }),
    };
    let connection = Connection::open(name, channel, era, host, limit).await?;
    let known = lists(&connection, limit).await?;
    Ok((connection, known))
}

async fn lists(connection: &Connection, limit: Duration) -> Result<Known, Failure> {
    let mut tools = connection.tools(limit).await?;
    // Servers list in any order; ours must not change between two sessions.
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools.dedup_by(|one, other| one.name == other.name);
    // Prompts are a convenience; a server that cannot list them is still good.
    let prompts = connection.prompts(limit).await.unwrap_or_default();
    let is_stateless = Some(connection.era() == Era::Stateless);
    Ok(Known { tools, prompts, facts: Some(connection.facts().clone()), is_stateless })
}
