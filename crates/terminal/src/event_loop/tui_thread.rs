//! The terminal has a thread of its own: whatever the session is busy with, a key is echoed. Only
//! messages go between the two.

use std::io;
use std::sync::mpsc as blocking;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::run_event_loop;
use crate::setup::TuiSetup;

/// Holds a conversation until somebody ends it, and gives what was typed and not sent. Dropping the
/// future gives the terminal back.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run_tui(stage: TuiSetup) -> io::Result<String> {
    let session_side = Handle::current();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (leave, left) = oneshot::channel();
    let (tell, told) = oneshot::channel();
    let (end, ended) = blocking::sync_channel::<()>(1);
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        let outcome = runtime.block_on(run_event_loop(stage, session_side, left));
        runtime.shutdown_background();
        drop(end);
        // Nobody waits for it when the conversation was left.
        let _ = tell.send(outcome);
    })?;
    let _held = TuiThreadGuard { leave: Some(leave), ended };
    told.await.unwrap_or_else(|_| Err(io::Error::other("the terminal's thread is gone")))
}

/// A conversation on its thread. Dropping it waits a moment until the terminal is given back.
struct TuiThreadGuard {
    leave: Option<oneshot::Sender<()>>,
    ended: blocking::Receiver<()>,
}

impl Drop for TuiThreadGuard {
    fn drop(&mut self) {
        drop(self.leave.take());
        // A terminal that takes nothing any more is not waited for for ever.
        let _ = self.ended.recv_timeout(SHUTDOWN_WAIT_MAX);
        crate::raw_terminal::restore_modes();
    }
}

const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(1);
