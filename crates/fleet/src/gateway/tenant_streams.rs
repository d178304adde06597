//! Counts the event streams of each tenant, so that one tenant cannot hold all connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct TenantStreams {
    most: usize,
    counts: Mutex<BTreeMap<String, usize>>,
}

/// A stream that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedStream {
    streams: Arc<TenantStreams>,
    tenant: String,
}

impl TenantStreams {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, counts: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` if the tenant has as many as it may.
    pub(crate) fn count(self: &Arc<Self>, tenant: &str) -> Option<CountedStream> {
        let mut counts = self.lock();
        let count = counts.entry(tenant.to_owned()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(CountedStream { streams: Arc::clone(self), tenant: tenant.to_owned() })
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        let mut counts = self.streams.lock();
        if let Some(count) = counts.get_mut(&self.tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.tenant);
            }
        }
    }
}
