//! Records to what was said, for people: to show, to search, to export. Needs no settings.
//!
//! What the model really saw is the engine's to say; this is close to it and never folded. Answers
//! that were withdrawn are left out, as far as the records show it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use windlass_engine::Event;
use windlass_vocabulary::{
    Block, Delta, Message, ResultPart, Role, Terminal, Ticket, ToolCallId, ToolName, ToolOutcome,
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
    /// Results of its calls: a quick tool ends before the answer does.
    early: Vec<Spoken>,
    /// Calls that were started.
    started: BTreeSet<ToolCallId>,
    /// Calls that were told and have no result yet.
    open: Vec<ToolCallId>,
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
                self.close(*seq, *at, said);
                said.push(say(Who::End { terminal: ended.terminal }, String::new()));
            }
            Item::Note(_) => {}
            Item::Event(event) => match event {
                Event::UserSubmitted { content, .. } => said.push(say(Who::User, words(content))),
                Event::Adopted { messages } => adopted(messages, *seq, *at, said),
                Event::Interrupted(_) => {
                    if !self.partial.trim().is_empty() {
                        self.answer.push(say(Who::Model, core::mem::take(&mut self.partial)));
                    }
                    self.keep(said);
                }
                Event::ModelStarted { .. } => {
                    self.close(*seq, *at, said);
                    self.answer.clear();
                }
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
                    self.open.retain(|open| Some(open) != call.as_ref());
                    let is_early = self.answer.iter().any(|spoken| match &spoken.who {
                        Who::Call { call: own, .. } => Some(own) == call.as_ref(),
                        _ => false,
                    });
                    let who = Who::Tool { call, is_error: outcome.is_error };
                    let spoken = say(who, result(outcome));
                    if is_early { self.early.push(spoken) } else { said.push(spoken) }
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
        for spoken in &self.answer {
            if let Who::Call { call, .. } = &spoken.who
                && !self.early.iter().any(|early| is_of(early, call))
            {
                self.open.push(call.clone());
            }
        }
        said.append(&mut self.answer);
        said.append(&mut self.early);
    }

    /// A call that was never started was not allowed to run, or could not.
    fn close(&mut self, seq: u64, at: u64, said: &mut Vec<Spoken>) {
        for call in core::mem::take(&mut self.open) {
            if !self.started.contains(&call) {
                let who = Who::Tool { call: Some(call), is_error: true };
                said.push(Spoken { seq, at, who, text: NOT_RUN.to_owned() });
            }
        }
    }
}

fn is_of(spoken: &Spoken, wanted: &ToolCallId) -> bool {
    matches!(&spoken.who, Who::Tool { call: Some(call), .. } if call == wanted)
}

/// What was said elsewhere.
fn adopted(messages: &[Message], seq: u64, at: u64, said: &mut Vec<Spoken>) {
    for block in messages
        .iter()
        .flat_map(|message| message.content.iter().map(move |block| (message.role, block)))
    {
        let (who, text) = match block {
            (_, Block::ToolUse(call)) => {
                let who = Who::Call { tool: call.name.clone(), call: call.id.clone() };
                (who, call.input.as_str().to_owned())
            }
            (_, Block::ToolResult(result)) => {
                let who = Who::Tool { call: Some(result.call.clone()), is_error: result.is_error };
                (who, parts(&result.content))
            }
            (Role::User, block) => (Who::User, words(core::slice::from_ref(block))),
            (Role::Assistant, block) => (Who::Model, words(core::slice::from_ref(block))),
        };
        if !text.is_empty() {
            said.push(Spoken { seq, at, who, text });
        }
    }
}

const NOT_RUN: &str = "(it did not run)";

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
    parts(&outcome.content)
}

fn parts(parts: &[ResultPart]) -> String {
    let mut words = String::new();
    for part in parts {
        match part {
            ResultPart::Text(text) => words.push_str(text),
            ResultPart::Media(media) => words.push_str(&format!("[{}]", media.name)),
        }
    }
    words
}
