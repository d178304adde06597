//! Formats bytes as hexadecimal digits.

use alloc::string::String;
use core::fmt::Write as _;

/// Two lower-case digits per byte.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(digits, "{byte:02x}").unwrap_or_default();
    }
    digits
}
