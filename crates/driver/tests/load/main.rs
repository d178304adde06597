//! A hundred sessions in one process: no error, and bounded memory and files. A thousand, and what
//! they cost, is a bench: `cargo bench -p windlass-driver --bench load`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test says no")]

mod many;

use windlass_driver::Durability;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_sessions_share_a_process() {
    let directory = tempfile::tempdir().unwrap();
    let report = many::run(100, 20, Some(Durability::Synced), directory.path()).await;
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
        report.waits.within(500),
        report.waits.within(990)
    );
    // A tenth of what a thousand may take, with the runtime and the server beside them.
    assert!(report.memory_kib < 400 << 10, "{} KiB", report.memory_kib);
    assert!(report.files < 600, "{} files", report.files);
}
