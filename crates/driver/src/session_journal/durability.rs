//! Waits for the disk outside of the session's task, so that streaming continues meanwhile.
//!
//! One sync covers everything written before it began. An effect that must not start before its
//! record is on disk waits at a [`DurabilityGate`]; everything else does not wait. A failed sync is
//! not retried, because the kernel may have dropped the data, and all gates stay closed: the
//! session's task is notified, and ends.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use windlass_journal::Flusher;

use crate::latency::LatencyHistogram;

/// Syncs records to the disk.
#[derive(Debug)]
pub(crate) struct JournalSyncer(Arc<SyncerShared>);

#[derive(Debug)]
struct SyncerShared {
    queue: Mutex<SyncQueue>,
    progress: watch::Sender<SyncProgress>,
    latency: Arc<LatencyHistogram>,
}

#[derive(Debug)]
struct SyncQueue {
    /// `None` while a thread is using it, and after it failed.
    flusher: Option<Flusher>,
    is_flushing: bool,
    written: u64,
    /// The last record for which a sync was requested.
    requested: u64,
    /// Records that callers wait for, and since when.
    waiting_since: VecDeque<(u64, Instant)>,
    failure: Option<io::Error>,
}

#[derive(Clone, Copy, Debug)]
struct SyncProgress {
    synced_seq: u64,
    health: SyncHealth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncHealth {
    Fine,
    /// A sync has failed.
    Failing,
    /// Nothing more will be written.
    Lost,
}

impl JournalSyncer {
    /// Everything up to this record is already on the disk.
    pub(crate) fn new(flusher: Flusher, upto: u64, waits: Arc<LatencyHistogram>) -> Self {
        let (kept, _) = watch::channel(SyncProgress { synced_seq: upto, health: SyncHealth::Fine });
        let work = SyncQueue {
            flusher: Some(flusher),
            is_flushing: false,
            written: upto,
            requested: upto,
            waiting_since: VecDeque::new(),
            failure: None,
        };
        Self(Arc::new(SyncerShared { queue: Mutex::new(work), progress: kept, latency: waits }))
    }

    pub(crate) fn record_written(&self, seq: u64) {
        self.0.lock_queue().written = seq;
    }

    /// The last record that is on the disk.
    pub(crate) fn synced_seq(&self) -> u64 {
        self.0.progress.borrow().synced_seq
    }

    /// Starts a sync of everything written so far. The gate opens when it is done.
    pub(crate) fn request_sync(&self) -> DurabilityGate {
        let mut work = self.0.lock_queue();
        let seq = work.written;
        if self.synced_seq() >= seq {
            return DurabilityGate::open();
        }
        work.requested = work.requested.max(seq);
        if work.waiting_since.back().is_none_or(|(last, _)| *last < seq) {
            work.waiting_since.push_back((seq, Instant::now()));
        }
        if !work.is_flushing && work.flusher.is_some() {
            work.is_flushing = true;
            let shared = Arc::clone(&self.0);
            spawn_blocking(move || shared.flush_requested());
        }
        DurabilityGate(Some(PendingSync { progress: self.0.progress.subscribe(), seq }))
    }

    pub(crate) async fn wait_for_failure(&self) {
        let mut kept = self.0.progress.subscribe();
        // The sender is owned by `self`, so this cannot fail.
        let _ = kept.wait_for(|kept| kept.health == SyncHealth::Failing).await;
    }

    /// Waits until everything written so far is on disk, or a sync has failed. Returns whether it
    /// is.
    pub(crate) async fn wait_until_synced(&self) -> bool {
        let DurabilityGate(Some(PendingSync { progress: mut kept, seq })) = self.request_sync()
        else {
            return true;
        };
        let settled =
            kept.wait_for(|kept| kept.synced_seq >= seq || kept.health != SyncHealth::Fine).await;
        settled.is_ok_and(|kept| kept.synced_seq >= seq)
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.0.progress.borrow().health == SyncHealth::Failing
    }

    pub(crate) fn take_failure(&self) -> io::Error {
        self.0.lock_queue().failure.take().unwrap_or_else(|| io::Error::other("a wait failed"))
    }
}

impl Drop for JournalSyncer {
    /// Gates that still wait never open.
    fn drop(&mut self) {
        self.0.progress.send_modify(|kept| kept.health = SyncHealth::Lost);
    }
}

impl SyncerShared {
    fn lock_queue(&self) -> MutexGuard<'_, SyncQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush_requested(&self) {
        loop {
            let (mut flusher, written) = {
                let mut work = self.lock_queue();
                let is_done = work.requested <= self.progress.borrow().synced_seq;
                let Some(flusher) = work.flusher.take_if(|_| !is_done) else {
                    work.is_flushing = false;
                    return;
                };
                (flusher, work.written)
            };
            let result = flusher.flush();
            let mut work = self.lock_queue();
            match result {
                Ok(()) => {
                    work.flusher = Some(flusher);
                    while let Some((_, since)) =
                        work.waiting_since.pop_front_if(|(seq, _)| *seq <= written)
                    {
                        self.latency.record(since.elapsed());
                    }
                    self.progress
                        .send_modify(|kept| kept.synced_seq = kept.synced_seq.max(written));
                }
                Err(error) => {
                    work.failure = Some(error);
                    work.is_flushing = false;
                    self.progress.send_modify(|kept| kept.health = SyncHealth::Failing);
                    return;
                }
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct DurabilityGate(Option<PendingSync>);

#[derive(Debug)]
struct PendingSync {
    progress: watch::Receiver<SyncProgress>,
    seq: u64,
}

impl DurabilityGate {
    pub(crate) fn open() -> Self {
        Self(None)
    }

    /// Waits. `false` means that the record will never be on disk, so the effect must not start.
    pub(crate) async fn wait(self) -> bool {
        let Some(PendingSync { progress: mut kept, seq }) = self.0 else { return true };
        let passed =
            kept.wait_for(|kept| kept.synced_seq >= seq || kept.health == SyncHealth::Lost).await;
        passed.is_ok_and(|kept| kept.synced_seq >= seq)
    }
}
