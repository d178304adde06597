//! Detects settings files that change during a session, and reloads them.
//!
//! There is no background watcher. The caller asks, the stamp of each file is compared, and changed
//! files are loaded like at the start. Two rules keep this from loosening anything: a file that has
//! become unreadable keeps its last readable text, and a project that was trusted for one run is
//! trusted only with its content at the start of the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_permission::permission_layer::SettingsSource;

use crate::file_stamp::{FileOverrides, SettingsFileStamp};
use crate::load_settings;
use crate::loaded_settings::{LoadedSettings, SettingsFileRead, SettingsFileState};
use crate::settings_location::{CommandLineSettings, SettingsRequest};
use crate::settings_problem::ProblemSeverity;
use crate::trust::TrustStore;

/// The state of a session's files at the last check.
#[derive(Clone, Debug, Default)]
pub struct SettingsWatcher {
    files: BTreeMap<PathBuf, SeenSettingsFile>,
    /// The last readable text of files that have become unreadable.
    overrides: FileOverrides,
    /// The digest of what the project requested at the start, which is trusted if trust was for one
    /// run.
    initial_digest: String,
    trust_store_stamp: Option<SettingsFileStamp>,
}

/// A file at the last check.
#[derive(Clone, Debug)]
struct SeenSettingsFile {
    source: SettingsSource,
    stamp: Option<SettingsFileStamp>,
    /// The text in use; empty if it cannot be read.
    text: Option<String>,
}

/// Sent after a settings file was written, created or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFileChanged {
    pub source: SettingsSource,
    pub path: PathBuf,
}

impl SettingsWatcher {
    #[must_use]
    pub fn new(request: &SettingsRequest, loaded: &LoadedSettings) -> Self {
        let mut watch =
            Self { initial_digest: loaded.trust.digest_without_local_rules(), ..Self::default() };
        watch.remember_files(request, &loaded.files);
        watch
    }

    /// Has any file changed? Cheap.
    #[must_use]
    pub fn is_stale(&self, request: &SettingsRequest) -> bool {
        self.trust_store_stamp != trust_store_stamp(request)
            || !self.find_changed_files(request).is_empty()
    }

    #[must_use]
    pub fn find_changed_files(&self, request: &SettingsRequest) -> Vec<SettingsFileChanged> {
        let mut changed: Vec<SettingsFileChanged> = Vec::new();
        let candidates = load_settings::find_candidates(request);
        for candidate in &candidates {
            let CommandLineSettings::File(path) = &candidate.content else { continue };
            let before = self.files.get(path).and_then(|seen| seen.stamp);
            if before != SettingsFileStamp::read(path) {
                changed.push(SettingsFileChanged { source: candidate.source, path: path.clone() });
            }
        }
        // A file that is no longer a candidate counts as deleted.
        for (path, seen) in self.files.iter().filter(|(_, seen)| seen.stamp.is_some()) {
            let is_candidate = candidates
                .iter()
                .any(|candidate| matches!(&candidate.content, CommandLineSettings::File(known) if known == path));
            if !is_candidate {
                changed.push(SettingsFileChanged { source: seen.source, path: path.clone() });
            }
        }
        changed
    }

    /// The settings in force from now on, and one message for each file that has become unreadable.
    /// A rejected change has no effect until the file changes again.
    pub fn reload(
        &mut self,
        request: &SettingsRequest,
        refused: &[PathBuf],
    ) -> (LoadedSettings, Vec<String>) {
        for SettingsFileChanged { path, .. } in self.find_changed_files(request) {
            match refused.contains(&path) {
                true => drop(self.overrides.insert(path.clone(), self.last_text(&path))),
                false => drop(self.overrides.remove(&path)),
            }
        }
        let mut loaded = self.load_current(request);
        let mut lines = Vec::new();
        for problem in
            loaded.problems.iter().filter(|problem| problem.severity == ProblemSeverity::File)
        {
            let path = PathBuf::from(&problem.name);
            let good = self.last_text(&path).filter(|text| !text.is_empty());
            let Some(text) = good.filter(|_| !self.overrides.contains_key(&path)) else { continue };
            let mut report = problem.clone();
            report.until_fixed = Some("its earlier values apply");
            lines.push(report.to_string());
            self.overrides.insert(path, Some(text));
        }
        if !lines.is_empty() {
            loaded = self.load_current(request);
        }
        self.remember_files(request, &loaded.files);
        (loaded, lines)
    }

    fn load_current(&self, request: &SettingsRequest) -> LoadedSettings {
        let mut request = request.clone();
        let is_trusted = std::mem::take(&mut request.is_trusted);
        let mut loaded = load_settings::load_with_overrides(&request, &self.overrides);
        // Trust for one run covers only what existed when it was given.
        if is_trusted && self.initial_digest == loaded.trust.digest_without_local_rules() {
            request.is_trusted = true;
            loaded = load_settings::load_with_overrides(&request, &self.overrides);
        }
        loaded
    }

    fn last_text(&self, path: &Path) -> Option<String> {
        self.files.get(path)?.text.clone()
    }

    fn remember_files(&mut self, request: &SettingsRequest, files: &[SettingsFileRead]) {
        self.files.clear();
        for file in files {
            let text = match file.state {
                SettingsFileState::Absent => None,
                SettingsFileState::Read => file.text.clone(),
                // Still broken, with the same consequence.
                SettingsFileState::Broken => Some(String::new()),
            };
            let seen = SeenSettingsFile { source: file.source, stamp: file.stamp, text };
            self.files.insert(PathBuf::from(&file.name), seen);
        }
        self.trust_store_stamp = trust_store_stamp(request);
    }
}

/// The trust record, which is watched like a settings file.
fn trust_store_stamp(request: &SettingsRequest) -> Option<SettingsFileStamp> {
    let state = request.locations.state.as_ref()?;
    SettingsFileStamp::read(TrustStore::new(state).path())
}
