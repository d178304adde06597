//! A run to watch: text as it streams, tools as they run, faults as they are survived.
//!
//! On a terminal text appears while it is written and is visibly taken back when it turns out to be
//! void. Without one, every line is printed once and for good.

mod diff;
mod screen;
mod tally;
mod wrap;

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use windlass_vocabulary::{Block, Delta, Notice, ResultPart, ToolCall, ToolCallId, ToolOutcome};

use super::call::{described, shortened};
use super::output::Closed;
use super::words;
use super::{Face, Flow, harmless};
pub(crate) use screen::{Screen, Style};
pub(crate) use tally::Tally;

/// The front end of the demonstration.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// Where it is shown.
    pub(crate) screen: Screen,
    /// What happened so far.
    pub(crate) tally: Tally,
    /// Names below this directory are shown without it.
    directory: String,
    calls: Vec<ToolCall>,
    /// The call whose line was printed last, so that its result needs no name.
    last_call: Option<ToolCallId>,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    words: String,
    until: Instant,
}

impl Watcher {
    /// Shows it on this screen.
    pub(crate) fn new(screen: Screen, directory: &Path) -> Self {
        Self {
            screen,
            tally: Tally::default(),
            directory: format!("{}/", directory.display()),
            calls: Vec::new(),
            last_call: None,
            waiting: None,
        }
    }

    fn show(&mut self, notice: &Notice) -> Result<(), Closed> {
        match notice {
            Notice::RequestStarted { .. } => self.end_wait(),
            Notice::Streamed { delta, .. } => self.streamed(delta),
            Notice::Retracted { why, .. } => self.screen.retract(why),
            Notice::ToolStarted(call) => self.started(call),
            Notice::ToolEnded { call, outcome } => self.ended(call, outcome),
            Notice::Waiting { failure, attempt, attempts_max, wait } => {
                let status = failure.status.map(|status| format!("{status}: "));
                let (what, _) = words::told(failure);
                let words = format!(
                    "! {}{what}; retry {attempt} of {attempts_max}",
                    status.unwrap_or_default()
                );
                self.begin_wait(words, Duration::from_millis(wait.0))
            }
            Notice::ToolDenied { call, why } => {
                let line = format!("{} was denied: {why}", described(call, CALL_MAX));
                self.screen.aside(Style::Warning, &line)
            }
            Notice::ModelSwitched { to, why, .. } => {
                let line = format!("asking {to} from now on: {why}");
                self.screen.aside(Style::Warning, &line)
            }
            Notice::Repaired { why } | Notice::Warning(why) => {
                self.screen.aside(Style::Warning, why)
            }
            _ => Ok(()),
        }
    }

    fn streamed(&mut self, delta: &Delta) -> Result<(), Closed> {
        match delta {
            Delta::Thinking(text) => self.screen.stream(Style::Dim, text),
            Delta::Text(text) => self.screen.stream(Style::Plain, text),
            Delta::Block(Block::Text(_) | Block::Thinking(_)) => self.screen.end_stream(),
            _ => Ok(()),
        }
    }

    fn started(&mut self, call: &ToolCall) -> Result<(), Closed> {
        self.calls.push(call.clone());
        self.last_call = Some(call.id.clone());
        let line = self.named(call);
        self.screen.heading(&line)
    }

    fn ended(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> Result<(), Closed> {
        let Some(place) = self.calls.iter().position(|call| call.id == *id) else {
            return Ok(());
        };
        let call = self.calls.remove(place);
        let is_below_its_heading = self.last_call.take().as_ref() == Some(id);
        let text = text_of(outcome);
        if call.name.as_str() == "Read" && !outcome.is_error {
            let name = match is_below_its_heading {
                true => String::new(),
                false => format!("{}: ", self.named(&call)),
            };
            let line = format!("{name}{} lines", text.lines().count());
            return self.screen.indented(Style::Dim, &line);
        }
        if !is_below_its_heading {
            let line = format!("{}:", self.named(&call));
            self.screen.indented(Style::Strong, &line)?;
        }
        let change = outcome.structured.as_ref().map(diff::lines);
        if let Some(lines) = change.filter(|lines| !lines.is_empty()) {
            for (style, line) in lines {
                self.screen.indented(style, &line)?;
            }
            return Ok(());
        }
        self.tail(&text, outcome.is_error)
    }

    /// The end of an output is where the verdict stands.
    fn tail(&mut self, text: &str, is_error: bool) -> Result<(), Closed> {
        let lines: Vec<&str> = text.lines().collect();
        let hidden = lines.len().saturating_sub(TAIL_LINES);
        if hidden > 0 {
            let line = format!("… {hidden} lines before");
            self.screen.indented(Style::Dim, &line)?;
        }
        for line in lines.iter().skip(hidden) {
            let style = match (line.starts_with("FAIL"), line.starts_with("PASS")) {
                (true, _) => Style::Removed,
                (_, true) => Style::Added,
                _ if is_error => Style::Warning,
                _ => Style::Dim,
            };
            self.screen.indented(style, line)?;
        }
        Ok(())
    }

    fn named(&self, call: &ToolCall) -> String {
        let line = described(call, CALL_MAX).replace(&self.directory, "");
        shortened(&line, self.screen.width().saturating_sub(4))
    }

    fn begin_wait(&mut self, words: String, wait: Duration) -> Result<(), Closed> {
        if !self.screen.is_live() {
            let line = format!("{words} in {}", words::seconds(wait));
            return self.screen.aside(Style::Warning, &line);
        }
        self.screen.begin_status()?;
        let until = Instant::now() + wait;
        self.waiting = Some(Waiting { words, until });
        self.count_down()
    }

    fn count_down(&mut self) -> Result<(), Closed> {
        let Some(Waiting { words, until }) = &self.waiting else {
            return Ok(());
        };
        let left = until.saturating_duration_since(Instant::now());
        let line = format!("{words} in {}", words::seconds(left));
        self.screen.status(&line)
    }

    fn end_wait(&mut self) -> Result<(), Closed> {
        match self.waiting.take() {
            Some(Waiting { words, .. }) => {
                self.screen.status(&format!("{words}, asking again"))?;
                self.screen.end_status()
            }
            None => Ok(()),
        }
    }
}

impl Face for Watcher {
    fn notice(&mut self, notice: &Notice) -> Flow {
        self.tally.notice(notice);
        match self.show(notice) {
            Ok(()) => Flow::Go,
            Err(Closed) => Flow::Unread,
        }
    }

    fn wake(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|_| Instant::now() + TICK)
    }

    fn tick(&mut self) {
        // A closed output is noticed with the next notice.
        let _ = self.count_down();
    }
}

fn text_of(outcome: &ToolOutcome) -> String {
    let parts = outcome.content.iter().map(|part| match part {
        ResultPart::Text(text) => harmless(text).into_owned(),
        ResultPart::Media(media) => format!("[{}]", media.name),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// How often a countdown moves.
const TICK: Duration = Duration::from_millis(100);
/// Lines of a tool's output that are shown.
const TAIL_LINES: usize = 8;
const CALL_MAX: usize = 200;
