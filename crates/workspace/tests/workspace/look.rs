//! What a look covers, what it reports as uncovered, and that it always ends.

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windlass_workspace::{
    CancelFlag, LookDepth, PathImage, UncoveredReason, Workspace, WorkspaceError, WorkspaceLimits,
    WorkspaceOptions,
};

use crate::fixture::{Fixture, assert_same, bytes_path, set_mode};

fn uncovered(fixture: &mut Fixture) -> Vec<(String, UncoveredReason)> {
    let report = fixture.look();
    report.uncovered.into_iter().map(|one| (one.path.to_string(), one.reason)).collect()
}

#[test]
fn w1_a_file_that_changes_while_it_is_read_is_never_kept_torn() {
    let mut fixture = Fixture::new();
    let path = fixture.path("busy");
    std::fs::write(&path, vec![b'a'; 1 << 20]).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let mut letter = b'a';
            while !is_over.load(Ordering::Relaxed) {
                letter = if letter == b'z' { b'a' } else { letter + 1 };
                // In place, so that a reader sees a mixture of old and new.
                let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&file, &vec![letter; 1 << 20], 0).unwrap();
            }
        }
    });
    let reports: Vec<_> = (0..10).map(|_| fixture.look()).collect();
    is_over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let last = fixture.look();
    for report in reports {
        // Every stored content matches its digest; a mixture was reported as unstable, or has a
        // stamp that makes the next look read the file again.
        for change in fixture.workspace().changes(report.id, last.id).unwrap() {
            if let PathImage::File { content, .. } = change.before {
                fixture.workspace().read(&content).unwrap();
            }
        }
    }
    let quick = fixture.look().id;
    let thorough = fixture.workspace().look(LookDepth::Thorough, &CancelFlag::new()).unwrap().id;
    assert_eq!(quick, thorough);
}

#[test]
fn w2_a_change_is_seen_whatever_the_times_say() {
    let mut fixture = Fixture::new();
    fixture.write("a", "one");
    let path = fixture.path("a");
    let modified = path.metadata().unwrap().modified().unwrap();
    let before = fixture.look().id;
    fixture.write("a", "two");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    let after = fixture.look().id;
    assert_ne!(before, after, "same size, same time of modification");
    // The same with another inode, as after `cp -p` and a rename.
    fixture.write("b", "six");
    std::fs::File::options()
        .write(true)
        .open(fixture.path("b"))
        .unwrap()
        .set_modified(modified)
        .unwrap();
    std::fs::rename(fixture.path("b"), &path).unwrap();
    assert_ne!(fixture.look().id, after);
}

#[test]
fn w3_with_a_writer_beside_it_the_last_quick_look_is_the_thorough_one() {
    check_writer_beside_looks(15, |_| Fixture::new());
}

/// In each round on a new tree.
pub(crate) fn check_writer_beside_looks(rounds: usize, make: impl Fn(usize) -> Fixture) {
    for round in 0..rounds {
        let mut fixture = make(round);
        for number in 0..20 {
            fixture.write(&number.to_string(), "start");
        }
        let root = fixture.root.clone();
        let writer = std::thread::spawn(move || {
            for turn in 0..200 {
                let name = (turn * 7 + round) % 20;
                std::fs::write(root.join(name.to_string()), format!("{turn:05}")).unwrap();
            }
        });
        while !writer.is_finished() {
            fixture.look();
        }
        writer.join().unwrap();
        let quick = fixture.look().id;
        let thorough =
            fixture.workspace().look(LookDepth::Thorough, &CancelFlag::new()).unwrap().id;
        assert_eq!(quick, thorough, "round {round}");
    }
}

#[test]
fn w5_rules_changed_by_the_turn_do_not_hide_its_changes() {
    let mut fixture = Fixture::new();
    fixture.write("build/kept", "precious");
    fixture.write("notes", "n");
    let before = fixture.look().id;
    let tree = fixture.state();
    fixture.write(".gitignore", "build/\nnotes\n");
    fixture.write("build/kept", "overwritten");
    std::fs::remove_file(fixture.path("notes")).unwrap();
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_same(&fixture.state(), &tree, "the rules changed");
}

