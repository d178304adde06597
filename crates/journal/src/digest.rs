//! Content hashes and names derived from them.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use uuid::Uuid;
use windlass_vocabulary::to_hex;

/// SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(digest(&SHA256, bytes).as_ref())
}

/// The digest of several parts, with their lengths, so that parts cannot be confused.
pub(crate) fn sha256_of_parts(pieces: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(&SHA256);
    for piece in pieces {
        context.update(&(piece.len() as u64).to_be_bytes());
        context.update(piece);
    }
    context.finish().as_ref().to_vec()
}

/// A name-based UUID (version 5): the same session and name always give the same UUID.
pub(crate) fn derive_uuid(session: &str, name: &str) -> String {
    let namespace = parse_uuid(session).unwrap_or_else(|| sha1_prefix(&[0; 16], session));
    uuid::Builder::from_sha1_bytes(sha1_prefix(&namespace, name)).into_uuid().to_string()
}

fn sha1_prefix(namespace: &[u8; 16], name: &str) -> [u8; 16] {
    // Version 5 prescribes SHA-1; nothing here depends on its strength.
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    context.update(namespace);
    context.update(name.as_bytes());
    context.finish().as_ref().first_chunk().copied().unwrap_or_default()
}

/// Only the hyphenated form is a session id; other notations of UUIDs count as names.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36).map(Uuid::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_standards() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), empty);
        // Computed by another program, for the namespace of domain names.
        let dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
        assert_eq!(derive_uuid(dns, "python.org"), "886313e1-3b8a-5372-9b90-0c9aee199e5d");
        assert_ne!(derive_uuid("no uuid", "a"), derive_uuid("no uuid either", "a"));
    }
}
