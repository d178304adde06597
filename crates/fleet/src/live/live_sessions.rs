//! The tails of the sessions that run on this worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;

use super::session_tail::{SessionTail, TailItem};

#[derive(Debug, Default)]
pub(crate) struct LiveSessions {
    tails: Mutex<BTreeMap<String, Arc<SessionTail>>>,
    /// Set if they are also published.
    publisher: Option<mpsc::Sender<TailNews>>,
}

/// For the task that publishes the tails.
#[derive(Debug)]
pub(crate) enum TailNews {
    Opened { session: String, epoch: u64 },
    Item { session: String, epoch: u64, item: Arc<TailItem> },
    Closed { session: String, epoch: u64 },
}

impl LiveSessions {
    pub(crate) fn with_publisher(publisher: mpsc::Sender<TailNews>) -> Self {
        Self { tails: Mutex::default(), publisher: Some(publisher) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<SessionTail>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tail of a session that starts under this claim.
    pub(crate) fn open(self: &Arc<Self>, session: &str, epoch: u64) -> OpenTail {
        let tail = Arc::new(SessionTail::new(epoch));
        self.lock().insert(session.to_owned(), Arc::clone(&tail));
        self.publish(TailNews::Opened { session: session.to_owned(), epoch });
        OpenTail { sessions: Arc::clone(self), session: session.to_owned(), tail }
    }

    pub(crate) fn find(&self, session: &str, epoch: u64) -> Option<Arc<SessionTail>> {
        self.lock().get(session).filter(|tail| tail.epoch == epoch).cloned()
    }

    pub(crate) fn list(&self) -> Vec<(String, u64)> {
        self.lock().iter().map(|(session, tail)| (session.clone(), tail.epoch)).collect()
    }

    /// A publisher that cannot keep up loses items; readers notice the gap.
    fn publish(&self, news: TailNews) {
        if let Some(publisher) = &self.publisher {
            let _ = publisher.try_send(news);
        }
    }
}

/// The tail of a running session. Dropping it says that nothing more comes.
#[derive(Debug)]
pub(crate) struct OpenTail {
    sessions: Arc<LiveSessions>,
    session: String,
    tail: Arc<SessionTail>,
}

impl OpenTail {
    pub(crate) fn push_frame(&self, frame: &Value) {
        self.publish(self.tail.push_frame(frame));
    }

    pub(crate) fn push_stored(&self, number: u64, is_result: bool) {
        self.publish(self.tail.push_stored(number, is_result));
    }

    fn publish(&self, item: Arc<TailItem>) {
        let epoch = self.tail.epoch;
        self.sessions.publish(TailNews::Item { session: self.session.clone(), epoch, item });
    }
}

impl Drop for OpenTail {
    fn drop(&mut self) {
        self.tail.close();
        let mut tails = self.sessions.lock();
        if tails.get(&self.session).is_some_and(|tail| Arc::ptr_eq(tail, &self.tail)) {
            tails.remove(&self.session);
        }
        drop(tails);
        let session = std::mem::take(&mut self.session);
        self.sessions.publish(TailNews::Closed { session, epoch: self.tail.epoch });
    }
}
