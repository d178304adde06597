//! What follows from what the session tells.

use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{
    Block, Delta, Message, Notice, Origin, Outcome, Role as Side, ToolCall, ToolCallId,
    ToolOutcome, Transition,
};

use super::{App, Running, Wish};
use crate::answer::Answer;
use crate::approval::Approval;
use crate::entry::Entry;
use crate::line::{Line, Role};
use crate::{text, tool};

impl App {
    /// Something happened in the session.
    pub fn notice(&mut self, notice: &Notice) -> Vec<Wish> {
        match notice {
            Notice::RunStarted => {
                self.is_busy = true;
                self.suggested.clear();
                self.began = self.now;
                self.hint = None;
            }
            Notice::RequestStarted { attempt, turn, input_estimate, .. } => {
                self.attempt = Some(*attempt);
                self.turn = *turn;
                self.tokens = input_estimate.0;
                if let Some(waited) = self.waiting.take() {
                    self.quiet(&waited);
                }
                self.restart();
                self.is_answering = true;
            }
            Notice::Streamed { delta, .. } => self.streamed(delta),
            Notice::Retracted { why, .. } => {
                self.restart();
                self.answer_is_over();
                self.quiet(&format!("taken back: {why}"));
            }
            Notice::MessageAdded(message) => self.message(message),
            Notice::ToolStarted(call) => self.running.push(Running::new(call.clone(), self.now)),
            Notice::ToolProgressed { call, text } => {
                if let Some(running) = self.find(call) {
                    running.progressed(text);
                }
            }
            Notice::ToolEnded { call, outcome } => return self.ended(call, outcome),
            Notice::ToolDenied { call, why } => self.denied(call, why),
            Notice::PermissionAsked { ticket, question } => {
                let approval = Approval::new(*ticket, question.clone(), &self.about);
                let look = approval.wants().map(|path| Wish::Look(*ticket, path));
                let call = Wish::Call(format!("Windlass asks: may {} run?", question.call.name));
                self.approvals.push_back(approval);
                return std::iter::once(call).chain(look).collect();
            }
            Notice::PermissionWithdrawn(ticket) => {
                self.approvals.retain(|approval| approval.ticket != *ticket);
            }
            Notice::InputQueued(said) => self.queued.push(said.clone()),
            Notice::Billed { total, .. } => self.cost = total.0,
            Notice::Nested { call, agent, notice } => {
                let folder = self.about.folder.clone();
                if let Some(running) = self.find(call) {
                    running.nested(agent, notice, (0, &folder));
                }
            }
            Notice::RunEnded(ending) => return self.run_ended(ending),
            other => self.event(other),
        }
        Vec::new()
    }

