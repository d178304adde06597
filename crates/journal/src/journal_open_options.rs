//! Options for opening a journal: durability, head, writer, disk.

use std::sync::Arc;

use crate::disk::{DiskOpenMode, JournalDisk, RealDisk};
use crate::durability::Durability;
use crate::record::{ClaimHolder, JournalHead};

#[derive(Clone, Debug)]
pub struct JournalOpenOptions {
    pub durability: Durability,
    /// Written if the journal is new.
    pub head: JournalHead,
    pub holder: ClaimHolder,
    /// The current time in milliseconds since 1970.
    pub at: u64,
    pub disk: Arc<dyn JournalDisk>,
    /// Fail if it does not exist, instead of creating it.
    pub must_exist: bool,
}

impl JournalOpenOptions {
    /// For the local disk and this process, with an empty head.
    #[must_use]
    pub fn new(durability: Durability) -> Self {
        let at = unix_millis();
        Self {
            durability,
            head: JournalHead { created: at, ..JournalHead::default() },
            holder: ClaimHolder::current_process(),
            at,
            disk: Arc::new(RealDisk),
            must_exist: false,
        }
    }
}

impl JournalOpenOptions {
    pub(crate) fn open_mode(&self) -> DiskOpenMode {
        match self.must_exist {
            true => DiskOpenMode::AppendExisting,
            false => DiskOpenMode::Append,
        }
    }
}

/// The current time in milliseconds since 1970.
fn unix_millis() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
