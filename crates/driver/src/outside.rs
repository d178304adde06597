//! Questions from beside the conversation: a server of somebody else's wants to know something of the
//! user. They are told as every question is, under tickets that nobody else uses, and the engine never
//! hears of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_vocabulary::{Answer, Notice, PermissionQuestion, Ticket};

use crate::notices::Teller;

/// Tickets from here on are ours; nested sessions count up from half of it.
const OUTSIDE: u64 = 1 << 63;
/// More at a time are not put: nobody could answer them.
const OPEN_MAX: usize = 16;

/// The questions that are open.
#[derive(Debug)]
pub(crate) struct Outside {
    teller: Teller,
    count: AtomicU64,
    open: Mutex<HashMap<Ticket, oneshot::Sender<Answer>>>,
}

impl Outside {
    pub(crate) fn new(teller: Teller) -> Arc<Self> {
        Arc::new(Self { teller, count: AtomicU64::new(0), open: Mutex::default() })
    }

    /// Puts a question and waits for the answer; `None` when there will be none. Dropped, the
    /// question is withdrawn.
    pub(crate) async fn ask(self: Arc<Self>, question: PermissionQuestion) -> Option<Answer> {
        let ticket = Ticket(OUTSIDE + self.count.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        {
            let mut open = self.open();
            if open.len() >= OPEN_MAX {
                return None;
            }
            open.insert(ticket, answer);
        }
        let _asked = Asked { outside: Arc::clone(&self), ticket };
        self.teller.tell(Notice::PermissionAsked { ticket, question });
        answered.await.ok()
    }

    /// Tells people something.
    pub(crate) fn warn(&self, words: String) {
        self.teller.warn(words);
    }

    /// Is this ticket one of ours?
    pub(crate) fn is_ours(ticket: Ticket) -> bool {
        ticket.0 >= OUTSIDE
    }

    /// Carries an answer to whoever asked, if somebody still waits.
    pub(crate) fn answer(&self, ticket: Ticket, answer: Answer) {
        if let Some(waiting) = self.open().remove(&ticket) {
            let _ = waiting.send(answer);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Ticket, oneshot::Sender<Answer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that somebody waits for.
struct Asked {
    outside: Arc<Outside>,
    ticket: Ticket,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.outside.open().remove(&self.ticket).is_some() {
            self.outside.teller.tell(Notice::PermissionWithdrawn(self.ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices;
    use windlass_vocabulary::{Json, ToolCall};

    fn question() -> PermissionQuestion {
        let (id, name) = ("q".into(), "AskUserQuestion".into());
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
        let (teller, mut notices) = notices::channel();
        let outside = Outside::new(teller);
        let asking = tokio::spawn(Arc::clone(&outside).ask(question()));
        let Some(Notice::PermissionAsked { ticket, .. }) = notices.next().await else {
            panic!("nothing was asked")
        };
        assert!(Outside::is_ours(ticket));
        let yes = Answer::Allow { updated_input: None, remember: Vec::new() };
        outside.answer(ticket, yes.clone());
        outside.answer(ticket, yes.clone());
        assert_eq!(asking.await.expect("a task"), Some(yes));
        let asking = tokio::spawn(Arc::clone(&outside).ask(question()));
        let Some(Notice::PermissionAsked { ticket, .. }) = notices.next().await else {
            panic!("nothing was asked")
        };
        asking.abort();
        assert_eq!(notices.next().await, Some(Notice::PermissionWithdrawn(ticket)));
        let many: Vec<_> =
            (0..OPEN_MAX).map(|_| tokio::spawn(Arc::clone(&outside).ask(question()))).collect();
        for _ in &many {
            notices.next().await;
        }
        assert_eq!(Arc::clone(&outside).ask(question()).await, None);
    }
}
