//! Digests: for `ETag`, and for the scripts and styles that a Content-Security-Policy allows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

/// In the encoding of a Content-Security-Policy.
pub(crate) fn sha256_base64(bytes: &[u8]) -> String {
    STANDARD.encode(digest(&SHA256, bytes).as_ref())
}
