//! A digest that is the same on every machine. There is no secret to protect, so FNV-1a with 128
//! bits will do.

/// The digest of nothing.
pub(crate) const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Takes in more bytes.
pub(crate) fn add(mut digest: u128, bytes: &[u8]) -> u128 {
    for byte in bytes {
        digest ^= u128::from(*byte);
        digest = digest.wrapping_mul(PRIME);
    }
    digest
}
