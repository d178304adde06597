//! Hooks that run in the background. Their owner limits their number and ends them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

/// Dropping it ends all hooks.
#[derive(Debug, Default)]
pub struct BackgroundHooks {
    tasks: Mutex<JoinSet<()>>,
}

impl BackgroundHooks {
    /// Runs the hook in the background. Returns whether there was room.
    pub(crate) fn try_spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut tasks = self.lock_tasks();
        while tasks.try_join_next().is_some() {}
        if tasks.len() >= TASKS_MAX {
            return false;
        }
        tasks.spawn(work);
        true
    }

    /// Waits for the hooks up to this long, then ends the others with everything they started.
    pub async fn close(&self, patience: Duration) {
        let mut tasks = std::mem::take(&mut *self.lock_tasks());
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(patience, all).await;
        tasks.shutdown().await;
    }

    fn lock_tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const TASKS_MAX: usize = 32;
