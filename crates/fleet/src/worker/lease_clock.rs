//! The time until which this worker may act, by the host's clock.

use std::time::Duration;

use tokio::sync::watch;

use super::monotonic;

/// The time by which everything this worker started must have ended. Each renewal moves it.
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
    /// A lease granted by a call that began at `began`. That time counts, because the database
    /// granted the lease at an unknown later time.
    pub(crate) fn new(lease: Duration, began: Duration) -> (Self, LeaseClock) {
        let (sender, deadline) = watch::channel(began + lease - margin(lease));
        (Self { sender, lease }, LeaseClock { deadline })
    }

    pub(crate) fn record_renewal(&self, began: Duration) {
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

    /// Waits for the next deadline; forever once the worker has stopped renewing.
    pub(crate) async fn next_deadline(&mut self) -> Duration {
        if self.deadline.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *self.deadline.borrow_and_update()
    }
}

/// Time before the end of the lease at which everything is ended: enough for a busy machine.
fn margin(lease: Duration) -> Duration {
    lease / 4
}
