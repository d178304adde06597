//! What an image or document is, and how large, read off its first bytes without decoding it.
//! Works on base64 in place. Nothing here judges; the limits are set by `ProviderRules`.

/// The type that its first bytes show.
pub(crate) fn sniff_media_type(base64: &str) -> Option<&'static str> {
    let bytes = Base64Bytes(base64.as_bytes());
    if bytes.starts_with(0, b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(0, b"\xFF\xD8\xFF") {
        Some("image/jpeg")
    } else if bytes.starts_with(0, b"GIF8") {
        Some("image/gif")
    } else if bytes.starts_with(0, b"RIFF") && bytes.starts_with(8, b"WEBP") {
        Some("image/webp")
    } else if (0..PDF_HEAD_BYTES).any(|at| bytes.starts_with(at, b"%PDF-")) {
        Some("application/pdf")
    } else {
        None
    }
}

/// The longer edge in pixels, if the header contains it.
pub(crate) fn read_longest_edge(base64: &str) -> Option<u32> {
    let bytes = Base64Bytes(base64.as_bytes());
    let (width, height) = match sniff_media_type(base64)? {
        "image/png" => (bytes.read_big_endian(16, 4)?, bytes.read_big_endian(20, 4)?),
        "image/gif" => (bytes.read_little_endian(6, 2)?, bytes.read_little_endian(8, 2)?),
        "image/webp" => read_webp_size(bytes)?,
        "image/jpeg" => read_jpeg_size(bytes)?,
        _ => return None,
    };
    Some(width.max(height))
}

/// Is this well-formed base64 of at least one byte?
pub(crate) fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    !digits.is_empty()
        && text.len().is_multiple_of(4)
        && digits.bytes().all(|byte| decode_base64_digit(byte).is_some())
}

fn read_webp_size(bytes: Base64Bytes<'_>) -> Option<(u32, u32)> {
    if bytes.starts_with(12, b"VP8X") {
        Some((bytes.read_little_endian(24, 3)? + 1, bytes.read_little_endian(27, 3)? + 1))
    } else if bytes.starts_with(12, b"VP8L") {
        let packed = bytes.read_little_endian(21, 4)?;
        Some(((packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1))
    } else {
        Some((bytes.read_little_endian(26, 2)? & 0x3FFF, bytes.read_little_endian(28, 2)? & 0x3FFF))
    }
}

/// Walks from segment to segment to the one that holds the size.
fn read_jpeg_size(bytes: Base64Bytes<'_>) -> Option<(u32, u32)> {
    let mut at = 2;
    for _ in 0..JPEG_SEGMENTS_MAX {
        if bytes.byte_at(at)? != 0xFF {
            return None;
        }
        match bytes.byte_at(at + 1)? {
            0xFF => at += 1,
            0x01 | 0xD0..=0xD8 => at += 2,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return Some((
                    bytes.read_big_endian(at + 7, 2)?,
                    bytes.read_big_endian(at + 5, 2)?,
                ));
            }
            _ => at += 2 + usize::try_from(bytes.read_big_endian(at + 2, 2)?).ok()?,
        }
    }
    None
}

/// Bytes behind base64, decoded where they are looked at.
#[derive(Clone, Copy)]
struct Base64Bytes<'a>(&'a [u8]);

impl Base64Bytes<'_> {
    fn byte_at(self, position: usize) -> Option<u8> {
        let first = position / 3 * 4 + position % 3;
        let high = decode_base64_digit(*self.0.get(first)?)?;
        let low = decode_base64_digit(*self.0.get(first + 1)?)?;
        Some(match position % 3 {
            0 => high << 2 | low >> 4,
            1 => high << 4 | low >> 2,
            _ => high << 6 | low,
        })
    }

    fn starts_with(self, position: usize, wanted: &[u8]) -> bool {
        wanted
            .iter()
            .enumerate()
            .all(|(offset, byte)| self.byte_at(position + offset) == Some(*byte))
    }

    fn read_big_endian(self, position: usize, bytes: usize) -> Option<u32> {
        (position..position + bytes)
            .try_fold(0, |value, at| Some(value << 8 | u32::from(self.byte_at(at)?)))
    }

    fn read_little_endian(self, position: usize, bytes: usize) -> Option<u32> {
        (position..position + bytes)
            .rev()
            .try_fold(0, |value, at| Some(value << 8 | u32::from(self.byte_at(at)?)))
    }
}

fn decode_base64_digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

const PDF_HEAD_BYTES: usize = 1024;

const JPEG_SEGMENTS_MAX: usize = 1000;
