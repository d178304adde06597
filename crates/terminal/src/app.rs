//! What the terminal shows, and what follows from keys and notices. Pure: no clock, no screen, no
//! session. What is to be done outside comes back as [`Wish`]es.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::{
    Answer, AttemptId, Block, Delta, Message, Mode, Notice, Origin, Role as Side, Ticket, ToolCall,
    ToolCallId,
};

use crate::approval::Approval;
use crate::composer::{Composer, Move};
use crate::key::Key;
use crate::line::{Line, Role};
use crate::menu::{Hint, Menu};
use crate::{text, tool};

/// What does not change while a session lasts.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The model that is asked first.
    pub model: String,
    /// Where we work.
    pub directory: String,
    /// The branch, if there is one.
    pub branch: Option<String>,
    /// Tokens the model can see.
    pub window: u64,
    /// What may be spent, in micro-dollars.
    pub budget: Option<u64>,
    /// Commands that may be typed.
    pub commands: Vec<Hint>,
}

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Say this, or carry it out.
    Submit(String),
    /// Answer a question.
    Answer(Ticket, Answer),
    /// End the run.
    Interrupt,
    /// End the session.
    Quit,
}

/// A call under way.
#[derive(Clone, Debug)]
pub struct Running {
    /// The call.
    pub call: ToolCall,
    /// What it said last.
    pub tail: String,
    /// When it began.
    pub since: Duration,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub struct App {
    /// What does not change.
    pub about: About,
    /// What may run without a question.
    pub mode: Mode,
    /// What is being typed.
    pub composer: Composer,
    /// Questions, the oldest first.
    pub approvals: VecDeque<Approval>,
    /// Calls under way.
    pub running: Vec<Running>,
    /// The answer as far as it has come.
    pub answer: String,
    /// Is the model thinking?
    pub is_thinking: bool,
    /// Is a run under way?
    pub is_busy: bool,
    /// Why nothing happens at the moment.
    pub waiting: Option<String>,
    /// Input that waits for the next tool boundary.
    pub queued: Vec<String>,
    /// The turn it is.
    pub turn: u32,
    /// Tokens of the last request.
    pub tokens: u64,
    /// What the session cost, in micro-dollars.
    pub cost: u64,
    /// Time since the session began.
    pub now: Duration,
    /// When the run began.
    pub began: Duration,
    /// A word about what a key would do now.
    pub hint: Option<&'static str>,
    /// Cells of a line.
    pub width: usize,
    attempt: Option<AttemptId>,
    finished: Vec<Line>,
}

impl App {
    /// At the beginning.
    #[must_use]
    pub fn new(about: About, mode: Mode, width: usize) -> Self {
        Self { about, mode, width, ..Self::default() }
    }

    /// Lines that are finished and not shown yet.
    pub fn take_finished(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.finished)
    }

    /// Shows lines for good.
    pub fn finish(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.finished.extend(lines);
    }

    /// Shows words for good, as they are.
    pub fn say(&mut self, words: &str, role: Role) {
        let lines = text::plain(words, role, self.width);
        self.finish(lines);
    }

