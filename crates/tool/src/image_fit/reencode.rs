//! Encodes an image again with fewer pixels: decode, shrink, encode, until it fits or the attempts
//! are used up.
//!
//! Drawings stay PNG as long as they fit, and photographs stay JPEG; of an animation the first
//! frame is kept. Color profiles are dropped; the orientation is applied.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder};
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageResult, RgbImage};

use super::image_header::{
    self, DECODED_BYTES_MAX, GIF, JPEG, PNG, PixelSize, WEBP, describe_decode_error,
};

/// A decoder may need several times the memory of the pixels, so their number is limited too.
const PIXELS_MAX: u64 = 50_000_000;
/// JPEG qualities, tried in order.
const QUALITIES: [u8; 3] = [85, 70, 50];
const HALVINGS_MAX: u32 = 6;

#[derive(Debug)]
pub(super) struct ReencodeTarget {
    pub(super) side_max: u32,
    pub(super) bytes_max: usize,
    pub(super) may_be_png: bool,
    pub(super) may_be_jpeg: bool,
}

#[derive(Debug)]
pub(super) struct ReencodedImage {
    pub(super) media_type: &'static str,
    pub(super) bytes: Vec<u8>,
    /// The original size, with the orientation applied.
    pub(super) original_size: PixelSize,
    pub(super) size: PixelSize,
}

pub(super) fn reencode_to_fit(
    kind: &str,
    bytes: &[u8],
    aim: &ReencodeTarget,
) -> Result<ReencodedImage, String> {
    if aim.side_max == 0 || !(aim.may_be_png || aim.may_be_jpeg) {
        return Err("no image can be sent that way".to_owned());
    }
    let decoded = decode(kind, bytes)?;
    let original = decoded.upright_size;
    let mut picture = to_eight_bit(shrink(decoded.picture, aim.side_max));
    picture.apply_orientation(decoded.orientation);
    let is_drawing = kind == PNG || kind == GIF || (kind == WEBP && picture.has_alpha());
    if aim.may_be_png
        && (is_drawing || !aim.may_be_jpeg)
        && let Some(made) = encode(&picture, original, aim, None)?
    {
        return Ok(made);
    }
    if aim.may_be_jpeg {
        picture = flatten_on_white(picture);
        for quality in QUALITIES {
            if let Some(made) = encode(&picture, original, aim, Some(quality))? {
                return Ok(made);
            }
        }
    }
    let quality = aim.may_be_jpeg.then_some(70);
    for _ in 0..HALVINGS_MAX {
        let side = (picture.width().max(picture.height()) / 2).max(1);
        picture = shrink(picture, side);
        if let Some(made) = encode(&picture, original, aim, quality)? {
            return Ok(made);
        }
    }
    Err(format!("it cannot be made to fit into {} bytes", aim.bytes_max))
}

struct DecodedImage {
    picture: DynamicImage,
    upright_size: PixelSize,
    orientation: Orientation,
}

fn decode(kind: &str, bytes: &[u8]) -> Result<DecodedImage, String> {
    let mut decoder = image_header::build_decoder(kind, bytes)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > PIXELS_MAX || decoder.total_bytes() > DECODED_BYTES_MAX {
        return Err(format!("{width}×{height} pixels are too many to look at"));
    }
    // Without it the image may be rotated, which is better than no image.
    let orientation = match kind {
        JPEG => decoder.orientation().unwrap_or(Orientation::NoTransforms),
        _ => Orientation::NoTransforms,
    };
    let picture =
        DynamicImage::from_decoder(decoder).map_err(|error| describe_decode_error(&error))?;
    let size = PixelSize { width, height };
    let lies_on_side = matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    );
    let upright_size = if lies_on_side { size.swap_sides() } else { size };
    Ok(DecodedImage { picture, upright_size, orientation })
}

fn shrink(picture: DynamicImage, side_max: u32) -> DynamicImage {
    let size = PixelSize { width: picture.width(), height: picture.height() };
    if size.longer_side() <= side_max {
        return picture;
    }
    let scaled = |edge: u32, side: u32| {
        let long = u64::from(size.longer_side());
        let edge = (u64::from(edge) * u64::from(side) + long / 2) / long;
        u32::try_from(edge).unwrap_or(side).clamp(1, side)
    };
    // The fine filter needs much memory for a large image, and the result is the same after a
    // coarse reduction to twice the wanted size.
    let coarse = side_max.saturating_mul(2);
    let picture = if size.longer_side() > coarse {
        picture.thumbnail_exact(scaled(size.width, coarse), scaled(size.height, coarse))
    } else {
        picture
    };
    let width = scaled(size.width, side_max);
    let height = scaled(size.height, side_max);
    picture.resize_exact(width, height, FilterType::CatmullRom)
}

/// Eight bits per channel, without adding channels.
fn to_eight_bit(picture: DynamicImage) -> DynamicImage {
    match picture {
        DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_) | DynamicImage::ImageRgba8(_) => {
            picture
        }
        other if other.has_alpha() => DynamicImage::ImageRgba8(other.into_rgba8()),
        DynamicImage::ImageLuma16(_) => DynamicImage::ImageLuma8(picture.into_luma8()),
        other => DynamicImage::ImageRgb8(other.into_rgb8()),
    }
}

/// JPEG has no transparency, so it becomes white.
fn flatten_on_white(picture: DynamicImage) -> DynamicImage {
    let DynamicImage::ImageRgba8(picture) = picture else {
        return picture;
    };
    let mut flat = RgbImage::new(picture.width(), picture.height());
    for (to, from) in flat.pixels_mut().zip(picture.pixels()) {
        let [red, green, blue, alpha] = from.0;
        to.0 = [red, green, blue].map(|channel| {
            let channel = u16::from(channel);
            let alpha = u16::from(alpha);
            let mixed = (channel * alpha + 255 * (255 - alpha)) / 255;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        });
    }
    DynamicImage::ImageRgb8(flat)
}

/// Encodes as JPEG with a quality, or as PNG; `None` if it does not fit.
fn encode(
    picture: &DynamicImage,
    original: PixelSize,
    aim: &ReencodeTarget,
    quality: Option<u8>,
) -> Result<Option<ReencodedImage>, String> {
    let mut bytes = Vec::new();
    write_encoded(picture, quality, &mut bytes)
        .map_err(|error| format!("it could not be made again ({error})"))?;
    let media_type = if quality.is_some() { JPEG } else { PNG };
    let size = PixelSize { width: picture.width(), height: picture.height() };
    let fits = bytes.len() <= aim.bytes_max && size.longer_side() <= aim.side_max;
    Ok(fits.then_some(ReencodedImage { media_type, bytes, original_size: original, size }))
}

fn write_encoded(
    picture: &DynamicImage,
    quality: Option<u8>,
    bytes: &mut Vec<u8>,
) -> ImageResult<()> {
    match quality {
        Some(quality) => picture.write_with_encoder(JpegEncoder::new_with_quality(bytes, quality)),
        None => picture.write_with_encoder(PngEncoder::new_with_quality(
            bytes,
            CompressionType::Default,
            PngFilter::Adaptive,
        )),
    }
}
