//! Requests to the client that are not answered yet.
//!
//! Everything outside the event loop (hooks, MCP servers inside the client) asks over a
//! [`ClientChannel`]: it waits for the answer within a limit, and dropping the future withdraws the
//! request.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use windlass_vocabulary::Ticket;

use crate::frame::ClientControlRequest;

/// Sends requests to the client from outside the event loop.
#[derive(Clone, Debug)]
pub(crate) struct ClientChannel {
    events: mpsc::Sender<ClientChannelEvent>,
}

/// What arrives in the event loop over a channel.
#[derive(Debug)]
pub(crate) enum ClientChannelEvent {
    NewRequest {
        request: Box<ClientControlRequest>,
        answer: oneshot::Sender<Result<Value, String>>,
    },
    /// A caller stopped waiting; which one is seen by its closed channel.
    RequestDropped,
    /// An MCP tool has decided about a call with this input.
    PermissionDecided { ticket: Ticket, input: Value, decision: Result<Value, String> },
}

/// Sends requests to the client, and tracks the pending ones.
pub(crate) struct ClientRequests {
    pub channel: ClientChannel,
    pub channel_events: mpsc::Receiver<ClientChannelEvent>,
    pub pending: PendingClientRequests,
}

impl ClientRequests {
    pub(crate) fn new() -> Self {
        let (events, channel_events) = mpsc::channel(EVENTS_MAX);
        Self {
            channel: ClientChannel { events },
            channel_events,
            pending: PendingClientRequests::default(),
        }
    }
}

/// Tells the event loop when a request is dropped before it was answered.
struct WithdrawOnDrop(mpsc::Sender<ClientChannelEvent>);

impl Drop for WithdrawOnDrop {
    fn drop(&mut self) {
        // If the channel is full another event is pending, which has the same effect.
        let _ = self.0.try_send(ClientChannelEvent::RequestDropped);
    }
}

impl ClientChannel {
    pub(crate) async fn send_decision(
        &self,
        ticket: Ticket,
        input: Value,
        decision: Result<Value, String>,
    ) {
        let event = ClientChannelEvent::PermissionDecided { ticket, input, decision };
        // If the event loop has ended, the event is dropped.
        let _ = self.events.send(event).await;
    }

    pub(crate) async fn ask(
        &self,
        request: ClientControlRequest,
        within: Duration,
    ) -> Result<Value, String> {
        let (answer, answered) = oneshot::channel();
        let _withdraw = WithdrawOnDrop(self.events.clone());
        let response = async {
            let event = ClientChannelEvent::NewRequest { request: Box::new(request), answer };
            self.events.send(event).await.map_err(|_| CLIENT_GONE.to_owned())?;
            answered.await.unwrap_or_else(|_| Err(CLIENT_GONE.to_owned()))
        };
        match tokio::time::timeout(within, response).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("the client did not answer within {} seconds", within.as_secs())),
        }
    }
}

#[derive(Debug)]
pub(crate) enum RequestWaiter {
    /// The engine: may a call run?
    Permission { ticket: Ticket, input: Value },
    /// A caller outside the event loop.
    Channel(oneshot::Sender<Result<Value, String>>),
}

#[derive(Debug, Default)]
pub(crate) struct PendingClientRequests {
    count: u64,
    open: HashMap<String, (RequestWaiter, Option<Instant>)>,
}

impl PendingClientRequests {
    /// Registers a request and returns its id.
    pub(crate) fn add(&mut self, waiter: RequestWaiter, until: Option<Instant>) -> String {
        self.count += 1;
        let name = format!("ask_{}", self.count);
        self.open.insert(name.clone(), (waiter, until));
        name
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn take_answered(&mut self, name: &str) -> Option<RequestWaiter> {
        self.open.remove(name).map(|(waiter, _)| waiter)
    }

    pub(crate) fn withdraw_permission(&mut self, ticket: Ticket) -> Option<String> {
        let is_it = |waiter: &RequestWaiter| matches!(waiter, RequestWaiter::Permission { ticket: it, .. } if *it == ticket);
        let name = self.open.iter().find(|(_, (waiter, _))| is_it(waiter))?.0.clone();
        self.open.remove(&name);
        Some(name)
    }

    /// Removes requests whose caller stopped waiting, and returns their ids.
    pub(crate) fn take_dropped(&mut self) -> Vec<String> {
        let is_dropped = |waiter: &RequestWaiter| matches!(waiter, RequestWaiter::Channel(answer) if answer.is_closed());
        let names: Vec<String> = self
            .open
            .iter()
            .filter(|(_, (waiter, _))| is_dropped(waiter))
            .map(|(name, _)| name.clone())
            .collect();
        names.iter().for_each(|name| drop(self.open.remove(name)));
        names
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.open.values().filter_map(|(_, until)| *until).min()
    }

    pub(crate) fn take_overdue(&mut self, now: Instant) -> Vec<(String, RequestWaiter)> {
        let late = |until: &Option<Instant>| until.is_some_and(|until| until <= now);
        self.take_matching(|(_, until)| late(until))
    }

    pub(crate) fn take_all(&mut self) -> Vec<(String, RequestWaiter)> {
        self.take_matching(|_| true)
    }

    pub(crate) fn has_open_permission(&self) -> bool {
        self.open.values().any(|(waiter, _)| matches!(waiter, RequestWaiter::Permission { .. }))
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
            let (waiter, _) = self.open.remove(&name)?;
            Some((name, waiter))
        });
        taken.collect()
    }
}

/// The answer when none can come any more.
pub(crate) const CLIENT_GONE: &str = "the client is gone";
const EVENTS_MAX: usize = 256;
