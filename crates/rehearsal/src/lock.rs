//! Locking where a panic of another thread does no harm.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks without regard to poison. Only for state that is consistent after every statement, so that
/// a panic elsewhere cannot have spoilt it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
