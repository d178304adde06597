//! Where a journal lies, and what it is opened with.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use windlass_journal::disk::JournalDisk;
use windlass_journal::{Durability, JournalHead};

use crate::latency::LatencyHistogram;

/// Where a journal lies and what it says of itself.
#[derive(Clone, Debug)]
pub(crate) struct JournalLocation {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    /// What it is written to; nested sessions write to the same.
    pub(crate) disk: Arc<dyn JournalDisk>,
    /// It is not made if it is not there.
    pub(crate) must_exist: bool,
    pub(crate) head: JournalHead,
    pub(crate) price_table: Option<String>,
    /// The number of its last record, for those who keep things beside it.
    pub(crate) last_seq: Arc<AtomicU64>,
    /// Counts how long the disk was waited for.
    pub(crate) latency: Arc<LatencyHistogram>,
}
