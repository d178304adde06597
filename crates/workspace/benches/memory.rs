//! Measures how much memory looks keep per path, and whether memory or time grows with the number
//! of snapshots.
//! `cargo bench -p windlass-workspace --bench memory`, `-- 100000` for a tree of that many files; the
//! figures are the same without optimisation:
//! `cargo test -p windlass-workspace --bench memory -- --bench`.
//!
//! Counts allocated bytes, so that the allocator and other processes have no influence. Fails when
//! a path takes twice the goal of 150 bytes, or when memory or time grow with the number of
//! snapshots. Without `--bench`, runs once on a small tree.
#![allow(clippy::unwrap_used, reason = "a panic is how a bench says no")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use windlass_workspace::{CancelFlag, LookDepth, Workspace, WorkspaceOptions};

const BYTES_A_PATH_MAX: usize = 300;
const FILES_PER_FOLDER: usize = 12;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct CountingAllocator;

#[expect(unsafe_code, reason = "an allocator that counts is what this bench needs")]
// SAFETY: every call is handed on as it is.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: it was allocated there, with this layout.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (usual, snapshots): (&[usize], usize) =
        if is_measured { (&[1_000, 10_000], 1_000) } else { (&[50], 20) };
    let sizes: Vec<usize> = std::env::args().filter_map(|it| it.parse().ok()).collect();
    let sizes = if sizes.is_empty() { usual } else { &sizes };
    let is_good = sizes.iter().all(|files| {
        [false, true].iter().all(|refers| measure(*files, snapshots, *refers, is_measured))
    });
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(files: usize, snapshots: usize, refers_to_packs: bool, is_measured: bool) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let paths = make_tree(&root, files);
    if is_measured {
        std::thread::sleep(Duration::from_millis(2_500));
    }
    let cancel = CancelFlag::new();
    let options = WorkspaceOptions { refers_to_packs, ..WorkspaceOptions::default() };
    let empty = LIVE.load(Ordering::Relaxed);
    PEAK.store(empty, Ordering::Relaxed);
    let mut workspace = Workspace::open(&root, &folder.path().join("store"), options).unwrap();
    workspace.look(LookDepth::Quick, &cancel).unwrap();
    let peak_of_first = PEAK.load(Ordering::Relaxed) - empty;
    let held = LIVE.load(Ordering::Relaxed) - empty;
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    workspace.look(LookDepth::Quick, &cancel).unwrap();
    let peak_of_next = PEAK.load(Ordering::Relaxed) - empty;
    let stored = workspace.usage().bytes;
    let tree = size_of_tree(&root);
    println!("{paths} paths, {} of git's packs:", if refers_to_packs { "with" } else { "without" });
    println!("  held {} bytes a path", held / paths);
    println!(
        "  most during the first look {}, a later one {}",
        peak_of_first / paths,
        peak_of_next / paths
    );
    println!("  store {stored} bytes, {:.2} % of {tree}", stored as f64 * 100.0 / tree as f64);

    let mut times = Vec::new();
    let mut memory = Vec::new();
    for round in 0..snapshots {
        for number in 0..3 {
            let path = root.join(format!("folder{number}/file{number}"));
            std::fs::write(path, format!("round {round}")).unwrap();
        }
        let begun = Instant::now();
        workspace.look(LookDepth::Quick, &cancel).unwrap();
        times.push(begun.elapsed());
        memory.push(LIVE.load(Ordering::Relaxed) - empty);
    }
    let grown = memory.last().unwrap().saturating_sub(held) / snapshots;
    let quarter = snapshots / 4;
    let early = times.iter().take(quarter).min().unwrap();
    let late = times.iter().rev().take(quarter).min().unwrap();
    println!(
        "  {snapshots} snapshots: {grown} bytes of memory each, look {early:.1?} at first, {late:.1?} at the end"
    );
    // Each snapshot adds three contents and four records to the store's index.
    !is_measured || held / paths <= BYTES_A_PATH_MAX && grown <= 1_024 && *late < *early * 2
}

fn size_of_tree(root: &Path) -> u64 {
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.file_name() != ".git");
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap());
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Creates, commits and packs files of about 6 kB. Returns the number of paths outside `.git`.
fn make_tree(root: &Path, files: usize) -> usize {
    for number in 0..files {
        let folder = root.join(format!("folder{}", number / FILES_PER_FOLDER));
        std::fs::create_dir_all(&folder).unwrap();
        let line = format!("line {number} of a file that nobody reads\n");
        let text = line.repeat(20 + (number * 7) % 260);
        std::fs::write(folder.join(format!("file{}", number % FILES_PER_FOLDER)), text).unwrap();
    }
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    git(root, &["repack", "-adq"]);
    git(root, &["prune-packed", "-q"]);
    files + files.div_ceil(FILES_PER_FOLDER)
}

fn git(root: &Path, arguments: &[&str]) {
    let output = Command::new("git").args(arguments).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
