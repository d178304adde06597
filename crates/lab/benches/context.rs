//! What the next request costs in a long session. `cargo bench -p windlass-lab --bench context`
//!
//! Turn 10,000 beside turn 100, with the same new material, in one run: in a window in which no
//! context level acts and in one in which all five do; time, memory kept, and the body on the wire.
//! Then a session of 10,000 messages, folded from its events. Prints tables and fails when a promise
//! is missed. A word picks one of them: `Roomy`, `Real`, `Snipped`, `Opening`. Without `--bench` (when tests build everything) short sessions are played once.

#![allow(clippy::panic, clippy::indexing_slicing, reason = "a panic is how a bench says no")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_dialect::{EncodedRequestCache, dialect};
use windlass_engine::{Event, Settings};
use windlass_lab::long_session::{self, LongSessionKind};
use windlass_lab::manual_session::ManualSession;
use windlass_vocabulary::{ContentBlock, WireFormat};

/// Turn 10,000 against turn 100.
const RATIO_MAX: f64 = 2.0;
/// What turns may grow by over a session, as a share of their mean: the same as the ratio.
const SLOPE_MAX: f64 = 2.0 / 3.0;
/// Memory kept by a thousand turns, against other thousands.
const MEMORY_RATIO_MAX: f64 = 1.3;
/// 10,000 messages folded, and the first request prepared.
const OPEN_MAX: Duration = Duration::from_millis(100);
/// A body may cost so many plain copies of itself, when nothing but new turns is new.
const COPIES_MAX: f64 = 3.0;
/// Sessions played of each kind; of what a turn took in them, the least counts.
const ROUNDS: usize = 3;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// Counts the bytes this thread holds.
struct Counting;

fn count(bytes: usize, sign: i64) {
    HELD.with(|held| held.set(held.get() + sign * i64::try_from(bytes).unwrap_or(i64::MAX)));
}

