//! What a command line does with sessions, as far as the store is concerned.

use std::ffi::OsString;

use windlass_host::command_error::CommandError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// Opens a session, which writes its journal.
    Session,
    /// Reads sessions.
    Look,
    /// Shows the sessions of all tenants in a browser as they grow.
    View,
    /// Renames or deletes sessions.
    Change,
}

impl CommandKind {
    pub(crate) fn of(arguments: &[OsString]) -> Result<Self, CommandError> {
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        if let Some(flag) = words.iter().find(|word| OTHER_PLACES.contains(&flag_name(word))) {
            let flag = flag_name(flag);
            return Err(CommandError::usage(format!("{flag} cannot be used with --store")));
        }
        // A command stands before all options of its own; without one it is a run.
        let first = words.first().map(|word| &**word).unwrap_or_default();
        let second = words.get(1).map(|word| &**word).unwrap_or_default();
        match first {
            "sessions" if CHANGING.contains(&second) => Ok(Self::Change),
            "sessions" if second == "restore" => {
                Err(CommandError::usage("a store has no trash; `sessions delete` is final there"))
            }
            // The session would be written here, and not in the store.
            "view" if words.iter().any(|word| word == "--act") => {
                Err(CommandError::usage("view --act cannot be used with --store"))
            }
            "view" => Ok(Self::View),
            _ if LOOKING.contains(&first) => Ok(Self::Look),
            _ if UNSUPPORTED.contains(&first) => Err(CommandError::usage(format!(
                "`windlass {first}` does not work with --store; these do: -p, -c, -r, resume, view, {}",
                LOOKING.join(", ")
            ))),
            _ => Ok(Self::Session),
        }
    }
}

fn flag_name(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

const LOOKING: &[&str] =
    &["sessions", "why", "replay", "cost", "context", "stats", "export", "bugreport"];
const CHANGING: &[&str] = &["rename", "delete", "rm"];
/// They keep the session elsewhere, or nowhere.
const OTHER_PLACES: &[&str] =
    &["--journal", "--journal-relay", "--no-session-persistence", "--dry-run"];
const UNSUPPORTED: &[&str] = &[
    "acp",
    "apply",
    "auth",
    "bound",
    "completions",
    "demo",
    "diff",
    "doctor",
    "fork",
    "hooks",
    "key",
    "mcp",
    "models",
    "pack",
    "permission",
    "race",
    "record",
    "rehearse",
    "rewind",
    "trust",
    "unpack",
    "update",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_apart_by_their_first_word() {
        let kind = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            CommandKind::of(&words).map_err(|error| error.to_string())
        };
        assert_eq!(kind("-p why"), Ok(CommandKind::Session));
        assert_eq!(kind("-c"), Ok(CommandKind::Session));
        assert_eq!(kind("resume 1234"), Ok(CommandKind::Session));
        assert_eq!(kind("sessions list"), Ok(CommandKind::Look));
        assert_eq!(kind("sessions rename 1 a"), Ok(CommandKind::Change));
        assert_eq!(kind("view --no-open"), Ok(CommandKind::View));
        assert!(kind("view --act").unwrap_err().contains("--store"));
        assert!(kind("race x").unwrap_err().contains("--store"));
        assert!(kind("-p x --journal=y").unwrap_err().contains("--journal "));
    }
}
