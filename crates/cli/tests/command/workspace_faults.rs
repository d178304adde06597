//! The faults of files and repositories (W in docs/faults.md) on the real binary: a session's
//! commands change a tree, `windlass rewind` takes it back, `--undo` brings it again.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use windlass_rehearsal::Rehearsal;

use crate::fixture::{FinishedCommand, RunningCommand, TestDirs, run};
use crate::recorded_session::{SESSION, TreeEntry, read_tree, record_session, rewind};
use crate::work_files::{started_by, text, write};

const BACK: [&str; 3] = ["--to", "1", "--files"];
/// Begins a repository with everything that is there.
const COMMIT_ALL: &str = "git init -q -b main .; git config user.name a; git config user.email a@b; \
                          git config gc.auto 0; git add -A; git commit -qm one;";

/// A tree, and a session whose only prompt was answered by one command.
struct ChangedTree {
    dirs: TestDirs,
    before: Vec<TreeEntry>,
    after: Vec<TreeEntry>,
    _server: Rehearsal,
}

impl ChangedTree {
    fn new(setup: &str, command: &str) -> Self {
        let dirs = TestDirs::new();
        shell(&dirs, setup);
        let before = read_files(&dirs);
        let server = record_session(&dirs, &[&[command]]);
        let after = read_files(&dirs);
        Self { dirs, before, after, _server: server }
    }

    fn rewind(&self, flags: &[&str]) -> FinishedCommand {
        run(self.dirs.windlass(&["rewind", SESSION]).args(BACK).args(flags))
    }

    /// Everything goes back, and forth again.
    #[track_caller]
    fn check(&self) {
        assert_ne!(self.before, self.after, "the command changed something");
        let report = self.rewind(&[]);
        assert_eq!(report.code, Some(0), "{report:?}");
        assert_tree(&read_files(&self.dirs), &self.before, &report);
        let report = run(&mut self.dirs.windlass(&["rewind", SESSION, "--undo"]));
        assert_eq!(report.code, Some(0), "{report:?}");
        assert_tree(&read_files(&self.dirs), &self.after, &report);
        let report = self.rewind(&[]);
        assert_tree(&read_files(&self.dirs), &self.before, &report);
    }
}

#[track_caller]
fn assert_tree(found: &[TreeEntry], expected: &[TreeEntry], report: &FinishedCommand) {
    let lacks = |one: &[TreeEntry], other: &[TreeEntry]| -> Vec<TreeEntry> {
        one.iter().filter(|entry| !other.contains(entry)).cloned().collect()
    };
    let (more, less) = (lacks(found, expected), lacks(expected, found));
    assert!(more.is_empty() && less.is_empty(), "found {more:?}, not {less:?}; {report:?}");
}

/// Without what git keeps, which git is asked about.
fn read_files(dirs: &TestDirs) -> Vec<TreeEntry> {
    let is_git = |entry: &TreeEntry| {
        let mut parts = entry.path.components().map(|part| part.as_os_str());
        parts.any(|part| part == ".git" || part == "bare.git")
    };
    read_tree(&dirs.work()).into_iter().filter(|entry| !is_git(entry)).collect()
}