#[test]
fn w5_what_git_tracks_is_covered_although_it_is_ignored() {
    let mut fixture = Fixture::new();
    fixture.git(&["init", "-q"]);
    fixture.write(".gitignore", "out/\n*.log\n");
    fixture.write("out/tracked", "1");
    fixture.write("out/loose", "2");
    fixture.write("tracked.log", "3");
    fixture.write("big.log", vec![0; 2 << 20]);
    fixture.git(&["add", "-f", "out/tracked", "tracked.log", ".gitignore"]);
    assert_eq!(uncovered(&mut fixture), [("big.log".to_owned(), UncoveredReason::Ignored)]);
    let before = fixture.look().id;
    fixture.write("out/tracked", "changed");
    fixture.write("tracked.log", "changed");
    let after = fixture.look().id;
    assert_eq!(fixture.workspace().changes(before, after).unwrap().len(), 2);
    fixture.undo(before, after);
    assert_eq!(fixture.read("out/tracked"), "1");
    assert_eq!(fixture.read("out/loose"), "2");
    // Tracked only now: the index changed, the rules did not.
    fixture.git(&["add", "-f", "out/loose"]);
    fixture.look();
    let before = fixture.look().id;
    fixture.write("out/loose", "changed");
    let after = fixture.look().id;
    assert_eq!(fixture.workspace().changes(before, after).unwrap().len(), 1);
}

#[test]
fn w5_rules_apply_as_in_git() {
    let mut fixture = Fixture::new();
    fixture.write(".gitignore", "node_modules/\n*.o\n!keep.o\n/only_root\n");
    fixture.write("sub/.gitignore", "!again.o\nlocal\n");
    for folder in ["node_modules", "sub/node_modules", "sub/local", "only_root"] {
        fixture.write(&format!("{folder}/f"), "x");
    }
    fixture.write("sub/only_root/f", "x");
    let report = uncovered(&mut fixture);
    let names: Vec<&str> = report.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(names, ["node_modules", "only_root", "sub/local", "sub/node_modules"]);
    for (name, is_ignored) in
        [("x.o", true), ("keep.o", false), ("sub/again.o", false), ("sub/y.o", true)]
    {
        let before = fixture.look().id;
        fixture.write(name, "o");
        let after = fixture.look().id;
        let changes = fixture.workspace().changes(before, after).unwrap();
        let [change] = changes.as_slice() else { panic!("{name}: {changes:?}") };
        let PathImage::File { is_ignored: found, .. } = change.after else { panic!("{name}") };
        assert_eq!(found, is_ignored, "{name}");
    }
}

#[test]
fn w13_what_cannot_be_read_is_named_and_the_rest_is_covered() {
    let mut fixture = Fixture::new();
    fixture.write("open", "1");
    fixture.write("closed", "2");
    fixture.write("folder/inside", "3");
    set_mode(&fixture.path("closed"), 0);
    set_mode(&fixture.path("folder"), 0);
    let is_root = std::fs::File::open(fixture.path("closed")).is_ok();
    let report = uncovered(&mut fixture);
    set_mode(&fixture.path("folder"), 0o755);
    // Root may read everything.
    let expected: &[_] = if is_root {
        &[]
    } else {
        &[
            ("closed".to_owned(), UncoveredReason::Unreadable),
            ("folder".to_owned(), UncoveredReason::Unreadable),
        ]
    };
    assert_eq!(report, expected);
    assert!(fixture.look().files >= 1);
}

