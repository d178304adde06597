//! Digests of contents: for `ETag`, and for scripts that a policy names by their digest.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use windlass_vocabulary::to_hex;

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(digest(&SHA256, bytes).as_ref())
}

/// As a Content-Security-Policy writes it.
pub(crate) fn sha256_base64(bytes: &[u8]) -> String {
    STANDARD.encode(digest(&SHA256, bytes).as_ref())
}
