//! The path of a journal, and how to open it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use windlass_journal::disk::JournalDisk;
use windlass_journal::{Durability, JournalHead};

use crate::latency::LatencyHistogram;

#[derive(Clone, Debug)]
pub(crate) struct JournalLocation {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    /// The disk; nested sessions use the same one.
    pub(crate) disk: Arc<dyn JournalDisk>,
    /// Fail if the file does not exist, instead of creating it.
    pub(crate) must_exist: bool,
    pub(crate) head: JournalHead,
    pub(crate) price_table: Option<String>,
    /// The sequence number of its last record, for files that are kept beside it.
    pub(crate) last_seq: Arc<AtomicU64>,
    /// Measures how long callers waited for the disk.
    pub(crate) latency: Arc<LatencyHistogram>,
}
