//! The settings that keep git from running anything by itself.
//!
//! Most are fixed. Filters, drivers for differences and drivers for merges have names that the
//! repository chooses, so the configuration is read first, which runs nothing, and each name found
//! is turned off.

use crate::{GitError, GitRunner, git_process};

/// The keys in force that name a program under a name of the repository's choosing.
pub(super) fn list_configured_programs(git: &GitRunner) -> Result<Vec<String>, GitError> {
    let words =
        ["--no-pager", "config", "--null", "--name-only", "--get-regexp", PROGRAM_KEYS_PATTERN];
    let end = git_process::run_git(git, &words.map(Into::into), &build_settings(&[]))?;
    // One means that there are none.
    if !matches!(end.code, Some(0 | 1)) {
        return Err(GitError::UnreadableConfig(end.stderr.trim_end().to_owned()));
    }
    let listed = String::from_utf8_lossy(&end.stdout);
    let mut keys: Vec<String> =
        listed.split('\0').filter(|key| !key.is_empty()).map(str::to_owned).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.len() > PROGRAM_KEYS_MAX {
        return Err(GitError::TooManyPrograms);
    }
    Ok(keys)
}

/// Every setting of a call, those of the named programs included.
pub(super) fn build_settings(named: &[String]) -> Vec<(String, String)> {
    let fixed = FIXED_SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    fixed.chain(named.iter().flat_map(|key| disable_program(key))).collect()
}

/// An empty filter is none; a driver for merges that fails leaves a conflict to be seen. In a submodule
/// git runs itself without these settings, so none is looked into.
fn disable_program(key: &str) -> Vec<(String, String)> {
    let value = match key {
        _ if key.starts_with("merge.") => "false",
        _ if key.starts_with("submodule.") => "dirty",
        _ => "",
    };
    let mut pairs = vec![(key.to_owned(), value.to_owned())];
    let owner = key.rsplit_once('.').map_or(key, |(owner, _)| owner);
    if key.starts_with("filter.") {
        pairs.push((format!("{owner}.required"), "false".to_owned()));
    }
    pairs
}

/// Keys in lower case, as git lists them; the name in the middle may hold anything.
const PROGRAM_KEYS_PATTERN: &str = r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$";
pub(super) const PROGRAM_KEYS_MAX: usize = 500;

const FIXED_SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("sequence.editor", "true"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "false"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("init.templateDir", ""),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.submodule", "short"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // A folder that only looks like a repository is none.
    ("safe.bareRepository", "explicit"),
];