#[test]
fn w13_files_that_vanish_are_not_an_error() {
    let mut fixture = Fixture::in_memory();
    let root = fixture.root.clone();
    let is_over = Arc::new(AtomicBool::new(false));
    let churn = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let folder = root.join(format!("f{}", number % 7));
                let _ = std::fs::create_dir(&folder);
                let _ = std::fs::write(folder.join("x"), "x");
                let _ = std::fs::remove_dir_all(root.join(format!("f{}", (number + 3) % 7)));
            }
        }
    });
    for _ in 0..50 {
        fixture.look();
    }
    is_over.store(true, Ordering::Relaxed);
    churn.join().unwrap();
}

#[test]
fn w14_fifos_sockets_and_link_loops_are_never_opened() {
    let mut fixture = Fixture::new();
    let fifo = std::process::Command::new("mkfifo").arg(fixture.path("fifo")).status().unwrap();
    assert!(fifo.success());
    let _socket = UnixListener::bind(fixture.path("socket")).unwrap();
    std::os::unix::fs::symlink("loop", fixture.path("loop")).unwrap();
    std::os::unix::fs::symlink("..", fixture.path("up")).unwrap();
    let report = uncovered(&mut fixture);
    assert_eq!(
        report,
        [
            ("fifo".to_owned(), UncoveredReason::NotPlain),
            ("socket".to_owned(), UncoveredReason::NotPlain)
        ]
    );
    assert_eq!(fixture.look().files, 2, "the links themselves");
}

#[test]
fn w14_a_look_can_be_cancelled() {
    let mut fixture = Fixture::new();
    fixture.write("a", "a");
    let cancel = CancelFlag::new();
    cancel.cancel();
    let error = fixture.workspace().look(LookDepth::Quick, &cancel).unwrap_err();
    assert!(matches!(error, WorkspaceError::Cancelled));
    fixture.look();
}

