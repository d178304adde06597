//! Agents that a call waits for: they are no part of the background, but may be ended by name like
//! those that are, and may be told to go there.

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::Background;
use crate::surroundings::{Surroundings, lock};

/// All of them.
pub(super) type List = Arc<Mutex<Vec<Waited>>>;

#[derive(Debug)]
pub(super) struct Waited {
    id: String,
    call: String,
    stop: CancellationToken,
    leave: CancellationToken,
}

/// Held while a call waits for an agent.
#[derive(Debug)]
pub struct Waiting {
    list: List,
    id: String,
    /// It has to end when this says so.
    pub stop: CancellationToken,
    /// It is waited for no longer when this says so, and goes on in the background.
    pub leave: CancellationToken,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.list).retain(|waited| waited.id != self.id);
    }
}

impl Surroundings {
    /// A call waits for an agent of this name, until this token or the one it is given says so.
    #[must_use]
    pub fn wait_for(&self, id: &str, call: &str, cancel: &CancellationToken) -> Waiting {
        let (stop, leave) = (cancel.child_token(), CancellationToken::new());
        let list = self.background().waited();
        lock(&list).push(Waited {
            id: id.to_owned(),
            call: call.to_owned(),
            stop: stop.clone(),
            leave: leave.clone(),
        });
        Waiting { list, id: id.to_owned(), stop, leave }
    }
}

impl Background {
    /// Ends the agent of this name that a call waits for. Says whether there is one.
    #[must_use]
    pub fn stop_waited(&self, id: &str) -> bool {
        let list = self.waited();
        let waited = lock(&list);
        let found = waited.iter().find(|waited| waited.id == id);
        found.inspect(|waited| waited.stop.cancel()).is_some()
    }

    /// Sends agents that calls wait for into the background: that of one call, or all of them. Says
    /// whether there is one.
    #[must_use]
    pub fn leave_waited(&self, call: Option<&str>) -> bool {
        let list = self.waited();
        let waited = lock(&list);
        let meant = waited.iter().filter(|waited| call.is_none_or(|call| waited.call == call));
        meant.inspect(|waited| waited.leave.cancel()).count() > 0
    }
}
