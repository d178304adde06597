//! What is seen to when a run is over, and questions beside the conversation.
//!
//! Each is one call of the small model, paid for like any other and told apart by its source. The run
//! has ended before any of it begins, and a new one does not wait for it. What fails is left undone:
//! none of it is worth a second try or a line. Where it is kept is not known here.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use windlass_vocabulary::{
    AttemptId, Chore, MessageOrigin, Messages, ModelFacts, ModelFailure, Notice, RequestSource,
    Role, Terminal, Ticket, Tokens, Usage,
};

use crate::effect::Effect;
use crate::event::Interrupt;
use crate::ledger::Account;
use crate::step::Loop;
use crate::text;

/// What is seen to beside runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chores {
    /// Asked for, and not there yet.
    open: Vec<(Ticket, Open)>,
    /// A title was asked for, or the user gave one.
    pub(crate) is_titled: bool,
    /// Notes were made shorter since the last prompt.
    is_consolidated: bool,
    /// What questions are asked of: what was sent when the last run ended, and its raw size.
    pub(crate) snapshot: Option<(Messages, u64)>,
}

/// A chore that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    chore: Chore,
    attempt: Option<AttemptId>,
    /// Bytes of what is to be made shorter.
    bytes: usize,
}

impl Chores {
    /// Is nothing under way that is kept? A suggestion is worth nothing once nobody can take it up.
    #[must_use]
    pub fn are_kept_ones_done(&self) -> bool {
        self.open.iter().all(|(_, open)| open.chore == Chore::Suggestion)
    }

    /// What is under way.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> {
        self.open.iter().map(|(ticket, _)| *ticket)
    }

    pub(crate) fn is_open(&self, ticket: Ticket) -> bool {
        self.tickets().any(|open| open == ticket)
    }

    pub(crate) fn close(&mut self, ticket: Ticket) -> Option<Open> {
        let place = self.open.iter().position(|(open, _)| *open == ticket)?;
        Some(self.open.remove(place).1)
    }
}

