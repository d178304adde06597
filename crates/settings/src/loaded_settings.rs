//! The merged settings, with their origins and problems.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_permission::Rules;
use windlass_permission::permission_layer::SettingsSource;
use windlass_vocabulary::PermissionMode;

use crate::file_stamp::SettingsFileStamp;
use crate::mcp_server_policy::McpServerPolicy;
use crate::settings::SettingsFile;
use crate::settings_key;
use crate::settings_problem::SettingsProblem;
use crate::trust::{ProjectTrust, TrustedPages, TrustedScripts};

/// A value with its layer.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedValue<T> {
    pub source: SettingsSource,
    /// The file or flag.
    pub name: String,
    pub value: T,
}

/// MCP servers of files, and which servers may be used at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredMcpServers {
    /// The `mcpServers` of each file as written, lowest first; only those that may be started. The
    /// project's `.mcp.json` is [`SettingsSource::Project`]; entries of `~/.claude.json` for all
    /// projects are [`SettingsSource::User`], and those for this one [`SettingsSource::Local`].
    pub layers: Vec<SourcedValue<Map<String, Value>>>,
    pub policy: McpServerPolicy,
}

/// The settings in force. Whatever the user has not trusted is only in `trust`.
#[derive(Clone, Debug, Default)]
pub struct LoadedSettings {
    /// All layers merged. `permissions` and `hooks` are empty, because they are in the fields
    /// below.
    pub settings: SettingsFile,
    pub rules: Rules,
    /// The administrator's deny and ask rules, which no other layer can override.
    pub managed: Rules,
    /// The initial mode, if a layer sets it.
    pub mode: Option<PermissionMode>,
    /// `bypassPermissions` mode is disabled.
    pub forbids_bypass: bool,
    /// Additional working directories, absolute; not checked for existence.
    pub directories: Vec<SourcedValue<PathBuf>>,
    /// The `hooks` of each layer as written, lowest first; only those that may run.
    pub hooks: Vec<SourcedValue<Map<String, Value>>>,
    pub mcp_servers: StoredMcpServers,
    /// All candidate files, lowest first.
    pub files: Vec<SettingsFileRead>,
    pub problems: Vec<SettingsProblem>,
    /// What the project requests that needs trust.
    pub trust: ProjectTrust,
    pub(crate) origins: BTreeMap<String, Vec<String>>,
    pub(crate) rule_origins: Vec<RuleOrigin>,
}

#[derive(Clone, Debug)]
pub(crate) struct RuleOrigin {
    pub(crate) rule: String,
    /// `file:line`, or only the file.
    pub(crate) place: String,
}

impl LoadedSettings {
    /// The trusted versions of scripts that the project's configuration names. Relative names are
    /// resolved from this directory and from the project's root.
    #[must_use]
    pub fn trusted_scripts(&self, cwd: &Path) -> TrustedScripts {
        TrustedScripts::from_trust(&self.trust, cwd)
    }

    /// The prompt files that may run or allow something, with the text that was trusted.
    #[must_use]
    pub fn trusted_pages(&self) -> TrustedPages {
        TrustedPages::from_trust(&self.trust)
    }

    /// The files that set a key: `model`, `env.NAME`, `sandbox.network.allowedDomains`.
    #[must_use]
    pub fn origin(&self, key: &str) -> &[String] {
        self.origins.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Does a file of the project set this key, or a key below it?
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

    /// Every key in force, with the files that set it.
    pub fn origins(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.origins.iter().map(|(key, names)| (key.as_str(), names.as_slice()))
    }

    /// The origin of a rule as `file:line`, for the explanation of a decision.
    #[must_use]
    pub fn rule_origin(&self, rule: &str) -> Option<&str> {
        let origin = self.rule_origins.iter().find(|origin| origin.rule == rule);
        origin.map(|origin| origin.place.as_str())
    }

    pub fn variables(&self) -> impl Iterator<Item = (&str, String)> {
        let variables = self.settings.env.iter().flatten();
        variables.map(|(name, value)| (name.as_str(), value.to_string()))
    }

    /// Does Windlass use this key?
    #[must_use]
    pub fn has_effect(key: &str) -> bool {
        settings_key::has_effect(key)
    }

    /// Is a settings file broken, so that every call asks?
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.files.iter().any(|file| file.state == SettingsFileState::Broken)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFileRead {
    pub source: SettingsSource,
    /// The file or flag.
    pub name: String,
    pub state: SettingsFileState,
    /// The keys in it that are used.
    pub keys: Vec<String>,
    /// The text used for it, if it could be read.
    pub(crate) text: Option<String>,
    /// Its stamp before it was read.
    pub(crate) stamp: Option<SettingsFileStamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFileState {
    Absent,
    Read,
    Broken,
}