/// Runs a script in the working directory, with no configuration of git but the repository's.
fn shell(dirs: &TestDirs, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(dirs.work())
        .env("HOME", dirs.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn w2_changes_are_taken_back_though_size_and_times_are_the_same() {
    let changed = ChangedTree::new(
        "for f in a b c d; do printf old-$f > $f; done; touch -d 2001-01-01 a b c d; cp -p a kept; \
         tar cf all.tar c",
        "printf new-a > a; touch -d 2001-01-01 a; cp -p kept b; printf new-c > c; tar xf all.tar; \
         printf new-d > d; touch -r a d; touch -d 2090-01-01 kept",
    );
    changed.check();
}

#[test]
fn w5_ignore_rules_that_the_command_changed_hide_nothing_of_it() {
    let ignored = "printf 'out/\\n*.log\\n' > .gitignore; mkdir out; echo tracked > out/tracked; \
                   echo log > x.log; echo source > source; ";
    let changed = ChangedTree::new(
        &format!("{ignored}{COMMIT_ALL} git add -f out/tracked; git commit -qm tracked"),
        "echo '*' > .gitignore; echo changed > source; rm x.log; echo changed > out/tracked; \
         echo new > new; git rm -q --cached out/tracked",
    );
    changed.check();
    assert_eq!(shell(&changed.dirs, "git status --porcelain"), "");
}

#[test]
fn w6_kinds_moved_trees_and_names_in_another_case_go_back_and_forth() {
    let changed = ChangedTree::new(
        "mkdir -p tree/deep empty folder; echo 1 > tree/deep/file; echo 2 > file; ln -s file link; \
         echo 3 > Name; echo 4 > folder/inside; ln file hard",
        "mv tree moved; rm file; mkdir -p file/in; echo n > file/in/n; rm link; mkdir link; \
         rmdir empty; rm -r folder; ln -s moved folder; mv Name name; echo more >> hard; \
         mkdir Folder; echo 5 > Folder/inside",
    );
    changed.check();
}

#[test]
fn w7_a_link_in_place_of_a_folder_leads_a_rewind_nowhere() {
    let changed = ChangedTree::new("mkdir d; echo one > d/f; echo one > a", "echo two | tee d/f a");
    let outside = changed.dirs.home().join("outside");
    write(&outside.join("f"), "two\n");
    shell(&changed.dirs, &format!("mv d aside; ln -s {} d", outside.display()));
    let report = changed.rewind(&["--overwrite"]);
    assert_eq!(text(&outside.join("f")), "two\n", "{report:?}");
    assert_eq!(text(&changed.dirs.file("a")), "one\n", "{report:?}");
}

#[test]
fn w9_what_a_person_saves_during_a_rewind_is_there_afterwards() {
    let many = "i=0; while [ $i -lt 150 ]; do echo X > f$i; i=$((i+1)); done";
    let changed =
        ChangedTree::new(&many.replace('X', "old"), &format!("{}; :", many.replace('X', "new")));
    let (saves, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let place = changed.dirs.file("f77");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // As editors do: beside it, then renamed.
            while !is_over.load(Ordering::Relaxed) {
                let beside = changed.dirs.home().join("saving");
                let number = saves.load(Ordering::Relaxed) + 1;
                write(&beside, &format!("by hand {number}\n"));
                std::fs::rename(&beside, &place).expect("saved");
                saves.store(number, Ordering::Relaxed);
            }
        });
        for _ in 0..4 {
            changed.rewind(&["--skip-changed"]);
            run(&mut changed.dirs.windlass(&["rewind", SESSION, "--undo", "--skip-changed"]));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let last = saves.load(Ordering::Relaxed);
    assert_eq!(text(&place), format!("by hand {last}\n"));
    let report = changed.rewind(&["--skip-changed"]);
    assert_eq!(text(&changed.dirs.file("f78")), "old\n", "{report:?}");
    assert_eq!(text(&place), format!("by hand {last}\n"));
}

#[test]
fn w10_a_rewind_that_is_killed_leaves_whole_files_and_is_completed_by_the_next() {
    let many = "i=0; while [ $i -lt 150 ]; do printf X$i > f$i; i=$((i+1)); done";
    let changed = ChangedTree::new(
        &format!("{}; mkdir gone; echo g > gone/g", many.replace('X', "old")),
        &format!("{}; rm -r gone; mkdir new; echo n > new/n", many.replace('X', "new")),
    );
    // Beginning with a kill before it has done anything.
    for round in 0..12 {
        let mut command = changed.dirs.windlass(&["rewind", SESSION]);
        match round % 2 {
            0 => command.args(BACK),
            _ => command.arg("--undo"),
        };
        let running = RunningCommand::start(command.arg("--skip-changed"));
        let is_changed = || (0..150).any(|n| is_moved(&changed, n));
        while round > 3 && !is_changed() && !is_gone(running.id()) {
            std::thread::yield_now();
        }
        for spin in 0..round * 3_000 {
            std::hint::black_box(spin);
        }
        running.signal(Signal::KILL);
        running.finish();
        for number in 0..150 {
            let held = text(&changed.dirs.file(&format!("f{number}")));
            let is_whole = held == format!("old{number}") || held == format!("new{number}");
            assert!(is_whole, "round {round}: f{number} holds {held:?}");
        }
    }
    let report = changed.rewind(&["--overwrite"]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert_tree(&read_files(&changed.dirs), &changed.before, &report);
}

/// Whether the file is no longer as the session left it.
fn is_moved(changed: &ChangedTree, number: usize) -> bool {
    text(&changed.dirs.file(&format!("f{number}"))) == format!("old{number}")
}

fn is_gone(pid: u32) -> bool {
    let stat = text(&PathBuf::from(format!("/proc/{pid}/stat")));
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn w12_a_rewind_that_may_write_no_more_is_completed_by_the_next() {
    let changed = ChangedTree::new(
        "echo small > small; head -c 300000 /dev/zero > large; echo b > b",
        "rm large; echo changed | tee small b",
    );
    // The system ends a process that writes a file of more than 100 blocks.
    let mut rewinding = changed.dirs.windlass(&["rewind", SESSION]);
    let ended = run(&mut started_by("ulimit -f 100; exec \"$@\"", rewinding.args(BACK)));
    for (name, whole) in [("small", ["small\n", "changed\n"]), ("b", ["b\n", "changed\n"])] {
        assert!(whole.contains(&text(&changed.dirs.file(name)).as_str()), "{name}: {ended:?}");
    }
    let report = changed.rewind(&["--overwrite"]);
    assert_eq!(report.code, Some(0), "{report:?} after {ended:?}");
    assert_tree(&read_files(&changed.dirs), &changed.before, &report);
}

#[test]
fn w14_fifos_and_loops_of_links_do_not_stop_a_session() {
    let changed = ChangedTree::new(
        "mkfifo pipe; ln -s loop loop; ln -s two one; ln -s one two; echo old > a",
        "echo new > a; rm one; ln -s three loop2; mkdir -p x/y; ln -s ../.. x/y/up",
    );
    changed.check();
}

#[test]
fn w15_huge_files_are_named_and_the_rest_goes_back() {
    let changed =
        ChangedTree::new("echo old > a; echo old > b", "truncate -s 1T huge; echo new > a");
    let report = changed.rewind(&[]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert_eq!(text(&changed.dirs.file("a")), "old\n");
    let said = format!("{}{}", report.stdout, report.stderr);
    let is_gone = !changed.dirs.file("huge").exists();
    assert!(is_gone || said.contains("huge"), "moved away, or named: {report:?}");

    let changed = ChangedTree::new(
        "truncate -s 1T huge; head -c 20000000 /dev/zero > large; echo old > a",
        "echo new | tee -a a large > rest; truncate -s 1K huge",
    );
    let report = changed.rewind(&[]);
    assert_eq!(text(&changed.dirs.file("a")), "old\n", "{report:?}");
    let said = format!("{}{}", report.stdout, report.stderr);
    assert!(said.contains("huge") && said.contains("large"), "{report:?}");
}

#[test]
fn w16_any_name_and_any_depth_goes_back() {
    let long = "n".repeat(255);
    let names = format!(
        "for n in \"$(printf '\\377\\376')\" \"$(printf 'line\\nbreak')\" \"$(printf 'u\\314\\210')\" \
         \"$(printf '\\303\\274')\" -dash ' space ' '*' {long} '\"'; do printf X > \"./$n\"; done; "
    );
    let deep = "p=.; i=0; while [ $i -lt 300 ]; do p=$p/d; i=$((i+1)); done; mkdir -p $p; \
                printf X > $p/f";
    let changed = ChangedTree::new(
        &format!("{names}{deep}").replace("printf X", "printf old"),
        &format!("{} rm -rf d; mkdir -p d/e", names.replace("printf X", "printf new")),
    );
    changed.check();
}

#[test]
fn w17_repositories_below_the_directory_work_after_going_back() {
    let changed = ChangedTree::new(
        &format!(
            "mkdir -p lib nested; echo l > lib/l; (cd lib; {COMMIT_ALL}); echo n > nested/n; \
             (cd nested; {COMMIT_ALL}); git init -q --bare bare.git; echo t > top; \
             echo lib > .gitignore; {COMMIT_ALL} \
             git -c protocol.file.allow=always submodule --quiet add ./lib sub; \
             git commit -qm sub; git worktree add -q tree -b side"
        ),
        "for d in nested sub tree; do (cd $d; git config user.name a; git config user.email a@b; \
         echo changed > changed; git add -A; git commit -qm changed); done; git add -A; \
         git commit -qm all; rm -rf nested/n; git -C nested branch other; \
         git -C nested push -q ../bare.git main",
    );
    changed.check();
    for folder in ["nested", "sub", "tree"] {
        let said = shell(
            &changed.dirs,
            &format!("cd {folder}; git fsck --strict --no-dangling; git status -s"),
        );
        assert_eq!(said, "", "{folder}");
        let log = shell(&changed.dirs, &format!("git -C {folder} log --format=%s -1"));
        assert_ne!(log, "changed", "{folder}");
    }
    assert_eq!(shell(&changed.dirs, "git -C bare.git for-each-ref"), "");
}

#[test]
fn w19_bytes_are_exact_whatever_git_would_convert() {
    let changed = ChangedTree::new(
        &format!(
            "printf 'a\\r\\nb\\r\\n' > crlf; printf 'a\\nb\\n' > lf; printf '$Id$\\n' > ident; \
             printf '\\377\\376a\\000' > wide; printf 'version https://git-lfs\\n' > pointer; \
             printf '* text=auto ident\\nwide working-tree-encoding=UTF-16\\n' > .gitattributes; \
             {COMMIT_ALL} git config core.autocrlf true"
        ),
        "for f in crlf lf ident wide pointer; do rm $f; done; git checkout -q -- .; \
         printf 'x\\r\\n' >> lf; printf 'x' > wide",
    );
    changed.check();
}

#[test]
fn w20_any_index_of_git_is_read_or_passed_over() {
    for index in [
        "git update-index --index-version 4; git update-index --assume-unchanged a",
        "git update-index --split-index; git update-index --skip-worktree a",
        "git sparse-checkout set --no-cone b 2> sparse.log; rm sparse.log",
        "printf damaged > .git/index",
        "cp .git/index .git/index.lock",
    ] {
        let changed = ChangedTree::new(
            &format!("echo old > a; mkdir out; echo old | tee b out/c; {COMMIT_ALL} {index}"),
            "echo new | tee a b out/c > d",
        );
        changed.check();
    }
}

#[test]
fn w21_everything_comes_back_when_the_command_removed_the_repository() {
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m";
    for script in [
        "rm -rf .git".to_owned(),
        format!(
            "git checkout -q --orphan other; git rm -rqf .; {commit} none; git branch -qD main; \
             git reflog expire --expire=now --all; git gc -q --prune=now"
        ),
        "chmod -R u+w .git; echo n > a".to_owned(),
        format!("rm -rf .git; git init -q; {commit} new"),
        format!("{commit} again --amend; rm -rf .git/objects"),
    ] {
        // In a script, where permission rules do not see what it removes.
        let setup = format!(
            "for f in a b c; do seq 1 900 > $f; done; {COMMIT_ALL} git repack -adq; \
             git prune-packed -q; head -c 9000 /dev/urandom > u; echo '{script}' > \"$HOME/script\""
        );
        let changed = ChangedTree::new(&setup, "sh \"$HOME/script\"; rm -f a u; echo c > c");
        changed.check();
        let asked = "git fsck --strict --no-dangling; git status --porcelain; git log --format=%s";
        assert_eq!(shell(&changed.dirs, asked), "?? u\none", "after {script}");
    }
}

#[test]
fn w22_stashes_rebases_and_branches_of_a_command_go_back() {
    let changed = ChangedTree::new(
        &format!(
            "echo 1 > a; {COMMIT_ALL} echo 2 > b; git add b; git commit -qm two; git branch kept"
        ),
        "echo s > a; git stash -q; git checkout -q -b side HEAD~1; echo 3 > c; git add c; \
         git commit -qm three; git rebase -q main; git branch -D kept; git tag t",
    );
    let refs = "git for-each-ref --format='%(refname)'; git stash list; git symbolic-ref HEAD";
    let report = changed.rewind(&[]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert_tree(&read_files(&changed.dirs), &changed.before, &report);
    let said = shell(&changed.dirs, &format!("{refs}; git status -s; git log --format=%s"));
    assert_eq!(said, "refs/heads/kept\nrefs/heads/main\nrefs/heads/main\ntwo\none");
}

#[test]
fn w23_with_a_lock_of_git_files_go_back_and_gits_state_stays() {
    let changed = ChangedTree::new(
        &format!("echo old > a; {COMMIT_ALL}"),
        "echo new > a; git commit -qam two",
    );
    shell(&changed.dirs, "touch .git/index.lock");
    let report = changed.rewind(&["--skip-changed"]);
    assert_eq!(text(&changed.dirs.file("a")), "old\n", "{report:?}");
    assert_eq!(shell(&changed.dirs, "git log --format=%s -1"), "two");
    shell(&changed.dirs, "rm .git/index.lock");
    let report = changed.rewind(&[]);
    assert_eq!(shell(&changed.dirs, "git log --format=%s -1; git status -s"), "one", "{report:?}");
}

#[test]
fn w25_times_of_the_future_and_names_that_are_used_again_hide_nothing() {
    let changed = ChangedTree::new(
        "echo old > a; echo old > b; touch -d 2090-01-01 a b .",
        "echo new > a; touch -d 2090-01-01 a; rm b; echo new > b; touch -d 2090-01-01 b .",
    );
    changed.check();
}

#[test]
fn w26_damage_of_the_store_never_gives_wrong_bytes() {
    let changed = ChangedTree::new(
        "i=0; while [ $i -lt 20 ]; do seq $i 900 > f$i; i=$((i+1)); done",
        "for f in f*; do echo new > $f; done",
    );
    let stores = changed.dirs.work().with_file_name("state").join("windlass/workspaces");
    let store = stores.read_dir().expect("stores").flatten().next().expect("a store").path();
    std::fs::write(store.join("look-cache"), "foreign").expect("a cache");
    let segment = store.join("00000001.segment");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    for place in (200..bytes.len()).step_by(bytes.len() / 7) {
        bytes[place] ^= 4;
    }
    std::fs::write(&segment, bytes).expect("a segment");
    let report = changed.rewind(&["--overwrite"]);
    for entry in read_files(&changed.dirs) {
        let is_old = changed.before.contains(&entry);
        assert!(is_old || changed.after.contains(&entry), "{entry:?}: {report:?}");
    }
    assert_ne!(report.code, None);
}

#[test]
fn w28_modes_come_back_and_setuid_never_does() {
    let changed = ChangedTree::new(
        "echo a > a; echo b > b; echo c > c; mkdir d; echo e > d/e; chmod 444 a; chmod 755 b; \
         chmod 4755 c; chmod 555 d",
        "chmod 600 a b; chmod u+w d; rm -rf d/e; rmdir d; rm c; echo n > n",
    );
    let report = changed.rewind(&[]);
    assert_eq!(report.code, Some(0), "{report:?}");
    let modes = shell(&changed.dirs, "stat -c %a a b c d d/e");
    assert_eq!(modes, "444\n755\n755\n555\n644");
}

#[test]
fn w29_only_what_changed_is_written_and_gets_a_new_time() {
    let changed = ChangedTree::new(
        "echo 1 > source; echo 2 > other; touch -d 2001-01-01 source other",
        "echo 3 > source; touch -d 2002-01-01 source; echo built > built",
    );
    let began = SystemTime::now() - Duration::from_secs(5);
    let report = changed.rewind(&[]);
    assert_eq!(report.code, Some(0), "{report:?}");
    let time = |name: &str| changed.dirs.file(name).metadata().and_then(|one| one.modified());
    assert!(time("source").expect("a time") > began, "a build makes it again");
    assert!(time("other").expect("a time") < began - Duration::from_secs(1 << 20));
}

#[test]
fn w32_nothing_that_is_ignored_travels_in_a_pack() {
    let changed = ChangedTree::new(
        &format!(
            "printf '.env\\nnode_modules\\n' > .gitignore; echo KEY=1 > .env; mkdir node_modules; \
             echo m > node_modules/m; echo a > a; {COMMIT_ALL}"
        ),
        "echo b > a",
    );
    let pack = changed.dirs.home().join("pack").display().to_string();
    run(&mut changed.dirs.windlass(&["pack", SESSION, "-o", &pack])).answer();
    let other = TestDirs::new();
    let place = other.home().join("place");
    run(&mut other.windlass(&["unpack", &pack, "--into", &place.display().to_string()])).answer();
    let mut names: Vec<_> = place
        .read_dir()
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [".gitignore", "a"]);
}

#[test]
fn rewinding_a_session_that_changed_nothing_changes_nothing() {
    let changed = ChangedTree::new("echo a > a", "true");
    assert_eq!(changed.before, changed.after);
    rewind(&changed.dirs, &BACK);
    assert_eq!(read_files(&changed.dirs), changed.before);
}

/// Starts the program where the kernel refuses the flags of a rename, as network file systems and
/// many in user space do. `None` where it cannot be had.
fn with_plain_renames(dirs: &TestDirs, command: &Command) -> Option<Command> {
    let renameat2: u32 = if cfg!(target_arch = "x86_64") { 316 } else { 276 };
    // Of a call with this number and flags that are not zero, the answer is EINVAL.
    let program: [(u16, u8, u8, u32); 6] = [
        (0x20, 0, 0, 0),
        (0x15, 0, 3, renameat2),
        (0x20, 0, 0, 48),
        (0x15, 1, 0, 0),
        (0x06, 0, 0, 0x0005_0016),
        (0x06, 0, 0, 0x7fff_0000),
    ];
    let mut bytes = Vec::new();
    for (code, yes, no, value) in program {
        bytes.extend_from_slice(&code.to_le_bytes());
        bytes.extend_from_slice(&[yes, no]);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    let filter = dirs.home().join("filter");
    std::fs::write(&filter, bytes).expect("a filter");
    let script = format!(
        "exec bwrap --dev-bind / / --chdir \"$PWD\" --seccomp 3 -- \"$@\" 3< '{}'",
        filter.display()
    );
    let tried = started_by(&script, &Command::new("true")).env("PATH", "/usr/bin:/bin").output();
    let is_there = tried.is_ok_and(|tried| tried.status.success());
    is_there.then(|| started_by(&script, command))
}

#[test]
fn where_names_cannot_be_exchanged_files_go_back_and_forth_all_the_same() {
    let changed = ChangedTree::new(
        "echo one > edited; echo one > removed; ln -s edited link; mkdir d; echo one > d/f; \
         echo one > kept",
        "echo two > edited; rm removed; ln -sfn removed link; rm -r d; echo two > d; echo new > new; \
         echo two > kept",
    );
    write(&changed.dirs.file("kept"), "by hand\n");
    let rewind = |flags: &[&str]| {
        let command = [&["rewind", SESSION], flags, &["--skip-changed"]].concat();
        let command = with_plain_renames(&changed.dirs, &changed.dirs.windlass(&command));
        command.map(|mut command| run(&mut command))
    };
    let Some(report) = rewind(&BACK) else { return };
    assert_eq!(report.code, Some(0), "{report:?}");
    let read = || ["edited", "removed", "d/f", "kept"].map(|name| text(&changed.dirs.file(name)));
    let link = || std::fs::read_link(changed.dirs.file("link")).expect("a link");
    assert_eq!(read(), ["one\n", "one\n", "one\n", "by hand\n"], "{report:?}");
    assert_eq!((link(), changed.dirs.file("new").exists()), (PathBuf::from("edited"), false));
    let report = rewind(&["--undo"]).expect("a sandbox");
    assert_eq!(read(), ["two\n", "", "", "by hand\n"], "{report:?}");
    assert_eq!((link(), text(&changed.dirs.file("d"))), (PathBuf::from("removed"), "two\n".into()));
    assert_eq!(text(&changed.dirs.file("new")), "new\n");
    let left: Vec<String> = std::fs::read_dir(changed.dirs.work())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".windlass-restore"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
