//! Server-sent events for changes of the session list and of the session that is shown.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::server::query::QueryParameters;
use crate::viewer::{ViewFailure, Viewer};

/// Starts a stream of events. It ends when the receiver is dropped.
pub(crate) fn follow(
    viewer: &Arc<Viewer>,
    query: &QueryParameters,
) -> Result<mpsc::Receiver<String>, ViewFailure> {
    let Ok(permit) = Arc::clone(&viewer.event_streams).try_acquire_owned() else {
        return Err(ViewFailure::new(503, "busy", "too many pages are open; close one"));
    };
    let session = query.text("session").map(str::to_owned);
    let after: u64 = query.number("after")?.unwrap_or(0);
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    let viewer = Arc::clone(viewer);
    tokio::spawn(async move {
        let _permit = permit;
        let acts = viewer.open_sessions.changes();
        let mut follower =
            ChangeFollower { viewer, session, number: after, version: None, seen: None, acts };
        follower.run(sender).await;
    });
    Ok(receiver)
}

struct ChangeFollower {
    viewer: Arc<Viewer>,
    session: Option<String>,
    /// Number of the last event sent.
    number: u64,
    version: Option<u64>,
    seen: Option<SessionSight>,
    acts: u64,
}

/// The state of a session that is compared between polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SessionSight {
    items: usize,
    seq: u64,
    complete: bool,
    state: &'static str,
}

impl ChangeFollower {
    async fn run(&mut self, sender: mpsc::Sender<String>) {
        let mut quiet_since = Instant::now();
        loop {
            let mut pieces = self.look().await;
            if pieces.is_empty() && quiet_since.elapsed() >= KEEP_ALIVE {
                pieces.push_str(": still here\n\n");
            }
            if !pieces.is_empty() {
                quiet_since = Instant::now();
                if sender.send(pieces).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = sleep(LOOK_PAUSE) => {}
                () = sender.closed() => return,
            }
        }
    }

    /// Polls once on a blocking thread; a failed poll yields no events.
    async fn look(&mut self) -> String {
        let viewer = Arc::clone(&self.viewer);
        let session = self.session.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let version = viewer.sessions.list().ok().map(|listing| listing.version);
            let sight = session.and_then(|id| look_at_session(&viewer, &id).ok());
            (version, sight)
        });
        let Ok((version, sight)) = looked.await else { return String::new() };
        let mut pieces = String::new();
        if version.is_some() && version != self.version {
            self.version = version;
            self.push(&mut pieces, "sessions", &json!({"version": version}).to_string());
        }
        if let Some(sight) = sight
            && self.seen.as_ref() != Some(&sight)
        {
            let SessionSight { items, seq, complete, state } = sight;
            let id = self.session.clone();
            let news =
                json!({"id": id, "items": items, "seq": seq, "complete": complete, "state": state});
            self.seen = Some(sight);
            self.push(&mut pieces, "session", &news.to_string());
        }
        let acts = self.viewer.open_sessions.changes();
        if acts != self.acts {
            self.acts = acts;
            self.push(&mut pieces, "act", &json!({"id": self.session}).to_string());
        }
        pieces
    }

    fn push(&mut self, pieces: &mut String, event: &str, json: &str) {
        self.number += 1;
        pieces.push_str(&format!("id: {}\nevent: {event}\ndata: {json}\n\n", self.number));
    }
}

fn look_at_session(viewer: &Viewer, id: &str) -> Result<SessionSight, ViewFailure> {
    let session = viewer.find(id)?;
    let trace = viewer.traces.open(&session.journal)?;
    let state = session.row.state;
    Ok(trace.read(|trace| SessionSight {
        items: trace.items.len(),
        seq: trace.seq,
        complete: trace.is_complete,
        state,
    }))
}

const PIECES_MAX: usize = 16;
const LOOK_PAUSE: Duration = Duration::from_millis(500);
const KEEP_ALIVE: Duration = Duration::from_secs(15);
