//! The SHA-256 digest of bytes, as hexadecimal text.
//!
//! `journal` has the same function. The crate that both see, `vocabulary`, is pure and has no
//! cryptography, and one line is not worth a crate of its own.

use ring::digest::{SHA256, digest};
use windlass_vocabulary::to_hex;

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(digest(&SHA256, bytes).as_ref())
}
