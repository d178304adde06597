//! What one durable append costs, alone and with a thousand sessions in one process.
//! `cargo bench -p windlass-journal --bench append`
//!
//! Fails when the slowest hundredth takes more than three times its budget. Without `--bench` each is tried once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a bench says no")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use windlass_engine::Event;
use windlass_journal::{
    Durability, JournalNote, JournalOpenOptions, JournalWriter, NewRecordItem, ToolIntent,
};
use windlass_vocabulary::{EffectClass, Ticket, ToolOutcome};

/// The slowest hundredth with a thousand sessions.
const BUDGET: Duration = Duration::from_millis(50);
/// Threads that write, as many as a runtime would use for waiting on a disk.
const THREADS: usize = 32;

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (alone, sessions, rounds) = if is_measured { (1_000, 1_000, 20) } else { (3, 4, 2) };
    let directory = tempfile::tempdir().unwrap();
    println!("{:<44} {:>10} {:>10} {:>10}", "one append", "median", "p99", "slowest");
    for durability in [Durability::Written, Durability::Synced] {
        let mut writer = open(directory.path(), 0, durability);
        let times = (0..alone).map(|number| append(&mut writer, number)).collect();
        tell(&format!("alone, {durability:?}"), times);
        drop(writer);
    }
    let writers: Vec<Mutex<JournalWriter>> = (1..=sessions)
        .map(|number| Mutex::new(open(directory.path(), number, Durability::Synced)))
        .collect();
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut times = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= writers.len() * rounds {
                        break;
                    }
                    let mut writer = writers[number % writers.len()].lock().unwrap();
                    times.push(append(&mut writer, number as u64));
                }
                all.lock().unwrap().extend(times);
            });
        }
    });
    let took = start.elapsed();
    let slow =
        tell(&format!("{sessions} sessions, {THREADS} threads, Synced"), all.into_inner().unwrap());
    println!("{} appends in {took:.1?}", sessions * rounds);
    match is_measured && slow > 3 * BUDGET {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn open(directory: &Path, number: usize, durability: Durability) -> JournalWriter {
    let path = directory.join(format!("{number}.jsonl"));
    JournalWriter::open_without_replay(&path, JournalOpenOptions::new(durability)).unwrap()
}

/// A result of two kilobytes and the intent of the next call.
fn append(writer: &mut JournalWriter, number: u64) -> Duration {
    let outcome = ToolOutcome::from_text("result ".repeat(300));
    let event = Event::ToolEnded { ticket: Ticket(number), outcome };
    let note = JournalNote::Intended(ToolIntent {
        ticket: Ticket(number + 1),
        call: "call".into(),
        tool: "Bash".into(),
        class: EffectClass::Effect,
    });
    let start = Instant::now();
    writer.append_items(1, &[NewRecordItem::Event(&event), NewRecordItem::Note(&note)]).unwrap();
    start.elapsed()
}

fn tell(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!("{what:<44} {:>10.1?} {:>10.1?} {:>10.1?}", at(50), at(99), at(100));
    at(99)
}