#[allow(unsafe_code, reason = "there is no other way to count allocations")]
// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 1);
        count(layout.size(), -1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How long sessions are.
#[derive(Clone, Copy)]
struct Length {
    early: usize,
    turns: usize,
    rounds: usize,
}

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let length = match is_measured {
        true => Length { early: 100, turns: 10_000, rounds: ROUNDS },
        false => Length { early: 20, turns: 120, rounds: 1 },
    };
    let mut missed = Vec::new();
    let only = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let kinds = [LongSessionKind::Roomy, LongSessionKind::Real, LongSessionKind::Snipped];
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for kind in kinds.into_iter().filter(|kind| is_wanted(&format!("{kind:?}"))) {
        let rounds: Vec<Played> = (0..length.rounds).map(|_| play(kind, length)).collect();
        report_time(kind, length, &rounds, &mut missed);
        report_memory(kind, &rounds, &mut missed);
        report_bodies(kind, length, &mut missed);
    }
    if is_wanted("Opening") {
        report_opening(length, &mut missed);
    }
    for promise in &missed {
        println!("missed: {promise}");
    }
    if is_measured && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn next(session: &mut ManualSession, kind: LongSessionKind, turn: usize) -> Duration {
    let took = long_session::play_turn(session, kind, turn);
    took.unwrap_or_else(|| panic!("{kind:?} ended in turn {turn}: {:?}", session.ending))
}

/// What a session came to.
struct Played {
    /// What the engine took for each turn.
    turns: Vec<Duration>,
    /// Bytes held after each thousandth of the turns.
    held: Vec<i64>,
    session: ManualSession,
}

fn play(kind: LongSessionKind, length: Length) -> Played {
    let mut turns = Vec::with_capacity(length.turns);
    let mut held = Vec::with_capacity(16);
    let before = HELD.get();
    let mut session = kind.start_session();
    for turn in 0..length.turns {
        turns.push(next(&mut session, kind, turn));
        if (turn + 1) % (length.turns / 10) == 0 {
            held.push(HELD.get() - before);
        }
    }
    Played { turns, held, session }
}

fn report_time(kind: LongSessionKind, length: Length, rounds: &[Played], missed: &mut Vec<String>) {
    // Noise only ever adds, so of each turn the least counts.
    let turns: Vec<f64> = (0..length.turns)
        .map(|turn| rounds.iter().filter_map(|round| round.turns.get(turn)).min().copied())
        .map(|least| least.unwrap_or_default().as_secs_f64() * 1e6)
        .collect();
    let span = length.early;
    let around = |turn: usize| turns.get(turn - span / 2..(turn + span / 2).min(turns.len()));
    let (early, late) = (around(length.early), around(length.turns - span / 2));
    let (early, late) = (early.unwrap_or_default(), late.unwrap_or_default());
    println!("\n{kind:?}: what the engine takes for a turn, in microseconds");
    println!("{:<28} {:>10} {:>10} {:>8}", "", length.early, length.turns, "ratio");
    for (name, of) in [("median", median as fn(&[f64]) -> f64), ("mean", mean)] {
        let (early, late) = (of(early), of(late));
        println!("{name:<28} {early:>10.1} {late:>10.1} {:>7.2}x", late / early);
        if late > early * RATIO_MAX {
            missed.push(format!("{kind:?}: the {name} turn costs {:.2} times", late / early));
        }
    }
    let blocks: Vec<f64> = turns.chunks(length.turns / 20).map(median).collect();
    let slope = slope(&blocks) * blocks.len() as f64 / mean(&blocks);
    println!("median by twentieths: {blocks:.0?}");
    println!("grows over the whole session by {:.0} % of its mean", slope * 100.0);
    // A session is also slow when it is slow in the middle.
    let first = blocks.first().copied().unwrap_or_default();
    let most = blocks.iter().copied().fold(0.0, f64::max);
    println!("the slowest twentieth costs {:.2} times the first", most / first);
    if most > first * RATIO_MAX {
        missed.push(format!("{kind:?}: a stretch of it costs {:.2} times the first", most / first));
    }
    if slope > SLOPE_MAX {
        missed.push(format!("{kind:?}: turns grow by {:.0} % of their mean", slope * 100.0));
    }
    if let Some(Played { session, .. }) = rounds.first() {
        let levels = session.state().compaction.losses.levels();
        println!("levels acted: {:?} times", levels.map(|level| level.times));
        let idle = kind
            .expected_levels()
            .iter()
            .find(|level| levels.get(**level - 1).is_none_or(|l| l.times == 0));
        if let Some(level) = idle {
            missed.push(format!("{kind:?}: level {level} never acted"));
        }
    }
}

fn report_memory(kind: LongSessionKind, rounds: &[Played], missed: &mut Vec<String>) {
    let Some(Played { held, turns, .. }) = rounds.first() else { return };
    let per = (turns.len() / held.len().max(1)) as f64;
    let grown: Vec<f64> =
        held.windows(2).filter_map(|two| Some((two.get(1)? - two.first()?) as f64 / per)).collect();
    let material =
        mean(&(0..turns.len()).map(|turn| kind.result_bytes(turn) as f64).collect::<Vec<_>>());
    println!("kept per turn, by tenths after the first, in bytes: {grown:.0?}");
    println!("of which results: {material:.0}");
    let (first, last) = (grown.first().copied(), grown.last().copied());
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    // Lists double now and then, so a tenth may hold twice what its neighbours do of that.
    let most = grown.iter().copied().fold(0.0, f64::max);
    if last > first * MEMORY_RATIO_MAX || most > mean(&grown) * MEMORY_RATIO_MAX {
        missed.push(format!("{kind:?}: memory kept per turn grows: {grown:.0?}"));
    }
}

/// The body of the next request with what was written for the last one at hand: all of it, and what
/// is left when the plain copy of the bytes is taken off.
fn report_bodies(kind: LongSessionKind, length: Length, missed: &mut Vec<String>) {
    let Some(dialect) = dialect(WireFormat::AnthropicMessages) else { return };
    println!("{:<12} {:>10} {:>12} {:>12} {:>12}", "body", "kB", "encode us", "copy us", "rest us");
    let mut session = kind.start_session();
    let mut rests = Vec::new();
    let mut written = EncodedRequestCache::new();
    let span = 40.min(length.early / 2);
    for turn in 0..length.turns {
        next(&mut session, kind, turn);
        let is_seen =
            [length.early, length.turns].iter().any(|at| (at - span..*at).contains(&turn));
        if !is_seen && turn % 50 != 0 {
            continue;
        }
        let Some(request) = session.request.as_deref() else { continue };
        let encode = |written: &mut EncodedRequestCache| {
            let began = Instant::now();
            let encoded = dialect.encode_cached(request, dialect.rules(), written);
            (began.elapsed().as_secs_f64() * 1e6, encoded)
        };
        let (took, encoded) = encode(&mut written);
        assert!(encoded.refusal.is_none(), "{:?}", encoded.refusal);
        let began = Instant::now();
        let copy = black_box(encoded.body.clone());
        let copying = began.elapsed().as_secs_f64() * 1e6;
        if is_seen {
            rests.push((turn, took, copying, copy.len()));
        }
    }
    let mut medians = Vec::new();
    for at in [length.early, length.turns] {
        let of = |value: fn(&(usize, f64, f64, usize)) -> f64| {
            let values = rests.iter().filter(|row| (at - span..at).contains(&row.0));
            median(&values.map(value).collect::<Vec<f64>>())
        };
        let (took, copy, bytes) = (of(|row| row.1), of(|row| row.2), of(|row| row.3 as f64));
        let rest = of(|row| (row.1 - row.2).max(0.0));
        println!("turn {at:<7} {:>10.0} {took:>12.1} {copy:>12.1} {rest:>12.1}", bytes / 1e3);
        medians.push((took, copy));
    }
    // Where levels act, what they touched is written anew, and bodies are small.
    let most = if kind == LongSessionKind::Roomy { COPIES_MAX } else { f64::INFINITY };
    if let Some((took, copy)) = medians.last().filter(|(took, copy)| *took > copy * most) {
        missed.push(format!("{kind:?}: a body costs {:.1} copies of itself", took / copy));
    }
}

/// Everything that happened in a session of so many messages, and what was then asked.
fn report_opening(length: Length, missed: &mut Vec<String>) {
    let mut session = ManualSession::new(LongSessionKind::Real.build_settings());
    let content = vec![ContentBlock::Text("Find the fault and mend it.".to_owned())];
    let mut events = vec![Event::UserSubmitted { content, pinned: false }];
    session.apply_event(events[0].clone());
    let mut turn = 0;
    while session.state().transcript.entries().len() < length.turns {
        long_session::play_turn_with(
            &mut session,
            LongSessionKind::Real,
            turn,
            &mut |session, event| {
                events.push(event.clone());
                session.apply_event(event);
            },
        );
        turn += 1;
    }
    // Noise only ever adds, so of each event the least counts.
    let mut least: Vec<(&str, Duration)> = Vec::new();
    for _ in 0..length.rounds + 2 {
        let took = opened(&session.settings, events.clone());
        if least.is_empty() {
            least.clone_from(&took);
        }
        for (least, took) in least.iter_mut().zip(took) {
            least.1 = least.1.min(took.1);
        }
    }
    let total: Duration = least.iter().map(|(_, took)| *took).sum();
    println!("\n{} messages in {} events", length.turns, events.len());
    println!("folded, and the first request written: {total:.1?}, of which");
    if total > OPEN_MAX {
        missed.push(format!("{} messages take {total:.1?} to open", length.turns));
    }
    let mut names: Vec<&str> = least.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let rows = least.iter().filter(|row| row.0 == name);
        let (count, took) = (rows.clone().count(), rows.map(|row| row.1).sum::<Duration>());
        println!("  {name:<16} {took:>10.1?} for {count}");
    }
}

