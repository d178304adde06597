//! A hook that runs before every operation that changes the disk.
//!
//! Tests use it to stop the work there, as a kill would, or to change a file as a user would.
//! Without a hook it costs one comparison.

use std::fmt;
use std::sync::Arc;

/// Called with the name of the operation about to run.
#[derive(Clone, Default)]
pub(crate) struct DiskHook(Option<Arc<dyn Fn(&'static str) + Send + Sync>>);

impl DiskHook {
    pub(crate) fn new(hook: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    pub(crate) fn before(&self, operation: &'static str) {
        if let Some(hook) = &self.0 {
            hook(operation);
        }
    }
}

impl fmt::Debug for DiskHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "DiskHook(set)" } else { "DiskHook" })
    }
}
