//! Bytes as hexadecimal digits, the form in which digests become names.

use alloc::string::String;
use core::fmt::Write as _;

/// Two small digits for each byte.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(digits, "{byte:02x}").unwrap_or_default();
    }
    digits
}
