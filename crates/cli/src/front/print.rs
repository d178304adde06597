//! One prompt, one answer: what `windlass -p` prints of a run that the desk conducts.
//!
//! Standard output gets the answer (or the result as one JSON object) and nothing else, when the run
//! is over: what is shown earlier might have to be taken back. Standard error gets what `progress`
//! tells and, if the run failed, one line with the cause and what to do.

use std::io::IsTerminal;

use windlass_vocabulary::{Notice, ToolCall};

use super::call::described;
use super::output::{Output, Target};
use super::progress::{Level, Progress};
use super::stream_json::Stamped;
use super::{harmless, unless_signalled};
use crate::args::OutputFormat;
use crate::exit::Exit;
use crate::refusal::Refusal;
use crate::signals::{Caught, Signals};

/// What is printed of a run.
#[derive(Debug)]
pub(crate) struct Printer {
    format: OutputFormat,
    /// What is told on the way.
    pub(crate) progress: Progress,
    denials: Vec<(ToolCall, String)>,
    ended: Option<Ended>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The result as clients read it.
    pub(crate) result: Stamped,
    /// The final answer.
    pub(crate) text: String,
    /// What people should know of the end, and what to do.
    pub(crate) problem: Option<String>,
    /// It failed. One that somebody's own hook ended has not.
    pub(crate) has_failed: bool,
}

impl Printer {
    /// Prints in this format; `None` if every frame is wanted, as it comes.
    pub(crate) fn new(format: OutputFormat, verbose: bool) -> Option<Self> {
        let printer =
            || Self { format, progress: Progress::new(verbose), denials: Vec::new(), ended: None };
        (format != OutputFormat::StreamJson).then(printer)
    }

    /// Something happened.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        self.progress.notice(notice);
        if let Notice::ToolDenied { call, why } = notice {
            self.denials.push((call.clone(), why.clone()));
        }
    }

    /// A prompt ended. Of several the last one counts.
    pub(crate) fn ended(&mut self, ended: Ended) {
        self.ended = Some(ended);
    }

    /// Prints what there is.
    pub(crate) async fn close(mut self, caught: Option<Caught>, signals: &mut Signals) -> Exit {
        let Some(ended) = self.ended.take() else {
            self.progress.finish().await;
            return caught.map_or(Exit::FAILED, Caught::exit);
        };
        let mut output = Output::new(Target::Stdout);
        // If nobody reads it, the code still tells.
        let _ = output.write(self.rendered(&ended));
        // However slow the reader is, it gets everything, unless somebody wants us to stop.
        match unless_signalled(signals, output.finish()).await {
            Err(caught) => return caught.exit(),
            Ok(Some(error)) => {
                let line = format!("the answer could not be written to standard output: {error}");
                return self.fail(&line, signals).await;
            }
            Ok(None) => {}
        }
        self.tell_denials();
        match (caught, ended.problem) {
            (Some(signal), problem) => {
                self.progress.say(Level::Puzzling, &problem.unwrap_or_default());
                self.progress.finish().await;
                signal.exit()
            }
            (None, Some(line)) if ended.has_failed => self.fail(&line, signals).await,
            (None, problem) => {
                problem.iter().for_each(|line| self.progress.insist(line));
                self.progress.finish().await;
                Exit::DONE
            }
        }
    }

    async fn fail(&mut self, line: &str, signals: &mut Signals) -> Exit {
        let _ = unless_signalled(signals, self.progress.finish()).await;
        let mut output = Output::new(Target::Stderr);
        let _ = output.write(format!("{}\n", Refusal::failed(line)));
        let _ = unless_signalled(signals, output.finish()).await;
        Exit::FAILED
    }

    fn rendered(&self, ended: &Ended) -> String {
        let text = ended.text.as_str();
        match self.format {
            OutputFormat::Json | OutputFormat::StreamJson => {
                format!("{}\n", serde_json::to_string(&ended.result).unwrap_or_default())
            }
            OutputFormat::Text if text.is_empty() => String::new(),
            OutputFormat::Text => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                let text = match std::io::stdout().is_terminal() {
                    true => harmless(text),
                    false => text.into(),
                };
                format!("{text}{end}")
            }
        }
    }

    /// An unattended run that was not allowed to do its work must not end without a word.
    fn tell_denials(&mut self) {
        let Some((call, why)) = self.denials.first() else {
            return;
        };
        let more = match self.denials.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let line = format!("not allowed: {}{more}: {why}", described(call, CALL_MAX));
        self.progress.insist(&line);
    }
}

/// Characters of a call in a line.
const CALL_MAX: usize = 120;