    /// The commands that fit what is being typed.
    #[must_use]
    pub fn menu(&self) -> Menu<'_> {
        Menu::of(self.composer.text(), &self.about.commands)
    }

    /// A key was pressed.
    pub fn key(&mut self, key: Key) -> Vec<Wish> {
        self.hint = None;
        if let Some(approval) = self.approvals.front_mut() {
            return match approval.key(key) {
                None => Vec::new(),
                Some(answer) => self.answered(answer),
            };
        }
        match key {
            Key::Enter => return self.submit(),
            Key::Escape if self.is_busy => {
                self.hint = Some("stopping");
                return vec![Wish::Interrupt];
            }
            Key::Escape => self.composer.set(""),
            Key::Cancel if self.is_busy => return vec![Wish::Interrupt],
            Key::Cancel if !self.composer.is_empty() => self.composer.set(""),
            Key::Cancel => return vec![Wish::Quit],
            Key::EndOfInput if self.composer.is_empty() => return vec![Wish::Quit],
            Key::EndOfInput | Key::Delete => self.composer.delete(),
            Key::Tab => {
                if let Some(name) = self.menu().first() {
                    self.composer.set(format!("/{name} "));
                }
            }
            Key::Letter(letter) => self.composer.insert(letter.encode_utf8(&mut [0; 4])),
            Key::NewLine => self.composer.insert("\n"),
            Key::Paste(text) => self.composer.paste(&text),
            Key::Backspace => self.composer.backspace(),
            Key::DeleteWord => self.composer.delete_word(),
            Key::DeleteToHome => self.composer.delete_to_home(),
            Key::DeleteToEnd => self.composer.delete_to_end(),
            Key::Move(to) => self.composer.go(to),
        }
        Vec::new()
    }

    fn submit(&mut self) -> Vec<Wish> {
        // A sign before the end of the line asks for another one.
        if self.composer.text().ends_with('\\') {
            self.composer.go(Move::End);
            self.composer.backspace();
            self.composer.insert("\n");
            return Vec::new();
        }
        let said = self.composer.submit();
        match said.trim().is_empty() {
            true => Vec::new(),
            false => vec![Wish::Submit(said)],
        }
    }

    fn answered(&mut self, answer: Answer) -> Vec<Wish> {
        let Some(approval) = self.approvals.pop_front() else { return Vec::new() };
        let (sign, role) = match &answer {
            Answer::Allow { .. } => ("allowed", Role::Quiet),
            Answer::Deny { .. } => ("not allowed", Role::Warning),
        };
        let line = Line::of(format!("  {sign}: "), role).and(approval.title(), Role::Quiet);
        self.finish([line]);
        vec![Wish::Answer(approval.ticket, answer)]
    }

    /// Something happened in the session.
    pub fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::RunStarted => {
                self.is_busy = true;
                self.began = self.now;
                self.hint = None;
            }
            Notice::RequestStarted { attempt, turn, input_estimate, .. } => {
                self.attempt = Some(*attempt);
                self.turn = *turn;
                self.tokens = input_estimate.0;
                self.waiting = None;
                self.restart();
            }
            Notice::Streamed { delta, .. } => self.streamed(delta),
            Notice::Retracted { why, .. } => {
                self.restart();
                self.quiet(&format!("taken back: {why}"));
            }
            Notice::MessageAdded(message) => self.message(message),
            Notice::ToolStarted(call) => {
                let (call, since) = (call.clone(), self.now);
                self.running.push(Running { call, tail: String::new(), since });
            }
            Notice::ToolProgressed { call, text } => {
                if let Some(running) = self.running.iter_mut().find(|one| one.call.id == *call) {
                    running.tail = text::one_line(text);
                }
            }
            Notice::ToolEnded { call, outcome } => {
                if let Some(running) = self.take_running(call) {
                    let lines = tool::ended(&running.call, outcome, self.width);
                    self.finish(lines);
                }
            }
            Notice::ToolDenied { call, why } => {
                let _ = self.take_running(&call.id);
                let lines = tool::denied(call, why, self.width);
                self.finish(lines);
            }
            Notice::PermissionAsked { ticket, question } => {
                self.approvals.push_back(Approval::new(*ticket, question.clone()));
            }
            Notice::PermissionWithdrawn(ticket) => {
                self.approvals.retain(|approval| approval.ticket != *ticket);
            }
            Notice::InputQueued(said) => self.queued.push(said.clone()),
            Notice::Billed { total, .. } => self.cost = total.0,
            Notice::RunEnded(ending) => {
                self.is_busy = false;
                self.waiting = None;
                self.restart();
                self.running.clear();
                self.approvals.clear();
                if ending.terminal.is_error() {
                    self.say(&format!("■ {}", ending.why), Role::Warning);
                    self.finish([Line::new()]);
                }
            }
            other => self.event(other),
        }
    }

    /// What is worth a quiet line and no more.
    fn event(&mut self, notice: &Notice) {
        match notice {
            Notice::Waiting { failure, attempt, attempts_max, wait } => {
                let seconds = wait.0.div_ceil(1_000);
                let why = text::one_line(&failure.message);
                self.waiting =
                    Some(format!("{why}; again in {seconds} s, try {attempt} of {attempts_max}"));
            }
            Notice::ModelSwitched { from, to, why } => {
                self.quiet(&format!("{from} → {to}: {why}"));
            }
            Notice::Repaired { why } => self.quiet(&format!("the request was repaired: {why}")),
            Notice::ContextShrunk { freed, .. } => {
                self.quiet(&format!("history was made shorter by about {} tokens", freed.0));
            }
            Notice::HookSpoke { name, text, .. } => self.quiet(&format!("hook {name}: {text}")),
            Notice::Warning(words) => self.say(&format!("! {words}"), Role::Warning),
            Notice::Sealed { .. } => self.quiet("the answer was cut; what was whole is kept"),
            _ => {}
        }
    }

    fn streamed(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => {
                self.is_thinking = false;
                self.answer.push_str(text);
            }
            Delta::Thinking(_) => self.is_thinking = true,
            _ => {}
        }
    }

    fn message(&mut self, message: &Message) {
        match (message.role, &message.origin) {
            (Side::User, Origin::User | Origin::Attachment(_)) => {
                self.queued.retain(|said| *said != message.text());
                if message.origin == Origin::User {
                    let lines =
                        text::plain(&message.text(), Role::User, self.width.saturating_sub(2));
                    let signs = std::iter::once("> ").chain(std::iter::repeat("  "));
                    let said = signs.zip(lines).map(|(sign, line)| {
                        Line::of(sign, Role::Quiet).and(line.words(), Role::User)
                    });
                    self.finished.extend(said);
                    self.finish([Line::new()]);
                }
            }
            (Side::Assistant, _) => {
                self.restart();
                for block in &message.content {
                    if let Block::Text(text) = block
                        && !text.trim().is_empty()
                    {
                        let lines = text::markdown(text, self.width);
                        self.finish(lines);
                        self.finish([Line::new()]);
                    }
                }
            }
            _ => {}
        }
    }

    fn quiet(&mut self, words: &str) {
        self.say(&format!("  · {}", text::one_line(words)), Role::Quiet);
    }

    fn restart(&mut self) {
        self.answer.clear();
        self.is_thinking = false;
    }

    fn take_running(&mut self, id: &ToolCallId) -> Option<Running> {
        let at = self.running.iter().position(|running| running.call.id == *id)?;
        Some(self.running.remove(at))
    }
}
