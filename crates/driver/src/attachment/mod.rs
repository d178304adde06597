//! What is looked for beside the model call: memories, skills, files that changed, files to read
//! again.
//!
//! What is found arrives as an event and is slipped in at the next tool boundary; what is not found,
//! or takes too long, says nothing. A turn never waits for any of it.

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

/// Looks for something that may help with what the user asked.
pub trait AttachmentFinder: Debug + Send + Sync {
    /// Words for the model, or `None`. May block on the file system; given up after some seconds.
    fn find(&self, prompt: &str) -> Option<String>;
}

pub(crate) struct AttachmentSources {
    pub(crate) tool_context: Arc<ToolSessionContext>,
    pub(crate) memory: Option<Arc<dyn AttachmentFinder>>,
    pub(crate) skills: Option<Arc<dyn AttachmentFinder>>,
    pub(crate) path_instructions: Arc<PathInstructions>,
}

/// The longest anything is looked for.
const DEADLINE: Duration = Duration::from_secs(5);

impl AttachmentSources {
    pub(crate) async fn find(
        self: Arc<Self>,
        kind: AttachmentKind,
        about: String,
    ) -> Option<Event> {
        // A worker that hangs on a dead disk is left behind; what it finds then is dropped.
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
            // Given by the user or a hook; it needs no lookup.
            AttachmentKind::QueuedInput | AttachmentKind::Hook => None,
        }
    }
}
