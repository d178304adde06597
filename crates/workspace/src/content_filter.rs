//! Excludes contents from the store by their bytes, whatever file they are in.

use std::fmt;
use std::sync::Arc;

/// Tests a file's bytes. The default refuses nothing.
#[derive(Clone, Default)]
pub struct ContentFilter(Option<Arc<ContentTest>>);

type ContentTest = dyn Fn(&[u8]) -> bool + Send + Sync;

impl ContentFilter {
    /// Refuses the contents for which `refuses` returns true.
    #[must_use]
    pub fn new(refuses: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(refuses)))
    }

    pub(crate) fn refuses(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|refuses| refuses(bytes))
    }
}

impl fmt::Debug for ContentFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ContentFilter")
    }
}