/// What each event took, and then the body of the first request.
fn opened(settings: &Settings, events: Vec<Event>) -> Vec<(&'static str, Duration)> {
    let mut session = ManualSession::new(settings.clone());
    let mut took = Vec::with_capacity(events.len() + 1);
    for event in events {
        let name = name(&event);
        let began = Instant::now();
        drop(session.apply_event(event));
        took.push((name, began.elapsed()));
    }
    if let (Some(dialect), Some(request)) =
        (dialect(WireFormat::AnthropicMessages), &session.request)
    {
        let began = Instant::now();
        black_box(dialect.encode(request, dialect.rules()));
        took.push(("body", began.elapsed()));
    }
    took
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::UserSubmitted { .. } => "message",
        Event::ModelDelta { .. } => "piece of answer",
        Event::ModelEnded { .. } => "answer complete",
        Event::ToolEnded { .. } => "tool ended",
        Event::SummaryEnded { .. } => "summary",
        _ => "other",
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len().max(1) as f64)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Of the line through these values, per step.
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let level = mean(values);
    let (mut over, mut under) = (0.0, 0.0);
    for (place, value) in values.iter().enumerate() {
        let x = place as f64 - middle;
        over += x * (value - level);
        under += x * x;
    }
    if under == 0.0 { 0.0 } else { over / under }
}
