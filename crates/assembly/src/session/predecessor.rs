//! Waits for the previous process of a session. A client often starts the next one as soon as it
//! has told the last one to end.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_host::command_error::CommandError;
use windlass_journal::is_being_written;

/// Waits a little until no other process writes the journal.
pub async fn wait_until_free(journal: &Path) -> Result<(), CommandError> {
    let began = Instant::now();
    while is_being_written(journal) {
        if began.elapsed() >= CLIENT_RESTART_WAIT {
            return Err(CommandError::usage(
                "the session is open in another process; close it there, or resume a copy with \
                 --fork-session",
            ));
        }
        tokio::time::sleep(PREDECESSOR_POLL).await;
    }
    Ok(())
}

/// Longer than the journal itself waits: a client that has just closed a session gets an error where a
/// person would simply try again.
const CLIENT_RESTART_WAIT: Duration = Duration::from_secs(5);
const PREDECESSOR_POLL: Duration = Duration::from_millis(20);
