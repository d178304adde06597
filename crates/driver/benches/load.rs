//! A thousand sessions in one process, each of 20 turns with three calls, and whether turns stay as
//! long as they were. `cargo bench -p windlass-driver --bench load`
//!
//! Judged is a load as there is: a model streams its answer in about two seconds, so that a thousand
//! sessions make some hundred turns a second. Fails when a session fails, or memory, files or the time
//! of the slowest hundredth of records from written to safe are over their budget. Beside it, for
//! comparison and without a judgement, a model that answers at once: then everybody waits for a
//! processor all the time, and a record's time to the disk is mostly that. One of `paced`, `at-once`
//! and `long` as an argument runs that part alone. Without `--bench` a few sessions are tried once.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a panic is how a bench says no"
)]

#[path = "../tests/load/many.rs"]
mod many;

use std::process::ExitCode;
use std::time::Duration;

use many::{Load, Report};
use windlass_driver::Durability;

const MEMORY_KIB_MAX: u64 = 2 << 20;
const FILES_MAX: usize = 5_000;
const DISK_MAX: Duration = Duration::from_millis(50);
/// Between two of the fifteen or so events of an answer.
const PACE: Duration = Duration::from_millis(150);
const TURNS: usize = 20;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let parts: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| *wanted == part);
    let (sessions, pace, long) =
        if is_measured { (1_000, PACE, 400) } else { (5, Duration::from_millis(1), 8) };
    let mut is_good = true;
    if is_wanted("paced") {
        let report = measured(sessions, TURNS, Some(Durability::Synced), pace).await;
        println!("{sessions} sessions of {TURNS} turns with 3 calls, answers streamed:");
        is_good = told(&report) && report.waits.quantile(990) <= DISK_MAX;
        println!("  limits      p99 to disk {DISK_MAX:?}, {} MiB", MEMORY_KIB_MAX >> 10);
    }
    if is_wanted("at-once") {
        for (name, durability) in [("off", None), ("on", Some(Durability::Synced))] {
            let report = measured(sessions, TURNS, durability, Duration::ZERO).await;
            println!("the same, answers at once, journal {name}:");
            is_good &= told(&report);
        }
    }
    if is_wanted("long") {
        for (name, durability) in [("off", None), ("on", Some(Durability::Synced))] {
            let report = measured(1, long, durability, Duration::ZERO).await;
            let turns = &report.turns[0];
            let quarter = (turns.len() / 4).max(1);
            println!(
                "one session of {long} turns, journal {name}: {:.2?} a turn in the first quarter, \
                 {:.2?} in the last",
                mean(&turns[..quarter]),
                mean(&turns[turns.len() - quarter..])
            );
        }
    }
    match is_measured && !is_good {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn measured(
    sessions: usize,
    turns: usize,
    durability: Option<Durability>,
    pace: Duration,
) -> Report {
    let directory = tempfile::tempdir().unwrap();
    many::run(Load { sessions, turns, durability, pace, directory: directory.path() }).await
}

/// Prints it; says whether nothing failed and nothing grew over its budget.
fn told(report: &Report) -> bool {
    let turns: usize = report.turns.iter().map(Vec::len).sum();
    let a_second = turns as u128 * 1_000 / report.took.as_millis().max(1);
    println!("  took        {:.1?}, {a_second} turns a second", report.took);
    println!("  errors      {}", report.errors.len());
    println!("  memory      {} MiB at most", report.memory_kib >> 10);
    println!("  open files  {} at most", report.files);
    println!("  turn        p50 {:.1?}, p99 {:.1?}", report.turn(50), report.turn(99));
    let (median, slow) = (report.waits.quantile(500), report.waits.quantile(990));
    println!("  to disk     p50 {median:.1?}, p99 {slow:.1?}, {} times", report.waits.count());
    if let Some(error) = report.errors.first() {
        println!("  the first   {error}");
    }
    let is_within = report.memory_kib < MEMORY_KIB_MAX && report.files < FILES_MAX;
    report.errors.is_empty() && is_within
}

fn mean(turns: &[Duration]) -> Duration {
    turns.iter().sum::<Duration>() / turns.len().max(1) as u32
}
