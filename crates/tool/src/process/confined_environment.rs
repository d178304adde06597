//! The environment of a confined command.
//!
//! It has a temporary directory of its own, no tokens, and a git that neither runs programs named
//! by the repository nor writes the index.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use windlass_git::build_safe_variables;

/// Changes an environment for a confined command.
pub(super) fn confine_environment(
    environment: &mut Vec<(OsString, OsString)>,
    temporary_directory: &Path,
) {
    environment.retain(|(name, _)| !is_changed_by_confinement(name));
    let temporary = TEMPORARY_DIRECTORY_VARIABLES
        .iter()
        .map(|name| (OsString::from(name), OsString::from(temporary_directory)));
    environment.extend(temporary);
    neutralize_git(environment, build_safe_variables(&[]));
}

/// Keeps git from running other programs, with these settings.
pub(super) fn neutralize_git(
    environment: &mut Vec<(OsString, OsString)>,
    settings: Vec<(OsString, OsString)>,
) {
    environment.retain(|(name, _)| !name.to_str().is_some_and(is_git_variable));
    environment.extend(GIT_VARIABLES.iter().map(|(name, value)| (name.into(), value.into())));
    environment.extend(settings);
}

/// Does a confined command get another value than the session, or none? Then its final value must
/// not be carried over.
pub(crate) fn is_changed_by_confinement(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    TEMPORARY_DIRECTORY_VARIABLES.contains(&name) || is_git_variable(name) || may_hold_token(name)
}

/// Does this variable select git's repository or its settings?
fn is_git_variable(name: &str) -> bool {
    GIT_VARIABLES.iter().any(|(git, _)| *git == name)
        || GIT_PLACES.contains(&name)
        || name.starts_with("GIT_CONFIG")
}

/// Does the name of this variable suggest a token? Confined commands do not get tokens of other
/// tools, with which they could act elsewhere as the user.
#[must_use]
pub fn may_hold_token(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TOKEN_NAMES.iter().any(|part| name.contains(part))
        || TOKEN_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

const TEMPORARY_DIRECTORY_VARIABLES: &[&str] = &["TMPDIR", "TMP", "TEMP"];

const TOKEN_NAMES: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "AUTH_CONFIG",
    "CONNECTION_STRING",
    "COOKIE",
    "WEBHOOK",
    // Connection strings often contain the password.
    "DATABASE_URL",
    "DATABASE_URI",
    "DB_URL",
    "DB_URI",
    "POSTGRES_URL",
    "POSTGRESQL_URL",
    "MYSQL_URL",
    "REDIS_URL",
    "MONGO_URL",
    "MONGO_URI",
    "MONGODB_URL",
    "MONGODB_URI",
    "AMQP_URL",
];

const TOKEN_ENDINGS: &[&str] =
    &["_PAT", "_DSN", "_AUTH", "_KEY", "_PWD", "_PASS", "_JWT", "_CREDS"];

const GIT_VARIABLES: &[(&str, &str)] = &[
    // Otherwise `git status` would try to write the index.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ASKPASS", "false"),
    // No transport has this name, so all are forbidden.
    ("GIT_ALLOW_PROTOCOL", "none"),
];

/// Would point git to another repository than the one whose settings were checked, or name a
/// program.
const GIT_PLACES: &[&str] = &[
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_from_other_variables() {
        for token in [
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "NPM_TOKEN",
            "CI_JOB_TOKEN",
            "MY_PAT",
            "MYSQL_PWD",
            "DOCKER_AUTH_CONFIG",
            "REDIS_URL",
            "SMTP_PASS",
        ] {
            assert!(may_hold_token(token), "{token}");
        }
        for plain in [
            "PATH",
            "HOME",
            "LANG",
            "KEYBOARD",
            "PATTERN",
            "CARGO_HOME",
            "XDG_DATA_HOME",
            "PWD",
            "OLDPWD",
            "COMPASS",
        ] {
            assert!(!may_hold_token(plain), "{plain}");
        }
    }
}
