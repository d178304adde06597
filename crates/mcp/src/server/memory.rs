//! What is kept of a server between sessions: its lists and the revision it speaks, so that it need
//! not be started before one of its tools is called.
//!
//! A memory is bound to how the server is configured; another command, another memory. What cannot
//! be read or written is as good as not there.

use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ServerOrder, Way};
use crate::connection::{PromptFacts, ServerFacts, ToolFacts};
use crate::name::fingerprint;

/// Larger ones are not read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A folder of lists.
#[derive(Clone, Debug)]
pub struct ListMemory {
    folder: PathBuf,
}

/// What is known of a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) tools: Vec<ToolFacts>,
    pub(crate) prompts: Vec<PromptFacts>,
    pub(crate) facts: Option<ServerFacts>,
    pub(crate) is_stateless: Option<bool>,
}

impl ListMemory {
    /// One in this folder, which is made when first needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    pub(crate) fn recall(&self, order: &ServerOrder) -> Option<Known> {
        let path = self.path(order)?;
        let is_fit = std::fs::metadata(&path).is_ok_and(|found| found.len() <= FILE_BYTES_MAX);
        let bytes = is_fit.then(|| std::fs::read(&path).ok()).flatten()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(crate) fn keep(&self, order: &ServerOrder, known: &Known) {
        let Some(path) = self.path(order) else { return };
        let Ok(bytes) = serde_json::to_vec(known) else { return };
        let _ = std::fs::create_dir_all(&self.folder);
        let half = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = std::fs::File::create(&half)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| std::fs::rename(&half, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&half);
        }
    }

    /// By what the server is, not by what it is called.
    fn path(&self, order: &ServerOrder) -> Option<PathBuf> {
        let key = match &order.way {
            Way::Process(process) => {
                let more = (&process.arguments, &process.environment, &process.directory);
                serde_json::to_string(&("process", &process.command, more))
            }
            Way::Http(http) => serde_json::to_string(&("http", &http.url, &http.headers)),
            Way::Inside(_) | Way::None(_) => return None,
        };
        Some(self.folder.join(format!("{}.json", fingerprint(&key.ok()?))))
    }
}
