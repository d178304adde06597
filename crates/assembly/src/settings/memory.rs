//! Automatic memory: what a run leaves behind for later sessions.

use std::path::{Path, PathBuf};

use windlass_driver::engine_settings::After;
use windlass_journal::project_key::project_key;

use super::SettingsLayers;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;

impl SettingsLayers {
    /// The work after a run. Nothing that costs a model call is done by default.
    pub(crate) fn after_run_options(&self) -> After {
        let settings = &self.loaded.settings;
        let after = settings.memory.after_run.clone().unwrap_or_default();
        let memory = settings.memory.auto_memory_enabled.unwrap_or(after.memory == Some(true));
        After {
            title: after.title == Some(true),
            suggestion: after.suggestion == Some(true),
            memory,
            consolidation: memory && after.consolidation != Some(false),
            questions: after.questions != Some(false),
        }
    }

    /// The file with notes from earlier sessions in this project, unless they are switched off.
    pub fn auto_memory_file(&self, project: &Path, lookup: &impl EnvLookup) -> Option<PathBuf> {
        let settings = &self.loaded.settings;
        if settings.memory.auto_memory_enabled == Some(false) {
            return None;
        }
        let folder = match &settings.memory.auto_memory_directory {
            Some(given) => match given.strip_prefix("~/") {
                Some(rest) => user_directories::home_directory(lookup)?.join(rest),
                None => PathBuf::from(given),
            },
            None => user_directories::claude_directory(lookup)?
                .join("projects")
                .join(project_key(project))
                .join("memory"),
        };
        folder.is_absolute().then(|| folder.join("MEMORY.md"))
    }
}
