//! Secrets in base64: known values anywhere in a longer encoded text, and words that decode to
//! text with a key, as in the manifest of a cluster's secret.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD_NO_PAD};

/// The parts of a value's base64 that do not depend on the text around it: one for each of its
/// three alignments in a longer text.
pub(crate) fn encode_in_base64(value: &str) -> Vec<String> {
    let parts = (0..3).filter_map(|shift| {
        let mut bytes = vec![0; shift];
        bytes.extend_from_slice(value.as_bytes());
        let whole = STANDARD_NO_PAD.encode(&bytes);
        // Characters that share bits with a neighbour are left out.
        let start = [0, 2, 3].get(shift).copied()?;
        let end = whole.len() - usize::from(bytes.len() % 3 != 0);
        let part = whole.get(start..end)?;
        (part.len() >= PART_MIN).then(|| part.to_owned())
    });
    let parts: Vec<String> = parts.collect();
    let for_urls: Vec<String> = parts
        .iter()
        .filter(|part| part.contains(['+', '/']))
        .map(|part| part.replace('+', "-").replace('/', "_"))
        .collect();
    [parts, for_urls].concat()
}

/// Words for whose decoded text `has_secret` is true.
pub(crate) fn find_encoded_secrets(
    text: &[u8],
    has_secret: impl Fn(&[u8]) -> bool,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let len = rest.iter().take_while(|byte| is_part(**byte)).count();
        let padding = rest.iter().skip(len).take(2).take_while(|byte| **byte == b'=').count();
        if (WORD_MIN..=WORD_MAX).contains(&len) {
            let word = rest.get(..len).unwrap_or_default();
            if decode(word).is_some_and(|decoded| is_text(&decoded) && has_secret(&decoded)) {
                found.push(at..at + len + padding);
            }
        }
        at += len + padding + 1;
    }
    found
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Reads both alphabets. Ignores a surplus last character.
fn decode(word: &[u8]) -> Option<Vec<u8>> {
    let whole = word.len() - usize::from(word.len() % 4 == 1);
    let standard: Vec<u8> = word
        .get(..whole)?
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        })
        .collect();
    LENIENT.decode(standard).ok()
}

/// Random bytes are not text with a key.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
        && std::str::from_utf8(bytes).is_ok()
}

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
/// Shorter parts of a known value also occur in other text.
const PART_MIN: usize = 9;
const WORD_MIN: usize = 16;
const WORD_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_wherever_it_lies_in_base64() {
        let value = "hunter2-?>hunter2";
        let parts = encode_in_base64(value);
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "z", "yz"] {
                let text = STANDARD_NO_PAD.encode(format!("{before}{value}{after}"));
                for text in [text.replace('+', "-").replace('/', "_"), text] {
                    assert!(parts.iter().any(|part| text.contains(part)), "{text} in {parts:?}");
                }
            }
        }
    }

    #[test]
    fn words_are_looked_into() {
        let has = |decoded: &[u8]| decoded.starts_with(b"secret");
        let word = STANDARD_NO_PAD.encode("secret: 0123456789");
        let text = format!("data: {word}== and c3R1ZmY= and {}", "a".repeat(30));
        let found = find_encoded_secrets(text.as_bytes(), has);
        let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, [format!("{word}==")]);
    }
}
