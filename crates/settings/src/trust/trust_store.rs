//! The record of trusted projects and their content. Used by no other program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ProjectTrust, TrustState};
use crate::atomic_edit::AtomicEdit;
use crate::bounded_file;
use crate::settings_write_error::SettingsWriteError;

#[derive(Clone, Debug)]
pub struct TrustStore {
    path: PathBuf,
}

/// The record cannot be read, so nothing is trusted.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be used: {why}; fix or remove it; until then no project is trusted", path.display())]
pub struct TrustError {
    path: PathBuf,
    why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProject {
    /// The canonical path of its root.
    pub root: PathBuf,
    pub states: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct TrustRecord {
    version: u32,
    #[serde(default)]
    projects: BTreeMap<String, TrustRecordProject>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustRecordProject {
    /// Digests of trusted content, newest last.
    accepted: Vec<String>,
    /// Hosts to which keys may be sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    endpoints: Vec<String>,
}

impl TrustStore {
    /// The record in this folder, which need not exist.
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { path: state.join("trust.json") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn evaluate(&self, trust: &mut ProjectTrust) -> Result<(), TrustError> {
        let record = self.read()?;
        let project = trust.root.to_str().and_then(|root| record.projects.get(root));
        trust.state = match project {
            Some(project) if project.accepted.contains(&trust.digest) => TrustState::Given,
            Some(project) if !project.accepted.is_empty() => TrustState::Changed,
            Some(_) | None => TrustState::Never,
        };
        Ok(())
    }

    pub(crate) fn evaluate_endpoints(&self, trust: &mut ProjectTrust) -> Result<(), TrustError> {
        let record = self.read()?;
        let project = trust.root.to_str().and_then(|root| record.projects.get(root));
        let hosts = project.map(|project| project.endpoints.as_slice()).unwrap_or_default();
        for endpoint in &mut trust.endpoints {
            endpoint.is_accepted = hosts.contains(&endpoint.host);
        }
        Ok(())
    }

    /// Accepts sending a key to this host, for this project.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn accept_endpoint(&self, root: &Path, host: &str) -> Result<(), SettingsWriteError> {
        let Some(root) = root.to_str().map(str::to_owned) else {
            return Err(SettingsWriteError::new(&self.path, "the project's path is not UTF-8"));
        };
        self.change(|record| {
            let endpoints = &mut record.projects.entry(root).or_default().endpoints;
            endpoints.retain(|known| known != host);
            endpoints.push(host.to_owned());
            let surplus = endpoints.len().saturating_sub(STATES_MAX);
            endpoints.drain(..surplus);
            true
        })
    }

    /// Trusts exactly this content.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn accept(&self, trust: &ProjectTrust) -> Result<(), SettingsWriteError> {
        let Some(root) = trust.root.to_str().map(str::to_owned) else {
            return Err(SettingsWriteError::new(&self.path, "the project's path is not UTF-8"));
        };
        self.change(|record| {
            let accepted = &mut record.projects.entry(root).or_default().accepted;
            accepted.retain(|known| *known != trust.digest);
            accepted.push(trust.digest.clone());
            let surplus = accepted.len().saturating_sub(STATES_MAX);
            accepted.drain(..surplus);
            true
        })
    }

    /// Removes trust. Returns whether there was any.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn forget(&self, root: &Path) -> Result<bool, SettingsWriteError> {
        let mut was_known = false;
        self.change(|record| {
            was_known = root.to_str().is_some_and(|root| record.projects.remove(root).is_some());
            was_known
        })?;
        Ok(was_known)
    }

    /// All trusted projects.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn list(&self) -> Result<Vec<TrustedProject>, TrustError> {
        let projects = self.read()?.projects.into_iter();
        let trusted = |(root, project): (String, TrustRecordProject)| TrustedProject {
            root: PathBuf::from(root),
            states: project.accepted.len(),
        };
        Ok(projects.map(trusted).collect())
    }

    fn read(&self) -> Result<TrustRecord, TrustError> {
        let failed = |why: String| TrustError { path: self.path.clone(), why };
        match bounded_file::read_bounded(&self.path).map_err(failed)? {
            None => Ok(TrustRecord { version: VERSION, projects: BTreeMap::new() }),
            Some(text) => parse_record(&text).map_err(failed),
        }
    }

    fn change(
        &self,
        change: impl FnOnce(&mut TrustRecord) -> bool,
    ) -> Result<(), SettingsWriteError> {
        let copy = self.path.with_extension("json.last");
        AtomicEdit { path: &self.path, mode: 0o600, backup: Some(&copy) }.apply(|old| {
            let mut record = match old {
                None => TrustRecord { version: VERSION, projects: BTreeMap::new() },
                Some(text) => {
                    parse_record(text).map_err(|why| SettingsWriteError::new(&self.path, why))?
                }
            };
            if !change(&mut record) {
                return Ok(None);
            }
            let text = serde_json::to_string_pretty(&record);
            text.map(|text| Some(text + "\n"))
                .map_err(|why| SettingsWriteError::new(&self.path, why))
        })
    }
}

fn parse_record(text: &str) -> Result<TrustRecord, String> {
    let record: TrustRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match record.version {
        VERSION => Ok(record),
        other => Err(format!("version {other} was written by a newer program")),
    }
}

const VERSION: u32 = 1;
/// Limit on the remembered digests of one project, because branches differ.
const STATES_MAX: usize = 16;