    fn run_ended(&mut self, ending: &Ending) -> Vec<Wish> {
        let took = self.now.saturating_sub(self.began);
        self.is_busy = false;
        self.waiting = None;
        self.restart();
        self.answer_is_over();
        self.running.clear();
        self.approvals.clear();
        if ending.terminal.is_error() {
            self.say(&format!("■ {}", ending.why), Role::Warning);
            self.finish([Line::new()]);
        } else if ending.outcome == Some(Outcome::NotCompacted) {
            let why = format!("{}; there may be too little to summarise yet", ending.why);
            self.quiet(&why);
        }
        let call = Wish::Call("Windlass is done.".to_owned());
        let is_long = took > LONG;
        [Wish::Count].into_iter().chain(is_long.then_some(call)).collect()
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
            Notice::Continued { transition, .. } => {
                if let Some(words) = continued(*transition) {
                    self.quiet(words);
                }
            }
            Notice::ModelSwitched { from, to, why } => {
                self.about.model = to.as_str().to_owned();
                self.quiet(&format!("{from} → {to}: {why}"));
            }
            Notice::Repaired { why } => self.quiet(&format!("the request was repaired: {why}")),
            Notice::ContextShrunk { freed, level, .. } => {
                let what =
                    if *level == 5 { "history was summarised" } else { "history was made shorter" };
                self.quiet(&format!("{what}: about {} tokens freed", freed.0));
            }
            Notice::HookSpoke { name, text, .. } => self.quiet(&format!("hook {name}: {text}")),
            Notice::Suggested(words) => self.suggested = text::one_line(words),
            Notice::QuestionAnswered(Ok(words)) => {
                self.finish_text(words);
                self.entries.push(Entry::Answer(words.clone()));
            }
            Notice::QuestionAnswered(Err(why)) => self.quiet(&format!("not answered: {why}")),
            Notice::Warning(words) => self.say(&format!("! {words}"), Role::Warning),
            Notice::Sealed { .. } => self.quiet("the answer was cut; what was whole is kept"),
            Notice::MaxTurnsReached { limit, .. } => {
                self.quiet(&format!("the limit of {limit} turns is reached"));
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Message) {
        match (message.role, &message.origin) {
            (Side::User, Origin::User | Origin::Attachment(_)) => {
                let words = message.text();
                self.queued.retain(|said| *said != words);
                if message.origin == Origin::User {
                    let lines = tool::said(&words, self.width, SAID_MAX);
                    self.finish(lines);
                    for block in &message.content {
                        if let Block::Media(media) = block {
                            self.finish([tool::media(media)]);
                        }
                    }
                    self.finish([Line::new()]);
                    self.entries.push(Entry::Said(words));
                }
            }
            (Side::Assistant, _) => self.became(&message.content),
            _ => {}
        }
    }

    /// The answer is a message now.
    fn became(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text(text) if !text.trim().is_empty() => {
                    if let Some(draft) = self.answer.finish_text(text) {
                        self.finished.text(draft);
                    }
                    self.entries.push(Entry::Answer(text.clone()));
                }
                Block::Thinking(thinking) if !thinking.text.trim().is_empty() => {
                    if let Some(line) = self.answer.finish_thought(&thinking.text, self.width) {
                        self.finish([line, Line::new()]);
                    }
                    self.entries.push(Entry::Thought(thinking.text.clone()));
                }
                Block::Media(media) => self.finish([tool::media(media)]),
                _ => {}
            }
        }
        self.restart();
        self.answer_is_over();
    }

    fn streamed(&mut self, delta: &Delta) {
        match delta {
            Delta::Thinking(text) => {
                self.thought.push_str(text);
                let over = self.thought.len().saturating_sub(THOUGHT_MAX);
                self.thought.drain(..self.thought.ceil_char_boundary(over));
                if self.thought.is_empty() {
                    self.thought.push('…');
                }
            }
            Delta::Text(_) | Delta::Block(_) => self.thought.clear(),
            _ => {}
        }
        self.answer.push(delta, self.width);
    }

    fn restart(&mut self) {
        self.answer = Answer::default();
        self.thought.clear();
    }

    fn ended(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> Vec<Wish> {
        if let Some(running) = self.take_running(id) {
            let mut lines = tool::ended(&running.call, outcome, (self.width, &self.about.folder));
            for child in &running.children {
                let words = format!("  └ {}: {} · {} calls", child.agent, child.doing, child.calls);
                lines.push(Line::of(words, Role::Quiet).cut(self.width));
            }
            self.finish_call(lines);
            self.entries.push(Entry::Call(running.call, Box::new(outcome.clone())));
        }
        if let Some(update) = &outcome.update {
            if let Some(mode) = update.mode {
                self.mode = mode;
            }
            if let Some(tasks) = &update.tasks {
                self.tasks = tasks.to_string();
            }
        }
        match self.later.take() {
            Some((call, mode)) if call == *id && !outcome.is_error => {
                self.mode = mode;
                vec![Wish::Mode(mode)]
            }
            later => {
                self.later = later;
                Vec::new()
            }
        }
    }

    fn denied(&mut self, call: &ToolCall, why: &str) {
        let _ = self.take_running(&call.id);
        let lines = tool::denied(call, why, (self.width, &self.about.folder));
        self.finish_call(lines);
        self.entries.push(Entry::Call(call.clone(), Box::new(ToolOutcome::failure(why))));
    }

    fn find(&mut self, id: &ToolCallId) -> Option<&mut Running> {
        self.running.iter_mut().find(|one| one.call.id == *id)
    }

    fn take_running(&mut self, id: &ToolCallId) -> Option<Running> {
        let at = self.running.iter().position(|running| running.call.id == *id)?;
        Some(self.running.remove(at))
    }
}

/// What a recovery is called; going on as usual is not told.
fn continued(transition: Transition) -> Option<&'static str> {
    Some(match transition {
        Transition::NextTurn => return None,
        Transition::CollapseDrainRetry => {
            "too long; old steps were collapsed and it is asked again"
        }
        Transition::ReactiveCompactRetry => {
            "too long; history was made shorter and it is asked again"
        }
        Transition::MaxOutputTokensEscalate => {
            "cut at the output limit; asked again with more room"
        }
        Transition::MaxOutputTokensRecovery => "still cut at the output limit; asked to go on",
        Transition::StopHookBlocking => "a hook objected to the end; it goes on",
        Transition::TokenBudgetContinuation => "budget is left; it goes on",
    })
}

/// A run that took longer than this is worth a call.
const LONG: std::time::Duration = std::time::Duration::from_secs(10);
const THOUGHT_MAX: usize = 400;
const SAID_MAX: usize = 30;
