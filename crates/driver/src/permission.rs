//! Carries a question to the front end and the answer back.
//!
//! Who may answer and what an answer means is not known here. An input that the answerer changed is
//! shown to the registry again, because the engine judges calls by what the registry says of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use windlass_engine::Event;
use windlass_vocabulary::{Answer, Notice, PermissionQuestion, Ticket, ToolCall};

use crate::inspect::Inspector;
use crate::notices::Teller;

/// The questions that wait for an answer.
#[derive(Clone)]
pub(crate) struct Questions {
    inspector: Arc<Inspector>,
    teller: Teller,
    open: Arc<Mutex<HashMap<Ticket, Open>>>,
}

/// A question that waits.
struct Open {
    call: ToolCall,
    /// Calls off the hooks that look at it.
    cancel: CancellationToken,
}

impl Questions {
    pub(crate) fn new(inspector: Arc<Inspector>, teller: Teller) -> Self {
        Self { inspector, teller, open: Arc::default() }
    }

    pub(crate) fn ask(&self, ticket: Ticket, question: PermissionQuestion) {
        self.hold(ticket, &question);
        self.teller.tell(Notice::PermissionAsked { ticket, question });
    }

    /// The question is there and nobody is asked yet. The token says when it is no more.
    pub(crate) fn hold(&self, ticket: Ticket, question: &PermissionQuestion) -> CancellationToken {
        let open = Open { call: question.call.clone(), cancel: CancellationToken::new() };
        let cancel = open.cancel.clone();
        self.open().insert(ticket, open);
        cancel
    }

    /// Puts a question that was held, if it is still there. Says whether it is.
    pub(crate) fn put(&self, ticket: Ticket, question: PermissionQuestion) -> bool {
        // Under the lock, so that nobody is asked what was withdrawn meanwhile.
        let open = self.open();
        let is_there = open.contains_key(&ticket);
        if is_there {
            self.teller.tell(Notice::PermissionAsked { ticket, question });
        }
        is_there
    }

    /// The question was withdrawn.
    pub(crate) fn forget(&self, ticket: Ticket) {
        if let Some(open) = self.open().remove(&ticket) {
            open.cancel.cancel();
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Ticket, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn answered(&self, ticket: Ticket, answer: Answer) -> Event {
        let call = self.open().remove(&ticket).map(|open| open.call);
        let inspection = match (&answer, call) {
            (Answer::Allow { updated_input: Some(input), .. }, Some(call)) => {
                Some(self.inspector.inspect(&ToolCall { input: input.clone(), ..call }))
            }
            _ => None,
        };
        Event::PermissionAnswered { ticket, answer, inspection }
    }
}
