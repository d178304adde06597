//! One permission question of a session in a file store.

use serde::{Deserialize, Serialize};

use crate::store::{AnsweredQuestion, InboxAnswer, NewAnswer, NewQuestion, to_i64};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileQuestion {
    pub(super) request: String,
    pub(super) epoch: u64,
    pub(super) body: String,
    #[serde(default)]
    call: String,
    answer: Option<String>,
    answered_by: Option<String>,
    /// In milliseconds since 1970.
    #[serde(default)]
    answered: u64,
    /// What the session was given; set when it was.
    #[serde(default)]
    outcome: Option<String>,
}

impl FileQuestion {
    pub(super) fn new(epoch: u64, new: NewQuestion<'_>) -> Self {
        Self {
            request: new.request.to_owned(),
            epoch,
            body: new.body.to_owned(),
            call: new.call.to_owned(),
            answer: None,
            answered_by: None,
            answered: 0,
            outcome: None,
        }
    }

    pub(super) fn take_over(&mut self, epoch: u64, new: NewQuestion<'_>) {
        self.request = new.request.to_owned();
        self.epoch = epoch;
        self.body = new.body.to_owned();
    }

    pub(super) fn is_open(&self) -> bool {
        self.answer.is_none() && self.outcome.is_none()
    }

    pub(super) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether there is an answer that the session was not given yet.
    pub(super) fn has_pending_answer(&self) -> bool {
        self.answer.is_some() && self.outcome.is_none()
    }

    /// Whether this is a question about that call which is not closed.
    pub(super) fn is_about(&self, call: &str) -> bool {
        self.outcome.is_none() && !call.is_empty() && self.call == call
    }

    pub(super) fn set_answer(&mut self, answer: NewAnswer<'_>, now: u64) {
        self.answer = Some(answer.answer.to_owned());
        self.answered_by = Some(answer.by.to_owned());
        self.answered = now;
    }

    pub(super) fn close(&mut self, outcome: &str) {
        self.outcome.get_or_insert_with(|| outcome.to_owned());
    }

    pub(super) fn to_pending(&self, epoch: u64) -> Option<InboxAnswer> {
        let is_pending = self.epoch == epoch && self.has_pending_answer();
        let answer = self.answer.clone().filter(|_| is_pending)?;
        Some(InboxAnswer { request: self.request.clone(), answer })
    }

    pub(super) fn to_answered(&self) -> Option<AnsweredQuestion> {
        Some(AnsweredQuestion {
            request: self.request.clone(),
            body: self.body.clone(),
            answer: self.answer.clone()?,
            answered_by: self.answered_by.clone().unwrap_or_default(),
            answered_millis: to_i64(self.answered),
            outcome: self.outcome.clone(),
        })
    }
}

/// The outcome of a question that the session withdrew after it was answered.
pub(super) const WITHDRAWN: &str = "withdrawn";
/// The outcome of a question whose session ended before it was recorded.
pub(super) const UNKNOWN: &str = "unknown";
