//! Images made to fit: of every kind, too large, broken, mislabelled, malicious and random.

use std::io::Cursor;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, ImageFormat, ImageReader, Rgba, RgbaImage};
use proptest::prelude::*;
use windlass_tool::{ImageFit, ImageLimits, fit_image};
use windlass_vocabulary::MediaContent;

const KINDS: [(&str, ImageFormat); 4] = [
    ("image/png", ImageFormat::Png),
    ("image/jpeg", ImageFormat::Jpeg),
    ("image/gif", ImageFormat::Gif),
    ("image/webp", ImageFormat::WebP),
];
const ALL: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

fn limits(side_max: u32, base64_bytes_max: usize) -> ImageLimits {
    ImageLimits { side_max, base64_bytes_max, media_types: ALL }
}

/// Small when packed.
pub(crate) fn smooth(width: u32, height: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        Rgba([(x * 255 / width) as u8, (y * 255 / height) as u8, 90, 255])
    })
}

/// As large when packed as when not.
fn noise(width: u32, height: u32) -> RgbaImage {
    let mut state = 1_u32;
    RgbaImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgba([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8, 255])
    })
}

pub(crate) fn packed(picture: RgbaImage, format: ImageFormat) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let picture = DynamicImage::ImageRgba8(picture);
    match format {
        ImageFormat::Jpeg => picture.to_rgb8().write_to(&mut out, format).unwrap(),
        _ => picture.write_to(&mut out, format).unwrap(),
    }
    out.into_inner()
}

fn media(media_type: &str, bytes: &[u8]) -> MediaContent {
    let data = BASE64_STANDARD.encode(bytes).into();
    MediaContent { media_type: media_type.into(), data, name: "a.img".into() }
}

/// Type and size, by decoding all of it.
fn measured(media: &MediaContent) -> (ImageFormat, u32, u32) {
    let bytes = BASE64_STANDARD.decode(&*media.data).unwrap();
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().unwrap();
    let format = reader.format().unwrap();
    let picture = reader.decode().unwrap();
    (format, picture.width(), picture.height())
}

/// What must hold of anything: it is left alone, or it fits in truth, or it is refused by name.
fn check(media: &MediaContent, limits: &ImageLimits) -> ImageFit {
    let fitted = fit_image(media, limits);
    match &fitted {
        ImageFit::AsIs => {}
        ImageFit::Changed(changed, note) => {
            let (format, width, height) = measured(changed);
            assert_eq!(&*changed.media_type, format.to_mime_type());
            assert!(limits.media_types.contains(&&*changed.media_type), "{note}");
            assert!(width.max(height) <= limits.side_max, "{note}");
            assert!(changed.data.len() <= limits.base64_bytes_max, "{note}");
            assert!(note.starts_with("a.img: "), "{note}");
            assert_eq!(fit_image(changed, limits), ImageFit::AsIs);
        }
        ImageFit::Unusable(why) => assert!(why.starts_with("a.img: "), "{why}"),
    }
    fitted
}

#[test]
fn what_fits_is_left_alone() {
    let exact = smooth(80, 60);
    for (kind, format) in KINDS {
        for picture in [smooth(1, 1), exact.clone()] {
            let media = media(kind, &packed(picture, format));
            assert_eq!(fit_image(&media, &limits(80, media.data.len())), ImageFit::AsIs, "{kind}");
        }
    }
    // Nothing but images is looked at.
    assert_eq!(fit_image(&media("application/pdf", b"%PDF-1.7"), &limits(1, 1)), ImageFit::AsIs);
    assert_eq!(fit_image(&media("text/plain", b""), &limits(1, 1)), ImageFit::AsIs);
}

#[test]
fn what_is_too_large_is_made_smaller() {
    // (kind, what comes out)
    let cases = ["image/png", "image/jpeg", "image/png", "image/png"];
    for ((kind, format), expected) in KINDS.into_iter().zip(cases) {
        let media = media(kind, &packed(smooth(161, 120), format));
        let ImageFit::Changed(changed, note) = check(&media, &limits(80, 100_000)) else {
            panic!("{kind}");
        };
        assert_eq!(measured(&changed).1, 80, "{kind}");
        assert_eq!(&*changed.media_type, expected);
        assert!(note.starts_with("a.img: 161×120 made 80×60"), "{note}");
        assert_eq!(note.contains(&format!(", {kind} made {expected}")), kind != expected);
    }
    let thin = media("image/png", &packed(smooth(4000, 1), ImageFormat::Png));
    let ImageFit::Changed(changed, note) = check(&thin, &ImageLimits::default()) else {
        panic!("not changed");
    };
    assert_eq!(
        (measured(&changed), &*note),
        ((ImageFormat::Png, 2000, 1), "a.img: 4000×1 made 2000×1")
    );
}

