//! The environment of child processes: the filtered environment of this process, with variables
//! exported by the shell.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Filters our environment for child processes: without credentials and telemetry settings, and
/// without variables that start a pager, a prompt or an editor.
pub fn build_child_environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<_> = ours
        .into_iter()
        .filter(|(name, _)| !is_never_passed(name))
        .filter(|(name, _)| {
            !NON_INTERACTIVE_SETTINGS.iter().any(|(quiet, _)| OsStr::new(quiet) == name)
        })
        .collect();
    environment
        .extend(NON_INTERACTIVE_SETTINGS.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

/// Variables the shell has exported or unset, relative to its initial environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExportedVariables(BTreeMap<OsString, Option<OsString>>);

impl ExportedVariables {
    /// What a command changed, except for variables that must not change.
    pub(crate) fn diff(base: &[(OsString, OsString)], left: &[(OsString, OsString)]) -> Self {
        let before: BTreeMap<_, _> = base.iter().map(|(name, value)| (name, value)).collect();
        let after: BTreeMap<_, _> = left.iter().map(|(name, value)| (name, value)).collect();
        let set = after
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(*value))
            .map(|(name, value)| ((*name).clone(), Some((*value).clone())));
        let unset = before
            .keys()
            .filter(|name| !after.contains_key(*name))
            .map(|name| ((*name).clone(), None));
        Self(
            set.chain(unset).filter(|(name, _)| may_carry_over(name)).take(VARIABLES_MAX).collect(),
        )
    }

    /// Adds the changes of a later command.
    pub(crate) fn extend(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    pub(crate) fn apply_to(&self, base: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut environment: Vec<_> =
            base.iter().filter(|(name, _)| !self.0.contains_key(name)).cloned().collect();
        let set = self.0.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        environment.extend(set);
        environment
    }

    pub(crate) fn to_list(&self) -> Vec<(OsString, Option<OsString>)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

const VARIABLES_MAX: usize = 1_000;

/// Excludes variables that we set, and those that make later commands run another program first:
/// that would bypass their permission check.
fn may_carry_over(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !is_never_passed(name)
        && !NON_INTERACTIVE_SETTINGS.iter().any(|(quiet, _)| OsStr::new(quiet) == name)
        && !NEVER_CARRIED_OVER.iter().any(|passing| OsStr::new(passing) == name)
        && !bytes.starts_with(b"BASH_")
        && !bytes.starts_with(b"LD_PRELOAD")
        && !bytes.starts_with(b"LD_AUDIT")
        && !bytes.starts_with(b"DYLD_")
        && !bytes.starts_with(b"GIT_CONFIG")
}

const NEVER_CARRIED_OVER: &[&str] = &[
    "_",
    "PWD",
    "SHLVL",
    "WINDLASS_CALL",
    "TRACEPARENT",
    "TRACESTATE",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
];

fn is_never_passed(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"OTEL_")
        || NEVER_PASSED.iter().any(|hidden| OsStr::new(hidden) == name)
}

const NEVER_PASSED: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    // A session that a command starts is not one of the store's.
    "WINDLASS_STORE_SESSIONS",
    "WINDLASS_STORE_RELAY",
    // Makes a non-interactive shell run a file before the command.
    "BASH_ENV",
    "ENV",
    // Make bash read a line, a pattern or a directory otherwise than it was judged, or programs their
    // options.
    "BASHOPTS",
    "BASH_COMPAT",
    "CDPATH",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "SHELLOPTS",
];

const NON_INTERACTIVE_SETTINGS: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("CLAUDECODE", "1"),
];
