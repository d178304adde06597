//! Delivers output of a detached hook: at the next tool boundary, or as the start of a run.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;
use windlass_engine::Event;
use windlass_hook::HookWaker;
use windlass_vocabulary::ContentBlock;

/// Sends to the session, if it is still open.
#[derive(Debug)]
pub(crate) struct SessionWaker(Mutex<mpsc::WeakSender<Event>>);

impl SessionWaker {
    pub(crate) fn new(events: &mpsc::Sender<Event>) -> Self {
        Self(Mutex::new(events.downgrade()))
    }

    pub(crate) fn report_to(&self, events: &mpsc::Sender<Event>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = events.downgrade();
    }
}

impl HookWaker for SessionWaker {
    fn wake(&self, words: String) {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(events) = events else { return };
        let content = vec![ContentBlock::Text(words)];
        // A session whose queue is full is busy anyway, so the output is dropped.
        let _ = events.try_send(Event::UserSubmitted { content, pinned: false });
    }
}
