//! An agent in the background. It is not a process, but it is listed like a command, so that the
//! same tools can wait for it, show it and end it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    BackgroundKind, BackgroundOutcome, BackgroundRecord, BackgroundTaskEnd, BackgroundTasks,
};
use crate::process::ProcessContext;

const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// Owned by the task that runs a background agent. If it is dropped before
/// [`BackgroundAgent::finish`], the agent counts as lost.
#[derive(Debug)]
pub struct BackgroundAgent {
    record: Arc<BackgroundRecord>,
    end_signal: Arc<Notify>,
    file: Option<File>,
    bytes_left: usize,
}

impl BackgroundTasks {
    /// Registers an agent with this name. It must end when its token is cancelled: the given one,
    /// or its child, [`BackgroundAgent::cancel_token`].
    ///
    /// # Errors
    /// Its output cannot be stored on disk.
    pub fn start_agent(
        &self,
        processes: &ProcessContext,
        id: &str,
        description: &str,
        cancel: &CancellationToken,
    ) -> io::Result<BackgroundAgent> {
        DirBuilder::new().recursive(true).mode(0o700).create(&processes.spill_directory)?;
        let output = processes.new_spill_path("agent");
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(0o600).open(&output)?;
        let mut task =
            BackgroundRecord::new(BackgroundKind::Agent, id.to_owned(), description, output);
        task.cancel = cancel.child_token();
        Ok(BackgroundAgent {
            record: self.add_agent(task),
            end_signal: self.end_signal(),
            file: Some(file),
            bytes_left: OUTPUT_BYTES_MAX,
        })
    }
}

impl BackgroundAgent {
    #[must_use]
    pub fn output_path(&self) -> &Path {
        &self.record.output_path
    }

    #[must_use]
    pub fn cancel_token(&self) -> CancellationToken {
        self.record.cancel.clone()
    }

    /// Adds output. Output that exceeds the limit or cannot be written is dropped.
    pub fn write(&mut self, text: &str) {
        let text = text.get(..text.floor_char_boundary(self.bytes_left)).unwrap_or_default();
        self.bytes_left -= text.len();
        if let Some(file) = &mut self.file
            && file.write_all(text.as_bytes()).is_err()
        {
            self.file = None;
        }
        self.record.update_signal.notify_waiters();
    }

    pub fn finish(self, words: String, is_failure: bool, answer: Option<String>) {
        self.record.set_outcome(BackgroundOutcome {
            summary: words,
            end: match is_failure {
                true => BackgroundTaskEnd::Failed,
                false => BackgroundTaskEnd::Completed,
            },
            answer,
        });
    }
}

impl Drop for BackgroundAgent {
    fn drop(&mut self) {
        if self.record.outcome().is_none() {
            self.record.set_outcome(BackgroundOutcome::without_answer(
                "It was lost.".to_owned(),
                BackgroundTaskEnd::Failed,
            ));
        }
        self.end_signal.notify_waiters();
    }
}
