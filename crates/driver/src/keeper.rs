//! Waits for the disk beside the session's task, so that streaming goes on meanwhile.
//!
//! One wait covers everything that was written before it began. Whatever must not be done before its
//! record is safe waits at a [`Gate`]; everything else does not wait. A wait that fails is not tried
//! again, and nothing passes a gate any more: the session's task is told, and ends.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use windlass_journal::Flusher;

use crate::waits::Waits;

/// Sees to it that records reach the disk.
#[derive(Debug)]
pub(crate) struct Keeper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    work: Mutex<Work>,
    kept: watch::Sender<Kept>,
    waits: Arc<Waits>,
}

#[derive(Debug)]
struct Work {
    /// `None` while a thread waits with it, and after it failed.
    flusher: Option<Flusher>,
    is_waiting: bool,
    /// The last record that was written.
    written: u64,
    /// The last record that somebody wants on the disk.
    wanted: u64,
    /// Which records are waited for, and since when.
    asked: VecDeque<(u64, Instant)>,
    failure: Option<io::Error>,
}

/// How far the disk is.
#[derive(Clone, Copy, Debug)]
struct Kept {
    upto: u64,
    health: Health,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Fine,
    /// A wait failed.
    Failing,
    /// Nothing more will be kept.
    Lost,
}

impl Keeper {
    /// Everything up to this record is there already.
    pub(crate) fn new(flusher: Flusher, upto: u64, waits: Arc<Waits>) -> Self {
        let (kept, _) = watch::channel(Kept { upto, health: Health::Fine });
        let work = Work {
            flusher: Some(flusher),
            is_waiting: false,
            written: upto,
            wanted: upto,
            asked: VecDeque::new(),
            failure: None,
        };
        Self(Arc::new(Shared { work: Mutex::new(work), kept, waits }))
    }

    /// This record was written.
    pub(crate) fn wrote(&self, seq: u64) {
        self.0.work().written = seq;
    }

    /// The last record that is on the disk.
    pub(crate) fn upto(&self) -> u64 {
        self.0.kept.borrow().upto
    }

    /// Begins to wait for everything that was written. The gate opens when it is on the disk.
    pub(crate) fn keep(&self) -> Gate {
        let mut work = self.0.work();
        let seq = work.written;
        if self.upto() >= seq {
            return Gate::open();
        }
        work.wanted = work.wanted.max(seq);
        if work.asked.back().is_none_or(|(last, _)| *last < seq) {
            work.asked.push_back((seq, Instant::now()));
        }
        if !work.is_waiting && work.flusher.is_some() {
            work.is_waiting = true;
            let shared = Arc::clone(&self.0);
            spawn_blocking(move || shared.wait());
        }
        Gate(Some(Closed { kept: self.0.kept.subscribe(), seq }))
    }

    /// Returns when a wait has failed.
    pub(crate) async fn failing(&self) {
        let mut kept = self.0.kept.subscribe();
        // It cannot be gone while we look.
        let _ = kept.wait_for(|kept| kept.health == Health::Failing).await;
    }

    /// Returns when everything written so far is safe, or a wait has failed: is it safe?
    pub(crate) async fn settled(&self) -> bool {
        let Gate(Some(Closed { mut kept, seq })) = self.keep() else { return true };
        let settled = kept.wait_for(|kept| kept.upto >= seq || kept.health != Health::Fine).await;
        settled.is_ok_and(|kept| kept.upto >= seq)
    }

    /// Has a wait failed?
    pub(crate) fn is_failing(&self) -> bool {
        self.0.kept.borrow().health == Health::Failing
    }

    /// Why a wait failed.
    pub(crate) fn take_failure(&self) -> io::Error {
        self.0.work().failure.take().unwrap_or_else(|| io::Error::other("a wait failed"))
    }
}

impl Drop for Keeper {
    /// Whoever still waits at a gate waits in vain.
    fn drop(&mut self) {
        self.0.kept.send_modify(|kept| kept.health = Health::Lost);
    }
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody wants more. Blocks.
    fn wait(&self) {
        loop {
            let (mut flusher, written) = {
                let mut work = self.work();
                let is_done = work.wanted <= self.kept.borrow().upto;
                let Some(flusher) = work.flusher.take_if(|_| !is_done) else {
                    work.is_waiting = false;
                    return;
                };
                (flusher, work.written)
            };
            let result = flusher.flush();
            let mut work = self.work();
            match result {
                Ok(()) => {
                    work.flusher = Some(flusher);
                    while let Some((_, since)) = work.asked.pop_front_if(|(seq, _)| *seq <= written)
                    {
                        self.waits.add(since.elapsed());
                    }
                    self.kept.send_modify(|kept| kept.upto = kept.upto.max(written));
                }
                Err(error) => {
                    work.failure = Some(error);
                    work.is_waiting = false;
                    self.kept.send_modify(|kept| kept.health = Health::Failing);
                    return;
                }
            }
        }
    }
}

/// Opens when a record is safe.
#[derive(Debug)]
pub(crate) struct Gate(Option<Closed>);

#[derive(Debug)]
struct Closed {
    kept: watch::Receiver<Kept>,
    seq: u64,
}

impl Gate {
    /// Nothing to wait for.
    pub(crate) fn open() -> Self {
        Self(None)
    }

    /// Waits; says whether the record is safe. If it is not, it never will be, and what was to be
    /// done must not be done.
    pub(crate) async fn passed(self) -> bool {
        let Some(Closed { mut kept, seq }) = self.0 else { return true };
        let passed = kept.wait_for(|kept| kept.upto >= seq || kept.health == Health::Lost).await;
        passed.is_ok_and(|kept| kept.upto >= seq)
    }
}
