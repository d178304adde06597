//! Checks that enough threads can be started, and that the main thread's stack is large enough.
//! Otherwise libraries would abort the process with unhelpful messages.

use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rustix::process::{Resource, getrlimit};

use crate::command_error::CommandError;
use crate::words;

/// Returns an error if hardly any thread can be started.
pub fn check_free_threads() -> Result<(), CommandError> {
    let (release, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let started: Result<Vec<JoinHandle<()>>, io::Error> = (0..THREADS_MIN)
        .map(|_| {
            let gate = Arc::clone(&gate);
            // All of them wait, because the number of concurrent threads matters.
            Builder::new().stack_size(PROBE_STACK_BYTES).spawn(move || {
                let gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = gate.recv();
            })
        })
        .collect();
    drop(release);
    match started {
        Ok(threads) => {
            threads.into_iter().for_each(|thread| drop(thread.join()));
            Ok(())
        }
        Err(error) => Err(CommandError::failure(words::describe_few_threads(&THREADS_MIN, &error))),
    }
}

/// Runs this on a sufficiently large stack, with any limit on the main thread's (`ulimit -s`).
pub fn run_with_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, CommandError> {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|bytes| bytes >= STACK_BYTES_MIN) {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let builder = Builder::new().name("main".to_owned()).stack_size(STACK_BYTES);
        let thread = builder
            .spawn_scoped(scope, work)
            .map_err(|error| CommandError::failure(words::describe_no_thread(&error)))?;
        thread.join().map_err(|_| CommandError::failure(words::describe_bug(&words::BROKE_DOWN)))
    })
}

/// Signals, output, settings, the journal, snapshots, a tool, and a spare one.
const THREADS_MIN: usize = 7;
const PROBE_STACK_BYTES: usize = 64 * 1024;
/// The usual stack size of a main thread.
const STACK_BYTES: usize = 8 * 1024 * 1024;
const STACK_BYTES_MIN: u64 = 4 * 1024 * 1024;