#[test]
fn w15_huge_files_are_named_and_not_read() {
    let mut fixture = Fixture::new();
    let sparse = std::fs::File::create(fixture.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let start = Instant::now();
    let report = fixture.look();
    assert_eq!(report.bytes_read, 0);
    assert!(start.elapsed() < Duration::from_secs(60));
    let [one] = report.uncovered.as_slice() else { panic!() };
    assert_eq!((one.reason, one.bytes), (UncoveredReason::TooLarge, 1 << 40));
    // A change is noticed by the stamp.
    sparse.set_len(1 << 39).unwrap();
    let after = fixture.look();
    assert_eq!(fixture.workspace().changes(report.id, after.id).unwrap().len(), 1);
}

#[test]
fn w15_too_many_files_and_the_home_folder_are_refused_in_one_sentence() {
    let limits = WorkspaceLimits { paths: 50, ..WorkspaceLimits::default() };
    let mut fixture = Fixture::with(WorkspaceOptions { limits, ..WorkspaceOptions::default() });
    for number in 0..51 {
        fixture.write(&number.to_string(), "x");
    }
    let error = fixture.workspace().look(LookDepth::Quick, &CancelFlag::new()).unwrap_err();
    assert!(matches!(error, WorkspaceError::TooManyPaths(50)), "{error}");
    let slow = WorkspaceLimits { look_time: Duration::ZERO, ..WorkspaceLimits::default() };
    let slow = WorkspaceOptions { limits: slow, ..WorkspaceOptions::default() };
    let error = fixture.reopen_with(slow).look(LookDepth::Quick, &CancelFlag::new()).unwrap_err();
    assert!(matches!(error, WorkspaceError::TooSlow(_)), "{error}");
    let home = fixture.path("home/user");
    std::fs::create_dir_all(&home).unwrap();
    let options = WorkspaceOptions { home: Some(home.clone()), ..WorkspaceOptions::default() };
    for root in [home.as_path(), home.parent().unwrap(), std::path::Path::new("/")] {
        let error = Workspace::open(root, &fixture.store, options.clone()).unwrap_err();
        assert!(matches!(error, WorkspaceError::RootIsHome(_)), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn w16_any_name_and_any_depth_is_exact() {
    let mut fixture = Fixture::new();
    let long = "n".repeat(255);
    fixture.write(&long, "long");
    std::fs::write(fixture.path(bytes_path(b"new\nline\xff")), "odd").unwrap();
    // Deeper than a path may be long: created folder by folder.
    let mut handle = std::fs::File::open(&fixture.root).unwrap();
    for _ in 0..500 {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};
        mkdirat(&handle, "level-of-a-folder", Mode::from_raw_mode(0o755)).unwrap();
        handle =
            openat(&handle, "level-of-a-folder", OFlags::DIRECTORY, Mode::empty()).unwrap().into();
    }
    let place = |name: &str, handle: &std::fs::File, bytes: &[u8]| {
        use rustix::fs::{Mode, OFlags, openat};
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let file = openat(handle, name, flags, Mode::from_raw_mode(0o644)).unwrap();
        std::io::Write::write_all(&mut std::fs::File::from(file), bytes).unwrap();
    };
    place("deep", &handle, b"old");
    let before = fixture.look().id;
    place("deep", &handle, b"new");
    std::fs::remove_file(fixture.path(&long)).unwrap();
    std::fs::write(fixture.path(bytes_path(b"new\nline\xff")), "changed").unwrap();
    let after = fixture.look().id;
    let changes = fixture.workspace().changes(before, after).unwrap();
    assert_eq!(changes.len(), 3);
    let report = fixture.undo(before, after);
    assert_eq!(report.after, before, "{:?}", report.outcomes);
    assert_eq!(std::fs::read(fixture.path(bytes_path(b"new\nline\xff"))).unwrap(), b"odd");
}

#[test]
fn a_file_that_did_not_change_is_not_read_again() {
    let mut fixture = Fixture::new();
    fixture.write("old", vec![b'x'; 10_000]);
    fixture.look();
    // A file is read at every look until it is old enough, then once more, then never.
    let deadline = Instant::now() + Duration::from_secs(240);
    while fixture.look().bytes_read > 0 {
        assert!(Instant::now() < deadline, "a file at rest is read again and again");
    }
    assert_eq!(fixture.look().bytes_read, 0);
    assert_eq!(fixture.reopen().look(LookDepth::Quick, &CancelFlag::new()).unwrap().bytes_read, 0);
    let thorough = fixture.workspace().look(LookDepth::Thorough, &CancelFlag::new()).unwrap();
    assert_eq!(thorough.bytes_read, 10_000);
}

#[test]
fn the_store_is_no_part_of_the_snapshot_it_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("state/store");
    let mut workspace =
        Workspace::open(folder.path(), &store, WorkspaceOptions::default()).unwrap();
    std::fs::write(folder.path().join("a"), "a").unwrap();
    let first = workspace.look(LookDepth::Quick, &CancelFlag::new()).unwrap();
    let second = workspace.look(LookDepth::Quick, &CancelFlag::new()).unwrap();
    assert_eq!(first.id, second.id);
    assert_eq!(first.files, 1);
}

#[test]
fn w25_a_clock_that_steps_back_and_an_inode_that_is_used_again_hide_nothing() {
    let mut fixture = Fixture::new();
    fixture.write("a", "one");
    let path = fixture.path("a");
    let future = std::time::SystemTime::now() + Duration::from_secs(3_600);
    let set_future = |path: &std::path::Path| {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(future).unwrap();
    };
    set_future(&path);
    let before = fixture.look();
    // A time in the future proves nothing: such a file is read each time.
    assert_eq!(fixture.look().bytes_read, 3);
    fixture.write("a", "two");
    set_future(&path);
    let after = fixture.look().id;
    assert_ne!(before.id, after);
    // The new file may reuse the removed file's inode, but has its own change time.
    std::fs::remove_file(&path).unwrap();
    fixture.write("a", "six");
    set_future(&path);
    assert_ne!(fixture.look().id, after);
}

#[test]
fn excluded_folders_below_the_root_are_no_part_of_snapshots() {
    let mut fixture = Fixture::new();
    fixture.write("a", "one");
    fixture.write("state/sessions/log", "begun");
    let excluded_folders = vec![fixture.path("state")];
    fixture.reopen_with(WorkspaceOptions { excluded_folders, ..WorkspaceOptions::default() });
    let before = fixture.look().id;
    fixture.write("a", "two");
    fixture.write("state/sessions/log", "begun, and more");
    let after = fixture.look().id;
    assert_eq!(fixture.workspace().changes(before, after).unwrap().len(), 1);
    fixture.undo(before, after);
    assert_eq!(fixture.read("a"), "one");
    assert_eq!(fixture.read("state/sessions/log"), "begun, and more");
}

#[test]
fn folders_that_only_hold_a_protected_place_are_no_change() {
    let mut fixture = Fixture::new();
    fixture.write("a", "one");
    let before = fixture.look().id;
    for name in [".git", ".vscode"] {
        std::fs::create_dir(fixture.path(name)).unwrap();
        set_mode(&fixture.path(name), 0o1755);
    }
    assert_eq!(fixture.look().id, before);
    // With a file in it, it is an ordinary folder.
    fixture.write(".vscode/settings.json", "{}");
    let after = fixture.look().id;
    let changes = fixture.workspace().changes(before, after).unwrap();
    assert_eq!(changes.len(), 2, "{changes:?}");
}

/// A page of a shared mapping, which tests can write without a system call.
struct MappedPage(*mut u8);

impl MappedPage {
    #[expect(unsafe_code, reason = "a shared mapping is what this test is about")]
    fn of(file: &std::fs::File) -> Self {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping of a file that outlives it and that nothing else maps.
        let page = unsafe {
            mmap(std::ptr::null_mut(), 4096, protection, MapFlags::SHARED, file, 0).unwrap()
        };
        Self(page.cast())
    }

    #[expect(unsafe_code, reason = "a shared mapping is what this test is about")]
    fn write(&self, byte: u8) {
        // SAFETY: the first byte of a page that is mapped for writing.
        unsafe { self.0.write_volatile(byte) };
    }
}

#[test]
fn w4_a_shared_mapping_that_is_written_again_after_a_look_is_seen() {
    // Not on tmpfs, where a write to a mapping never changes the file's time.
    let mut fixture = Fixture::on_disk();
    fixture.write("mapped", vec![b'-'; 4096]);
    // Newly allocated blocks would be written back by the file system's next commit.
    std::fs::File::open(fixture.path("mapped")).unwrap().sync_all().unwrap();
    fixture.look();
    let file =
        std::fs::File::options().read(true).write(true).open(fixture.path("mapped")).unwrap();
    let page = MappedPage::of(&file);
    page.write(b'1');
    // Until it is old enough that the look stops reading it because of its age.
    let deadline = Instant::now() + Duration::from_secs(240);
    while fixture.look().bytes_read > 0 {
        assert!(Instant::now() < deadline, "it never settles");
    }
    let first = fixture.look().id;
    page.write(b'2');
    let second = fixture.look().id;
    assert_ne!(first, second, "the page was still dirty, and its time did not change");
    fixture.undo(first, second);
    assert_eq!(fixture.read("mapped").as_bytes()[0], b'1');
}

#[test]
fn rules_that_would_take_more_memory_than_a_session_has_ignore_nothing() {
    let lines = |line: &str| -> String {
        (0..20_000).map(|number| format!("{}\n", line.replace('N', &number.to_string()))).collect()
    };
    for (rules, is_ignored) in [(lines("outN") + "out\n", true), (lines("*aN*") + "out\n", false)] {
        let mut fixture = Fixture::new();
        fixture.write(".gitignore", rules);
        fixture.write("out/file", "1");
        let uncovered: Vec<String> =
            fixture.look().uncovered.iter().map(|one| one.path.to_string()).collect();
        assert_eq!(uncovered == ["out"], is_ignored, "{uncovered:?}");
    }
}
