//! Prompt files that may run or allow something, with the text that the user trusted. A command of the
//! session may change such a file, or write a new one, while trust was decided when the session began.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ProjectTrust;
use super::prompt_files::{DIGEST_FIELD, PROMPT_FILES_KEY};
use crate::sha256;

#[derive(Clone, Debug, Default)]
pub struct TrustedPages {
    /// If not, no page is covered.
    pub trusts_project: bool,
    digests: BTreeMap<PathBuf, String>,
}

impl TrustedPages {
    pub(crate) fn from_trust(trust: &ProjectTrust) -> Self {
        let pages = trust.items.iter().filter(|item| item.key == PROMPT_FILES_KEY);
        let digests = pages.filter_map(|item| {
            let digest = item.value.get(DIGEST_FIELD)?.as_str()?.to_owned();
            Some((PathBuf::from(&item.name).canonicalize().ok()?, digest))
        });
        let trusts_project = trust.is_given();
        let digests = digests.filter(|_| trusts_project).collect();
        Self { trusts_project, digests }
    }

    /// Did the user trust this file with exactly this text?
    #[must_use]
    pub fn covers(&self, path: &Path, text: &str) -> bool {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let trusted = path.canonicalize().ok().and_then(|real| self.digests.get(&real).cloned());
        trusted.is_some_and(|digest| digest == sha256::sha256_hex(text.as_bytes()))
    }
}
