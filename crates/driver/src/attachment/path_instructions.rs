//! Instructions that apply to certain files only. They are added once, to the result of the call
//! that first reads or writes such a file: later would be too late for the next change.
//!
//! Where instructions come from is up to the [`PathInstructionSource`].

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use windlass_vocabulary::{ToolOutcome, ToolResultPart};

/// Finds the instructions that apply to a file.
pub trait PathInstructionSource: Debug + Send + Sync {
    /// The instructions for this file. May block on the file system; abandoned after a second.
    fn load_instructions(&self, file: &Path) -> Vec<PathInstruction>;
}

/// One file of instructions that the model reads before it works on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathInstruction {
    /// Where the instruction comes from; each source is added only once.
    pub path: PathBuf,
    /// What the model reads of it.
    pub text: String,
}

/// The source of instructions, and which of them the model already has.
#[derive(Debug, Default)]
pub(crate) struct PathInstructions {
    source: Option<Arc<dyn PathInstructionSource>>,
    sent: Mutex<SentPathInstructions>,
}

#[derive(Debug, Default)]
struct SentPathInstructions {
    paths: BTreeSet<PathBuf>,
    bytes: usize,
}

impl PathInstructions {
    pub(crate) fn new(source: Option<Arc<dyn PathInstructionSource>>) -> Self {
        Self { source, sent: Mutex::default() }
    }

    /// Adds the instructions for the files of an outcome that the model does not have yet.
    pub(crate) async fn append_to_outcome(self: Arc<Self>, outcome: &mut ToolOutcome) {
        if self.source.is_none() || outcome.files.is_empty() {
            return;
        }
        let files = outcome.files.clone();
        let words = spawn_blocking(move || self.render_unsent(&files));
        // A thread that hangs on a dead disk is abandoned, and its instructions are lost.
        if let Ok(Ok(Some(words))) = crate::clock::timeout(DEADLINE, words).await {
            outcome.content.push(ToolResultPart::Text(words));
        }
    }

    /// Called after a compaction: the model no longer has the instructions, so they are added
    /// again.
    pub(crate) fn reset(&self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = SentPathInstructions::default();
    }

    fn render_unsent(&self, files: &[Arc<str>]) -> Option<String> {
        let path_instructions = self.source.as_ref()?;
        let found: Vec<PathInstruction> = files
            .iter()
            .flat_map(|file| path_instructions.load_instructions(Path::new(file.as_ref())))
            .collect();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = String::new();
        for PathInstruction { path: place, text } in found {
            let fits = sent.bytes + text.len() <= BYTES_MAX;
            if fits && sent.paths.insert(place.clone()) {
                sent.bytes += text.len();
                words.push_str(&format!("\n\nFrom {}:\n\n{}", place.display(), text.trim()));
            }
        }
        (!words.is_empty())
            .then(|| format!("Standing instructions that count for files seen here:{words}"))
    }
}

/// Limit on the bytes of instructions between two compactions.
const BYTES_MAX: usize = 64 * 1024;
const DEADLINE: Duration = Duration::from_secs(1);
