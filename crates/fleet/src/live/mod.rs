//! Live text: what a session says while it says it, for clients that ask for it.
//!
//! It goes round the store: the worker keeps the last part in memory (`session_tail`), and a gateway
//! gets it from the worker directly (`owner_server`, `owner_client`) or over NATS (`nats_live`). Each
//! piece says after which stored event it came, so that a client gets both in the order in which the
//! session wrote them. What gets lost on the way is in the stored message that follows.

pub(crate) mod live_mirror;
pub(crate) mod live_option;
pub(crate) mod live_sessions;
pub(crate) mod nats_live;
pub(crate) mod owner_client;
pub(crate) mod owner_server;
pub(crate) mod session_tail;

pub use live_option::LiveOption;

use tokio::task::JoinHandle;

/// A task that is aborted on drop.
#[derive(Debug)]
pub(crate) struct AbortedOnDrop(pub(crate) JoinHandle<()>);

impl Drop for AbortedOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
