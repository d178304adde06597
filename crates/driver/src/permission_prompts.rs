//! Passes a question to the front end, and the answer back.
//!
//! Does not know who may answer, or what an answer means. An input changed by the answer is
//! inspected by the registry again, because the engine judges calls by that inspection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use windlass_engine::Event;
use windlass_vocabulary::{Json, Notice, PermissionAnswer, PermissionQuestion, Ticket, ToolCall};

use crate::call_inspector::CallInspector;
use crate::notices::NoticeSender;

#[derive(Clone)]
pub(crate) struct PermissionPrompts {
    inspector: Arc<CallInspector>,
    notice_sender: NoticeSender,
    open: Arc<Mutex<HashMap<Ticket, OpenPermissionPrompt>>>,
}

struct OpenPermissionPrompt {
    call: ToolCall,
    why: String,
    /// Cancels the hooks that review it.
    cancel: CancellationToken,
}

impl PermissionPrompts {
    pub(crate) fn new(inspector: Arc<CallInspector>, notice_sender: NoticeSender) -> Self {
        Self { inspector, notice_sender, open: Arc::default() }
    }

    pub(crate) fn ask(&self, ticket: Ticket, question: PermissionQuestion) {
        self.register(ticket, &question);
        self.notice_sender.send(Notice::PermissionAsked { ticket, question });
    }

    /// Registers a question without asking a client yet. The token is cancelled when it is
    /// withdrawn.
    pub(crate) fn register(
        &self,
        ticket: Ticket,
        question: &PermissionQuestion,
    ) -> CancellationToken {
        let cancel = CancellationToken::new();
        let open = OpenPermissionPrompt {
            call: question.call.clone(),
            why: question.why.clone(),
            cancel: cancel.clone(),
        };
        self.lock_open().insert(ticket, open);
        cancel
    }

    /// Asks a registered question, unless it was withdrawn. Returns whether it was asked.
    pub(crate) fn ask_registered(&self, ticket: Ticket, question: PermissionQuestion) -> bool {
        // Holds the lock, so that a question that was withdrawn meanwhile is not asked.
        let open = self.lock_open();
        let is_there = open.contains_key(&ticket);
        if is_there {
            self.notice_sender.send(Notice::PermissionAsked { ticket, question });
        }
        is_there
    }

    pub(crate) fn withdraw(&self, ticket: Ticket) {
        if let Some(open) = self.lock_open().remove(&ticket) {
            open.cancel.cancel();
        }
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<Ticket, OpenPermissionPrompt>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the question. Keys are redacted from a changed input before the registry inspects it,
    /// because the input that is inspected must be the one that runs.
    pub(crate) fn take_answer(&self, ticket: Ticket, mut answer: PermissionAnswer) -> Event {
        if let PermissionAnswer::Allow { updated_input: Some(input), .. } = &mut answer
            && let Cow::Owned(clean) = self.inspector.tool_context.secrets.redact(input.as_str())
        {
            *input = Json::from_checked(&clean);
        }
        let open = self.lock_open().remove(&ticket);
        if let (PermissionAnswer::Allow { .. }, Some(open)) = (&answer, &open) {
            self.inspector.outage.accept(&open.why);
        }
        let inspection = match (&answer, open) {
            (PermissionAnswer::Allow { updated_input: Some(input), .. }, Some(open)) => {
                Some(self.inspector.inspect(&ToolCall { input: input.clone(), ..open.call }))
            }
            (PermissionAnswer::Allow { .. } | PermissionAnswer::Deny { .. }, _) => None,
        };
        Event::PermissionAnswered { ticket, answer, inspection }
    }
}
