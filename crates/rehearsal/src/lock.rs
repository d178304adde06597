//! Locks mutexes and ignores poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Only for state that is consistent after every statement, so that a panic elsewhere cannot have
/// left it inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
