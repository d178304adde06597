//! Standing instructions that count for some files alone. They are said once, with the result of the
//! call that put such a file into the model's hands: later would be too late for the next change.
//!
//! Which instructions there are is not known here; see [`Nearby`].

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_vocabulary::{ResultPart, ToolOutcome};

/// Knows which instructions count for a file.
pub trait Nearby: Debug + Send + Sync {
    /// The instructions for this file. May block on the file system; given up after a second.
    fn instructions(&self, file: &Path) -> Vec<Instruction>;
}

/// One piece of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it stands; it is said once for each place.
    pub place: PathBuf,
    /// What it says.
    pub text: String,
}

/// What is near, and what of it was said.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    nearby: Option<Arc<dyn Nearby>>,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    places: BTreeSet<PathBuf>,
    bytes: usize,
}

impl Neighbours {
    pub(crate) fn new(nearby: Option<Arc<dyn Nearby>>) -> Self {
        Self { nearby, said: Mutex::default() }
    }

    /// Adds what was not said yet about the files of an outcome.
    pub(crate) async fn add(self: Arc<Self>, outcome: &mut ToolOutcome) {
        if self.nearby.is_none() || outcome.files.is_empty() {
            return;
        }
        let files = outcome.files.clone();
        let words = spawn_blocking(move || self.words(&files));
        // A worker that hangs on a dead disk is left behind; its words are lost with it.
        if let Ok(Ok(Some(words))) = timeout(DEADLINE, words).await {
            outcome.content.push(ResultPart::Text(words));
        }
    }

    /// What was said is out of sight; say it again when it counts again.
    pub(crate) fn forget(&self) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Said::default();
    }

    fn words(&self, files: &[Arc<str>]) -> Option<String> {
        let nearby = self.nearby.as_ref()?;
        let found: Vec<Instruction> =
            files.iter().flat_map(|file| nearby.instructions(Path::new(file.as_ref()))).collect();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = String::new();
        for Instruction { place, text } in found {
            let fits = said.bytes + text.len() <= BYTES_MAX;
            if fits && said.places.insert(place.clone()) {
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
