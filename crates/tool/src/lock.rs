//! The one way mutexes are locked here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing is left half-done under these locks, so a poisoned one is as good as new.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
