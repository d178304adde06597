//! What the client gets to read: frames as they come, or one printed result.

use std::fs::File;
use std::time::Duration;

use tokio::time::Instant;

use crate::frame_writer::FrameWriter;
use crate::output_writer::{OutputTarget, OutputWriter};
use crate::print::Printer;
use crate::progress_log::ProgressLog;
use crate::session_state::SessionStateReporter;
use windlass_assembly::options::RunOptions;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;

pub(crate) struct ClientOutput {
    pub(super) frame_writer: FrameWriter,
    /// Prints the result, if no other frame is wanted.
    pub(super) printer: Option<Printer>,
    pub(super) debug_log: Option<ProgressLog>,
    /// Lines on standard error.
    pub(super) error_lines: OutputWriter,
    pub(super) state_reporter: SessionStateReporter,
    keep_alive_interval: Duration,
    pub(super) results_sent: u64,
    /// The last result was an error.
    pub(super) has_failed: bool,
}

impl ClientOutput {
    pub(super) fn new(args: &RunOptions, debug_file: Option<File>) -> Self {
        let is_debugged = args.headless.debug.is_some() && args.headless.debug_file.is_none();
        let printer = Printer::new(args.output_format, args.verbose || is_debugged);
        let stderr_log = (printer.is_none() && is_debugged).then(|| ProgressLog::new(true));
        Self {
            frame_writer: match printer {
                Some(_) => FrameWriter::without_output(),
                None => FrameWriter::spawn(),
            },
            printer,
            debug_log: debug_file.map(ProgressLog::from_file).or(stderr_log),
            error_lines: OutputWriter::new(OutputTarget::Stderr),
            state_reporter: SessionStateReporter::new(process_environment),
            keep_alive_interval: super::read_env_duration("WINDLASS_KEEP_ALIVE_MS")
                .unwrap_or(KEEP_ALIVE_INTERVAL),
            results_sent: 0,
            has_failed: false,
        }
    }

    /// If standard error is not read, the protocol continues.
    pub(super) fn report_error_line(&mut self, words: &str) {
        let _ = self.error_lines.write(format!("{}\n", CommandError::failure(words)));
    }

    /// When the next keep-alive is due. While lines wait for their reader there is nothing to add, but
    /// it is looked at again.
    pub(super) fn next_keep_alive(&self) -> Instant {
        let silent_since = match self.frame_writer.is_empty() {
            true => self.frame_writer.last_written,
            false => Instant::now(),
        };
        silent_since + self.keep_alive_interval
    }
}

const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
