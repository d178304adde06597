//! Carries a question to the front end and the answer back.
//!
//! Who may answer and what an answer means is not known here. An input that the answerer changed is
//! shown to the registry again, because the engine judges calls by what the registry says of them.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_engine::Event;
use windlass_vocabulary::{Answer, Notice, PermissionQuestion, Ticket, ToolCall};

use crate::inspect::Inspector;
use crate::notices::Teller;

/// The questions that wait for an answer.
pub(crate) struct Questions {
    inspector: Arc<Inspector>,
    teller: Teller,
    open: HashMap<Ticket, ToolCall>,
}

impl Questions {
    pub(crate) fn new(inspector: Arc<Inspector>, teller: Teller) -> Self {
        Self { inspector, teller, open: HashMap::new() }
    }

    pub(crate) fn ask(&mut self, ticket: Ticket, question: PermissionQuestion) {
        self.open.insert(ticket, question.call.clone());
        self.teller.tell(Notice::PermissionAsked { ticket, question });
    }

    /// The question was withdrawn.
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        self.open.remove(&ticket);
    }

    pub(crate) fn answered(&mut self, ticket: Ticket, answer: Answer) -> Event {
        let call = self.open.remove(&ticket);
        let inspection = match (&answer, call) {
            (Answer::Allow { updated_input: Some(input), .. }, Some(call)) => {
                Some(self.inspector.inspect(&ToolCall { input: input.clone(), ..call }))
            }
            _ => None,
        };
        Event::PermissionAnswered { ticket, answer, inspection }
    }
}
