//! What was read, put together: the settings in force, and everything worth knowing about them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use windlass_permission::layer::Source;
use windlass_permission::{Rule, Rules};
use windlass_vocabulary::Mode;

use crate::key;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::trust::Trust;
use crate::watch::Stamp;

/// A value with the layer it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced<T> {
    /// The layer.
    pub source: Source,
    /// The file, or the flag.
    pub name: String,
    /// The value.
    pub value: T,
}

/// The settings in force. What the user has not trusted is not in here, except in `trust`.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// All layers together. `permissions` and `hooks` are empty: see below.
    pub settings: Settings,
    /// The rules of all layers.
    pub rules: Rules,
    /// What the administrator denies and asks about: nobody takes it back.
    pub managed: Rules,
    /// The mode to start in, if a layer says.
    pub mode: Option<Mode>,
    /// Nobody may wave everything through.
    pub forbids_bypass: bool,
    /// More directories to work in, absolute; whether they are there was not looked at.
    pub directories: Vec<Sourced<PathBuf>>,
    /// The `hooks` of each layer as written, lowest first; those that may run.
    pub hooks: Vec<Sourced<Map<String, Value>>>,
    /// The `mcpServers` of each file as written, lowest first; those that may be started. The
    /// project's `.mcp.json` is [`Source::Project`]; of `~/.claude.json`, what it holds for all
    /// projects is [`Source::User`] and what it holds for this one [`Source::Local`].
    pub mcp_servers: Vec<Sourced<Map<String, Value>>>,
    /// Everything that was looked for, lowest first.
    pub files: Vec<FileRead>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What the project wants that needs the user's trust.
    pub trust: Trust,
    pub(crate) origins: BTreeMap<String, Vec<String>>,
    pub(crate) rule_origins: Vec<(List, Rule, String)>,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Allow,
    Ask,
    Deny,
}

impl Loaded {
    /// The files a value came from, by its key: `model`, `env.NAME`, `sandbox.network.allowedDomains`.
    #[must_use]
    pub fn origin(&self, key: &str) -> &[String] {
        self.origins.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Did the administrator set this value?
    #[must_use]
    pub fn is_managed(&self, key: &str) -> bool {
        let last = self.origin(key).last();
        let files = self.files.iter().filter(|file| file.source == Source::Managed);
        last.is_some_and(|last| files.into_iter().any(|file| file.name == *last))
    }

    /// Every value that is in force, by its key, and the files it came from.
    pub fn origins(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.origins.iter().map(|(key, names)| (key.as_str(), names.as_slice()))
    }

    /// Where a rule stands, as a report of a decision names it: `file:line`.
    #[must_use]
    pub fn rule_origin(&self, rule: &str) -> Option<&str> {
        let found = self.rule_origins.iter().find(|(_, known, _)| known.to_string() == rule);
        found.map(|(_, _, place)| place.as_str())
    }

    /// The variables to set.
    pub fn variables(&self) -> impl Iterator<Item = (&str, String)> {
        let variables = self.settings.env.iter().flatten();
        variables.map(|(name, value)| (name.as_str(), value.to_string()))
    }

    /// Does something come of a value, by its key?
    #[must_use]
    pub fn has_effect(key: &str) -> bool {
        key::has_effect(key)
    }

    /// Is a file of settings broken, so that everything asks?
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.files.iter().any(|file| file.state == State::Broken)
    }
}

/// A file that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// Its layer.
    pub source: Source,
    /// The file, or the flag.
    pub name: String,
    /// Was it there?
    pub state: State,
    /// The keys that count in it.
    pub keys: Vec<String>,
    /// What was taken to be in it, if it could be read.
    pub(crate) text: Option<String>,
    /// What the file was like before it was read.
    pub(crate) stamp: Option<Stamp>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Absent,
    /// It was read.
    Read,
    /// It could not be read.
    Broken,
}
