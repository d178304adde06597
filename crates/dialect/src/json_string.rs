//! The inside of a JSON string, looked at where it stands: where it ends, and what it says.

use alloc::string::String;

/// Where the string that begins here ends, and whether it has escapes. `None` without a closing
/// quote, or with a character that may not stand in a string. Escapes are not judged.
pub(crate) fn find_string_end(bytes: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut is_escaped) = (0, false);
    loop {
        at += count_plain_bytes(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some((at, is_escaped)),
            b'\\' => {
                is_escaped = true;
                at += 2;
            }
            _ => return None,
        }
    }
}

/// Where a run of plain ASCII ends.
pub(crate) fn find_ascii_end(bytes: &[u8]) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"' && *byte != b'\\';
    bytes.iter().take_while(|byte| is_plain(byte)).count()
}

/// Adds what the string says. `false`, and nothing added, if it is broken or holds half a
/// character, which is rare and read elsewhere.
pub(crate) fn unescape(bytes: &[u8], is_escaped: bool, out: &mut String) -> bool {
    if !is_escaped {
        let Ok(text) = core::str::from_utf8(bytes) else { return false };
        out.push_str(text);
        return true;
    }
    let before = out.len();
    let is_whole = unescape_all(bytes, out).is_some();
    if !is_whole {
        out.truncate(before);
    }
    is_whole
}

fn unescape_all(bytes: &[u8], out: &mut String) -> Option<()> {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at_checked(at)?;
        out.push_str(core::str::from_utf8(plain).ok()?);
        let (&letter, after) = escape.get(1..)?.split_first()?;
        rest = after;
        out.push(match letter {
            b'n' => '\n',
            b'"' | b'\\' | b'/' => char::from(letter),
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let (digits, after) = rest.split_at_checked(4)?;
                rest = after;
                let unit = digits
                    .iter()
                    .try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?));
                char::from_u32(unit?)?
            }
            _ => return None,
        });
    }
    out.push_str(core::str::from_utf8(rest).ok()?);
    Some(())
}

/// How many bytes come before the first quote, backslash or control character. Eight at a time:
/// the lowest byte that is marked is always a true one.
fn count_plain_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let marked = (mark_zero_bytes(word ^ (ONES * 0x22))
            | mark_zero_bytes(word ^ (ONES * 0x5C)))
            | mark_control_bytes(word);
        if marked != 0 {
            // Below eight, so it always fits.
            return at + usize::try_from(marked.trailing_zeros() / 8).unwrap_or_default();
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

/// Marks the bytes that are zero.
fn mark_zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Marks the bytes below the space.
fn mark_control_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & HIGHS
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_seen_at_every_place() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=255_u8 {
                    let mut bytes = alloc::vec![b'x'; length];
                    bytes[place] = byte;
                    bytes.push(b'"');
                    let expected = match byte {
                        b'"' => Some((place, false)),
                        b'\\' if place + 1 == length => None,
                        b'\\' => Some((length, true)),
                        0..0x20 => None,
                        _ => Some((length, false)),
                    };
                    assert_eq!(
                        find_string_end(&bytes),
                        expected,
                        "{byte:#x} at {place} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_said_is_what_a_parser_reads() {
        let table = [
            "plain",
            "",
            "ä🦀",
            "a\\nb",
            "\\\"\\\\\\/\\b\\f\\n\\r\\t",
            "\\u00e4x\\u0000",
            "\\uD83E",
            "\\ud83e\\udd80",
            "\\x",
            "\\u12",
            "\\u12g4",
            "\\",
            "ok\\",
            "\\u+123",
        ];
        for raw in table {
            let parsed = serde_json::from_str::<String>(&alloc::format!("\"{raw}\"")).ok();
            let mut out = String::from("kept ");
            let is_read = unescape(raw.as_bytes(), raw.contains('\\'), &mut out);
            match parsed.filter(|_| !raw.contains("\\ud83e")) {
                Some(text) => assert_eq!((is_read, &*out), (true, &*alloc::format!("kept {text}"))),
                None => assert_eq!((is_read, &*out), (false, "kept "), "{raw}"),
            }
        }
        assert!(!unescape(b"\xFF", false, &mut String::new()));
        assert!(!unescape(b"\\n\xFF", true, &mut String::new()));
    }
}
