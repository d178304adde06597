//! What was read, put together: the settings in force, and everything worth knowing about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_permission::Rules;
use windlass_permission::permission_layer::SettingsSource;
use windlass_vocabulary::PermissionMode;

use crate::file_stamp::SettingsFileStamp;
use crate::settings::SettingsFile;
use crate::settings_key;
use crate::settings_problem::SettingsProblem;
use crate::trust::{ProjectTrust, TrustedScripts};

/// A value with the layer it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedValue<T> {
    pub source: SettingsSource,
    /// The file, or the flag.
    pub name: String,
    pub value: T,
}

/// The settings in force. What the user has not trusted is not in here, except in `trust`.
#[derive(Clone, Debug, Default)]
pub struct LoadedSettings {
    /// All layers together. `permissions` and `hooks` are empty: see below.
    pub settings: SettingsFile,
    pub rules: Rules,
    /// What the administrator denies and asks about: no other layer lifts it.
    pub managed: Rules,
    /// The mode to start in, if a layer says.
    pub mode: Option<PermissionMode>,
    /// `bypassPermissions` mode is switched off.
    pub forbids_bypass: bool,
    /// More directories to work in, absolute; whether they are there was not looked at.
    pub directories: Vec<SourcedValue<PathBuf>>,
    /// The `hooks` of each layer as written, lowest first; those that may run.
    pub hooks: Vec<SourcedValue<Map<String, Value>>>,
    /// The `mcpServers` of each file as written, lowest first; those that may be started. The
    /// project's `.mcp.json` is [`SettingsSource::Project`]; of `~/.claude.json`, what it holds for all
    /// projects is [`SettingsSource::User`] and what it holds for this one [`SettingsSource::Local`].
    pub mcp_servers: Vec<SourcedValue<Map<String, Value>>>,
    /// Everything that was looked for, lowest first.
    pub files: Vec<SettingsFileRead>,
    pub problems: Vec<SettingsProblem>,
    /// What the project wants that needs the user's trust.
    pub trust: ProjectTrust,
    pub(crate) origins: BTreeMap<String, Vec<String>>,
    pub(crate) rule_origins: Vec<RuleOrigin>,
}

#[derive(Clone, Debug)]
pub(crate) struct RuleOrigin {
    pub(crate) rule: String,
    /// `file:line`, or the file alone.
    pub(crate) place: String,
}

impl LoadedSettings {
    /// The scripts that the project's own configuration names, as they were trusted. Names that are
    /// not absolute are read from this directory and from the project's root.
    #[must_use]
    pub fn trusted_scripts(&self, cwd: &Path) -> TrustedScripts {
        TrustedScripts::from_trust(&self.trust, cwd)
    }

    /// The files a value came from, by its key: `model`, `env.NAME`, `sandbox.network.allowedDomains`.
    #[must_use]
    pub fn origin(&self, key: &str) -> &[String] {
        self.origins.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Does a file of the project say this, by its key or a key below it?
    #[must_use]
    pub fn is_set_by_project(&self, key: &str) -> bool {
        let below = format!("{key}.");
        let is_meant = |one: &str| one == key || one.starts_with(&below);
        let names =
            self.origins.iter().filter(|(one, _)| is_meant(one)).flat_map(|(_, names)| names);
        let is_project = |source: SettingsSource| {
            matches!(source, SettingsSource::Project | SettingsSource::Local)
        };
        let mut files = self.files.iter().filter(|file| is_project(file.source));
        let names: Vec<&String> = names.collect();
        files.any(|file| names.contains(&&file.name))
    }

    #[must_use]
    pub fn is_managed(&self, key: &str) -> bool {
        let last = self.origin(key).last();
        let files = self.files.iter().filter(|file| file.source == SettingsSource::Managed);
        last.is_some_and(|last| files.into_iter().any(|file| file.name == *last))
    }

    /// Every value that is in force, by its key, and the files it came from.
    pub fn origins(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.origins.iter().map(|(key, names)| (key.as_str(), names.as_slice()))
    }

    /// Where a rule stands, as a report of a decision names it: `file:line`.
    #[must_use]
    pub fn rule_origin(&self, rule: &str) -> Option<&str> {
        let origin = self.rule_origins.iter().find(|origin| origin.rule == rule);
        origin.map(|origin| origin.place.as_str())
    }

    pub fn variables(&self) -> impl Iterator<Item = (&str, String)> {
        let variables = self.settings.env.iter().flatten();
        variables.map(|(name, value)| (name.as_str(), value.to_string()))
    }

    /// Does something come of a value, by its key?
    #[must_use]
    pub fn has_effect(key: &str) -> bool {
        settings_key::has_effect(key)
    }

    /// Is a file of settings broken, so that everything asks?
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.files.iter().any(|file| file.state == SettingsFileState::Broken)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFileRead {
    pub source: SettingsSource,
    /// The file, or the flag.
    pub name: String,
    pub state: SettingsFileState,
    /// The keys that count in it.
    pub keys: Vec<String>,
    /// What was taken to be in it, if it could be read.
    pub(crate) text: Option<String>,
    /// What the file was like before it was read.
    pub(crate) stamp: Option<SettingsFileStamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFileState {
    Absent,
    Read,
    Broken,
}
