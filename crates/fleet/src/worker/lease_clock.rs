//! Until when this worker may act, by the host's own clock.

use std::time::Duration;

use tokio::sync::watch;

use super::monotonic;

/// The moment at which everything this worker started must be gone. It moves with each renewal.
#[derive(Clone, Debug)]
pub(crate) struct LeaseClock {
    deadline: watch::Receiver<Duration>,
}

#[derive(Debug)]
pub(crate) struct LeaseRenewals {
    sender: watch::Sender<Duration>,
    lease: Duration,
}

impl LeaseRenewals {
    /// A lease that was granted by a call that began at this time. The time before the call counts: when
    /// the database granted it is not known, only that it was later.
    pub(crate) fn new(lease: Duration, began: Duration) -> (Self, LeaseClock) {
        let (sender, deadline) = watch::channel(began + lease - margin(lease));
        (Self { sender, lease }, LeaseClock { deadline })
    }

    pub(crate) fn renewed(&self, began: Duration) {
        self.sender.send_replace(began + self.lease - margin(self.lease));
    }
}

impl LeaseClock {
    pub(crate) fn deadline(&self) -> Duration {
        *self.deadline.borrow()
    }

    pub(crate) fn is_over(&self) -> bool {
        monotonic::now() >= self.deadline()
    }

    /// Returns with the next deadline, or never again when the worker is over.
    pub(crate) async fn next_deadline(&mut self) -> Duration {
        if self.deadline.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *self.deadline.borrow_and_update()
    }
}

/// What is left of a lease when everything is ended: enough for a busy machine to do it.
fn margin(lease: Duration) -> Duration {
    lease / 4
}
