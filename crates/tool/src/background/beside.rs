//! An agent in the background: no process, but known like a command, so that it can be waited for,
//! looked at and ended by the same tools.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{End, Kind, Task};
use crate::surroundings::Surroundings;

/// Bytes kept of what an agent does.
const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// Held by whoever runs an agent in the background. Dropped before [`Beside::end`], it counts as
/// lost.
#[derive(Debug)]
pub struct Beside {
    task: Arc<Task>,
    ends: Arc<Notify>,
    file: Option<File>,
    room: usize,
}

impl Surroundings {
    /// An agent goes on beside the session under this name. It has to end when the token says so:
    /// the one given, or the one of [`Beside::cancel`], which is its child.
    ///
    /// # Errors
    /// When what it does cannot be kept on disk.
    pub fn begin_beside(
        &self,
        id: &str,
        told: &str,
        cancel: &CancellationToken,
    ) -> io::Result<Beside> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.spill)?;
        let output = self.spill_path("agent");
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(0o600).open(&output)?;
        let mut task = Task::new(Kind::Agent, id.to_owned(), told, output);
        task.cancel = cancel.child_token();
        let (task, ends) = (self.background().add_agent(task), self.background().ends());
        Ok(Beside { task, ends, file: Some(file), room: OUTPUT_BYTES_MAX })
    }
}

impl Beside {
    /// Where everything it does is written.
    #[must_use]
    pub fn output(&self) -> &Path {
        &self.task.output
    }

    /// Tells it to end.
    #[must_use]
    pub fn cancel(&self) -> CancellationToken {
        self.task.cancel.clone()
    }

    /// Writes down what it does. What does not fit or cannot be written is left out.
    pub fn write(&mut self, text: &str) {
        let text = text.get(..text.floor_char_boundary(self.room)).unwrap_or_default();
        self.room -= text.len();
        if let Some(file) = &mut self.file
            && file.write_all(text.as_bytes()).is_err()
        {
            self.file = None;
        }
        self.task.bell.notify_waiters();
    }

    /// It has ended, in these words; its answer is told to the model.
    pub fn end(self, words: String, is_failure: bool, answer: Option<String>) {
        self.task.ended(End { words, is_failure, answer });
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if self.task.end().is_none() {
            self.task.ended(End::of("It was lost.".to_owned(), true));
        }
        self.ends.notify_waiters();
    }
}
