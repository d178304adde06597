//! Measures looks (scans of the tree), restores, copies and packs beside git and `cp` in the same
//! run, and says which goals hold.
//! `cargo bench -p windlass-workspace --bench look`; `-- 100000` adds a tree of that many files, and
//! `-- ignored` one of 10,000 files with 50,000 ignored ones.
//!
//! Each time is the minimum of interleaved rounds. The bench fails only at twice the goal of a look
//! at an unchanged tree, so that a busy machine does not fail it. CPU time is printed too, because on a busy machine elapsed time
//! mostly shows which side has more threads. Without `--bench`, runs once on a small tree.
//! Memory is measured by the bench `memory`, how long a tool waits by `tool_start` of the driver.
#![allow(clippy::unwrap_used, reason = "a panic is how a bench says no")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use windlass_workspace::{
    CancelFlag, LookDepth, PackOptions, RestoreConsent, SnapshotId, Workspace, WorkspaceOptions,
};

const FILES_PER_FOLDER: usize = 12;
const IGNORED_FILES: usize = 50_000;
/// The goal that makes the bench fail.
const UNCHANGED: &str = "look, nothing changed / git status";

/// A measured figure, and the most it may be.
struct Goal {
    what: &'static str,
    measured: f64,
    most: f64,
}

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let mut trees = Vec::new();
    for argument in std::env::args() {
        let own = argument.parse().ok().map(|files| Tree { files, ignored: 0 });
        let ignored = Tree { files: 10_000, ignored: IGNORED_FILES };
        trees.extend(own.or((argument == "ignored").then_some(ignored)));
    }
    let usual: &[usize] = if is_measured { &[1_000, 10_000] } else { &[50] };
    trees.extend(usual.iter().map(|files| Tree { files: *files, ignored: 0 }));
    let mut is_good = true;
    for tree in trees {
        for goal in measure(&tree, is_measured) {
            let Goal { what, measured, most } = goal;
            let verdict = if measured <= most { "holds" } else { "MISSES" };
            println!("  {what:<58} {measured:>8.2}  goal {most:<6} {verdict}");
            is_good &= what != UNCHANGED || measured <= most * 2.0;
        }
    }
    match is_measured && !is_good {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// What is measured on.
struct Tree {
    files: usize,
    ignored: usize,
}

fn measure(tree: &Tree, is_measured: bool) -> Vec<Goal> {
    let files = tree.files;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_tree(&root, tree);
    if is_measured {
        // Files younger than this are read again by every look, and by git too.
        std::thread::sleep(Duration::from_millis(2_500));
    }
    let cancel = CancelFlag::new();
    let open = || {
        // As the program opens it.
        let options = WorkspaceOptions { refers_to_packs: true, ..WorkspaceOptions::default() };
        Workspace::open(&root, &folder.path().join("store"), options).unwrap()
    };
    let mut workspace = open();
    let first = time(|| {
        workspace.look(LookDepth::Quick, &cancel).unwrap();
    });
    let stored = workspace.usage().bytes as f64 * 100.0 / size_of(&root) as f64;
    drop(workspace);
    let mut workspace = None;
    let opened = time(|| workspace = Some(open()));
    let mut workspace = workspace.unwrap();
    println!(
        "{files} files, {} ignored: first look {first:.1?}, opened again {opened:.1?}",
        tree.ignored
    );
    git(&root, &["status"]);
    workspace.look(LookDepth::Quick, &cancel).unwrap();

    let rounds = match is_measured {
        true if files > 50_000 => 7,
        true => 31,
        false => 1,
    };
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
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    let undo_beyond_looks = millis(least(&undone)) - 2.0 * millis(unchanged.max(changed));
    let mut goals = vec![
        Goal { what: UNCHANGED, measured: ratio(unchanged), most: 0.6 },
        Goal { what: "look, 3 files changed / git status", measured: ratio(changed), most: 0.8 },
        Goal { what: "first look, warm / git status", measured: ratio(first), most: 2.0 },
        Goal { what: "3 files undone, beyond 2 looks, ms", measured: undo_beyond_looks, most: 5.0 },
        Goal { what: "100 files undone, ms", measured: millis(many_undone), most: 200.0 },
        Goal { what: "disk of the first look, % of the tree", measured: stored, most: 1.0 },
    ];
    goals.push(measure_disk(&mut workspace, &root));
    goals.extend(measure_copy_and_pack(&mut workspace, &root, folder.path()));
    drop(workspace);
    goals.push(measure_without_git(&root, folder.path()));
    goals
}

/// Disk that a snapshot of three changed files takes, beyond 64 kB, by the bytes that changed.
fn measure_disk(workspace: &mut Workspace, root: &Path) -> Goal {
    let cancel = CancelFlag::new();
    workspace.look(LookDepth::Quick, &cancel).unwrap();
    let stored = workspace.usage().bytes;
    let mut changed = 0;
    for number in 0..3 {
        let text = format!("{number} and more in every line of it\n").repeat(170);
        changed += text.len();
        std::fs::write(root.join(format!("folder{number}/file1")), text).unwrap();
    }
    workspace.look(LookDepth::Quick, &cancel).unwrap();
    let grown = (workspace.usage().bytes - stored) as f64;
    let what = "disk of 3 changed files / (4 x changed bytes + 64 kB)";
    Goal { what, measured: grown / (changed as f64 * 4.0 + 64e3), most: 1.0 }
}

/// A fork beside `cp -a`, and a pack beside a bundle of git's, after three changes.
fn measure_copy_and_pack(workspace: &mut Workspace, root: &Path, folder: &Path) -> [Goal; 2] {
    let cancel = CancelFlag::new();
    let mut known: Option<SnapshotId> = None;
    let mut copied = Duration::MAX;
    let mut plain = Duration::MAX;
    for round in 0..3 {
        let looked = workspace.look(LookDepth::Quick, &cancel).unwrap().id;
        known.get_or_insert(looked);
        let place = folder.join(format!("copy{round}"));
        copied = copied.min(time(|| {
            workspace.copy_to(looked, &place, &cancel).unwrap();
        }));
        let place = folder.join(format!("plain{round}"));
        plain = plain.min(time(|| {
            Command::new("cp").arg("-a").args([root, &place]).status().unwrap();
        }));
    }
    for number in 0..3 {
        let path = root.join(format!("folder{number}/file2"));
        std::fs::write(path, format!("{number} is another text\n").repeat(300)).unwrap();
    }
    let changed = workspace.look(LookDepth::Quick, &cancel).unwrap().id;
    let options = PackOptions { known: known.into_iter().collect(), ..PackOptions::default() };
    let mut pack = Vec::new();
    workspace.pack(changed, &options, &mut pack).unwrap();
    let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(root, &[author.as_slice(), &["commit", "-qam", "three"]].concat());
    let bundle = folder.join("bundle");
    git(root, &["bundle", "create", "-q", bundle.to_str().unwrap(), "HEAD~1..HEAD"]);
    let bundled = bundle.metadata().unwrap().len() as f64;
    println!("  a pack of 3 changes: {} bytes, a bundle {bundled}", pack.len());
    let copy_ratio = copied.as_secs_f64() / plain.as_secs_f64();
    [
        Goal { what: "fork / cp -a", measured: copy_ratio, most: 1.2 },
        Goal { what: "pack / git bundle, bytes", measured: pack.len() as f64 / bundled, most: 2.0 },
    ]
}

/// The first look at the same files without a repository.
fn measure_without_git(root: &Path, folder: &Path) -> Goal {
    std::fs::remove_dir_all(root.join(".git")).unwrap();
    let cancel = CancelFlag::new();
    let mut looked = Duration::MAX;
    let mut added = Duration::MAX;
    for round in 0..2 {
        let store = folder.join(format!("plain-store{round}"));
        let mut workspace = Workspace::open(root, &store, WorkspaceOptions::default()).unwrap();
        looked = looked.min(time(|| {
            workspace.look(LookDepth::Quick, &cancel).unwrap();
        }));
        git(root, &["init", "-q"]);
        added = added.min(time(|| git(root, &["add", "-A"])));
        std::fs::remove_dir_all(root.join(".git")).unwrap();
    }
    let measured = looked.as_secs_f64() / added.as_secs_f64();
    Goal { what: "first look without git / git add -A", measured, most: 0.25 }
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

/// Creates and commits files of about 6 kB of text, in a pack like those of a clone.
fn make_tree(root: &Path, tree: &Tree) {
    for number in 0..tree.ignored {
        let folder = root.join(format!("node_modules/module{}", number / FILES_PER_FOLDER));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("file{number}")), "ignored\n").unwrap();
    }
    if tree.ignored > 0 {
        std::fs::write(root.join(".gitignore"), "node_modules/\n").unwrap();
    }
    for number in 0..tree.files {
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
    git(root, &["repack", "-adq"]);
    git(root, &["prune-packed", "-q"]);
}

/// Bytes of the files that git tracks.
fn size_of(root: &Path) -> u64 {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    let names = names.split('\0').filter(|name| !name.is_empty());
    names.map(|name| root.join(name).metadata().unwrap().len()).sum()
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
