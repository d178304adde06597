//! Records to what was said, for people: to show, to search, to export. Needs no settings.
//!
//! What the model really saw is the engine's to say; this is close to it and never folded. Answers
//! that were withdrawn are left out, as far as the records show it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use windlass_engine::Event;
use windlass_vocabulary::{
    Block, Delta, ResultPart, Terminal, Ticket, ToolCallId, ToolName, ToolOutcome,
};

use crate::record::{Intent, Item, Note, Record};

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// The record that said it.
    pub seq: u64,
    /// When: milliseconds since 1970.
    pub at: u64,
    /// By whom.
    #[serde(flatten)]
    pub who: Who,
    /// What.
    pub text: String,
}

/// Who said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum Who {
    /// A person or a client.
    User,
    /// The model.
    Model,
    /// The model, asking for a tool; the text is the tool's input.
    Call {
        /// The tool.
        tool: ToolName,
        /// The call.
        call: ToolCallId,
    },
    /// A tool.
    Tool {
        /// The call it answers, if the records say so.
        call: Option<ToolCallId>,
        /// It failed.
        is_error: bool,
    },
    /// A summary that took the place of everything before.
    Summary,
    /// A run ended.
    End {
        /// How.
        terminal: Terminal,
    },
}

/// Takes records in and says what was said.
#[derive(Debug, Default)]
pub struct Speech {
    /// The answer under way.
    answer: Vec<Spoken>,
    /// The text of its block that is not whole.
    partial: String,
    /// Calls that were started.
    started: BTreeSet<ToolCallId>,
    errands: BTreeMap<Ticket, ToolCallId>,
}

impl Speech {
    /// Takes in one record.
    pub fn take(&mut self, record: &Record, said: &mut Vec<Spoken>) {
        let Record { seq, at, item } = record;
        let say = |who, text| Spoken { seq: *seq, at: *at, who, text };
        match item {
            Item::Note(Note::Intended(Intent { ticket, call, .. })) => {
                self.started.insert(call.clone());
                self.errands.insert(*ticket, call.clone());
            }
            Item::Note(Note::Ended(ended)) => {
                self.keep(said);
                said.push(say(Who::End { terminal: ended.terminal }, String::new()));
            }
            Item::Note(_) => {}
            Item::Event(event) => match event {
                Event::UserSubmitted { content, .. } => said.push(say(Who::User, words(content))),
                Event::Interrupted(_) => {
                    if !self.partial.trim().is_empty() {
                        self.answer.push(say(Who::Model, core::mem::take(&mut self.partial)));
                    }
                    self.keep(said);
                }
                Event::ModelStarted { .. } => self.answer.clear(),
                Event::ModelDelta { delta, .. } => self.stream(*seq, *at, delta),
                Event::ModelEnded { .. } => self.keep(said),
                Event::ModelFailed { .. } => {
                    // An answer of which a tool was started is kept up to there.
                    let is_started = |spoken: &Spoken| match &spoken.who {
                        Who::Call { call, .. } => self.started.contains(call),
                        _ => false,
                    };
                    match self.answer.iter().any(is_started) {
                        true => self.keep(said),
                        false => self.answer.clear(),
                    }
                }
                Event::ToolEnded { ticket, outcome } => {
                    let call = self.errands.remove(ticket);
                    let who = Who::Tool { call, is_error: outcome.is_error };
                    said.push(say(who, result(outcome)));
                }
                Event::SummaryEnded { result: Ok(text), .. } => {
                    said.push(say(Who::Summary, text.clone()));
                }
                _ => {}
            },
        }
    }

    /// What is left at the end of the records.
    pub fn finish(mut self, said: &mut Vec<Spoken>) {
        self.keep(said);
    }

    fn stream(&mut self, seq: u64, at: u64, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.partial.push_str(text),
            Delta::Block(block) => {
                self.partial.clear();
                let text = words(core::slice::from_ref(block));
                if !text.is_empty() {
                    self.answer.push(Spoken { seq, at, who: Who::Model, text });
                }
            }
            Delta::Call { call, .. } => {
                self.partial.clear();
                let who = Who::Call { tool: call.name.clone(), call: call.id.clone() };
                self.answer.push(Spoken { seq, at, who, text: call.input.as_str().to_owned() });
            }
            _ => {}
        }
    }

    fn keep(&mut self, said: &mut Vec<Spoken>) {
        self.partial.clear();
        said.append(&mut self.answer);
    }
}

/// What blocks say in words.
pub(crate) fn words(content: &[Block]) -> String {
    let mut words = String::new();
    for block in content {
        match block {
            Block::Text(text) => words.push_str(text),
            Block::Media(media) => words.push_str(&format!("[{}]", media.name)),
            _ => {}
        }
    }
    words
}

fn result(outcome: &ToolOutcome) -> String {
    let mut words = String::new();
    for part in &outcome.content {
        match part {
            ResultPart::Text(text) => words.push_str(text),
            ResultPart::Media(media) => words.push_str(&format!("[{}]", media.name)),
        }
    }
    words
}
