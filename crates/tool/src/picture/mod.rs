//! Makes one image fit what a provider takes, or says why it cannot be sent.
//!
//! An image that fits is left alone: its header is read, its pixels are not. One that does not is
//! decoded within bounds and made again, smaller. Only the processor is used here: no file is
//! touched, nothing is remembered, and whoever calls this decides on which thread. Documents are
//! not looked at, and nothing here knows how many images a request may hold.

mod header;
mod remake;

use std::panic::{AssertUnwindSafe, catch_unwind};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use windlass_vocabulary::Media;

pub(crate) use header::{Size, kind};
use remake::{Aim, Remade};

/// What a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureLimits {
    /// Pixels of the longer edge.
    pub side_max: u32,
    /// Bytes of the image as it is sent, in base64.
    pub base64_bytes_max: usize,
    /// The media types taken, for example `image/png`.
    pub media_types: &'static [&'static str],
}

impl Default for PictureLimits {
    /// What every provider takes, even in a request with many images.
    fn default() -> Self {
        Self {
            side_max: 2_000,
            base64_bytes_max: 5_000_000,
            media_types: &["image/png", "image/jpeg", "image/gif", "image/webp"],
        }
    }
}

/// What came of fitting one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitted {
    /// It fits, or it is no image.
    AsIs,
    /// This one fits, with a note for the model that says what was changed.
    Changed(Media, String),
    /// It cannot be sent; why, with its name.
    Unusable(String),
}

/// Larger ones are not even decoded from base64.
const ENCODED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Makes one image fit. Takes the processor for up to a few seconds, so not for a thread that
/// others wait on.
#[must_use]
pub fn fit(media: &Media, limits: &PictureLimits) -> Fitted {
    if !is_image(&media.media_type) {
        return Fitted::AsIs;
    }
    let name = shown_name(&media.name);
    if media.data.len() > ENCODED_BYTES_MAX {
        return Fitted::Unusable(format!(
            "{name}: {} bytes of base64 are too many for an image.",
            media.data.len()
        ));
    }
    let Ok(bytes) = BASE64_STANDARD.decode(media.data.as_bytes()) else {
        return Fitted::Unusable(format!("{name}: its data is not base64."));
    };
    match judge(&media.name, &media.media_type, &bytes, limits) {
        Err(why) => Fitted::Unusable(why),
        Ok(Judged { change: None, .. }) => Fitted::AsIs,
        Ok(Judged { change: Some(change), .. }) => {
            // Under its true name the very same bytes may do.
            let data = match change.bytes {
                Some(bytes) => BASE64_STANDARD.encode(bytes).into(),
                None => media.data.clone(),
            };
            let media_type = change.media_type.into();
            let media = Media { media_type, data, name: media.name.clone() };
            Fitted::Changed(media, change.note)
        }
    }
}

/// An image that can be sent.
#[derive(Debug)]
pub(crate) struct Judged {
    /// As it came.
    pub(crate) original: Size,
    /// As it is sent.
    pub(crate) shown: Size,
    /// How the two differ, if they do.
    pub(crate) change: Option<Change>,
}

/// What has to be sent instead.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) media_type: &'static str,
    /// Nothing when only the type was wrong.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) note: String,
}

/// Like [`fit`], for bytes that are at hand. The error says why it cannot be sent.
pub(crate) fn judge(
    name: &str,
    label: &str,
    bytes: &[u8],
    limits: &PictureLimits,
) -> Result<Judged, String> {
    let name = shown_name(name);
    // The decoders are not ours. A fault in one of them must cost this image, not the session;
    // they hold nothing that outlives the call.
    catch_unwind(AssertUnwindSafe(|| judged(name, label, bytes, limits)))
        .unwrap_or_else(|_| Err("the decoder failed on it".to_owned()))
        .map_err(|why| format!("{name}: {why}."))
}

fn judged(name: &str, label: &str, bytes: &[u8], limits: &PictureLimits) -> Result<Judged, String> {
    let Some(kind) = kind(bytes) else {
        return Err(format!("it is called {label} but is no PNG, JPEG, GIF or WebP image"));
    };
    let size = header::size(kind, bytes)?;
    let is_whole = header::is_whole(kind, bytes);
    let fits = size.long() <= limits.side_max
        && encoded_bytes(bytes.len()) <= limits.base64_bytes_max
        && limits.media_types.contains(&kind);
    if fits && is_whole {
        let change = (label != kind).then(|| Change {
            media_type: kind,
            bytes: None,
            note: format!("{name}: it is called {label} but is {kind}"),
        });
        return Ok(Judged { original: size, shown: size, change });
    }
    if !is_whole && kind == header::WEBP {
        return Err("it is cut short".to_owned());
    }
    let aim = Aim {
        side_max: limits.side_max,
        bytes_max: limits.base64_bytes_max / 4 * 3,
        png: limits.media_types.contains(&header::PNG),
        jpeg: limits.media_types.contains(&header::JPEG),
    };
    let made = remake::remake(kind, bytes, &aim)?;
    let note = note(name, kind, bytes.len(), is_whole, &made);
    let Remade { media_type, bytes, original, size } = made;
    let change = Some(Change { media_type, bytes: Some(bytes), note });
    Ok(Judged { original, shown: size, change })
}

fn note(name: &str, kind: &str, bytes: usize, is_whole: bool, made: &Remade) -> String {
    let mut note = if made.original == made.size {
        format!("{name}: {bytes} bytes made {} bytes", made.bytes.len())
    } else {
        format!("{name}: {} made {}", made.original, made.size)
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

fn encoded_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

fn shown_name(name: &str) -> &str {
    if name.is_empty() { "image" } else { name }
}
