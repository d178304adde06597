//! Paths of the user's directories for configuration, state and cache, and of other programs'
//! files. Creates and checks nothing. An empty or relative variable counts as unset.

use std::path::PathBuf;

use crate::environment::EnvLookup;

pub fn home_directory(lookup: &impl EnvLookup) -> Option<PathBuf> {
    read_absolute_path(lookup, "HOME")
}

/// `$XDG_CONFIG_HOME/windlass`, or the same below `~/.config`.
pub fn config_directory(lookup: &impl EnvLookup) -> Option<PathBuf> {
    windlass_directory(lookup, "XDG_CONFIG_HOME", ".config")
}

/// `$XDG_STATE_HOME/windlass`, or the same below `~/.local/state`.
pub fn state_directory(lookup: &impl EnvLookup) -> Option<PathBuf> {
    windlass_directory(lookup, "XDG_STATE_HOME", ".local/state")
}

/// Where sessions are: a folder of [`state_directory`], or the one that has those of a store.
pub fn sessions_directory(lookup: &impl EnvLookup) -> Option<PathBuf> {
    read_absolute_path(lookup, STORE_SESSIONS_VARIABLE)
        .or_else(|| Some(state_directory(lookup)?.join("sessions")))
}

/// The socket of the process that also keeps the journals of a store's sessions.
pub fn store_relay_socket(lookup: &impl EnvLookup) -> Option<PathBuf> {
    read_absolute_path(lookup, STORE_RELAY_VARIABLE)
}

/// Set by `windlass --store URL` for the command it runs: the folder with sessions of the store.
pub const STORE_SESSIONS_VARIABLE: &str = "WINDLASS_STORE_SESSIONS";
/// The same for the socket.
pub const STORE_RELAY_VARIABLE: &str = "WINDLASS_STORE_RELAY";

/// `$XDG_CACHE_HOME/windlass`, or the same below `~/.cache`.
pub fn cache_directory(lookup: &impl EnvLookup) -> Option<PathBuf> {
    windlass_directory(lookup, "XDG_CACHE_HOME", ".cache")
}

/// `$CLAUDE_CONFIG_DIR`, or `~/.claude`: the user's existing instructions, skills and agents.
pub fn claude_directory(lookup: &impl EnvLookup) -> Option<PathBuf> {
    read_absolute_path(lookup, "CLAUDE_CONFIG_DIR")
        .or_else(|| Some(home_directory(lookup)?.join(".claude")))
}

/// `.claude.json`: in `$CLAUDE_CONFIG_DIR` if that is set, else in the home directory itself.
pub fn claude_json_file(lookup: &impl EnvLookup) -> Option<PathBuf> {
    let folder = match lookup("CLAUDE_CONFIG_DIR").is_some_and(|value| !value.is_empty()) {
        true => claude_directory(lookup),
        false => home_directory(lookup),
    };
    folder.map(|folder| folder.join(".claude.json"))
}

fn windlass_directory(lookup: &impl EnvLookup, variable: &str, usual: &str) -> Option<PathBuf> {
    let base = read_absolute_path(lookup, variable)
        .or_else(|| Some(home_directory(lookup)?.join(usual)))?;
    Some(base.join("windlass"))
}

fn read_absolute_path(lookup: &impl EnvLookup, name: &str) -> Option<PathBuf> {
    lookup(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
