//! Arguments of `security`, the program for the macOS keychain, and how to parse its output.
//!
//! Written from its manual; no test uses a real keychain, only the texts are tested. Keys are
//! passed on standard input, in hexadecimal, because every program can read its arguments.

use windlass_vocabulary::to_hex;

use super::{KeyringError, KeyringSearchResult, KeyringSlot};
use crate::external_program::ProgramOutput;

/// Its path on the system.
pub(super) const PROGRAM: &str = "/usr/bin/security";

/// Checks whether a key exists. Prints no key, so nothing must be unlocked.
pub(super) fn find_args(slot: KeyringSlot<'_>) -> Vec<String> {
    to_owned_args(&["find-generic-password", "-s", &item_name(slot.provider), "-a", slot.origin])
}

/// Prints only the key.
pub(super) fn read_args(slot: KeyringSlot<'_>) -> Vec<String> {
    to_owned_args(&[
        "find-generic-password",
        "-s",
        &item_name(slot.provider),
        "-a",
        slot.origin,
        "-w",
    ])
}

/// A line for its standard input. An existing item is replaced.
pub(super) fn build_add_command(slot: KeyringSlot<'_>, key: &str) -> String {
    let hex = to_hex(key.as_bytes());
    format!(
        "add-generic-password -U -s \"{item_name}\" -a \"{origin}\" -l \"Windlass: key of {provider}\" \
         -X {hex}\n",
        item_name = item_name(slot.provider),
        origin = slot.origin,
        provider = slot.provider,
    )
}

pub(super) fn delete_args(provider: &str) -> Vec<String> {
    to_owned_args(&["delete-generic-password", "-s", &item_name(provider)])
}

fn item_name(provider: &str) -> String {
    format!("windlass {provider}")
}

fn to_owned_args(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn parse_search(ended: &ProgramOutput) -> Result<KeyringSearchResult, KeyringError> {
    match ended.status.code() {
        Some(NOT_FOUND) => Ok(KeyringSearchResult::Missing),
        _ => check_status(ended).map(|()| KeyringSearchResult::Withheld),
    }
}

pub(super) fn check_status(ended: &ProgramOutput) -> Result<(), KeyringError> {
    match ended.status.code() {
        Some(0) => Ok(()),
        Some(NOT_ALLOWED_TO_ASK | REFUSED) => Err(KeyringError::Locked),
        _ => Err(KeyringError::Failed(format!("security says: {}", ended.stderr_line))),
    }
}

const NOT_FOUND: i32 = 44;
const NOT_ALLOWED_TO_ASK: i32 = 36;
const REFUSED: i32 = 51;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_not_an_argument_and_the_rest_is_quoted() {
        let slot = KeyringSlot { provider: "mine", origin: "https://models.example.org" };
        assert_eq!(
            build_add_command(slot, "sk-1 \""),
            "add-generic-password -U -s \"windlass mine\" -a \"https://models.example.org\" \
             -l \"Windlass: key of mine\" -X 736b2d312022\n"
        );
        let find = find_args(slot).join("|");
        assert_eq!(find, "find-generic-password|-s|windlass mine|-a|https://models.example.org");
        assert_eq!(read_args(slot).join("|"), format!("{find}|-w"));
        assert_eq!(delete_args("mine").join("|"), "delete-generic-password|-s|windlass mine");
    }

    #[test]
    fn exit_codes_are_mapped() {
        use std::os::unix::process::ExitStatusExt;
        let ended = |code: i32, printed: &str| ProgramOutput {
            status: std::process::ExitStatus::from_raw(code << 8),
            stdout: printed.as_bytes().to_vec(),
            stderr_line: "words".to_owned(),
        };
        assert!(matches!(parse_search(&ended(44, "")), Ok(KeyringSearchResult::Missing)));
        assert!(matches!(
            parse_search(&ended(0, "keychain: ...")),
            Ok(KeyringSearchResult::Withheld)
        ));
        assert_eq!(check_status(&ended(0, "")), Ok(()));
        assert_eq!(check_status(&ended(36, "")), Err(KeyringError::Locked));
        assert_eq!(
            check_status(&ended(1, "")),
            Err(KeyringError::Failed("security says: words".to_owned()))
        );
    }
}
