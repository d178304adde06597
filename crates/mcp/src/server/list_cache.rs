//! Caches a server's lists and its protocol revision between sessions, so that it need not be
//! started before one of its tools is called.
//!
//! The key includes the server's configuration; a changed command invalidates the entry. An entry
//! that cannot be read or written counts as missing.

use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{McpServerConfig, McpServerTransport};
use crate::connection::{McpPromptDescription, McpServerDescription, McpToolDescription};
use crate::tool_names::fingerprint;

/// Larger files are ignored.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct ServerListCache {
    folder: PathBuf,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CachedServerLists {
    pub(crate) tools: Vec<McpToolDescription>,
    pub(crate) prompts: Vec<McpPromptDescription>,
    pub(crate) facts: Option<McpServerDescription>,
    pub(crate) is_stateless: Option<bool>,
}

impl ServerListCache {
    /// A cache in this folder, which is created when first needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    pub(crate) fn load(&self, config: &McpServerConfig) -> Option<CachedServerLists> {
        let path = self.cache_path(config)?;
        let is_fit = std::fs::metadata(&path)
            .is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX);
        let bytes = is_fit.then(|| std::fs::read(&path).ok()).flatten()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(crate) fn store(&self, config: &McpServerConfig, known: &CachedServerLists) {
        let Some(path) = self.cache_path(config) else { return };
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

    /// The name depends on the configuration, not on the server's name.
    fn cache_path(&self, config: &McpServerConfig) -> Option<PathBuf> {
        let key = match &config.transport {
            McpServerTransport::Process(process) => {
                let more = (&process.arguments, &process.environment, &process.directory);
                serde_json::to_string(&("process", &process.command, more))
            }
            McpServerTransport::Http(http) => {
                serde_json::to_string(&("http", &http.url, &http.headers))
            }
            McpServerTransport::InProcess(_) | McpServerTransport::Unavailable(_) => return None,
        };
        Some(self.folder.join(format!("{}.json", fingerprint(&key.ok()?))))
    }
}
