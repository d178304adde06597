//! A thousand sessions in one process, each of 20 turns with three calls, and whether turns stay as
//! long as they were. `cargo bench -p windlass-driver --bench load`
//!
//! Fails when a session fails, or memory, files or the disk's slowest hundredth are over their budget.
//! Without `--bench` a few sessions are tried once.
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

use windlass_driver::Durability;

const MEMORY_KIB_MAX: u64 = 2 << 20;
const FILES_MAX: usize = 5_000;
const DISK_MAX: Duration = Duration::from_millis(50);

#[tokio::main]
async fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (sessions, long) = if is_measured { (1_000, 400) } else { (5, 6) };
    let directory = tempfile::tempdir().unwrap();
    let report = many::run(sessions, 20, Some(Durability::Synced), directory.path()).await;
    println!("{sessions} sessions of 20 turns with 3 calls each in {:.1?}", report.took);
    println!("  errors      {}", report.errors.len());
    println!("  memory      {} MiB at most", report.memory_kib >> 10);
    println!("  open files  {} at most", report.files);
    println!("  turn        p50 {:.1?}, p99 {:.1?}", report.turn(50), report.turn(99));
    let (median, slow) = (report.waits.within(500), report.waits.within(990));
    println!("  disk        p50 {median:.1?}, p99 {slow:.1?}, {} waits", report.waits.count());
    if let Some(error) = report.errors.first() {
        println!("  the first   {error}");
    }
    let is_good = report.errors.is_empty()
        && report.memory_kib < MEMORY_KIB_MAX
        && report.files < FILES_MAX
        && slow <= DISK_MAX;
    let directory = tempfile::tempdir().unwrap();
    let report = many::run(1, long, Some(Durability::Synced), directory.path()).await;
    let turns = &report.turns[0];
    let quarter = turns.len() / 4;
    let mean = |turns: &[Duration]| turns.iter().sum::<Duration>() / turns.len().max(1) as u32;
    println!(
        "one session of {long} turns: {:.2?} a turn in the first quarter, {:.2?} in the last",
        mean(&turns[..quarter.max(1)]),
        mean(&turns[turns.len() - quarter.max(1)..])
    );
    match is_measured && !is_good {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
