//! Makes one image fit the provider's limits, or explains why it cannot be sent.
//!
//! An image that fits is left alone: only its header is read. Another one is decoded within limits
//! and encoded again, smaller. Uses only the processor: touches no file, keeps no state, and the
//! caller chooses the thread. Ignores documents, and does not know how many images a request may
//! contain.

mod image_header;
mod reencode;

use std::panic::{AssertUnwindSafe, catch_unwind};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use windlass_vocabulary::MediaContent;

pub(crate) use image_header::{PixelSize, detect_media_type};
use reencode::{ReencodeTarget, ReencodedImage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimits {
    /// Limit on the longer side in pixels.
    pub side_max: u32,
    /// Limit on the base64 text of the image.
    pub base64_bytes_max: usize,
    pub media_types: &'static [&'static str],
}

impl Default for ImageLimits {
    /// Accepted by every provider, even in a request with many images.
    fn default() -> Self {
        Self {
            side_max: 2_000,
            base64_bytes_max: 5_000_000,
            media_types: &["image/png", "image/jpeg", "image/gif", "image/webp"],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageFit {
    /// It fits, or it is not an image.
    AsIs,
    /// A changed image that fits, with a note for the model about the change.
    Changed(MediaContent, String),
    /// It cannot be sent: the reason, with its name.
    Unusable(String),
}

/// Larger ones are not even decoded from base64.
const ENCODED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Makes one image fit. Takes up to several seconds of processor time, so do not call it on an
/// async thread.
#[must_use]
pub fn fit_image(media: &MediaContent, limits: &ImageLimits) -> ImageFit {
    if !is_image(&media.media_type) {
        return ImageFit::AsIs;
    }
    let name = display_name(&media.name);
    if media.data.len() > ENCODED_BYTES_MAX {
        return ImageFit::Unusable(format!(
            "{name}: {} bytes of base64 are too many for an image.",
            media.data.len()
        ));
    }
    let Ok(bytes) = BASE64_STANDARD.decode(media.data.as_bytes()) else {
        return ImageFit::Unusable(format!("{name}: its data is not base64."));
    };
    match fit_image_bytes(&media.name, &media.media_type, &bytes, limits) {
        Err(why) => ImageFit::Unusable(why),
        Ok(FittedImage { replacement: None, .. }) => ImageFit::AsIs,
        Ok(FittedImage { replacement: Some(change), .. }) => {
            // With the correct media type the same bytes may be acceptable.
            let data = match change.bytes {
                Some(bytes) => BASE64_STANDARD.encode(bytes).into(),
                None => media.data.clone(),
            };
            let media_type = change.media_type.into();
            let media = MediaContent { media_type, data, name: media.name.clone() };
            ImageFit::Changed(media, change.note)
        }
    }
}

#[derive(Debug)]
pub(crate) struct FittedImage {
    pub(crate) original_size: PixelSize,
    pub(crate) sent_size: PixelSize,
    pub(crate) replacement: Option<ImageReplacement>,
}

#[derive(Debug)]
pub(crate) struct ImageReplacement {
    pub(crate) media_type: &'static str,
    /// `None` if only the media type was wrong.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) note: String,
}

/// Like [`fit_image`] for raw bytes. The error is why it cannot be sent.
pub(crate) fn fit_image_bytes(
    name: &str,
    label: &str,
    bytes: &[u8],
    limits: &ImageLimits,
) -> Result<FittedImage, String> {
    let name = display_name(name);
    // Catches panics of third-party decoders, so that they cost only this image and not the
    // session. No state outlives the call.
    catch_unwind(AssertUnwindSafe(|| fit_bytes_unguarded(name, label, bytes, limits)))
        .unwrap_or_else(|_| Err("the decoder failed on it".to_owned()))
        .map_err(|why| format!("{name}: {why}."))
}

fn fit_bytes_unguarded(
    name: &str,
    label: &str,
    bytes: &[u8],
    limits: &ImageLimits,
) -> Result<FittedImage, String> {
    let Some(kind) = detect_media_type(bytes) else {
        return Err(format!("it is called {label} but is no PNG, JPEG, GIF or WebP image"));
    };
    let size = image_header::read_size(kind, bytes)?;
    let is_whole = image_header::is_complete(kind, bytes);
    let fits = size.longer_side() <= limits.side_max
        && base64_len(bytes.len()) <= limits.base64_bytes_max
        && limits.media_types.contains(&kind);
    if fits && is_whole {
        let change = (label != kind).then(|| ImageReplacement {
            media_type: kind,
            bytes: None,
            note: format!("{name}: it is called {label} but is {kind}"),
        });
        return Ok(FittedImage { original_size: size, sent_size: size, replacement: change });
    }
    if !is_whole && kind == image_header::WEBP {
        return Err("it is cut short".to_owned());
    }
    let aim = ReencodeTarget {
        side_max: limits.side_max,
        bytes_max: limits.base64_bytes_max / 4 * 3,
        may_be_png: limits.media_types.contains(&image_header::PNG),
        may_be_jpeg: limits.media_types.contains(&image_header::JPEG),
    };
    let made = reencode::reencode_to_fit(kind, bytes, &aim)?;
    let note = render_change_note(name, kind, bytes.len(), is_whole, &made);
    let ReencodedImage { media_type, bytes, original_size: original, size } = made;
    let change = Some(ImageReplacement { media_type, bytes: Some(bytes), note });
    Ok(FittedImage { original_size: original, sent_size: size, replacement: change })
}

fn render_change_note(
    name: &str,
    kind: &str,
    bytes: usize,
    is_whole: bool,
    made: &ReencodedImage,
) -> String {
    let mut note = if made.original_size == made.size {
        format!("{name}: {bytes} bytes made {} bytes", made.bytes.len())
    } else {
        format!("{name}: {} made {}", made.original_size, made.size)
    };
    if kind != made.media_type {
        note.push_str(&format!(", {kind} made {}", made.media_type));
    }
    if !is_whole {
        note.push_str("; it is cut short, and shown as far as it goes");
    }
    note
}

fn is_image(media_type: &str) -> bool {
    media_type.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("image/"))
}

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

fn display_name(name: &str) -> &str {
    if name.is_empty() { "image" } else { name }
}
