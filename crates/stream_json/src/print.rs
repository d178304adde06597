//! One prompt, one answer: what `windlass -p` prints of a run.
//!
//! Standard output gets only the answer (or the result as one JSON object), and only at the end of
//! the run, because earlier output might have to be retracted. Standard error gets the lines of
//! `progress_log` and, if the run failed, one line with the cause and what to do.

use std::io::IsTerminal;

use windlass_vocabulary::{Notice, ToolCall};

use crate::frame::ConversationFrame;
use crate::output_writer::{OutputTarget, OutputWriter};
use crate::progress_log::{ProgressLevel, ProgressLog};
use windlass_assembly::options::OutputFormat;
use windlass_host::command_error::CommandError;
use windlass_host::display::strip_control_characters;
use windlass_host::display::tool_call_summary::summarize_tool_call;
use windlass_host::exit::Exit;
use windlass_host::signals::await_unless_signalled;
use windlass_host::signals::{ExitSignal, SignalListener};

#[derive(Debug)]
pub(crate) struct Printer {
    format: OutputFormat,
    pub progress: ProgressLog,
    denials: Vec<(ToolCall, String)>,
    result: Option<PrintedResult>,
}

#[derive(Debug)]
pub(crate) struct PrintedResult {
    pub result: ConversationFrame,
    pub text: String,
    /// What users should know of the end, and what to do.
    pub problem: Option<String>,
    /// A run that a hook of the user ended has not failed.
    pub has_failed: bool,
}

impl Printer {
    /// Prints in this format; `None` if every frame is wanted, as it comes.
    pub(crate) fn new(format: OutputFormat, verbose: bool) -> Option<Self> {
        let printer = || Self {
            format,
            progress: ProgressLog::new(verbose),
            denials: Vec::new(),
            result: None,
        };
        (format != OutputFormat::StreamJson).then(printer)
    }

    pub(crate) fn on_notice(&mut self, notice: &Notice) {
        self.progress.on_notice(notice);
        if let Notice::ToolDenied { call, why } = notice {
            self.denials.push((call.clone(), why.clone()));
        }
    }

    /// A prompt ended. Of several the last one counts.
    pub(crate) fn set_result(&mut self, ended: PrintedResult) {
        self.result = Some(ended);
    }

    pub(crate) async fn print_result(
        mut self,
        caught: Option<ExitSignal>,
        signals: &mut SignalListener,
    ) -> Exit {
        let Some(ended) = self.result.take() else {
            self.progress.finish().await;
            return caught.map_or(Exit::FAILURE, ExitSignal::exit);
        };
        let mut output = OutputWriter::new(OutputTarget::Stdout);
        // Without a reader, the exit code still tells the result.
        let _ = output.write(self.render_result(&ended));
        // However slow the reader is, it gets everything, unless a signal comes.
        match await_unless_signalled(signals, output.finish()).await {
            Err(caught) => return caught.exit(),
            Ok(Some(error)) => {
                let line = format!("the answer could not be written to standard output: {error}");
                return self.print_failure(&line, signals).await;
            }
            Ok(None) => {}
        }
        self.report_denials();
        match (caught, ended.problem) {
            (Some(signal), problem) => {
                self.progress.log(ProgressLevel::Unusual, &problem.unwrap_or_default());
                self.progress.finish().await;
                signal.exit()
            }
            (None, Some(line)) if ended.has_failed => self.print_failure(&line, signals).await,
            (None, problem) => {
                problem.iter().for_each(|line| self.progress.log_always(line));
                self.progress.finish().await;
                Exit::SUCCESS
            }
        }
    }

    async fn print_failure(&mut self, line: &str, signals: &mut SignalListener) -> Exit {
        let _ = await_unless_signalled(signals, self.progress.finish()).await;
        let mut output = OutputWriter::new(OutputTarget::Stderr);
        let _ = output.write(format!("{}\n", CommandError::failure(line)));
        let _ = await_unless_signalled(signals, output.finish()).await;
        Exit::FAILURE
    }

    fn render_result(&self, ended: &PrintedResult) -> String {
        let text = ended.text.as_str();
        match self.format {
            OutputFormat::Json | OutputFormat::StreamJson => {
                format!("{}\n", serde_json::to_string(&ended.result).unwrap_or_default())
            }
            OutputFormat::Text if text.is_empty() => String::new(),
            OutputFormat::Text => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                let text = match std::io::stdout().is_terminal() {
                    true => strip_control_characters(text),
                    false => text.into(),
                };
                format!("{text}{end}")
            }
        }
    }

    /// An unattended run that was not allowed to do its work must not end without a word.
    fn report_denials(&mut self) {
        let Some((call, why)) = self.denials.first() else {
            return;
        };
        let more = match self.denials.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let line = format!("not allowed: {}{more}: {why}", summarize_tool_call(call, CALL_MAX));
        self.progress.log_always(&line);
    }
}

const CALL_MAX: usize = 120;
