//! Words of a hook that nobody waited for: they wait for the next tool boundary, or begin a run.

use tokio::sync::mpsc;
use windlass_engine::Event;
use windlass_hook::Waker;
use windlass_vocabulary::Block;

/// Tells the session, if it is still there.
#[derive(Debug)]
pub(crate) struct Woken(pub(crate) mpsc::WeakSender<Event>);

impl Waker for Woken {
    fn wake(&self, words: String) {
        let Some(events) = self.0.upgrade() else { return };
        let content = vec![Block::Text(words)];
        // A session that does not keep up has something better to do.
        let _ = events.try_send(Event::UserSubmitted { content, pinned: false });
    }
}
