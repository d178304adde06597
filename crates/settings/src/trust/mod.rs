//! What a project wants that needs the user's trust, and whether it has it.
//!
//! Before trust nothing of a project runs, grants or moves an endpoint. Trust is bound to the real path
//! of the project and to a digest of everything that needs it, so a changed hook asks again. Other
//! programs' word that a folder is trusted is not taken: it is bound to no contents.

mod page;
mod script;
mod sift;
mod store;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_permission::layer::Source;

use crate::digest;

pub(crate) use page::pages;
pub(crate) use script::scripts;
pub(crate) use sift::sift;
pub use store::{TrustError, TrustStore, Trusted};

/// What a project wants, and where it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// The project: the real path of its root.
    pub root: PathBuf,
    /// Where it stands.
    pub state: TrustState,
    /// Everything that needs trust, whether it has it or not.
    pub items: Vec<Withheld>,
    /// The digest of all of them: what a yes is bound to.
    pub digest: String,
}

/// Where a project stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustState {
    /// It wants nothing that needs trust.
    #[default]
    Needless,
    /// The user said yes to exactly this.
    Given,
    /// The user says yes for this run.
    GivenOnce,
    /// The user was never asked.
    Never,
    /// The user said yes to something else: it has changed since.
    Changed,
}

/// Something of a project that needs trust.
#[derive(Clone, Debug, PartialEq)]
pub struct Withheld {
    /// The layer.
    pub source: Source,
    /// The file.
    pub name: String,
    /// The key: `hooks`, `permissions.allow`, `env`.
    pub key: String,
    /// The value, to show to whoever decides.
    pub value: Value,
}

impl Trust {
    pub(crate) fn new(root: PathBuf, items: Vec<Withheld>) -> Self {
        let digest = digest_of(&root, &items);
        Self { root, state: TrustState::Needless, items, digest }
    }

    /// The digest without the rules that "don't ask again" writes down on this machine.
    pub(crate) fn digest_besides_kept(&self) -> String {
        let is_kept = |item: &Withheld| item.source == Source::Local && item.key == ALLOW;
        let items: Vec<Withheld> =
            self.items.iter().filter(|item| !is_kept(item)).cloned().collect();
        digest_of(&self.root, &items)
    }

    /// May it take effect?
    #[must_use]
    pub const fn is_given(&self) -> bool {
        matches!(self.state, TrustState::Needless | TrustState::Given | TrustState::GivenOnce)
    }

    /// What was left out: nothing, or everything that needs trust.
    #[must_use]
    pub fn withheld(&self) -> &[Withheld] {
        if self.is_given() { &[] } else { &self.items }
    }

    /// One line that says what was left out and how to let it in; nothing if nothing was.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let mut keys: Vec<&str> = Vec::new();
        for item in self.withheld() {
            // A script belongs to what names it, and a page is told of when it is used.
            let is_told = item.key != script::KEY && item.key != page::KEY;
            if is_told && !keys.contains(&item.key.as_str()) {
                keys.push(&item.key);
            }
        }
        if keys.is_empty() {
            return None;
        }
        let why = match self.state {
            TrustState::Changed => "has changed since you trusted it",
            _ => "is not trusted",
        };
        Some(format!(
            "{} {why}, so its {} do not apply; look at them and trust them with `windlass trust`, or \
             for one run with --trust-project",
            self.root.display(),
            keys.join(", ")
        ))
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}: {}", self.key, self.name, self.value)
    }
}

/// Objects have their keys in order, so equal settings have equal digests however they are written.
fn digest_of(root: &Path, items: &[Withheld]) -> String {
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
    digest::of(lines.join("\n").as_bytes())
}

/// The key of rules that let something run.
pub(crate) const ALLOW: &str = "permissions.allow";
