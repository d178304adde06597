//! Framing: the format's own rules, in every chunking.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

use proptest::prelude::*;
use windlass_dialect::sse::{SseEventTooLarge, SseFramer};

type Events = Vec<(String, String)>;

fn frames<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    bytes_max: usize,
) -> (Events, Option<SseEventTooLarge>) {
    let mut framer = SseFramer::new(bytes_max);
    let mut events = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for chunk in chunks {
        let pushed = framer.push(chunk, |frame| {
            events.push((text(frame.name), text(frame.data)));
            true
        });
        if let Err(oversize) = pushed {
            return (events, Some(oversize));
        }
    }
    framer.finish(|frame| events.push((text(frame.name), text(frame.data))));
    (events, None)
}

#[test]
fn events_are_parsed_as_specified() {
    let table: &[(&str, &str, &[(&str, &str)])] = &[
        ("named", "event: a\ndata: 1\n\n", &[("a", "1")]),
        ("no name", "data: 1\n\n", &[("", "1")]),
        ("byte order mark", "\u{feff}data: 1\n\n", &[("", "1")]),
        ("mark only at the start", "data: 1\n\n\u{feff}data: 2\n\n", &[("", "1")]),
        ("carriage returns", "data: 1\r\rdata: 2\r\r", &[("", "1"), ("", "2")]),
        ("both", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &[("a", "1"), ("", "2")]),
        ("mixed", "data: 1\r\ndata: 2\n\rdata: 3\r\r\n", &[("", "1\n2"), ("", "3")]),
        ("comments", ": hi\n:\ndata: 1\n: in between\n\n", &[("", "1")]),
        ("several lines", "data: a\ndata:\ndata: b\n\n", &[("", "a\n\nb")]),
        ("one space only", "data:  a\n\n", &[("", " a")]),
        ("no space", "data:a:b\n\n", &[("", "a:b")]),
        ("no colon", "data\n\n", &[("", "")]),
        ("unknown fields", "id: 3\nretry: 10\nfoo: bar\ndata: 1\n\n", &[("", "1")]),
        ("last name wins", "event: a\nevent: b\ndata: 1\n\n", &[("b", "1")]),
        ("name without data", "event: a\n\ndata: 1\n\n", &[("", "1")]),
        ("blank storm", "\n\n\r\n\r\r\n\n\ndata: 1\n\n\n\n", &[("", "1")]),
        ("no blank line at the end", "data: 1\n", &[("", "1")]),
        ("half a line at the end", "data: 1\n\ndata: 2", &[("", "1")]),
        ("half a line after a whole one", "data: 1\nda", &[]),
        ("nothing", "", &[]),
    ];
    for (name, stream, expected) in table {
        let expected: Events =
            expected.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect();
        assert_eq!(frames([stream.as_bytes()], 1024), (expected.clone(), None), "{name}");
        assert_eq!(
            frames(stream.as_bytes().chunks(1), 1024),
            (expected, None),
            "{name}, byte-wise"
        );
    }
}

#[test]
fn a_line_or_an_event_over_the_limit_is_an_error() {
    let oversize = Some(SseEventTooLarge { bytes_max: 16 });
    let table: &[(&str, &str, Option<SseEventTooLarge>)] = &[
        ("a line that fits", "data: 123456789\n\n", None),
        ("a line too long", "data: 12345678901\n\n", oversize),
        ("an endless line", "data: 123456789012345678901234", oversize),
        ("an endless comment", ":12345678901234567890", oversize),
        ("many lines", "data: 12345\ndata: 12345\ndata: 12345\n\n", oversize),
        ("many events", "data: 12345\n\ndata: 12345\n\ndata: 12345\n\n", None),
    ];
    for (name, stream, expected) in table {
        for size in [1, 2, 5, 1000] {
            let (_, error) = frames(stream.as_bytes().chunks(size), 16);
            assert_eq!(error, *expected, "{name} in chunks of {size}");
        }
    }
}

fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: x".to_vec()),
        Just(b"data".to_vec()),
        Just(b"event: e".to_vec()),
        Just(b": c".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunking_never_matters(
        bytes in stream_bytes(),
        sizes in proptest::collection::vec(1_usize..9, 1..60),
        bytes_max in 4_usize..64,
    ) {
        let mut chunks = Vec::new();
        let mut rest = bytes.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        prop_assert_eq!(frames(chunks, bytes_max), frames([bytes.as_slice()], bytes_max));
    }
}
