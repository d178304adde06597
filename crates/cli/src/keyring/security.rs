//! What is said to `security`, the program of the macOS keychain, and what its answers mean.
//!
//! Written from its manual; no test here has met a real keychain, only the texts are tested. Keys
//! reach it on standard input, in hexadecimal: its arguments can be read by every program.

use super::{Found, Slot, Trouble};
use crate::program::Ended;

/// Where the system has it.
pub(super) const PROGRAM: &str = "/usr/bin/security";

/// Is there such a key? Shows none, so nobody has to unlock anything.
pub(super) fn find(slot: Slot<'_>) -> Vec<String> {
    words(&["find-generic-password", "-s", &place(slot.provider), "-a", slot.origin])
}

/// Prints the key and nothing else.
pub(super) fn read(slot: Slot<'_>) -> Vec<String> {
    words(&["find-generic-password", "-s", &place(slot.provider), "-a", slot.origin, "-w"])
}

/// A line for its standard input. An item that is there is replaced.
pub(super) fn add(slot: Slot<'_>, key: &str) -> String {
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "add-generic-password -U -s \"{place}\" -a \"{origin}\" -l \"Windlass: key of {provider}\" \
         -X {hex}\n",
        place = place(slot.provider),
        origin = slot.origin,
        provider = slot.provider,
    )
}

/// Removes one key of the provider.
pub(super) fn delete(provider: &str) -> Vec<String> {
    words(&["delete-generic-password", "-s", &place(provider)])
}

fn place(provider: &str) -> String {
    format!("windlass {provider}")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// There is something, or there is not.
pub(super) fn found(ended: &Ended) -> Result<Found, Trouble> {
    match ended.status.code() {
        Some(NOT_FOUND) => Ok(Found::Nothing),
        _ => done(ended).map(|()| Found::Kept),
    }
}

/// The key.
pub(super) fn given(ended: &Ended) -> Result<String, Trouble> {
    done(ended)?;
    let text = String::from_utf8_lossy(&ended.printed);
    match text.trim() {
        "" => Err(Trouble::Locked),
        key => Ok(key.to_owned()),
    }
}

/// Whether it went well.
pub(super) fn done(ended: &Ended) -> Result<(), Trouble> {
    match ended.status.code() {
        Some(0) => Ok(()),
        Some(NOT_ALLOWED_TO_ASK | REFUSED) => Err(Trouble::Locked),
        _ => Err(Trouble::Failed(format!("security says: {}", ended.complaint))),
    }
}

const NOT_FOUND: i32 = 44;
const NOT_ALLOWED_TO_ASK: i32 = 36;
const REFUSED: i32 = 51;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_no_argument_and_the_rest_is_quoted() {
        let slot = Slot { provider: "mine", origin: "https://models.example.org" };
        assert_eq!(
            add(slot, "sk-1 \""),
            "add-generic-password -U -s \"windlass mine\" -a \"https://models.example.org\" \
             -l \"Windlass: key of mine\" -X 736b2d312022\n"
        );
        let find = find(slot).join("|");
        assert_eq!(find, "find-generic-password|-s|windlass mine|-a|https://models.example.org");
        assert_eq!(read(slot).join("|"), format!("{find}|-w"));
        assert_eq!(delete("mine").join("|"), "delete-generic-password|-s|windlass mine");
    }

    #[test]
    fn its_codes_are_understood() {
        use std::os::unix::process::ExitStatusExt;
        let ended = |code: i32, printed: &str| Ended {
            status: std::process::ExitStatus::from_raw(code << 8),
            printed: printed.as_bytes().to_vec(),
            complaint: "words".to_owned(),
        };
        assert!(matches!(found(&ended(44, "")), Ok(Found::Nothing)));
        assert!(matches!(found(&ended(0, "keychain: ...")), Ok(Found::Kept)));
        assert_eq!(given(&ended(0, "sk-1\n")), Ok("sk-1".to_owned()));
        assert_eq!(given(&ended(36, "")), Err(Trouble::Locked));
        assert_eq!(done(&ended(1, "")), Err(Trouble::Failed("security says: words".to_owned())));
    }
}