#[test]
fn too_many_bytes_cost_quality_first_and_pixels_last() {
    let png = media("image/png", &packed(noise(160, 120), ImageFormat::Png));
    let mut widths = Vec::new();
    for bytes in [60_000, 20_000, 4_000, 1_200] {
        assert!(png.data.len() > bytes);
        let ImageFit::Changed(changed, note) = check(&png, &limits(200, bytes)) else {
            panic!("{bytes}");
        };
        assert!(note.contains("image/png made image/jpeg"), "{note}");
        widths.push(measured(&changed).1);
    }
    assert_eq!(widths.first(), Some(&160));
    assert!(widths.is_sorted_by(|a, b| a >= b) && widths.last() < Some(&160), "{widths:?}");
    assert!(matches!(check(&png, &limits(200, 100)), ImageFit::Unusable(_)));
    assert!(matches!(check(&png, &limits(0, 100_000)), ImageFit::Unusable(_)));
}

#[test]
fn transparency_stays_in_a_png_and_is_white_in_a_jpeg() {
    let clear = RgbaImage::from_pixel(64, 64, Rgba([0, 0, 0, 0]));
    let png = media("image/png", &packed(clear, ImageFormat::Png));
    for (types, expected) in [(ALL, [0, 0, 0, 0]), (&["image/jpeg"], [255, 255, 255, 255])] {
        let limits = ImageLimits { media_types: types, ..limits(32, 100_000) };
        let ImageFit::Changed(changed, _) = check(&png, &limits) else { panic!("not changed") };
        let bytes = BASE64_STANDARD.decode(&*changed.data).unwrap();
        let pixel = image::load_from_memory(&bytes).unwrap().to_rgba8().get_pixel(9, 9).0;
        assert_eq!(pixel, expected, "{types:?}");
    }
}

#[test]
fn a_type_that_is_not_taken_becomes_one_that_is() {
    let mut gif = Vec::new();
    let frames = [[255, 0, 0, 255], [0, 0, 255, 255]]
        .map(|colour| Frame::new(RgbaImage::from_pixel(20, 10, Rgba(colour))));
    GifEncoder::new(&mut gif).encode_frames(frames).unwrap();
    let gif = media("image/gif", &gif);
    assert_eq!(fit_image(&gif, &limits(20, 100_000)), ImageFit::AsIs);
    let few = ImageLimits { media_types: &["image/png"], ..limits(20, 100_000) };
    let ImageFit::Changed(changed, _) = check(&gif, &few) else { panic!("not changed") };
    let bytes = BASE64_STANDARD.decode(&*changed.data).unwrap();
    let first = image::load_from_memory(&bytes).unwrap().to_rgba8().get_pixel(3, 3).0;
    assert_eq!(first, [255, 0, 0, 255]);
    let none = ImageLimits { media_types: &["image/tiff"], ..few };
    assert!(matches!(check(&gif, &none), ImageFit::Unusable(_)));
}

#[test]
fn a_wrong_label_is_put_right() {
    for (real, format) in KINDS {
        let bytes = packed(smooth(9, 9), format);
        for label in
            ["image/png", "image/jpeg", "image/gif", "image/webp", "IMAGE/X", "image/svg+xml"]
        {
            let sent = media(label, &bytes);
            match check(&sent, &limits(9, 100_000)) {
                ImageFit::AsIs => assert_eq!(label, real),
                ImageFit::Changed(changed, note) => {
                    assert_eq!((&*changed.media_type, &changed.data), (real, &sent.data));
                    assert_eq!(note, format!("a.img: it is called {label} but is {real}"));
                }
                ImageFit::Unusable(why) => panic!("{why}"),
            }
        }
    }
}

