//! What a project requests that needs the user's trust, and whether it is given.
//!
//! Before trust, a project can run, permit or redirect nothing. Trust is bound to the canonical
//! path of the project and to a digest of everything that needs it, so a changed hook asks again. A
//! trust record of another program is not used, because it is not bound to any content.

mod project_endpoint;
mod prompt_files;
mod split_by_trust;
mod trust_store;
mod trusted_pages;
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
pub use trusted_pages::TrustedPages;
pub use trusted_scripts::TrustedScripts;
pub(crate) use trusted_scripts::find_scripts;

/// What a project requests, and whether it is trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectTrust {
    /// The canonical path of the project's root.
    pub root: PathBuf,
    pub state: TrustState,
    /// Everything that needs trust, trusted or not.
    pub items: Vec<TrustItem>,
    /// The digest of all items, to which trust is bound.
    pub digest: String,
    /// Addresses to which a key would be sent; each needs separate consent.
    pub endpoints: Vec<ProjectEndpoint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustState {
    /// The project requests nothing that needs trust.
    #[default]
    NotNeeded,
    /// The user trusts exactly this content.
    Given,
    /// The user trusts it for this run.
    GivenOnce,
    Never,
    /// The user trusted other content, which has changed since.
    Changed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrustItem {
    pub source: SettingsSource,
    pub name: String,
    /// The key: `hooks`, `permissions.allow`, `env`.
    pub key: String,
    /// Shown to the user for the decision.
    pub value: Value,
}

impl ProjectTrust {
    pub(crate) fn new(root: PathBuf, items: Vec<TrustItem>) -> Self {
        let digest = compute_digest(&root, &items);
        Self { root, state: TrustState::NotNeeded, items, digest, endpoints: Vec::new() }
    }

    /// The digest without the rules that "don't ask again" adds on this machine.
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

    /// The withheld items: none, or everything that needs trust.
    #[must_use]
    pub fn withheld_items(&self) -> &[TrustItem] {
        if self.is_given() { &[] } else { &self.items }
    }

    /// May this variable of this file redirect requests?
    pub(crate) fn accepts_endpoint(&self, name: &str, variable: &str) -> bool {
        let is_meant = |one: &&ProjectEndpoint| one.name == name && one.variable == variable;
        self.endpoints.iter().find(is_meant).is_none_or(|one| one.is_accepted)
    }

    /// A warning about redirects that are withheld although the rest is trusted.
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

    /// A warning that lists what was withheld and how to trust it.
    #[must_use]
    pub fn render_warning(&self) -> Option<String> {
        let mut keys: Vec<&str> = Vec::new();
        for item in self.withheld_items() {
            // A script is part of what names it, and prompt files are reported when they are used.
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

/// Object keys are sorted, so that the digest does not depend on their order.
fn compute_digest(root: &Path, items: &[TrustItem]) -> String {
    let mut lines: Vec<String> = items
        .iter()
        .map(|item| {
            // The project's path is bound separately; a file moved within it counts as another
            // file.
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

/// The key of allow rules.
pub(crate) const ALLOW_RULES_KEY: &str = "permissions.allow";