impl Loop<'_> {
    /// The run is over. Only a completed run is worth remembering, and nobody reads
    /// the chores of a nested session.
    pub(crate) fn after_run(&mut self, terminal: Terminal) {
        // While a call is deferred, it is too early to report anything about it.
        if self.state.control.calls_open {
            return;
        }
        let after = self.settings.after;
        self.state.side_work.chores.is_consolidated = false;
        if after.questions {
            let projection = self.state.compaction.context.projection(&self.state.transcript);
            self.state.side_work.chores.snapshot =
                Some((projection.messages.clone(), projection.raw));
        }
        if terminal != Terminal::Completed || self.settings.agent.is_subagent {
            return;
        }
        if after.title && !self.state.side_work.chores.is_titled {
            self.state.side_work.chores.is_titled = true;
            self.see_to(Chore::Title, &self.exchange(1));
        }
        if after.suggestion {
            self.see_to(Chore::Suggestion, &self.exchange(2));
        }
        if after.memory {
            self.see_to(Chore::Memory, &self.exchange(REQUESTS_MAX));
        }
    }

    /// The client asks for a chore.
    pub(crate) fn chore_asked(&mut self, chore: Chore, about: &str) {
        match chore {
            Chore::Question => {
                if !self.see_to(chore, about) {
                    let why = "too much is asked at once, or there is too little money left";
                    self.tell(Notice::SideQuestionAnswered(Err(why.into())));
                }
            }
            Chore::Consolidation
                if self.settings.after.consolidation
                    && !self.state.side_work.chores.is_consolidated =>
            {
                self.state.side_work.chores.is_consolidated = true;
                self.see_to(chore, about);
            }
            // A person has given the session a name, so none is asked for.
            Chore::Title => self.state.side_work.chores.is_titled = true,
            Chore::Consolidation | Chore::Suggestion | Chore::Memory => {}
        }
    }

    /// Asks a model, if it can be paid for. Says whether it was asked.
    fn see_to(&mut self, chore: Chore, about: &str) -> bool {
        let (order, output) = match chore {
            Chore::Title => (text::TITLE, Tokens(64)),
            Chore::Suggestion => (text::SUGGESTION, Tokens(96)),
            Chore::Memory => (text::MEMORY, Tokens(600)),
            Chore::Consolidation => (text::CONSOLIDATION, Tokens(8_000)),
            Chore::Question => (text::QUESTION, Tokens(2_000)),
        };
        if about.trim().is_empty() || self.state.side_work.chores.open.len() >= OPEN_MAX {
            return false;
        }
        let words = match chore {
            Chore::Question => format!("{order}\n\n{about}"),
            Chore::Title | Chore::Suggestion | Chore::Memory | Chore::Consolidation => {
                format!("{about}\n\n---\n\n{order}")
            }
        };
        // A question is asked of the one who holds the conversation, whose cache knows it.
        let model: Option<&ModelFacts> = match chore {
            Chore::Question => Some(self.settings.model_at(self.state.control.model)),
            Chore::Title | Chore::Suggestion | Chore::Memory | Chore::Consolidation => {
                self.errand_model(0)
            }
        };
        let errand = model
            .and_then(|model| self.errand_call(model, RequestSource::Chore(chore), &words, output));
        let Some(errand) = errand else { return false };
        let open = Open { chore, attempt: errand.attempt, bytes: about.len() };
        self.state.side_work.chores.open.push((errand.ticket, open));
        true
    }

    /// One came back.
    pub(crate) fn chore_ended(&mut self, open: Open, result: Result<String, ModelFailure>) {
        let chore = open.chore;
        if chore == Chore::Question {
            let said = result.map(|text| String::from(text.trim())).map_err(|f| f.message);
            return self.tell(Notice::SideQuestionAnswered(said));
        }
        let Ok(said) = result else { return };
        let text = match chore {
            Chore::Title => line(&said, TITLE_CHARS_MAX),
            Chore::Suggestion => line(&said, SUGGESTION_CHARS_MAX),
            Chore::Memory => notes(&said, NOTES_MAX),
            // A result that is not shorter would only be worse.
            Chore::Consolidation => notes(&said, usize::MAX).filter(|text| text.len() < open.bytes),
            Chore::Question => None,
        };
        let Some(text) = text else { return };
        match chore {
            Chore::Suggestion => self.tell(Notice::PromptSuggested(text)),
            Chore::Title => {
                self.tell(Notice::SessionTitled(text.clone()));
                self.effects.push(Effect::Keep { chore, text });
            }
            Chore::Memory | Chore::Consolidation | Chore::Question => {
                self.effects.push(Effect::Keep { chore, text });
            }
        }
    }

    /// The process ends, or ended: what is under way is called off. Of what a dead process asked,
    /// nobody knows the bill.
    pub(crate) fn drop_chores(&mut self) {
        let is_crash = self.interrupt == Some(Interrupt::Crashed);
        for (ticket, open) in core::mem::take(&mut self.state.side_work.chores.open) {
            if let Some(attempt) = open.attempt {
                self.effects.push(Effect::CancelModel { attempt });
            }
            let account = Account::Errand(ticket);
            let usage = Usage::default();
            let _ = match is_crash {
                true => self.state.ledger.abandon(account, usage),
                false => self.state.ledger.settle(account, usage),
            };
        }
    }

    /// The last requests, oldest first, and the last answer, as far as they are short.
    fn exchange(&self, requests_max: usize) -> String {
        let messages = || self.state.transcript.messages().rev();
        let mut requests: Vec<String> = messages()
            .filter(|message| message.origin == MessageOrigin::User)
            .take(requests_max)
            .map(|message| format!("Person: {}", head(&message.text())))
            .collect();
        requests.reverse();
        let answer = messages().find(|message| message.role == Role::Assistant);
        if let Some(answer) = answer {
            requests.push(format!("Agent: {}", head(&answer.text())));
        }
        requests.join("\n\n")
    }
}

fn head(text: &str) -> String {
    text.trim().chars().take(WORDS_CHARS_MAX).collect()
}

/// The first line, without the marks people put around a name; nothing if there is nothing to say.
fn line(text: &str, chars_max: usize) -> Option<String> {
    let line = text.trim().lines().next().unwrap_or_default();
    let line = line.trim_matches(|c: char| c.is_whitespace() || "\"'`*#".contains(c));
    let line: String = line.chars().filter(|c| !c.is_control()).take(chars_max).collect();
    (!line.is_empty() && !line.eq_ignore_ascii_case("none")).then_some(line)
}

/// The lines that are notes.
fn notes(text: &str, lines_max: usize) -> Option<String> {
    let is_note = |line: &&str| line.strip_prefix("- ").is_some_and(|rest| !rest.trim().is_empty());
    let notes: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(is_note)
        .take(lines_max)
        .map(|line| line.chars().take(NOTE_CHARS_MAX).collect())
        .collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// Chores under way at a time.
const OPEN_MAX: usize = 8;
/// Requests that memory is drawn from, and characters of each.
const REQUESTS_MAX: usize = 4;
const WORDS_CHARS_MAX: usize = 4_000;
const TITLE_CHARS_MAX: usize = 80;
const SUGGESTION_CHARS_MAX: usize = 200;
const NOTES_MAX: usize = 5;
const NOTE_CHARS_MAX: usize = 400;
