//! Files that change while a session goes on: which did, and what is in force then.
//!
//! There is no background watcher. The caller asks, the stamp of each file is compared, and changed files
//! go through `load_settings` as at the start. Two things never get looser by it: a file that cannot be
//! read any more keeps its last readable text, and a project that was trusted for one run is trusted for
//! what it was at the start of the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_permission::permission_layer::SettingsSource;

use crate::file_stamp::{FileOverrides, SettingsFileStamp};
use crate::load_settings;
use crate::loaded_settings::{LoadedSettings, SettingsFileRead, SettingsFileState};
use crate::settings_location::{CommandLineSettings, SettingsRequest};
use crate::settings_problem::ProblemSeverity;
use crate::trust::TrustStore;

/// What the files of a session were like when they were last looked at.
#[derive(Clone, Debug, Default)]
pub struct SettingsWatcher {
    files: BTreeMap<PathBuf, SeenSettingsFile>,
    /// Files that go on saying something that they no longer hold.
    overrides: FileOverrides,
    /// What the project wanted at the start: what is trusted, if it is trusted for one run.
    initial_digest: String,
    trust_store_stamp: Option<SettingsFileStamp>,
}

/// A file when it was last looked at.
#[derive(Clone, Debug)]
struct SeenSettingsFile {
    source: SettingsSource,
    stamp: Option<SettingsFileStamp>,
    /// What of it counts; empty, if it cannot be read.
    text: Option<String>,
}

/// A file that is not what it was.
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

    /// Is anything not as it was? Cheap.
    #[must_use]
    pub fn is_stale(&self, request: &SettingsRequest) -> bool {
        self.trust_store_stamp != trust_store_stamp(request)
            || !self.find_changed_files(request).is_empty()
    }

    /// The files that are not as they were.
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
        // A file that is no longer a candidate counts as gone.
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

    /// What is in force from now on, and one line for each file that cannot be read any more. A
    /// refused change has no effect until the file changes again.
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
            let what = problem.what.split("; until it is fixed").next().unwrap_or_default();
            let mut report = problem.clone();
            report.what = format!("{what}; until it is fixed, its earlier values apply");
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
        // Trust for one run is trust in what was there when it was given.
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
                // Which is as broken as it was.
                SettingsFileState::Broken => Some(String::new()),
            };
            let seen = SeenSettingsFile { source: file.source, stamp: file.stamp, text };
            self.files.insert(PathBuf::from(&file.name), seen);
        }
        self.trust_store_stamp = trust_store_stamp(request);
    }
}

/// Where the user's trust is kept, which counts like a file of settings.
fn trust_store_stamp(request: &SettingsRequest) -> Option<SettingsFileStamp> {
    let state = request.locations.state.as_ref()?;
    SettingsFileStamp::read(TrustStore::new(state).path())
}
