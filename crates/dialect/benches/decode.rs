//! How fast recorded streams are decoded, against the usual way to do it, in the same run:
//! `eventsource-stream` for the framing and `serde_json::Value` for the events.
//!
//! `cargo bench -p windlass-dialect --bench decode`. Prints a table and fails when a wire is slower
//! than that in any chunking. Without `--bench` (when tests build everything) each is tried once.
//! Why it is not made faster still: `docs/decisions/0054-every-event-is-parsed.md`.

#[path = "../tests/fixture/recorded.rs"]
#[allow(
    unreachable_pub,
    clippy::indexing_slicing,
    reason = "shared with the tests; a `Value` does not panic when indexed"
)]
mod recorded;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use eventsource_stream::Eventsource as _;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use recorded::Recording;
use serde_json::Value;
use windlass_dialect::{DecodedEvent, dialect};

/// At least so many times the throughput of the usual way.
const RATIO_MIN: f64 = 1.0;

/// A long answer: some twelve thousand words.
const PARAGRAPHS: usize = 100;

/// The best of so many rounds counts: noise only ever adds.
const ROUNDS: u32 = 20;

/// How the bytes arrive: one event at a time, in packets, in large reads.
const CHUNKINGS: [(&str, Option<usize>); 3] =
    [("by event", None), ("1,400 bytes", Some(1_400)), ("16 KiB", Some(16 * 1024))];

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_measured { ROUNDS } else { 1 };
    let mut is_missed = false;
    println!(
        "{:<20} {:<12} {:>10} {:>10} {:>10} {:>8}",
        "wire", "chunks", "ours", "usual", "memchr", "ratio"
    );
    for recording in recorded::all(PARAGRAPHS) {
        for (name, size) in CHUNKINGS {
            let chunks = recording.chunks(size);
            let ours = best(rounds, || ours(&recording, &chunks));
            let usual = best(rounds, || usual(&recording, &chunks));
            let scan = best(rounds, || scan(&chunks));
            let ratio = usual.as_secs_f64() / ours.as_secs_f64();
            let wire = format!("{:?}", recording.wire);
            println!(
                "{wire:<20} {name:<12} {:>10} {:>10} {:>10} {ratio:>7.1}x",
                speed(&recording, ours),
                speed(&recording, usual),
                speed(&recording, scan),
            );
            is_missed |= ratio < RATIO_MIN;
        }
    }
    if is_measured && is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn best(rounds: u32, mut run: impl FnMut() -> usize) -> Duration {
    let timed = (0..rounds).map(|_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn speed(recording: &Recording, took: Duration) -> String {
    #[allow(clippy::cast_precision_loss, reason = "a few megabytes")]
    let megabytes = recording.body.len() as f64 / 1e6;
    format!("{:.0} MB/s", megabytes / took.as_secs_f64())
}

/// Decodes as the driver does: a fresh list per read, dropped when it was used.
fn ours(recording: &Recording, chunks: &[&[u8]]) -> usize {
    let Some(dialect) = dialect(recording.wire) else { return 0 };
    let mut decoder = dialect.new_decoder();
    let mut bytes = 0;
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, &mut out);
        bytes += text_bytes(&out);
        out.clear();
    }
    decoder.finish(&mut out);
    bytes += text_bytes(&out);
    assert_eq!(bytes, recording.text_bytes, "{:?}", recording.wire);
    bytes
}

fn text_bytes(pieces: &[DecodedEvent]) -> usize {
    let texts = pieces.iter().map(|piece| match piece {
        DecodedEvent::Text(text) => text.len(),
        _ => 0,
    });
    texts.sum()
}

fn usual(recording: &Recording, chunks: &[&[u8]]) -> usize {
    let bytes = stream::iter(chunks.iter().map(|chunk| Ok::<_, ()>(*chunk)));
    let texts = bytes.eventsource().filter_map(|event| {
        let event = event.ok();
        let value = event.and_then(|event| serde_json::from_str::<Value>(&event.data).ok());
        let text = value.and_then(|value| (recording.text_of)(&value).map(str::to_owned));
        std::future::ready(text)
    });
    let total = texts.fold(0, |bytes, text| std::future::ready(bytes + black_box(text).len()));
    let bytes = total.now_or_never().unwrap_or_default();
    assert_eq!(bytes, recording.text_bytes, "{:?}", recording.wire);
    bytes
}

/// The floor: every line end is found, and nothing else is done.
fn scan(chunks: &[&[u8]]) -> usize {
    chunks.iter().map(|chunk| memchr::memchr_iter(b'\n', chunk).count()).sum()
}
