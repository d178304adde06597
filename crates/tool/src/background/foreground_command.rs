//! A command that a call waits for, until it ends or the user moves it to the background.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{BackgroundRecord, BackgroundTasks};
use crate::process::{
    FinishedProcess, ProcessHandover, RunningNote, SpawnedProcess, SuperviseOptions, supervise,
};
use crate::tool_session_context::ToolSessionContext;

pub(crate) struct AwaitedCommand<'a> {
    /// As the model wrote it.
    pub(crate) command: &'a str,
    pub(crate) call_id: &'a str,
    /// The file for its output if it moves to the background.
    pub(crate) output_path: PathBuf,
    /// Files in which the shell stores its state for the next command. A command that was moved has
    /// no next one.
    pub(crate) report_files: Vec<PathBuf>,
    pub(crate) context: &'a ToolSessionContext,
}

pub(crate) enum AwaitedCommandEnd {
    Finished(Box<FinishedProcess>),
    Moved(Arc<BackgroundRecord>),
}

impl AwaitedCommandEnd {
    fn from_finished(ended: FinishedProcess) -> Self {
        Self::Finished(Box::new(ended))
    }
}

impl BackgroundTasks {
    /// Waits for a started command. It stays in the foreground if the background is full, or if its
    /// launcher cannot confine it there.
    pub(crate) async fn await_command(
        &self,
        awaited: AwaitedCommand<'_>,
        process: SpawnedProcess,
        options: SuperviseOptions,
    ) -> io::Result<AwaitedCommandEnd> {
        let AwaitedCommand { command, call_id, output_path, report_files, context } = awaited;
        let ToolSessionContext { processes, limits, .. } = context;
        let identity = process.identity();
        let note = RunningNote::write(processes, None, &identity);
        let waiting = self.register_foreground(None, call_id, &options.owner.cancel);
        let (hand_over, handover) = oneshot::channel();
        let options = SuperviseOptions { handover: Some(handover), ..options };
        let mut supervision = Box::pin(supervise(process, options));
        tokio::select! {
            ended = &mut supervision => return ended.map(AwaitedCommandEnd::from_finished),
            () = waiting.background_request.cancelled() => {}
        }
        let running_max = limits.background_tasks_max;
        let Ok(task) = self.add_command(command, output_path, running_max) else {
            return supervision.await.map(AwaitedCommandEnd::from_finished);
        };
        let (is_done, done) = oneshot::channel();
        let timeout = limits.background_timeout_max;
        let order = ProcessHandover { owner: task.owner(), timeout, is_done };
        // Fails if the command has just ended.
        let _ = hand_over.send(order);
        let is_moved = tokio::select! {
            biased;
            moved = done => moved.unwrap_or(false),
            ended = &mut supervision => {
                self.remove(&task.id);
                return ended.map(AwaitedCommandEnd::from_finished);
            }
        };
        if !is_moved {
            self.remove(&task.id);
            return supervision.await.map(AwaitedCommandEnd::from_finished);
        }
        drop(note);
        let note = RunningNote::write(processes, Some(&task.output_path), &identity);
        let _ = task.process_identity.set(identity);
        let spill_max = limits.output_spill_bytes_max;
        self.follow_command(&task, timeout, spill_max, note, async move {
            let ended = supervision.await;
            for path in report_files {
                let _ = std::fs::remove_file(path);
            }
            ended
        });
        Ok(AwaitedCommandEnd::Moved(task))
    }
}
