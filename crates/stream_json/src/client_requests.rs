//! What we asked the client and are not answered yet.
//!
//! A [`ClientChannel`] is the way for everything that runs beside the desk (hooks, servers inside the client)
//! to ask: it waits for the answer within a limit, and whoever stops waiting withdraws the question.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use windlass_vocabulary::Ticket;

use super::event_loop::EventLoop;
use super::frame::ClientControlRequest;

/// A way to ask the client something.
#[derive(Clone, Debug)]
pub(crate) struct ClientChannel {
    events: mpsc::Sender<ClientChannelEvent>,
}

/// What comes over a port.
#[derive(Debug)]
pub(crate) enum ClientChannelEvent {
    /// Somebody asks.
    NewRequest(Box<ClientControlRequest>, oneshot::Sender<Result<Value, String>>),
    /// Somebody stopped waiting; whose that was is seen at the closed channel.
    RequestDropped,
    /// A tool has decided about a call.
    PermissionDecided(Ticket, Value, Result<Value, String>),
    /// Work for a request of the client's is done; the rest is the desk's to do.
    ControlRequestDone(String, RequestCompletion),
}

/// What is left to do for a request when the waiting is over: it gives the answer.
pub(crate) struct RequestCompletion(pub Box<CompletionFn>);

type CompletionFn = dyn FnOnce(&mut EventLoop) -> Result<Value, String> + Send;

impl std::fmt::Debug for RequestCompletion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Finish")
    }
}

/// Rings when a question is dropped before it was answered.
struct WithdrawOnDrop(mpsc::Sender<ClientChannelEvent>);

impl Drop for WithdrawOnDrop {
    fn drop(&mut self) {
        // When there is no room something else is on its way, which rings as well.
        let _ = self.0.try_send(ClientChannelEvent::RequestDropped);
    }
}

impl ClientChannel {
    /// A port and the desk's end of it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<ClientChannelEvent>) {
        let (questions, inbox) = mpsc::channel(EVENTS_MAX);
        (Self { events: questions }, inbox)
    }

    /// A tool has decided.
    pub(crate) async fn send_decision(
        &self,
        ticket: Ticket,
        asked: Value,
        said: Result<Value, String>,
    ) {
        let _ = self.events.send(ClientChannelEvent::PermissionDecided(ticket, asked, said)).await;
    }

    /// Work for a request is done.
    pub(crate) async fn send_completion(&self, request_id: String, finish: RequestCompletion) {
        // A desk that is gone answers nothing more.
        let _ = self.events.send(ClientChannelEvent::ControlRequestDone(request_id, finish)).await;
    }

    /// Asks, and waits so long.
    pub(crate) async fn ask(
        &self,
        request: ClientControlRequest,
        within: Duration,
    ) -> Result<Value, String> {
        let (answer, answered) = oneshot::channel();
        let _bell = WithdrawOnDrop(self.events.clone());
        let asked = async {
            let question = ClientChannelEvent::NewRequest(Box::new(request), answer);
            self.events.send(question).await.map_err(|_| CLIENT_GONE.to_owned())?;
            answered.await.unwrap_or_else(|_| Err(CLIENT_GONE.to_owned()))
        };
        match tokio::time::timeout(within, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("the client did not answer within {} seconds", within.as_secs())),
        }
    }
}

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) enum RequestWaiter {
    /// The engine: may a call run?
    Permission(Ticket, Value),
    /// Somebody at a port.
    Channel(oneshot::Sender<Result<Value, String>>),
}

/// What is open.
#[derive(Debug, Default)]
pub(crate) struct PendingClientRequests {
    count: u64,
    open: HashMap<String, (RequestWaiter, Option<Instant>)>,
}

impl PendingClientRequests {
    /// Opens a question and gives it a name.
    pub(crate) fn add(&mut self, asker: RequestWaiter, until: Option<Instant>) -> String {
        self.count += 1;
        let name = format!("ask_{}", self.count);
        self.open.insert(name.clone(), (asker, until));
        name
    }

    /// It was answered.
    pub(crate) fn take_answered(&mut self, name: &str) -> Option<RequestWaiter> {
        self.open.remove(name).map(|(asker, _)| asker)
    }

    /// The engine withdrew this one.
    pub(crate) fn withdraw_permission(&mut self, ticket: Ticket) -> Option<String> {
        let is_it = |asker: &RequestWaiter| matches!(asker, RequestWaiter::Permission(it, _) if *it == ticket);
        let name = self.open.iter().find(|(_, (asker, _))| is_it(asker))?.0.clone();
        self.open.remove(&name);
        Some(name)
    }

    /// Those at ports that nobody waits for any more.
    pub(crate) fn take_dropped(&mut self) -> Vec<String> {
        let is_dropped = |asker: &RequestWaiter| matches!(asker, RequestWaiter::Channel(answer) if answer.is_closed());
        let names: Vec<String> = self
            .open
            .iter()
            .filter(|(_, (asker, _))| is_dropped(asker))
            .map(|(name, _)| name.clone())
            .collect();
        names.iter().for_each(|name| drop(self.open.remove(name)));
        names
    }

    /// When the next one is overdue.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.open.values().filter_map(|(_, until)| *until).min()
    }

    /// Those that are overdue now.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Vec<(String, RequestWaiter)> {
        let late = |until: &Option<Instant>| until.is_some_and(|until| until <= now);
        self.take_matching(|(_, until)| late(until))
    }

    /// All of them: nobody will answer.
    pub(crate) fn take_all(&mut self) -> Vec<(String, RequestWaiter)> {
        self.take_matching(|_| true)
    }

    /// Does the engine wait for somebody?
    pub(crate) fn has_open_permission(&self) -> bool {
        self.open.values().any(|(asker, _)| matches!(asker, RequestWaiter::Permission(..)))
    }

    fn take_matching(
        &mut self,
        is_meant: impl Fn(&(RequestWaiter, Option<Instant>)) -> bool,
    ) -> Vec<(String, RequestWaiter)> {
        let names: Vec<String> = self
            .open
            .iter()
            .filter(|(_, entry)| is_meant(entry))
            .map(|(name, _)| name.clone())
            .collect();
        let taken = names.into_iter().filter_map(|name| {
            let (asker, _) = self.open.remove(&name)?;
            Some((name, asker))
        });
        taken.collect()
    }
}

/// Said when no answer can come any more.
pub(crate) const CLIENT_GONE: &str = "the client is gone";
const EVENTS_MAX: usize = 256;
