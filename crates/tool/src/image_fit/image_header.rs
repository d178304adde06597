//! Detects the type, size and completeness of an image, without decoding its pixels.
//!
//! The type is detected from the first bytes and never from a name or label. Complete means that
//! all declared parts exist; it does not mean that they can be decoded.

use std::fmt;
use std::io::Cursor;

use image::{ImageDecoder, ImageFormat, ImageReader, Limits};
use memchr::memmem;

pub(super) const PNG: &str = "image/png";
pub(super) const JPEG: &str = "image/jpeg";
pub(super) const GIF: &str = "image/gif";
pub(super) const WEBP: &str = "image/webp";

/// Larger images are hardly ever legitimate, and some are made to exhaust memory.
const SIDE_MAX: u32 = 16_384;
pub(super) const DECODED_BYTES_MAX: u64 = 256 * 1024 * 1024;
const ERROR_CHARS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PixelSize {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl PixelSize {
    pub(super) fn longer_side(self) -> u32 {
        self.width.max(self.height)
    }

    pub(super) fn swap_sides(self) -> Self {
        Self { width: self.height, height: self.width }
    }
}

impl fmt::Display for PixelSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}×{}", self.width, self.height)
    }
}

/// The media type, if models accept it.
pub(crate) fn detect_media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(PNG),
        [0xFF, 0xD8, 0xFF, ..] => Some(JPEG),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(GIF),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(WEBP),
        _ => None,
    }
}

/// The size in the header; the error is what is wrong with it.
pub(super) fn read_size(kind: &str, bytes: &[u8]) -> Result<PixelSize, String> {
    let (width, height) = build_decoder(kind, bytes)?.dimensions();
    if width == 0 || height == 0 {
        return Err("it has no pixels".to_owned());
    }
    Ok(PixelSize { width, height })
}

/// A decoder with limits that has read the header.
pub(super) fn build_decoder<'a>(
    kind: &str,
    bytes: &'a [u8],
) -> Result<impl ImageDecoder + use<'a>, String> {
    let format = match kind {
        PNG => ImageFormat::Png,
        JPEG => ImageFormat::Jpeg,
        GIF => ImageFormat::Gif,
        _ => ImageFormat::WebP,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(|error| describe_decode_error(&error))?;
    // Not every decoder checks the limits itself.
    let (width, height) = decoder.dimensions();
    if width > SIDE_MAX || height > SIDE_MAX {
        return Err(format!("{width}×{height} pixels are too many to look at"));
    }
    Ok(decoder)
}

/// The decoder's error, on one line of limited length.
pub(super) fn describe_decode_error(error: &image::ImageError) -> String {
    if matches!(error, image::ImageError::Limits(_)) {
        return "it is too large to look at".to_owned();
    }
    let why: String = error.to_string().chars().take(ERROR_CHARS_MAX).collect();
    format!("it is broken ({})", why.replace('\n', " "))
}

pub(super) fn is_complete(kind: &str, bytes: &[u8]) -> bool {
    let walked = match kind {
        PNG => check_png(bytes),
        JPEG => check_jpeg(bytes),
        GIF => check_gif(bytes),
        _ => check_webp(bytes),
    };
    walked.is_some()
}

/// The bytes from this offset; `None` if there are fewer.
fn skip_bytes(bytes: &[u8], at: usize) -> Option<&[u8]> {
    bytes.get(at..)
}

fn check_png(bytes: &[u8]) -> Option<()> {
    let mut rest = skip_bytes(bytes, 8)?;
    loop {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let is_last = after.starts_with(b"IEND");
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        // Also skips the type before the data and the checksum after it.
        rest = skip_bytes(after, length.checked_add(8)?)?;
        if is_last {
            return Some(());
        }
    }
}

/// Walks the segments to the first scan; the end marker cannot occur in scan data.
fn check_jpeg(bytes: &[u8]) -> Option<()> {
    let mut rest = skip_bytes(bytes, 2)?;
    loop {
        match rest {
            [0xFF, 0xDA, scan @ ..] => return memmem::find(scan, b"\xFF\xD9").map(|_| ()),
            [0xFF, 0xFF, ..] => rest = skip_bytes(rest, 1)?,
            [0xFF, 0x01 | 0xD0..=0xD8, after @ ..] => rest = after,
            [0xFF, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                rest = skip_bytes(rest, length + 2)?;
            }
            _ => return None,
        }
    }
}

fn check_gif(bytes: &[u8]) -> Option<()> {
    let mut rest = skip_bytes(bytes, 13 + color_table_bytes(*bytes.get(10)?))?;
    loop {
        rest = match rest {
            [0x3B, ..] => return Some(()),
            [0x21, _, blocks @ ..] => skip_sub_blocks(blocks)?,
            [0x2C, _, _, _, _, _, _, _, _, flags, after @ ..] => {
                skip_sub_blocks(skip_bytes(after, color_table_bytes(*flags) + 1)?)?
            }
            _ => return None,
        };
    }
}

fn color_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

fn skip_sub_blocks(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, after) = rest.split_first()?;
        rest = skip_bytes(after, usize::from(*length))?;
        if *length == 0 {
            return Some(rest);
        }
    }
}

/// Walks the chunks, so that none claims more bytes than exist.
fn check_webp(bytes: &[u8]) -> Option<()> {
    let length = bytes.get(4..8)?.first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let mut rest = bytes.get(12..length.checked_add(8)?)?;
    while rest.len() >= 8 {
        let length = rest.get(4..8)?.first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let end = length.checked_add(8)?;
        rest.get(..end)?;
        // Odd chunks are padded, except sometimes the last one.
        rest = rest.get(end + length % 2..).unwrap_or_default();
    }
    Some(())
}
