//! Recorded streams and refusals, spoiled at random: bits flipped, bytes cut out, pieces doubled
//! and put elsewhere. Whatever comes, nothing panics, exactly one terminal item ends it, chunking
//! does not matter, and reading with raw events gives the same.
//!
//! The seeds are fixed, so a failure here comes back; the number of cases fits a few seconds.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

mod fixture;

use fixture::recorded;
use fixture::{all_dialects, assert_ends_once, decode, decode_whole, encode_answer, sample_answer};
use serde_json::Value;
use windlass_dialect::sse::SseFramer;
use windlass_dialect::{DecodedEvent, Dialect, FailedResponse, find_refused_item};
use windlass_vocabulary::WireFormat;

/// Xorshift: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// One to four changes.
    fn spoil(&mut self, mut bytes: Vec<u8>, words: &[&[u8]]) -> Vec<u8> {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(40)).min(bytes.len());
            match self.below(12) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next().to_le_bytes()[0],
                2 => drop(bytes.drain(at..end)),
                3 => bytes.truncate(at),
                4 => {
                    let copy = bytes[at..end].to_vec();
                    let place = self.below(bytes.len());
                    bytes.splice(place..place, copy);
                }
                5 => {
                    let word = words[self.below(words.len())];
                    bytes.splice(at..at, word.iter().copied());
                }
                6 => {
                    let word = words[self.below(words.len())];
                    bytes.splice(at..end, word.iter().copied());
                }
                // One digit or letter for another, which still parses and means something else.
                kind @ 7..=9 => {
                    let is_it = |byte: &u8| match kind {
                        7 => byte.is_ascii_alphabetic(),
                        _ => byte.is_ascii_digit(),
                    };
                    let Some(place) = bytes[at..].iter().position(is_it) else { continue };
                    let other = if kind == 7 { b'a' } else { b'0' };
                    bytes[at + place] = other + self.next().to_le_bytes()[0] % 10;
                }
                // A whole event once more, or moved.
                kind => {
                    let Some((start, stop)) = self.event(&bytes) else { continue };
                    let copy = bytes[start..stop].to_vec();
                    if kind == 10 {
                        bytes.drain(start..stop);
                    }
                    let place = self.event(&bytes).map_or(0, |(start, _)| start);
                    bytes.splice(place..place, copy);
                }
            }
        }
        bytes
    }

    /// Where some event begins and ends.
    fn event(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        let end = |from: usize| {
            let blank =
                bytes[from..].windows(2).position(|pair| pair == b"\n\n" || pair == b"\n\r")?;
            Some(from + blank + 2)
        };
        let start = end(self.below(bytes.len()))?;
        Some((start, end(start)?))
    }

    fn chunks<'a>(&mut self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let most = [1, 3, 20, 200, 2000][self.below(5)];
        let (mut chunks, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (chunk, tail) = rest.split_at((1 + self.below(most)).min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks
    }
}

const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"event: ",
    b": ",
    b"\"",
    b"\\",
    b"\\\"",
    b"\\u",
    b"\\ud83e",
    b"\\udd80",
    b"\\u00e4",
    b"\\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"null",
    b"true",
    b"0",
    b"00",
    b"-1",
    b"1.5",
    b"1e9",
    b"9999999999999999",
    b" ",
    b"\t",
    b"\0",
    b"\x1f",
    b"\xFF",
    b"\xED\xA0\x80",
    b"\xF0\x9F\xA6\x80",
    b"\xEF\xBB\xBF",
    b"[DONE]",
    b"\"text\":\"x\",",
    b"\"content\":\"x\",",
    b"\"index\":0,",
    b"\"error\":{},",
    b"\"usage\":{},",
    b"\"finish_reason\":\"stop\",",
    b"\"finishReason\":\"STOP\",",
    b"\"thought\":true,",
];

/// The answers to start from: one with everything in it, and text as its server sends it.
fn bodies() -> Vec<(WireFormat, &'static dyn Dialect, Vec<Vec<u8>>)> {
    let recorded = recorded::all(1);
    let with_texts = all_dialects().into_iter().map(|(wire, dialect)| {
        let recording = recorded.iter().find(|recording| recording.wire == wire).expect("one each");
        let short = recording.chunks(None).into_iter().enumerate();
        // Enough of it to have pieces that look alike, and the end.
        let count = recording.chunks(None).len();
        let short = short.filter(|(at, _)| *at < 14 || *at + 4 > count).map(|(_, event)| event);
        let short = short.collect::<Vec<_>>().concat();
        (wire, dialect, vec![encode_answer(wire, &sample_answer()), short])
    });
    with_texts.collect()
}

/// Decodes with raw events switched on, and drops them.
fn decode_with_raw(dialect: &dyn Dialect, body: &[u8]) -> Vec<DecodedEvent> {
    let mut decoder = dialect.new_decoder();
    decoder.emit_raw_events();
    let mut out = Vec::new();
    decoder.push(body, &mut out);
    decoder.finish(&mut out);
    out.retain(|item| !matches!(item, DecodedEvent::Raw(_)));
    out
}

