//! What is looked for beside the model call: memories, skills, files that changed, files to read
//! again.
//!
//! What is found arrives as an event and is slipped in at the next tool boundary; what is not found,
//! or takes too long, says nothing. A turn never waits for any of it.

mod file;
pub mod nearby;
pub mod note;
pub mod skill;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_engine::Event;
use windlass_tool::Surroundings;
use windlass_vocabulary::AttachmentKind;

use self::nearby::Neighbours;

/// Looks for something that may help with what the user asked.
pub trait Finder: Debug + Send + Sync {
    /// Words for the model, or `None`. May block on the file system; given up after some seconds.
    fn find(&self, prompt: &str) -> Option<String>;
}

/// Everything that can be looked for.
pub(crate) struct Attachments {
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) memory: Option<Arc<dyn Finder>>,
    pub(crate) skills: Option<Arc<dyn Finder>>,
    pub(crate) neighbours: Arc<Neighbours>,
}

/// The longest anything is looked for.
const DEADLINE: Duration = Duration::from_secs(5);

impl Attachments {
    /// Looks for it.
    pub(crate) async fn find(
        self: Arc<Self>,
        kind: AttachmentKind,
        about: String,
    ) -> Option<Event> {
        // A worker that hangs on a dead disk is left behind; what it finds then is dropped.
        let found = timeout(DEADLINE, spawn_blocking(move || self.look(kind, &about))).await;
        let text = found.ok()?.ok()??;
        Some(Event::AttachmentArrived { kind, text })
    }

    fn look(&self, kind: AttachmentKind, about: &str) -> Option<String> {
        match kind {
            AttachmentKind::Memory => self.memory.as_ref()?.find(about),
            AttachmentKind::Skills => self.skills.as_ref()?.find(about),
            AttachmentKind::ChangedFiles => file::changed(&self.surroundings),
            AttachmentKind::FilesInHand => {
                self.neighbours.forget();
                file::read_again(&self.surroundings, about)
            }
            // Said by a person or a hook; nobody has to look for it.
            AttachmentKind::QueuedInput | AttachmentKind::Hook => None,
        }
    }
}
