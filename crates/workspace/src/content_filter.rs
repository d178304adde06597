//! What must not be kept, whatever file it is in.

use std::fmt;
use std::sync::Arc;

/// Decides by a file's bytes. None is refused by default.
#[derive(Clone, Default)]
pub struct ContentFilter(Option<Arc<ContentTest>>);

type ContentTest = dyn Fn(&[u8]) -> bool + Send + Sync;

impl ContentFilter {
    /// Refuses what this says yes to.
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
