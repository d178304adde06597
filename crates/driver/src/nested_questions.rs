//! Questions of nested sessions, under tickets that are distinct from the parent's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_vocabulary::{Notice, PermissionAnswer, PermissionQuestion, Ticket};

use crate::notices::NoticeSender;
use crate::session::Session;

/// Tickets from here on belong to nested sessions; an engine counts up from one.
const FIRST_NESTED_TICKET: u64 = 1 << 62;

/// The open questions of all nested sessions of a tree.
#[derive(Debug, Default)]
pub(crate) struct NestedQuestions {
    count: AtomicU64,
    open: Mutex<HashMap<Ticket, (Session, Ticket)>>,
}

impl NestedQuestions {
    /// Passes the question to the client of the parent.
    pub(crate) fn ask(
        &self,
        notice_sender: &NoticeSender,
        session: &Session,
        ticket: Ticket,
        question: PermissionQuestion,
    ) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let nested = Ticket(FIRST_NESTED_TICKET + number);
        self.lock_open().insert(nested, (session.clone(), ticket));
        notice_sender.send(Notice::PermissionAsked { ticket: nested, question });
    }

    /// Called when the nested session withdraws its question.
    pub(crate) fn withdraw(&self, notice_sender: &NoticeSender, session: &Session, ticket: Ticket) {
        let mut open = self.lock_open();
        let nested = open
            .iter()
            .find(|(_, (asker, asked))| asker.is_same_session(session) && *asked == ticket)
            .map(|(nested, _)| *nested);
        if let Some(nested) = nested {
            open.remove(&nested);
            notice_sender.send(Notice::PermissionWithdrawn(nested));
        }
    }

    /// Withdraws all questions of a closed session.
    pub(crate) fn withdraw_all(&self, notice_sender: &NoticeSender, session: &Session) {
        let mut open = self.lock_open();
        let nested: Vec<Ticket> = open
            .iter()
            .filter(|(_, (asker, _))| asker.is_same_session(session))
            .map(|(nested, _)| *nested)
            .collect();
        for nested in nested {
            open.remove(&nested);
            notice_sender.send(Notice::PermissionWithdrawn(nested));
        }
    }

    /// Does this ticket belong to a nested session?
    pub(crate) fn is_nested_ticket(ticket: Ticket) -> bool {
        ticket.0 >= FIRST_NESTED_TICKET
    }

    /// Passes an answer to the session that asked.
    pub(crate) fn answer(&self, ticket: Ticket, answer: PermissionAnswer) {
        if let Some((session, asked)) = self.lock_open().remove(&ticket) {
            // If that session has closed, the answer is dropped.
            let _ = session.answer(asked, answer);
        }
    }

    fn lock_open(&self) -> std::sync::MutexGuard<'_, HashMap<Ticket, (Session, Ticket)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) type SharedNestedQuestions = Arc<NestedQuestions>;