#[test]
fn a_photograph_is_turned_upright() {
    // An Exif segment that says: turned by a quarter.
    let exif =
        b"\xFF\xE1\0\x22Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut bytes = packed(smooth(40, 20), ImageFormat::Jpeg);
    bytes.splice(2..2, exif.iter().copied());
    let ImageFit::Changed(changed, note) =
        check(&media("image/jpeg", &bytes), &limits(20, 100_000))
    else {
        panic!("not changed");
    };
    assert_eq!(measured(&changed), (ImageFormat::Jpeg, 10, 20));
    assert_eq!(note, "a.img: 20×40 made 10×20");
}

#[test]
fn nothing_cut_short_is_sent_as_it_is() {
    for (kind, format) in KINDS {
        let bytes = packed(noise(24, 16), format);
        for end in (0..bytes.len()).step_by(10).chain([bytes.len() - 1]) {
            let fitted = check(&media(kind, &bytes[..end]), &limits(100, 100_000));
            assert_ne!(fitted, ImageFit::AsIs, "{kind} cut at {end} of {}", bytes.len());
            if let ImageFit::Changed(_, note) = fitted {
                assert!(note.ends_with("it is cut short, and shown as far as it goes"), "{note}");
            }
        }
    }
}

#[test]
fn what_claims_to_be_huge_is_refused_at_once() {
    let declared = |format, side: u16| {
        let mut bytes = packed(smooth(8, 8), format);
        let wide = u32::from(side);
        match format {
            ImageFormat::Png => {
                bytes[16..20].copy_from_slice(&wide.to_be_bytes());
                bytes[20..24].copy_from_slice(&wide.to_be_bytes());
                let sum = checksum(&bytes[12..29]);
                bytes[29..33].copy_from_slice(&sum.to_be_bytes());
            }
            ImageFormat::Jpeg => {
                let at = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
                bytes[at + 5..at + 7].copy_from_slice(&side.to_be_bytes());
                bytes[at + 7..at + 9].copy_from_slice(&side.to_be_bytes());
            }
            ImageFormat::Gif => {
                bytes[6..8].copy_from_slice(&side.to_le_bytes());
                bytes[8..10].copy_from_slice(&side.to_le_bytes());
            }
            _ => {
                let edge = (wide - 1) & 0x3FFF;
                bytes[21..25].copy_from_slice(&(edge | edge << 14 | 1 << 28).to_le_bytes());
            }
        }
        bytes
    };
    let began = Instant::now();
    for (kind, format) in KINDS {
        for side in [60_000, 16_000] {
            let media = media(kind, &declared(format, side));
            let fitted = check(&media, &ImageLimits::default());
            assert!(matches!(fitted, ImageFit::Unusable(_)), "{kind} {side}: {fitted:?}");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 }
        })
    })
}

#[test]
fn what_is_not_base64_or_no_image_is_refused() {
    for data in ["", "!", "AAA", "iVBORw0KGgo", "AAAA", "iVBORw0KGgo="] {
        let media = MediaContent { data: data.into(), ..media("image/png", b"") };
        assert!(matches!(check(&media, &limits(9, 9_000)), ImageFit::Unusable(_)), "{data}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_bytes_never_panic(
        start in 0_usize..5,
        rest in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let starts: [&[u8]; 5] =
            [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff", b"GIF89a", b"RIFF\x40\0\0\0WEBPVP8", b""];
        check(&media("image/png", &[starts[start], &rest].concat()), &limits(64, 4_000));
    }

    #[test]
    fn images_with_wrong_bytes_never_panic(
        kind in 0_usize..4,
        wrong in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        side in 1_u32..40,
    ) {
        let (label, format) = KINDS[kind];
        let mut bytes = packed(noise(24, 16), format);
        for (at, byte) in wrong {
            *at.get_mut(&mut bytes) = byte;
        }
        check(&media(label, &bytes), &limits(side, 4_000));
    }

    #[test]
    fn whatever_the_limits_the_result_keeps_them(
        kind in 0_usize..4,
        width in 1_u32..90,
        height in 1_u32..90,
        side in 0_u32..100,
        bytes in 0_usize..6_000,
        types in 0_usize..5,
    ) {
        let (label, format) = KINDS[kind];
        let types = [ALL, &["image/png"], &["image/jpeg"], &["image/webp", "image/png"], &[]][types];
        let limits = ImageLimits { media_types: types, ..limits(side, bytes) };
        let media = media(label, &packed(noise(width, height), format));
        let fits = width.max(height) <= side && media.data.len() <= bytes && types.contains(&label);
        prop_assert_eq!(check(&media, &limits) == ImageFit::AsIs, fits);
    }
}
