//! The journals that one process writes into the store: each session is claimed when the process
//! opens it, and the claim is kept until the process ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::BufReader;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::Mutex;
use windlass_journal::disk::RelayRequest;

use crate::postgres_journal_store::LOCAL_TENANT;
use crate::store::{FleetStore, SessionStore, StoreError};
use crate::worker::claimed_session::SessionClaim;
use crate::worker::lease_clock::LeaseClock;
use crate::worker::monotonic;
use crate::worker::relay::{JournalRelay, RelayAnswer};

pub(crate) struct LocalJournals {
    store: FleetStore,
    worker: String,
    lease: LeaseClock,
    /// Where the process has its sessions, for the outputs beside them.
    sessions: PathBuf,
    claimed: BTreeMap<String, JournalRelay>,
}

impl LocalJournals {
    pub(crate) fn new(
        store: FleetStore,
        worker: String,
        lease: LeaseClock,
        sessions: PathBuf,
    ) -> Self {
        Self { store, worker, lease, sessions, claimed: BTreeMap::new() }
    }

    /// Gives all claims back, and removes sessions to which nothing was written.
    pub(crate) async fn release(&mut self) {
        for (id, relay) in std::mem::take(&mut self.claimed) {
            let SessionClaim { epoch, worker, .. } = &relay.claim;
            // If this fails, the claim ends with its lease.
            let _ = self.store.release_local_session(&id, *epoch, worker).await;
        }
    }

    async fn find_relay(&mut self, id: &str) -> Result<&mut JournalRelay, StoreError> {
        if !self.claimed.contains_key(id) {
            let epoch = self.store.claim_local_session(id, LOCAL_TENANT, &self.worker).await?;
            let claim = SessionClaim {
                store: SessionStore::Database(self.store.clone()),
                id: id.to_owned(),
                epoch,
                worker: self.worker.clone(),
                claimed_at: monotonic::now(),
            };
            let relay = JournalRelay {
                claim,
                lease: self.lease.clone(),
                workspace: None,
                spill: find_spill_folder(&self.sessions, id),
                sent_spills: Vec::new(),
            };
            self.claimed.insert(id.to_owned(), relay);
        }
        self.claimed.get_mut(id).ok_or_else(|| StoreError::NoSession(id.to_owned()))
    }
}

impl RelayAnswer for Arc<Mutex<LocalJournals>> {
    async fn answer(
        &mut self,
        reader: &mut BufReader<OwnedReadHalf>,
        request: RelayRequest,
    ) -> Result<u64, StoreError> {
        let mut journals = self.lock().await;
        let (id, request) = rename_file(request)?;
        let relay = journals.find_relay(&id).await?;
        relay.answer(reader, request).await
    }
}

/// Splits `ID.jsonl`, `ID.2.jsonl` or `ID.agents/x.jsonl`: the id, and the request for the same
/// file as the store calls it.
fn rename_file(mut request: RelayRequest) -> Result<(String, RelayRequest), StoreError> {
    let (RelayRequest::Open { file }
    | RelayRequest::Append { file, .. }
    | RelayRequest::Cut { file, .. }) = &mut request;
    let invalid = || StoreError::Invalid("that is not the name of a journal".to_owned());
    let (id, rest) = file.split_once('.').ok_or_else(invalid)?;
    if id.is_empty() || id.len() > 128 || id.contains('/') {
        return Err(invalid());
    }
    let id = id.to_owned();
    *file = format!("session.{rest}");
    Ok((id, request))
}

/// Long outputs lie beside the journal, in the folder of the project.
fn find_spill_folder(sessions: &std::path::Path, id: &str) -> PathBuf {
    let name = format!("{id}.spill");
    let projects = std::fs::read_dir(sessions).into_iter().flatten().flatten();
    let mut projects = projects.map(|entry| entry.path());
    let project = projects.find(|path| path.join(format!("{id}.jsonl")).exists());
    project.unwrap_or_else(|| sessions.to_owned()).join(name)
}
