//! Locks mutexes and ignores poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// No update under these locks can be left half done by a panic, so a poisoned lock is still valid.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
