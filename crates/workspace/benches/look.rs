//! Compares the time of a look (a scan of the tree) with a `git status` in the same run.
//! `cargo bench -p windlass-workspace --bench look`
//!
//! Each time is the minimum of interleaved rounds. The goal for a look at an unchanged tree is 0.6
//! of a `git status`; the bench fails only at twice that, so that a busy machine does not fail it.
//! CPU time is printed too, because on a busy machine elapsed time mostly shows which side has more
//! threads. Without `--bench`, runs once on a small tree.
#![allow(clippy::unwrap_used, reason = "a panic is how a bench says no")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use windlass_workspace::{CancelFlag, LookDepth, RestoreConsent, Workspace, WorkspaceOptions};

const UNCHANGED_RATIO_MAX: f64 = 1.2;
const FILES_PER_FOLDER: usize = 12;

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let sizes: &[usize] = if is_measured { &[1_000, 10_000] } else { &[50] };
    let worst = sizes.iter().map(|files| measure(*files, is_measured)).fold(0.0, f64::max);
    match is_measured && worst > UNCHANGED_RATIO_MAX {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn measure(files: usize, is_measured: bool) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_tree(&root, files);
    if is_measured {
        // Files younger than this are read again by every look, and by git too.
        std::thread::sleep(Duration::from_millis(2_500));
    }
    let cancel = CancelFlag::new();
    let open = || {
        Workspace::open(&root, &folder.path().join("store"), WorkspaceOptions::default()).unwrap()
    };
    let mut workspace = open();
    let first = time(|| {
        workspace.look(LookDepth::Quick, &cancel).unwrap();
    });
    drop(workspace);
    let mut workspace = None;
    let opened = time(|| workspace = Some(open()));
    let mut workspace = workspace.unwrap();
    println!("{files} files: first look {first:.1?}, opened again {opened:.1?}");
    git(&root, &["status"]);
    workspace.look(LookDepth::Quick, &cancel).unwrap();

    let rounds = if is_measured { 31 } else { 1 };
    let mut status = Vec::new();
    let mut unchanged = Vec::new();
    let mut changed = Vec::new();
    let mut undone = Vec::new();
    let mut cpu = CpuTicks::default();
    for round in 0..rounds {
        let start = CpuTicks::read();
        status.push(time(|| git(&root, &["status"])));
        cpu.children += CpuTicks::read().children - start.children;
        let start = CpuTicks::read();
        unchanged.push(time(|| {
            workspace.look(LookDepth::Quick, &cancel).unwrap();
        }));
        cpu.own += CpuTicks::read().own - start.own;
        let before = workspace.look(LookDepth::Quick, &cancel).unwrap().id;
        for number in 0..3 {
            std::fs::write(root.join(format!("folder{number}/file{number}")), format!("{round}"))
                .unwrap();
        }
        let mut after = before;
        changed.push(time(|| after = workspace.look(LookDepth::Quick, &cancel).unwrap().id));
        undone.push(time(|| {
            let plan = workspace.plan(before, &[(before, after)], &cancel).unwrap();
            workspace.carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
        }));
    }
    let hundred = files.min(1_200) / FILES_PER_FOLDER;
    let before = workspace.look(LookDepth::Quick, &cancel).unwrap().id;
    for number in 0..hundred {
        std::fs::write(root.join(format!("folder{number}/file0")), "changed").unwrap();
    }
    let after = workspace.look(LookDepth::Quick, &cancel).unwrap().id;
    let many_undone = time(|| {
        let plan = workspace.plan(before, &[(before, after)], &cancel).unwrap();
        workspace.carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
    });
    let status = least(&status);
    let ratio = |took: Duration| took.as_secs_f64() / status.as_secs_f64();
    let unchanged = least(&unchanged);
    let changed = least(&changed);
    println!("  git status                     {status:>10.1?}");
    println!("  look, nothing changed          {unchanged:>10.1?}  {:.2}", ratio(unchanged));
    println!("  look, 3 files changed, durable {changed:>10.1?}  {:.2}", ratio(changed));
    println!("  3 files undone, 2 looks in it  {:>10.1?}", least(&undone));
    println!("  {hundred:>3} files undone               {many_undone:>10.1?}");
    println!("  store: {} kB", workspace.usage().bytes / 1_000);
    let cpu_ratio = cpu.own as f64 / cpu.children.max(1) as f64;
    println!("  processor time of a look, nothing changed, to a status: {cpu_ratio:.2}");
    ratio(unchanged)
}

/// CPU time of this process and of the children it waited for, in hundredths of a second.
#[derive(Default)]
struct CpuTicks {
    own: u64,
    children: u64,
}

impl CpuTicks {
    fn read() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let ticks: Vec<u64> =
            after_name.split_whitespace().skip(11).take(4).flat_map(str::parse).collect();
        let sum =
            |range: std::ops::Range<usize>| ticks.get(range).map_or(0, |pair| pair.iter().sum());
        Self { own: sum(0..2), children: sum(2..4) }
    }
}

/// Creates and commits files of about 6 kB of text.
fn make_tree(root: &Path, files: usize) {
    for number in 0..files {
        let folder = root.join(format!("folder{}", number / FILES_PER_FOLDER));
        std::fs::create_dir_all(&folder).unwrap();
        let line = format!("line {number} of a file that nobody reads\n");
        let text = line.repeat(20 + (number * 7) % 260);
        std::fs::write(folder.join(format!("file{}", number % FILES_PER_FOLDER)), text).unwrap();
    }
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(root, &[author.as_slice(), &["commit", "-qm", "all"]].concat());
}

fn git(root: &Path, arguments: &[&str]) {
    let output = Command::new("git").args(arguments).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn least(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}
