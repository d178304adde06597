//! Detects and converts the encoding of text files.
//!
//! Text counts as UTF-8 unless a byte order mark says UTF-16, or it contains more bytes that are
//! invalid in UTF-8 than valid multi-byte characters; then the most likely legacy encoding is
//! guessed by statistics. A wrong guess shows wrong characters but does no harm: edits splice
//! bytes, and everything else stays the same.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, Encoding as Known, WINDOWS_1252};

pub(crate) const DETECTION_BYTES_MAX: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Legacy(&'static Known),
}

impl TextEncoding {
    /// Detects the encoding from the beginning or the complete content.
    pub(crate) fn detect(content: &[u8]) -> Self {
        match content {
            [0xFF, 0xFE, ..] => return Self::Utf16Le,
            [0xFE, 0xFF, ..] => return Self::Utf16Be,
            _ => {}
        }
        if std::str::from_utf8(content).is_ok() {
            return Self::Utf8;
        }
        let start = content.get(..DETECTION_BYTES_MAX).unwrap_or(content);
        let mut wide = 0_usize;
        let mut broken = 0_usize;
        for chunk in start.utf8_chunks() {
            wide += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
            broken += usize::from(!chunk.invalid().is_empty());
        }
        if wide >= broken {
            return Self::Utf8;
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(start, true);
        match detector.guess(None, Utf8Detection::Deny) {
            found if found.is_ascii_compatible() => Self::Legacy(found),
            _ => Self::Legacy(WINDOWS_1252),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(known) => known.name(),
        }
    }

    /// Decodes the text; invalid bytes become replacement characters.
    pub(crate) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Utf16Le => encoding_rs::UTF_16LE.decode_without_bom_handling(bytes).0,
            Self::Utf16Be => encoding_rs::UTF_16BE.decode_without_bom_handling(bytes).0,
            Self::Legacy(known) => known.decode_without_bom_handling(bytes).0,
        }
    }

    /// Encodes a text, or returns the first character that the encoding lacks.
    pub(crate) fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, char> {
        match self {
            Self::Utf8 => Ok(Cow::Borrowed(text.as_bytes())),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Legacy(known) => encode_legacy(known, text).map(Cow::Owned),
        }
    }

    /// The byte order mark of the content, or an empty slice.
    pub(crate) fn byte_order_mark(self, content: &[u8]) -> &[u8] {
        let length = match self {
            Self::Utf8 if content.starts_with(b"\xEF\xBB\xBF") => 3,
            Self::Utf8 | Self::Legacy(_) => 0,
            Self::Utf16Le | Self::Utf16Be => 2,
        };
        content.get(..length).unwrap_or_default()
    }

    /// Does a character start at this offset? Checks only what can be ambiguous.
    pub(crate) fn is_char_start(self, content: &[u8], place: usize) -> bool {
        match self {
            Self::Utf8 => true,
            Self::Utf16Le | Self::Utf16Be => place.is_multiple_of(2),
            Self::Legacy(known) if known.is_single_byte() => true,
            Self::Legacy(known) => {
                // In every supported encoding, a line feed byte is always a line feed.
                let before = content.get(..place).unwrap_or_default();
                let from = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
                let before = before.get(from..).unwrap_or_default();
                known.decode_without_bom_handling_and_without_replacement(before).is_some()
            }
        }
    }
}

fn encode_legacy(known: &'static Known, text: &str) -> Result<Vec<u8>, char> {
    let mut encoder = known.new_encoder();
    let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
    let mut bytes = Vec::with_capacity(room.unwrap_or(text.len()));
    let (result, _) = encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true);
    match result {
        EncoderResult::InputEmpty => Ok(bytes),
        EncoderResult::Unmappable(letter) => Err(letter),
        EncoderResult::OutputFull => Err(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_encoding_and_goes_there_and_back() {
        let japanese =
            encoding_rs::SHIFT_JIS.encode("これはテストです。表示を確認\n").0.into_owned();
        let cases: &[(&[u8], &str)] = &[
            (b"", "UTF-8"),
            ("größe".as_bytes(), "UTF-8"),
            (b"\xEF\xBB\xBFa", "UTF-8"),
            (b"gr\xF6\xDFe und m\xFCde\n", "windows-1252"),
            (b"\xFF\xFEa\0", "UTF-16LE"),
            (b"\xFE\xFF\0a", "UTF-16BE"),
            (&japanese, "Shift_JIS"),
            ("größe \u{fffd}".as_bytes(), "UTF-8"),
            (b"gr\xC3\xB6\xC3\x9Fe \xFF", "UTF-8"),
        ];
        for (bytes, name) in cases {
            let encoding = TextEncoding::detect(bytes);
            assert_eq!(encoding.name(), *name);
            if !bytes.ends_with(b"\xFF") {
                assert_eq!(&*encoding.encode(&encoding.decode(bytes)).unwrap(), *bytes);
            }
        }
        assert_eq!(TextEncoding::Legacy(WINDOWS_1252).encode("a語"), Err('語'));
    }
}
