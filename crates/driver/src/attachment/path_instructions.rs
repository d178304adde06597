//! Standing instructions that count for some files alone. They are said once, with the result of the
//! call that put such a file into the model's hands: later would be too late for the next change.
//!
//! Which instructions there are is not known here; see [`PathInstructionSource`].

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use windlass_vocabulary::{ToolOutcome, ToolResultPart};

/// Knows which instructions count for a file.
pub trait PathInstructionSource: Debug + Send + Sync {
    /// The instructions for this file. May block on the file system; given up after a second.
    fn load_instructions(&self, file: &Path) -> Vec<PathInstruction>;
}

/// One piece of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathInstruction {
    /// Where it stands; it is said once for each place.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// What is near, and what of it was said.
#[derive(Debug, Default)]
pub(crate) struct PathInstructions {
    source: Option<Arc<dyn PathInstructionSource>>,
    sent: Mutex<SentInstructions>,
}

#[derive(Debug, Default)]
struct SentInstructions {
    paths: BTreeSet<PathBuf>,
    bytes: usize,
}

impl PathInstructions {
    pub(crate) fn new(source: Option<Arc<dyn PathInstructionSource>>) -> Self {
        Self { source, sent: Mutex::default() }
    }

    /// Adds what was not said yet about the files of an outcome.
    pub(crate) async fn append_to_outcome(self: Arc<Self>, outcome: &mut ToolOutcome) {
        if self.source.is_none() || outcome.files.is_empty() {
            return;
        }
        let files = outcome.files.clone();
        let words = spawn_blocking(move || self.render_unsent(&files));
        // A worker that hangs on a dead disk is left behind; its words are lost with it.
        if let Ok(Ok(Some(words))) = crate::clock::timeout(DEADLINE, words).await {
            outcome.content.push(ToolResultPart::Text(words));
        }
    }

    /// What was said is out of sight; say it again when it counts again.
    pub(crate) fn reset(&self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = SentInstructions::default();
    }

    fn render_unsent(&self, files: &[Arc<str>]) -> Option<String> {
        let path_instructions = self.source.as_ref()?;
        let found: Vec<PathInstruction> = files
            .iter()
            .flat_map(|file| path_instructions.load_instructions(Path::new(file.as_ref())))
            .collect();
        let mut said = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = String::new();
        for PathInstruction { path: place, text } in found {
            let fits = said.bytes + text.len() <= BYTES_MAX;
            if fits && said.paths.insert(place.clone()) {
                said.bytes += text.len();
                words.push_str(&format!("\n\nFrom {}:\n\n{}", place.display(), text.trim()));
            }
        }
        (!words.is_empty())
            .then(|| format!("Standing instructions that count for files seen here:{words}"))
    }
}

/// Bytes of such instructions between two compactions.
const BYTES_MAX: usize = 64 * 1024;
const DEADLINE: Duration = Duration::from_secs(1);
