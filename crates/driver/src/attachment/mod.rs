//! Looks up attachments while a model call runs: memories, skills, changed files, files to read
//! again.
//!
//! A result arrives as an event and is added at the next tool boundary; a lookup that finds nothing
//! or takes too long reports nothing. A turn never waits for a lookup.

mod changed_files;
pub mod memory_folder;
pub mod path_instructions;
pub mod skill_folders;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use windlass_engine::Event;
use windlass_tool::ToolSessionContext;
use windlass_vocabulary::AttachmentKind;

use self::path_instructions::PathInstructions;

/// Finds text that may help with the user's prompt.
pub trait AttachmentFinder: Debug + Send + Sync {
    /// The text for the model, or `None`. May block on the file system; abandoned after some
    /// seconds.
    fn find(&self, prompt: &str) -> Option<String>;
}

pub(crate) struct AttachmentSources {
    pub(crate) tool_context: Arc<ToolSessionContext>,
    pub(crate) memory: Option<Arc<dyn AttachmentFinder>>,
    pub(crate) skills: Option<Arc<dyn AttachmentFinder>>,
    pub(crate) path_instructions: Arc<PathInstructions>,
}

/// Limit of one lookup.
const DEADLINE: Duration = Duration::from_secs(5);

impl AttachmentSources {
    pub(crate) async fn find(
        self: Arc<Self>,
        kind: AttachmentKind,
        about: String,
    ) -> Option<Event> {
        // A thread that hangs on a dead disk is abandoned, and its result is dropped.
        let found = crate::clock::timeout(
            DEADLINE,
            spawn_blocking(move || self.find_blocking(kind, &about)),
        )
        .await;
        let text = found.ok()?.ok()??;
        Some(Event::AttachmentArrived { kind, text })
    }

    fn find_blocking(&self, kind: AttachmentKind, about: &str) -> Option<String> {
        match kind {
            AttachmentKind::Memory => self.memory.as_ref()?.find(about),
            AttachmentKind::Skills => self.skills.as_ref()?.find(about),
            AttachmentKind::ChangedFiles => {
                changed_files::describe_changed_files(&self.tool_context)
            }
            AttachmentKind::FilesInHand => {
                self.path_instructions.reset();
                changed_files::reread_files(&self.tool_context, about)
            }
            // Provided by the user or a hook; no lookup is needed.
            AttachmentKind::QueuedInput | AttachmentKind::Hook => None,
        }
    }
}
