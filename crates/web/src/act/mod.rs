//! `--act`: the viewer opens a session itself, like other front ends, and takes part in it: sends
//! messages, answers questions, interrupts, rewinds. The journal records that each act came from
//! the browser.

mod act_request;
mod open_session;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::Mutex;
use windlass_assembly::options::RunOptions;
use windlass_journal::is_being_written;

use crate::viewer::{FoundSession, ViewFailure, Viewer};
pub(crate) use act_request::ActRequest;
use open_session::OpenSession;

/// The sessions this process has open.
pub(crate) struct OpenSessions {
    options: RunOptions,
    open: Mutex<HashMap<String, Arc<OpenSession>>>,
    /// Incremented whenever an open session emits a notice or the page acts on it.
    changes: Arc<AtomicU64>,
}

impl OpenSessions {
    pub(crate) fn new(options: RunOptions) -> Self {
        Self { options, open: Mutex::default(), changes: Arc::default() }
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Whether the user can act in a session now, and its state if it is open.
    pub(crate) async fn describe(
        &self,
        viewer: &Arc<Viewer>,
        session: &FoundSession,
    ) -> Result<Value, ViewFailure> {
        match self.find_open(&session.id).await {
            Some(open) => Ok(open.describe().await),
            None => {
                let held_by = find_holder(viewer, session).await?;
                Ok(json!({
                    "can_act": viewer.can_act && held_by.is_null() && session.parent.is_none(),
                    "is_open": false,
                    "is_running": false,
                    "held_by": held_by,
                    "questions": [],
                    "queued": [],
                    "draft": null,
                }))
            }
        }
    }

    pub(crate) async fn act(
        &self,
        viewer: &Arc<Viewer>,
        session: &FoundSession,
        request: ActRequest,
    ) -> Result<Value, ViewFailure> {
        if session.parent.is_some() {
            return Err(ViewFailure::bad_request(
                "take part in the session that started this agent",
            ));
        }
        match request {
            ActRequest::Close => {
                let open = self.open.lock().await.remove(&session.id);
                if let Some(open) = open {
                    open.close().await;
                }
            }
            ActRequest::Open => {
                self.open(viewer, session).await?;
            }
            ActRequest::Prompt { text } => {
                self.open(viewer, session).await?.submit(text).await?;
            }
            ActRequest::Interrupt => self.expect_open(session).await?.interrupt()?,
            ActRequest::Answer(answer) => self.expect_open(session).await?.answer(answer)?,
            ActRequest::Rewind { item, files } => {
                let seq = find_item_seq(viewer, session, item).await?;
                self.open(viewer, session).await?.rewind(seq, files).await?;
            }
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.describe(viewer, session).await
    }

    /// Closes all sessions; each ends within the driver's own time limit.
    pub(crate) async fn close_all(&self) {
        let all: Vec<Arc<OpenSession>> =
            self.open.lock().await.drain().map(|(_, open)| open).collect();
        for open in all {
            open.close().await;
        }
    }

    async fn find_open(&self, id: &str) -> Option<Arc<OpenSession>> {
        let mut open = self.open.lock().await;
        open.retain(|_, session| !session.is_over());
        open.get(id).cloned()
    }

    async fn expect_open(&self, session: &FoundSession) -> Result<Arc<OpenSession>, ViewFailure> {
        let open = self.find_open(&session.id).await;
        open.ok_or_else(|| ViewFailure::bad_request("this session is not open here; open it first"))
    }

    async fn open(
        &self,
        viewer: &Arc<Viewer>,
        session: &FoundSession,
    ) -> Result<Arc<OpenSession>, ViewFailure> {
        // Held during opening, so that two requests do not open a session twice.
        let mut open = self.open.lock().await;
        open.retain(|_, session| !session.is_over());
        if let Some(known) = open.get(&session.id) {
            return Ok(Arc::clone(known));
        }
        if open.len() >= OPEN_MAX {
            let words = "too many sessions are open here; close one";
            return Err(ViewFailure::new(503, "busy", words));
        }
        let holder = find_holder(viewer, session).await?;
        if !holder.is_null() {
            let pid = holder.get("pid").map(ToString::to_string).unwrap_or_default();
            let words = format!("another process has this session (pid {pid}); end it there first");
            return Err(ViewFailure::new(409, "held", &words));
        }
        let opened = Arc::new(OpenSession::start(&self.options, session, &self.changes).await?);
        open.insert(session.id.clone(), Arc::clone(&opened));
        Ok(opened)
    }
}

/// The process that writes the session's journal; JSON null if there is none.
async fn find_holder(viewer: &Arc<Viewer>, session: &FoundSession) -> Result<Value, ViewFailure> {
    let journal = session.journal.clone();
    let look = move |viewer: &Viewer| {
        if !is_being_written(&journal) {
            return Ok(Value::Null);
        }
        let writer = viewer.traces.open(&journal)?.read(|trace| trace.writer.clone());
        Ok(match writer {
            Some(writer) => json!({"pid": writer.pid, "host": writer.host}),
            None => json!({"pid": null, "host": null}),
        })
    };
    viewer.run_beside(look).await
}

/// The record of an item, after waiting until the journal is traced that far.
async fn find_item_seq(
    viewer: &Arc<Viewer>,
    session: &FoundSession,
    item: usize,
) -> Result<u64, ViewFailure> {
    let journal = session.journal.clone();
    let look = move |viewer: &Viewer| {
        let trace = viewer.traces.open(&journal)?;
        trace.wait_for_items(item.saturating_add(1))?;
        let seq = trace.read(|trace| trace.items.get(item).map(|item| item.place.seq));
        seq.ok_or_else(|| ViewFailure::bad_request("there is no such item"))
    };
    viewer.run_beside(look).await
}

const OPEN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_journal::SessionCatalogue;

    use super::*;
    use crate::viewer::ListedSessionRow;

    #[test]
    fn others_are_served_while_a_rewind_waits_for_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("long.jsonl");
        std::fs::write(&journal, "").unwrap();
        let viewer = Arc::new(Viewer::for_test(SessionCatalogue::new(folder.path())));
        viewer.traces.stall(&journal);
        let session = FoundSession {
            id: "long".to_owned(),
            journal,
            row: ListedSessionRow::default(),
            parent: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let rewind = ActRequest::Rewind { item: 7, files: false };
            let acting = viewer.open_sessions.act(&viewer, &session, rewind);
            let served = viewer.run_beside(|_| Ok(()));
            tokio::select! {
                biased;
                done = acting => panic!("the journal is not read yet: {done:?}"),
                served = tokio::time::timeout(Duration::from_secs(60), served) => {
                    served.expect("another client is served").unwrap();
                }
            }
        });
        runtime.shutdown_background();
    }
}
