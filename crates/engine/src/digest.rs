//! A digest that is the same on every machine. There is no secret to protect, so the scheme of
//! FNV-1a with 128 bits will do, taking eight bytes at a time.

/// The digest of nothing.
pub(crate) const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Takes in more bytes. Where they are cut into pieces matters.
pub(crate) fn add(digest: u128, bytes: &[u8]) -> u128 {
    let (words, rest) = bytes.as_chunks::<8>();
    let digest = words.iter().fold(digest, |digest, word| mixed(digest, u64::from_le_bytes(*word)));
    rest.iter().fold(digest, |digest, byte| mixed(digest, u64::from(*byte)))
}

fn mixed(digest: u128, word: u64) -> u128 {
    (digest ^ u128::from(word)).wrapping_mul(PRIME)
}