#[test]
fn spoiled_streams_end_once_however_they_are_cut_and_read() {
    let mut random = Random(0x5EED_0001);
    for (wire, dialect, bodies) in bodies() {
        for case in 0..700 {
            let body = random.spoil(bodies[case % bodies.len()].clone(), WORDS);
            let whole = decode_whole(dialect, &body);
            assert_ends_once(&whole);
            let told = || String::from_utf8_lossy(&body).into_owned();
            assert_eq!(decode(dialect, random.chunks(&body)), whole, "{wire:?} {case}: {}", told());
            assert_eq!(decode_with_raw(dialect, &body), whole, "{wire:?} {case}: {}", told());
        }
    }
}

#[test]
fn recorded_streams_are_read_the_same_with_and_without_raw_events() {
    let mut random = Random(0x5EED_0002);
    for recording in recorded::all(3) {
        let dialect = windlass_dialect::dialect(recording.wire).expect("spoken");
        let whole = decode_whole(dialect, &recording.body);
        assert!(matches!(whole.last(), Some(DecodedEvent::Ended { .. })), "{:?}", recording.wire);
        let texts = whole.iter().map(|item| match item {
            DecodedEvent::Text(text) => text.len(),
            _ => 0,
        });
        assert_eq!(texts.sum::<usize>(), recording.text_bytes, "{:?}", recording.wire);
        assert_eq!(decode_with_raw(dialect, &recording.body), whole, "{:?}", recording.wire);
        for _ in 0..5 {
            assert_eq!(decode(dialect, random.chunks(&recording.body)), whole);
        }
    }
}

#[test]
fn spoiled_framing_gives_the_same_events_in_every_chunking() {
    let mut random = Random(0x5EED_0003);
    let body = encode_answer(WireFormat::AnthropicMessages, &sample_answer());
    let frames = |chunks: &[&[u8]], bytes_max: usize| {
        let mut framer = SseFramer::new(bytes_max);
        let mut frames: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for chunk in chunks {
            let pushed = framer.push(chunk, |frame| {
                frames.push((frame.name.to_vec(), frame.data.to_vec()));
                true
            });
            if pushed.is_err() {
                return (frames, true);
            }
        }
        framer.finish(|frame| frames.push((frame.name.to_vec(), frame.data.to_vec())));
        (frames, false)
    };
    for case in 0..2_000 {
        let body = random.spoil(body.clone(), WORDS);
        let bytes_max = [40, 200, 100_000][random.below(3)];
        let whole = frames(&[&body], bytes_max);
        assert!(whole.0.iter().all(|(_, data)| data.len() <= bytes_max), "{case}");
        assert_eq!(frames(&random.chunks(&body), bytes_max), whole, "{case}");
    }
}

#[test]
fn any_reply_gets_a_failure_kind() {
    let mut random = Random(0x5EED_0004);
    let known: Vec<Value> =
        serde_json::from_str(include_str!("known_refusals.json")).expect("a list");
    let known = known.iter().map(|row| row["body"].to_string().into_bytes());
    let others = [&b"<html><head><title>502</title></head></html>"[..], b""];
    let bodies: Vec<Vec<u8>> = known.chain(others.map(<[u8]>::to_vec)).collect();
    let words: Vec<&[u8]> = WORDS
        .iter()
        .copied()
        .chain([&b"try again in "[..], b"9e999s", b"messages.", b"[1]", b"content", b"position "])
        .collect();
    for (wire, dialect) in all_dialects() {
        for case in 0..1_500 {
            let body = random.spoil(bodies[case % bodies.len()].clone(), &words);
            let status = [200, 302, 400, 404, 407, 413, 429, 500, 529, 999][random.below(10)];
            let wish = ["", "7", "-1", "soon", "1e400", "Tue, 14 Nov 2023 22:13:50 GMT"];
            let wish = wish[random.below(6)];
            let headers = |name: &str| (name == "retry-after").then(|| wish.to_string());
            let response = FailedResponse {
                status,
                headers: &headers,
                body: &body,
                now_unix_seconds: 1_700_000_000,
            };
            let failure = dialect.classify_failure(&response);
            assert!(failure.message.chars().count() <= 500, "{wire:?} {case}");
            assert!(!failure.message.is_empty(), "{wire:?} {case}");
            let place = find_refused_item(wire, &failure.message);
            assert!(place.is_none_or(|place| place.message < 1_000_000), "{wire:?} {case}");
            assert!(failure.retry_after.is_none_or(|wait| wait.0 <= 86_400_000), "{wire:?} {case}");
            let again = dialect.classify_failure(&response);
            assert_eq!(again, failure, "{wire:?} {case}");
        }
    }
}
