//! A filter between transport and protocol: drops unexpected messages and limits the rate.
//!
//! An answer to a request that was never sent counts as a bad message. Notifications over the rate are dropped,
//! except that the first of each kind of change in a second always comes through. The filter does
//! not interpret messages.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::Instant;

use super::health::ConnectionHealth;

/// Notifications accepted within one second.
const RATE_MAX: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// Limits how many cancelled requests are remembered, whose late responses must not count as bad.
const CANCELLED_MAX: usize = 1_000;

pub(crate) struct FilteredTransport<T> {
    inner: T,
    health: Arc<ConnectionHealth>,
    requests: Arc<Mutex<SentRequests>>,
    window: RateWindow,
}

#[derive(Default)]
struct SentRequests {
    open: HashSet<RequestId>,
    cancelled: HashSet<RequestId>,
}

struct RateWindow {
    began: Instant,
    taken: u32,
    changes: HashSet<std::mem::Discriminant<ServerNotification>>,
}

impl<T> FilteredTransport<T> {
    pub(crate) fn new(inner: T, health: Arc<ConnectionHealth>) -> Self {
        let window = RateWindow { began: Instant::now(), taken: 0, changes: HashSet::new() };
        Self { inner, health, requests: Arc::default(), window }
    }

    /// Whether to pass the message on. `None` means that the connection must be closed.
    fn check_message(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> Option<bool> {
        let goes_on = match message {
            JsonRpcMessage::Response(response) => return self.match_response(&response.id),
            JsonRpcMessage::Error(error) => match &error.id {
                Some(id) => return self.match_response(id),
                None => true,
            },
            JsonRpcMessage::Request(_) => self.window.admits(None),
            JsonRpcMessage::Notification(notification) => {
                self.window.admits(Some(&notification.notification))
            }
        };
        if !goes_on && self.health.note_dropped_message() {
            return None;
        }
        Some(goes_on)
    }

    fn match_response(&self, id: &RequestId) -> Option<bool> {
        let mut questions = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        // Some servers return numeric ids as strings.
        let as_number = match id {
            RequestId::String(text) => text.parse().ok().map(RequestId::Number),
            RequestId::Number(_) => None,
        };
        let mut take = |id: &RequestId| {
            let is_open = questions.open.remove(id);
            (is_open, is_open || questions.cancelled.remove(id))
        };
        let (is_open, is_known) = match take(id) {
            (false, false) => as_number.as_ref().map_or((false, false), &mut take),
            found => found,
        };
        if is_known {
            return Some(is_open);
        }
        (!self.health.note_bad_message(&format!("an answer to {id}, which was not requested")))
            .then_some(false)
    }
}

impl RateWindow {
    fn admits(&mut self, notification: Option<&ServerNotification>) -> bool {
        if self.began.elapsed() >= WINDOW {
            *self = Self { began: Instant::now(), taken: 0, changes: HashSet::new() };
        }
        self.taken = self.taken.saturating_add(1);
        let is_change = matches!(
            notification,
            Some(
                ServerNotification::ToolListChangedNotification(_)
                    | ServerNotification::PromptListChangedNotification(_)
                    | ServerNotification::ResourceListChangedNotification(_)
            )
        );
        let is_first_change = notification
            .filter(|_| is_change)
            .is_some_and(|change| self.changes.insert(std::mem::discriminant(change)));
        if is_change { is_first_change } else { self.taken <= RATE_MAX }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for FilteredTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let mut questions = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        match &message {
            JsonRpcMessage::Request(request) => {
                questions.open.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && questions.open.remove(id)
                {
                    if questions.cancelled.len() >= CANCELLED_MAX {
                        questions.cancelled.clear();
                    }
                    questions.cancelled.insert(id.clone());
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        drop(questions);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(message) = self.inner.receive().await else { break };
            match self.check_message(&message) {
                Some(true) => return Some(message),
                Some(false) => {}
                None => break,
            }
        }
        self.health.mark_gone("it closed the connection");
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.health.mark_gone("it was closed");
        let closed = self.inner.close().await;
        self.health.closed_token().cancel();
        closed
    }
}
