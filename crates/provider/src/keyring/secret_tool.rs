//! Arguments of `secret-tool`, and how to parse its output.
//!
//! `search` lists keys without unlocking; `lookup` asks the user to unlock.

use super::{KeyringError, KeyringSearchResult, KeyringSlot};
use crate::external_program::ProgramOutput;

/// Its name.
pub(super) const PROGRAM: &str = "secret-tool";
/// It is not installed.
pub(super) const NOT_INSTALLED: &str = "secret-tool is not installed (Debian and Ubuntu: apt install libsecret-tools; Fedora and Arch: \
     libsecret)";
/// It cannot reach the key ring.
pub(super) const NO_SESSION_BUS: &str = "there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set); log \
                                 in to the desktop, or start one with dbus-run-session";

pub(super) fn search_args(slot: KeyringSlot<'_>) -> Vec<String> {
    build_args(&["search"], slot.provider, Some(slot.origin))
}

pub(super) fn search_all_args(provider: &str) -> Vec<String> {
    build_args(&["search"], provider, None)
}

pub(super) fn lookup_args(slot: KeyringSlot<'_>) -> Vec<String> {
    build_args(&["lookup"], slot.provider, Some(slot.origin))
}

pub(super) fn store_args(slot: KeyringSlot<'_>) -> Vec<String> {
    let label = format!("--label=Windlass: key of {} for {}", slot.provider, slot.origin);
    build_args(&["store", &label], slot.provider, Some(slot.origin))
}

pub(super) fn clear_args(provider: &str) -> Vec<String> {
    build_args(&["clear"], provider, None)
}

fn build_args(first: &[&str], provider: &str, origin: Option<&str>) -> Vec<String> {
    let mut words = first.to_vec();
    words.extend(["service", "windlass", "provider", provider]);
    words.extend(origin.into_iter().flat_map(|origin| ["origin", origin]));
    words.into_iter().map(str::to_owned).collect()
}

/// Parses `search`: no output, or an item, with its secret if it is unlocked.
pub(super) fn parse_search(ended: &ProgramOutput) -> Result<KeyringSearchResult, KeyringError> {
    check_status(ended)?;
    let text = String::from_utf8_lossy(&ended.stdout);
    let mut item = text.lines().skip_while(|line| !line.starts_with('[')).peekable();
    if item.peek().is_none() {
        return Ok(KeyringSearchResult::Missing);
    }
    let secret = item.find_map(|line| line.strip_prefix("secret = ")).map(str::trim);
    Ok(match secret.filter(|secret| !secret.is_empty()) {
        Some(key) => KeyringSearchResult::Key(key.to_owned()),
        None => KeyringSearchResult::Withheld,
    })
}

/// A failure without a message means that the key ring was not unlocked.
pub(super) fn check_status(ended: &ProgramOutput) -> Result<(), KeyringError> {
    let words = ended.stderr_line.trim_start_matches("secret-tool: ");
    match words {
        _ if ended.status.success() => Ok(()),
        "" => Err(KeyringError::Locked),
        words if words.contains("locked") => Err(KeyringError::Locked),
        words => Err(KeyringError::Failed(format!("secret-tool says: {words}"))),
    }
}
