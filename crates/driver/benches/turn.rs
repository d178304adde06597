//! What the journal costs a turn: off, kept from the end of the process, kept from the end of the
//! machine. `cargo bench -p windlass-driver --bench turn`
//!
//! Fails when the median turn with the journal takes more than 2 ms longer than without. Without `--bench` each is
//! tried once.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a panic is how a bench says no"
)]

#[path = "../tests/load/many.rs"]
#[allow(dead_code, reason = "the load is another bench's")]
mod many;

use std::process::ExitCode;
use std::time::Duration;

use windlass_driver::Durability;

const BUDGET: Duration = Duration::from_millis(2);

// One thread, as the command runs.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (rounds, turns) = if is_measured { (20, 30) } else { (1, 3) };
    let ways = [None, Some(Durability::Written), Some(Durability::Synced)];
    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut waits = Vec::new();
    // In turns, so that whatever else the machine does falls on all of them.
    for _ in 0..rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            let directory = tempfile::tempdir().unwrap();
            let (durability, pace) = (*way, Duration::ZERO);
            let load =
                many::Load { sessions: 1, turns, durability, pace, directory: directory.path() };
            let report = many::run(load).await;
            assert_eq!(report.errors, Vec::<String>::new());
            times.extend(&report.turns[0]);
            waits.push(report.waits.count());
        }
    }
    let names = ["off", "survives a kill", "survives a loss of power"];
    println!("{:<28} {:>10} {:>10} {:>10}", "one turn of three calls", "median", "mean", "p99");
    let mut medians = Vec::new();
    for (name, times) in names.iter().zip(&mut times) {
        times.sort();
        let median = times[times.len() / 2];
        let mean = times.iter().sum::<Duration>() / times.len() as u32;
        let slow = times[times.len() * 99 / 100];
        println!("{name:<28} {median:>10.2?} {mean:>10.2?} {slow:>10.2?}");
        medians.push(median);
    }
    println!("{} waits for the disk in {} turns", waits.iter().sum::<u64>(), rounds * turns);
    let over = medians[2].saturating_sub(medians[0]);
    println!("{over:.2?} a turn for the journal, at most {BUDGET:.2?}");
    match is_measured && over > BUDGET {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
