//! Questions that are not part of the conversation, such as an MCP server's to the user. The client
//! receives them like permission questions, under separate tickets; the engine never sees them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_vocabulary::{Notice, PermissionAnswer, PermissionQuestion, Ticket};

use crate::notices::NoticeSender;

/// Tickets from here on belong to this module; those of nested sessions start at half of it.
const FIRST_CLIENT_TICKET: u64 = 1 << 63;
/// Further questions are refused: no user could answer that many.
const OPEN_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct ClientQuestions {
    notice_sender: NoticeSender,
    count: AtomicU64,
    open: Mutex<HashMap<Ticket, oneshot::Sender<PermissionAnswer>>>,
}

impl ClientQuestions {
    pub(crate) fn new(notice_sender: NoticeSender) -> Arc<Self> {
        Arc::new(Self { notice_sender, count: AtomicU64::new(0), open: Mutex::default() })
    }

    /// Asks the client and waits for the answer; `None` when there will be none. Dropping the
    /// future withdraws the question.
    pub(crate) async fn ask(
        self: Arc<Self>,
        question: PermissionQuestion,
    ) -> Option<PermissionAnswer> {
        let ticket = Ticket(FIRST_CLIENT_TICKET + self.count.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        {
            let mut open = self.lock_open();
            if open.len() >= OPEN_MAX {
                return None;
            }
            open.insert(ticket, answer);
        }
        let _asked = OpenClientQuestion { questions: Arc::clone(&self), ticket };
        self.notice_sender.send(Notice::PermissionAsked { ticket, question });
        answered.await.ok()
    }

    pub(crate) fn warn(&self, words: String) {
        self.notice_sender.warn(words);
    }

    /// Was this ticket issued here?
    pub(crate) fn is_client_ticket(ticket: Ticket) -> bool {
        ticket.0 >= FIRST_CLIENT_TICKET
    }

    /// Passes an answer to the caller that asked, if it still waits.
    pub(crate) fn answer(&self, ticket: Ticket, answer: PermissionAnswer) {
        if let Some(waiting) = self.lock_open().remove(&ticket) {
            let _ = waiting.send(answer);
        }
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<Ticket, oneshot::Sender<PermissionAnswer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OpenClientQuestion {
    questions: Arc<ClientQuestions>,
    ticket: Ticket,
}

impl Drop for OpenClientQuestion {
    fn drop(&mut self) {
        if self.questions.lock_open().remove(&self.ticket).is_some() {
            self.questions.notice_sender.send(Notice::PermissionWithdrawn(self.ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices;
    use windlass_vocabulary::{Json, ToolCall};

    fn question() -> PermissionQuestion {
        let id = "q".into();
        let name = "AskUserQuestion".into();
        let call = ToolCall { id, name, input: Json::empty_object(), signature: None };
        PermissionQuestion {
            call,
            why: "a server asks".to_owned(),
            suggestions: Vec::new(),
            agent: None,
        }
    }

    #[tokio::test]
    async fn a_question_is_answered_once_or_withdrawn() {
        let (notice_sender, mut notices) = notices::channel(false);
        let outside = ClientQuestions::new(notice_sender);
        let pending = tokio::spawn(Arc::clone(&outside).ask(question()));
        let Some(Notice::PermissionAsked { ticket, .. }) = notices.next().await else {
            panic!("nothing was asked")
        };
        assert!(ClientQuestions::is_client_ticket(ticket));
        let yes = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
        outside.answer(ticket, yes.clone());
        outside.answer(ticket, yes.clone());
        assert_eq!(pending.await.expect("a task"), Some(yes));
        let pending = tokio::spawn(Arc::clone(&outside).ask(question()));
        let Some(Notice::PermissionAsked { ticket, .. }) = notices.next().await else {
            panic!("nothing was asked")
        };
        pending.abort();
        assert_eq!(notices.next().await, Some(Notice::PermissionWithdrawn(ticket)));
        let many: Vec<_> =
            (0..OPEN_MAX).map(|_| tokio::spawn(Arc::clone(&outside).ask(question()))).collect();
        for _ in &many {
            notices.next().await;
        }
        assert_eq!(Arc::clone(&outside).ask(question()).await, None);
    }
}
