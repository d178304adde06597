//! A hook that runs before every operation that changes the disk.
//!
//! Tests use it to stop the work there, as a kill would, or to change a file as a user would.
//! Without a hook it costs one comparison.

use std::fmt;
use std::sync::Arc;

#[derive(Clone, Default)]
pub(crate) struct DiskHook {
    /// Called with the name of the operation about to run.
    before: Option<Arc<dyn Fn(&'static str) + Send + Sync>>,
    /// Acts as a file system that can rename, but neither exchange nor refuse to replace.
    pub(crate) has_plain_renames: bool,
}

impl DiskHook {
    pub(crate) fn new(hook: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self { before: Some(Arc::new(hook)), has_plain_renames: false }
    }

    pub(crate) fn before(&self, operation: &'static str) {
        if let Some(hook) = &self.before {
            hook(operation);
        }
    }
}

impl fmt::Debug for DiskHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.before.is_some() { "DiskHook(set)" } else { "DiskHook" })
    }
}
