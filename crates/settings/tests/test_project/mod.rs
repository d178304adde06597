//! A home, a project and an administrator in a folder that is gone afterwards.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use windlass_settings::trust::TrustStore;
use windlass_settings::{LoadedSettings, SettingsLocations, SettingsRequest, load_settings};

pub(crate) struct TestProject {
    folder: TempDir,
}

impl TestProject {
    pub(crate) fn new() -> Self {
        let test_project = Self { folder: TempDir::new().expect("a folder") };
        for folder in ["home/.claude", "project/.git", "project/.claude", "etc", "state"] {
            fs::create_dir_all(test_project.path(folder)).expect("a folder");
        }
        test_project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a path").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl ToString) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text.to_string()).expect("written");
    }

    pub(crate) fn request(&self) -> SettingsRequest {
        SettingsRequest {
            locations: SettingsLocations {
                managed: vec![self.path("etc")],
                user: vec![self.path("home/.claude"), self.path("home/.config/windlass")],
                claude_json: Some(self.path("home/.claude.json")),
                home: Some(self.path("home")),
                state: Some(self.path("state")),
            },
            cwd: self.path("project"),
            ..SettingsRequest::default()
        }
    }

    pub(crate) fn load(&self) -> LoadedSettings {
        load_settings(&self.request())
    }

    pub(crate) fn trust(&self) {
        let store = TrustStore::new(&self.path("state"));
        store.accept(&self.load().trust).expect("written");
    }
}
