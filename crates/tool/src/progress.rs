//! Progress messages of a call, for the user.

use tokio::sync::mpsc;

/// Sends progress messages. Never blocks: a message that cannot be sent at once is dropped.
#[derive(Clone, Debug, Default)]
pub struct ProgressSender(Option<mpsc::Sender<String>>);

impl ProgressSender {
    #[must_use]
    pub fn from_sender(sender: mpsc::Sender<String>) -> Self {
        Self(Some(sender))
    }

    pub fn report(&self, text: impl FnOnce() -> String) {
        if let Some(sender) = &self.0
            && let Ok(permit) = sender.try_reserve()
        {
            permit.send(text());
        }
    }
}
