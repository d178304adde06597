//! The thread of the TUI, so that a key is echoed even while the session is busy. The two share
//! only channels.

use std::io;
use std::sync::mpsc as blocking;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::run_event_loop;
use crate::setup::TuiSetup;

/// Runs the TUI until it is closed, and returns what was typed and not sent. Dropping the future
/// restores the terminal.
///
/// # Errors
/// When the terminal cannot be used.
pub(crate) async fn run_tui(setup: TuiSetup) -> io::Result<String> {
    let session_runtime = Handle::current();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (cancel_sender, cancelled) = oneshot::channel();
    let (result_sender, result) = oneshot::channel();
    let (end_sender, ended) = blocking::sync_channel::<()>(1);
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        let result = runtime.block_on(run_event_loop(setup, session_runtime, cancelled));
        runtime.shutdown_background();
        drop(end_sender);
        // Fails only if the future was dropped.
        let _ = result_sender.send(result);
    })?;
    let _guard = TuiThreadGuard { cancel_sender: Some(cancel_sender), ended };
    result.await.unwrap_or_else(|_| Err(io::Error::other(crate::words::THREAD_ENDED)))
}

/// Dropping it cancels the thread and waits a moment until the terminal is restored.
struct TuiThreadGuard {
    cancel_sender: Option<oneshot::Sender<()>>,
    ended: blocking::Receiver<()>,
}

impl Drop for TuiThreadGuard {
    fn drop(&mut self) {
        drop(self.cancel_sender.take());
        // A terminal that reads no more would block forever.
        let _ = self.ended.recv_timeout(SHUTDOWN_WAIT_MAX);
        crate::raw_terminal::restore_modes();
    }
}

const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(1);
