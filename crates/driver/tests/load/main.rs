//! A hundred sessions in one process: no error, and bounded memory and files. A thousand, and what
//! they cost, is a bench: `cargo bench -p windlass-driver --bench load`. And what a cell costs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod cell;
mod many;

use std::time::Duration;

use many::Load;
use windlass_driver::Durability;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_sessions_share_a_process() {
    let directory = tempfile::tempdir().unwrap();
    let (durability, pace) = (Some(Durability::Synced), Duration::ZERO);
    let load = Load { sessions: 100, turns: 20, durability, pace, directory: directory.path() };
    let report = many::run(load).await;
    assert_eq!(report.errors, Vec::<String>::new());
    assert_eq!(report.turns.len(), 100);
    // A call that changes the world and a request: each waited for the disk in each turn.
    let waits = report.waits.count();
    assert!((100 * 20..=100 * 20 * 3).contains(&waits), "{waits} waits for the disk");
    println!(
        "100 sessions of 20 turns in {:.1?}: {} KiB at most, {} files, turn p50 {:.1?} p99 {:.1?}, \
         disk p50 {:.1?} p99 {:.1?}",
        report.took,
        report.memory_kib,
        report.files,
        report.turn(50),
        report.turn(99),
        report.waits.quantile(500),
        report.waits.quantile(990)
    );
    // A tenth of what a thousand may take, with the runtime and the server beside them.
    assert!(report.memory_kib < 400 << 10, "{} KiB", report.memory_kib);
    assert!(report.files < 600, "{} files", report.files);
}

/// A bound that a busy machine keeps too; what it really costs is a bench: `--bench turn`. In each round
/// one after the other, and the best round counts. What the disk takes for a sync beside other work is
/// measured in the same round.
#[tokio::test]
async fn the_journal_costs_a_turn_little() {
    const MOST: Duration = Duration::from_millis(10);
    let turn = async |durability| {
        let directory = tempfile::tempdir().unwrap();
        let (turns, pace) = (6, Duration::ZERO);
        let load = Load { sessions: 1, turns, durability, pace, directory: directory.path() };
        let report = many::run(load).await;
        assert_eq!(report.errors, Vec::<String>::new());
        report.turn(50)
    };
    let mut costs: Vec<Duration> = Vec::new();
    while costs.len() < 20 && costs.last().is_none_or(|last| *last >= MOST) {
        let (off, on) = (turn(None).await, turn(Some(Durability::Synced)).await);
        costs.push(on.saturating_sub(off).saturating_sub(measure_sync() * SYNCS_OF_A_TURN));
    }
    let best = costs.iter().min().copied().unwrap();
    println!("the journal costs a turn of three calls {best:.2?} at best, of {costs:.2?}");
    assert!(best < MOST, "{costs:?}");
}

/// Requests, three calls and their results, and the end wait for the disk.
const SYNCS_OF_A_TURN: u32 = 8;

fn measure_sync() -> Duration {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut took: Vec<Duration> = (0..9)
        .map(|_| {
            let began = std::time::Instant::now();
            file.write_all(&[b'x'; 512]).unwrap();
            file.as_file().sync_data().unwrap();
            began.elapsed()
        })
        .collect();
    took.sort();
    took[4]
}
