//! Agents and commands that a call waits for. They are not in the background, but the user may move
//! them there. Agents can be ended by name like background ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::BackgroundTasks;
use crate::lock::lock;

pub(super) type ForegroundAgents = Arc<Mutex<Vec<ForegroundAgent>>>;

#[derive(Debug)]
pub(super) struct ForegroundAgent {
    number: u64,
    /// `None` for a command, which gets an id when it moves to the background.
    id: Option<String>,
    call_id: String,
    stop: CancellationToken,
    background_request: CancellationToken,
}

#[derive(Debug)]
pub struct ForegroundAgentGuard {
    agents: ForegroundAgents,
    number: u64,
    pub stop: CancellationToken,
    /// Cancelled when the user moves it to the background.
    pub background_request: CancellationToken,
}

impl Drop for ForegroundAgentGuard {
    fn drop(&mut self) {
        lock(&self.agents).retain(|waited| waited.number != self.number);
    }
}

impl BackgroundTasks {
    /// Registers an agent with this name, or a command, that a call waits for until the returned
    /// token or the given one is cancelled.
    #[must_use]
    pub fn register_foreground(
        &self,
        id: Option<&str>,
        call: &str,
        cancel: &CancellationToken,
    ) -> ForegroundAgentGuard {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stop = cancel.child_token();
        let background_request = CancellationToken::new();
        let list = self.foreground_agents();
        lock(&list).push(ForegroundAgent {
            number,
            id: id.map(str::to_owned),
            call_id: call.to_owned(),
            stop: stop.clone(),
            background_request: background_request.clone(),
        });
        ForegroundAgentGuard { agents: list, number, stop, background_request }
    }

    /// Ends the agent with this name that a call waits for. Returns whether there is one.
    #[must_use]
    pub fn stop_foreground_agent(&self, id: &str) -> bool {
        let list = self.foreground_agents();
        let waited = lock(&list);
        let found = waited.iter().find(|waited| waited.id.as_deref() == Some(id));
        found.inspect(|waited| waited.stop.cancel()).is_some()
    }

    /// Moves agents and commands that calls wait for to the background: those of one call, or all.
    /// Returns whether there are any.
    #[must_use]
    pub fn move_to_background(&self, call: Option<&str>) -> bool {
        let list = self.foreground_agents();
        let waited = lock(&list);
        let meant = waited.iter().filter(|waited| call.is_none_or(|call| waited.call_id == call));
        meant.inspect(|waited| waited.background_request.cancel()).count() > 0
    }
}
