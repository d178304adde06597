//! Names made from contents.

use ring::digest::{SHA256, digest};
use windlass_vocabulary::to_hex;

/// SHA-256 in hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(digest(&SHA256, bytes).as_ref())
}
