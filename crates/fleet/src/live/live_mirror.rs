//! A gateway's copies of the tails of the sessions it follows: one for each session, however many
//! clients follow it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::AbortedOnDrop;
use super::live_sessions::LiveSessions;
use super::nats_live::{FollowChange, NatsFollower};
use super::owner_client::copy_from_owner;
use super::session_tail::SessionTail;
use crate::store::SessionStore;

/// Where a gateway gets live text from.
#[derive(Debug)]
pub(crate) enum LiveSource {
    Off,
    /// The sessions of this process.
    Local(Arc<LiveSessions>),
    Owners(SessionStore),
    Nats(NatsFollower),
}

#[derive(Debug)]
pub(crate) struct LiveMirrors {
    source: LiveSource,
    mirrors: Mutex<BTreeMap<(String, u64), Weak<LiveMirror>>>,
}

/// A copy of a tail; the copying ends when the last of its readers is dropped.
#[derive(Debug)]
pub(crate) struct LiveMirror {
    pub(crate) tail: Arc<SessionTail>,
    _copying: Option<AbortedOnDrop>,
    _following: Option<NatsFollowing>,
}

#[derive(Debug)]
struct NatsFollowing {
    changes: tokio::sync::mpsc::UnboundedSender<FollowChange>,
    tail: Arc<SessionTail>,
}

impl Drop for NatsFollowing {
    fn drop(&mut self) {
        // Fails when the gateway ends.
        let _ = self.changes.send(FollowChange::Leave { tail: Arc::clone(&self.tail) });
    }
}

impl LiveMirrors {
    pub(crate) fn new(source: LiveSource) -> Self {
        Self { source, mirrors: Mutex::default() }
    }

    /// The tail of a session that runs under this claim. `None` if there is none, or not yet.
    pub(crate) fn follow(&self, session: &str, epoch: u64) -> Option<Arc<LiveMirror>> {
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (session.to_owned(), epoch);
        if let Some(mirror) = mirrors.get(&key).and_then(Weak::upgrade) {
            return Some(mirror);
        }
        let mirror = Arc::new(self.start_mirror(session, epoch)?);
        mirrors.retain(|_, mirror| mirror.strong_count() > 0);
        mirrors.insert(key, Arc::downgrade(&mirror));
        Some(mirror)
    }

    fn start_mirror(&self, session: &str, epoch: u64) -> Option<LiveMirror> {
        let new = || Arc::new(SessionTail::new(epoch));
        match &self.source {
            LiveSource::Off => None,
            LiveSource::Local(sessions) => {
                let tail = sessions.find(session, epoch)?;
                Some(LiveMirror { tail, _copying: None, _following: None })
            }
            LiveSource::Owners(store) => {
                let tail = new();
                let copying =
                    copy_while_followed(store.clone(), session.to_owned(), Arc::clone(&tail));
                let copying = Some(AbortedOnDrop(tokio::spawn(copying)));
                Some(LiveMirror { tail, _copying: copying, _following: None })
            }
            LiveSource::Nats(follower) => {
                let tail = new();
                let changes = follower.changes.clone();
                let session = session.to_owned();
                changes.send(FollowChange::Follow { session, tail: Arc::clone(&tail) }).ok()?;
                let following = Some(NatsFollowing { changes, tail: Arc::clone(&tail) });
                Some(LiveMirror { tail, _copying: None, _following: following })
            }
        }
    }
}

/// Copies from the worker that has the claim, again after breaks, until nobody reads the copy.
async fn copy_while_followed(store: SessionStore, session: String, tail: Arc<SessionTail>) {
    let mut pause = PAUSE_MIN;
    loop {
        // A worker that serves no live text, or one whose session does not run yet or any more, is
        // asked again later: clients then see whole messages.
        if let Ok(Some(endpoint)) = store.read_live_endpoint(&session, tail.epoch).await
            && copy_from_owner(&endpoint, &session, &tail).await.is_ok()
        {
            pause = PAUSE_MIN;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);
