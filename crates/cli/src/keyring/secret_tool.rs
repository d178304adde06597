//! What is said to `secret-tool`, and what its answers mean.
//!
//! `search` tells what is there without asking anybody to unlock it; `lookup` asks.

use super::{Found, Slot, Trouble};
use crate::program::Ended;

/// Its name.
pub(super) const PROGRAM: &str = "secret-tool";
/// It is not here.
pub(super) const MISSING: &str = "secret-tool is not installed (Debian and Ubuntu: apt install libsecret-tools; Fedora and Arch: \
     libsecret)";
/// There is nobody it could ask.
pub(super) const NO_BUS: &str = "there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set); log \
                                 in to the desktop, or start one with dbus-run-session";

pub(super) fn search(slot: Slot<'_>) -> Vec<String> {
    words(&["search"], slot.provider, Some(slot.origin))
}

pub(super) fn search_all(provider: &str) -> Vec<String> {
    words(&["search"], provider, None)
}

pub(super) fn lookup(slot: Slot<'_>) -> Vec<String> {
    words(&["lookup"], slot.provider, Some(slot.origin))
}

pub(super) fn store(slot: Slot<'_>) -> Vec<String> {
    let label = format!("--label=Windlass: key of {} for {}", slot.provider, slot.origin);
    words(&["store", &label], slot.provider, Some(slot.origin))
}

pub(super) fn clear(provider: &str) -> Vec<String> {
    words(&["clear"], provider, None)
}

fn words(first: &[&str], provider: &str, origin: Option<&str>) -> Vec<String> {
    let mut words = first.to_vec();
    words.extend(["service", "windlass", "provider", provider]);
    words.extend(origin.into_iter().flat_map(|origin| ["origin", origin]));
    words.into_iter().map(str::to_owned).collect()
}

/// What `search` says: nothing at all, or an item, with its secret if it is not locked.
pub(super) fn found(ended: &Ended) -> Result<Found, Trouble> {
    done(ended)?;
    let text = String::from_utf8_lossy(&ended.printed);
    let mut item = text.lines().skip_while(|line| !line.starts_with('[')).peekable();
    if item.peek().is_none() {
        return Ok(Found::Nothing);
    }
    let secret = item.find_map(|line| line.strip_prefix("secret = ")).map(str::trim);
    Ok(match secret.filter(|secret| !secret.is_empty()) {
        Some(key) => Found::Key(key.to_owned()),
        None => Found::Kept,
    })
}

/// What `lookup` says about something that is there.
pub(super) fn given(ended: &Ended) -> Result<String, Trouble> {
    done(ended)?;
    let text = String::from_utf8_lossy(&ended.printed);
    match text.trim() {
        "" => Err(Trouble::Locked),
        key => Ok(key.to_owned()),
    }
}

/// Failing without a word is how it says that nobody unlocked anything.
pub(super) fn done(ended: &Ended) -> Result<(), Trouble> {
    let words = ended.complaint.trim_start_matches("secret-tool: ");
    match words {
        _ if ended.status.success() => Ok(()),
        "" => Err(Trouble::Locked),
        words if words.contains("locked") => Err(Trouble::Locked),
        words => Err(Trouble::Failed(format!("secret-tool says: {words}"))),
    }
}
