//! What a project wants that needs the user's trust, and whether it has it.
//!
//! Before trust nothing of a project runs, grants or moves an endpoint. Trust is bound to the real path
//! of the project and to a digest of everything that needs it, so a changed hook asks again. Other
//! programs' word that a folder is trusted is not taken: it is bound to no contents.

mod project_endpoint;
mod prompt_files;
mod split_by_trust;
mod trust_store;
mod trusted_scripts;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_permission::permission_layer::SettingsSource;

use crate::sha256;

pub use project_endpoint::ProjectEndpoint;
pub(crate) use project_endpoint::find_endpoints;
pub(crate) use prompt_files::find_prompt_files;
pub(crate) use split_by_trust::split_by_trust;
pub use trust_store::{TrustError, TrustStore, TrustedProject};
pub use trusted_scripts::TrustedScripts;
pub(crate) use trusted_scripts::find_scripts;

/// What a project wants, and where it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectTrust {
    /// The project: the real path of its root.
    pub root: PathBuf,
    pub state: TrustState,
    /// Everything that needs trust, whether it has it or not.
    pub items: Vec<TrustItem>,
    /// The digest of all of them: what a yes is bound to.
    pub digest: String,
    /// Addresses that a key would be sent to; each needs a yes of its own.
    pub endpoints: Vec<ProjectEndpoint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustState {
    /// It wants nothing that needs trust.
    #[default]
    NotNeeded,
    /// The user said yes to exactly this.
    Given,
    /// The user says yes for this run.
    GivenOnce,
    Never,
    /// The user said yes to something else: it has changed since.
    Changed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrustItem {
    pub source: SettingsSource,
    pub name: String,
    /// The key: `hooks`, `permissions.allow`, `env`.
    pub key: String,
    /// Shown to the user who decides.
    pub value: Value,
}

impl ProjectTrust {
    pub(crate) fn new(root: PathBuf, items: Vec<TrustItem>) -> Self {
        let digest = compute_digest(&root, &items);
        Self { root, state: TrustState::NotNeeded, items, digest, endpoints: Vec::new() }
    }

    /// The digest without the rules that "don't ask again" writes down on this machine.
    pub(crate) fn digest_without_local_rules(&self) -> String {
        let is_kept =
            |item: &TrustItem| item.source == SettingsSource::Local && item.key == ALLOW_RULES_KEY;
        let items: Vec<TrustItem> =
            self.items.iter().filter(|item| !is_kept(item)).cloned().collect();
        compute_digest(&self.root, &items)
    }

    #[must_use]
    pub const fn is_given(&self) -> bool {
        matches!(self.state, TrustState::NotNeeded | TrustState::Given | TrustState::GivenOnce)
    }

    /// What was left out: nothing, or everything that needs trust.
    #[must_use]
    pub fn withheld_items(&self) -> &[TrustItem] {
        if self.is_given() { &[] } else { &self.items }
    }

    /// May this variable of this file move requests?
    pub(crate) fn accepts_endpoint(&self, name: &str, variable: &str) -> bool {
        let is_meant = |one: &&ProjectEndpoint| one.name == name && one.variable == variable;
        self.endpoints.iter().find(is_meant).is_none_or(|one| one.is_accepted)
    }

    /// One line about addresses that are left out although the rest is trusted.
    #[must_use]
    pub fn render_endpoint_warning(&self) -> Option<String> {
        let open = self.endpoints.iter().find(|one| !one.is_accepted);
        let open = open.filter(|_| self.is_given())?;
        Some(format!(
            "{} in {} does not apply: your key would go to {}; to allow that: `windlass trust \
             --endpoint {}`",
            open.variable, open.name, open.host, open.host
        ))
    }

    /// One line that says what was left out and how to let it in; nothing if nothing was.
    #[must_use]
    pub fn render_warning(&self) -> Option<String> {
        let mut keys: Vec<&str> = Vec::new();
        for item in self.withheld_items() {
            // A script belongs to what names it, and a page is reported when it is used.
            let is_told = item.key != trusted_scripts::SCRIPT_KEY
                && item.key != prompt_files::PROMPT_FILES_KEY;
            if is_told && !keys.contains(&item.key.as_str()) {
                keys.push(&item.key);
            }
        }
        if keys.is_empty() {
            return None;
        }
        let why = match self.state {
            TrustState::Changed => "has changed since you trusted it",
            TrustState::NotNeeded
            | TrustState::Given
            | TrustState::GivenOnce
            | TrustState::Never => "is not trusted",
        };
        Some(format!(
            "{} {why}, so its {} do not apply; look at them and trust them with `windlass trust`, or \
             for one run with --trust-project",
            self.root.display(),
            keys.join(", ")
        ))
    }
}

impl fmt::Display for TrustItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}: {}", self.key, self.name, self.value)
    }
}

/// Objects have their keys in order, so equal settings have equal digests however they are written.
fn compute_digest(root: &Path, items: &[TrustItem]) -> String {
    let mut lines: Vec<String> = items
        .iter()
        .map(|item| {
            // Where the project lies is bound apart; a file moved within it is another file.
            let name = Path::new(&item.name);
            let name = name.strip_prefix(root).unwrap_or(name).to_string_lossy();
            Value::from(vec![
                Value::from(format!("{:?}", item.source)),
                Value::from(name),
                Value::from(item.key.as_str()),
                item.value.clone(),
            ])
            .to_string()
        })
        .collect();
    lines.sort();
    sha256::sha256_hex(lines.join("\n").as_bytes())
}

/// The key of rules that let something run.
pub(crate) const ALLOW_RULES_KEY: &str = "permissions.allow";
