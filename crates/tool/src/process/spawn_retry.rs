//! Starts a process when the system is short of resources.
//!
//! A system without free file descriptors or processes has some again when others end. So a call
//! waits instead of failing at once, one at a time with other waiting calls; only for a while,
//! because another program may hold them.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use rustix::io::Errno;

use super::launch::{self, ProgramSpec, SpawnedProcess};
use super::process_context::ProcessContext;

/// How long a call waits for resources, and how often it tries.
const WAIT_MAX: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) async fn spawn_with_retry(
    program: &ProgramSpec,
    processes: &ProcessContext,
    environment: &[(OsString, OsString)],
) -> io::Result<SpawnedProcess> {
    processes.write_owner_note();
    let full = match launch::spawn_once(program, processes, environment) {
        Err(error) if is_resource_exhausted(&error) => error,
        started => return started,
    };
    let waiting = async {
        // One waiting call tries at a time: the first that succeeds leaves the rest to the next.
        let _turn = processes.spawn_queue.lock().await;
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            match launch::spawn_once(program, processes, environment) {
                Err(error) if is_resource_exhausted(&error) => {}
                started => return started,
            }
        }
    };
    tokio::time::timeout(WAIT_MAX, waiting).await.unwrap_or(Err(full))
}

fn is_resource_exhausted(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::AGAIN))
}
