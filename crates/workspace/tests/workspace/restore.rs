//! Restores are exact, never overwrite others' changes, and never reach outside the root.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use windlass_workspace::{
    CancelFlag, PathStanding, RelativePath, RestoreConsent, RestoreResult, WorkspaceError,
    WorkspaceLimits, WorkspaceOptions,
};

use crate::fixture::{
    Fixture, Random, assert_same, read_tree, result_paths, set_mode, standing_paths,
};

#[test]
fn w6_kinds_folders_and_moved_trees_go_back_and_forth() {
    let mut fixture = Fixture::new();
    fixture.write("file", "f");
    fixture.write("folder/a/b", "b");
    fixture.write("folder/a/c", "c");
    fixture.write("tree/x/y/z", "z");
    fixture.write("README", "case");
    std::fs::create_dir_all(fixture.path("empty/inner")).unwrap();
    symlink("file", fixture.path("link")).unwrap();
    let before = fixture.look().id;
    let tree = fixture.state();

    std::fs::remove_file(fixture.path("file")).unwrap();
    fixture.write("file/now/folder", "x");
    std::fs::remove_dir_all(fixture.path("folder")).unwrap();
    symlink("/etc/passwd", fixture.path("folder")).unwrap();
    std::fs::rename(fixture.path("tree/x"), fixture.path("moved")).unwrap();
    std::fs::rename(fixture.path("README"), fixture.path("readme")).unwrap();
    std::fs::remove_dir_all(fixture.path("empty")).unwrap();
    std::fs::write(fixture.path("empty"), "file now").unwrap();
    std::fs::remove_file(fixture.path("link")).unwrap();
    std::fs::create_dir(fixture.path("link")).unwrap();
    let after = fixture.look().id;
    let changed = fixture.state();

    let report = fixture.undo(before, after);
    assert_same(&fixture.state(), &tree, &format!("{:?}", report.outcomes));
    assert!(report.outcomes.iter().all(|one| one.result == RestoreResult::Restored));
    fixture.undo(report.before, report.after);
    assert_same(&fixture.state(), &changed, "the undo of the undo");
}

#[test]
fn w7_a_link_planted_on_the_way_is_refused() {
    let mut fixture = Fixture::new();
    let outside = fixture.store.parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a"), "theirs").unwrap();
    fixture.write("folder/a", "old");
    fixture.write("other", "old");
    let before = fixture.look().id;
    fixture.write("folder/a", "new");
    fixture.write("other", "new");
    let after = fixture.look().id;
    let plan = fixture.plan(before, after);
    std::fs::rename(fixture.path("folder"), fixture.path("hidden")).unwrap();
    symlink(&outside, fixture.path("folder")).unwrap();
    let report =
        fixture.workspace().carry_out(&plan, &RestoreConsent::All, &CancelFlag::new()).unwrap();
    assert_eq!(result_paths(&report, RestoreResult::NotReachable), ["folder/a"]);
    assert_eq!(std::fs::read(outside.join("a")).unwrap(), b"theirs");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fixture.read("hidden/a"), "new");
    assert_eq!(fixture.read("other"), "old");
}

#[test]
fn w7_paths_above_the_root_are_no_paths() {
    for bad in ["..", "a/..", "../a", "/a", "a//b", "a/./b", "a/", "\0"] {
        let made = RelativePath::new(bad);
        assert!(matches!(made, Err(WorkspaceError::NotRelative)), "{bad:?}");
    }
    assert!(RelativePath::new("a/b").is_ok());
}

#[test]
fn w8_what_a_person_changed_stays_unless_they_agree() {
    let mut fixture = Fixture::new();
    for name in ["both", "ours", "theirs", "gone"] {
        fixture.write(name, "old");
    }
    let before = fixture.look().id;
    for name in ["both", "ours"] {
        fixture.write(name, "turn");
    }
    fixture.write("new_folder/ours", "turn");
    let after = fixture.look().id;
    fixture.write("both", "person");
    fixture.write("theirs", "person");
    fixture.write("new_folder/theirs", "person");
    std::fs::remove_file(fixture.path("gone")).unwrap();

    let plan = fixture.plan(before, after);
    assert_eq!(
        standing_paths(&plan, PathStanding::ChangedByOthers),
        ["both", "gone", "new_folder/theirs", "theirs"]
    );
    let report =
        fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap();
    assert_eq!(fixture.read("ours"), "old");
    for name in ["both", "theirs", "new_folder/theirs"] {
        assert_eq!(fixture.read(name), "person");
    }
    assert!(!fixture.path("gone").exists() && !fixture.path("new_folder/ours").exists());
    assert_eq!(result_paths(&report, RestoreResult::NotEmpty), ["new_folder"]);

    let plan = fixture.plan(before, after);
    let yes = RestoreConsent::Paths(BTreeSet::from([RelativePath::new("both").unwrap()]));
    fixture.workspace().carry_out(&plan, &yes, &CancelFlag::new()).unwrap();
    assert_eq!(fixture.read("both"), "old");
    assert_eq!(fixture.read("theirs"), "person");
}

#[test]
fn w8_a_person_between_two_turns_is_not_overwritten() {
    let mut fixture = Fixture::new();
    fixture.write("a", "zero");
    let zero = fixture.look().id;
    fixture.write("a", "one");
    let one = fixture.look().id;
    fixture.write("a", "person");
    let person = fixture.look().id;
    fixture.write("a", "two");
    let two = fixture.look().id;
    let cancel = CancelFlag::new();
    let all = fixture.workspace().plan(zero, &[(zero, one), (person, two)], &cancel).unwrap();
    assert_eq!(standing_paths(&all, PathStanding::ChangedByOthers), ["a"]);
    let last = fixture.workspace().plan(person, &[(person, two)], &cancel).unwrap();
    assert_eq!(standing_paths(&last, PathStanding::Unchanged), ["a"]);
}

/// How an editor saves a file.
#[derive(Clone, Copy, Debug)]
enum Saving {
    InPlace,
    ByRename,
    /// Into a handle opened before the restore began.
    OldHandle,
}

/// Restores three files while a user saves one of them before operation number `moment`. Returns
/// the number of operations.
fn save_during_restore(moment: usize, saving: Saving, has_plain_renames: bool) -> usize {
    let mut fixture = Fixture::in_memory();
    if has_plain_renames {
        fixture.workspace().use_plain_renames();
    }
    for name in ["a", "b", "gone"] {
        fixture.write(name, "old");
    }
    let before = fixture.look().id;
    fixture.write("a", "turn");
    fixture.write("b", "turn");
    fixture.write("made", "turn");
    std::fs::remove_file(fixture.path("gone")).unwrap();
    let after = fixture.look().id;
    let plan = fixture.plan(before, after);

    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let root = fixture.root.clone();
    let handles: Vec<std::fs::File> = ["b", "made"]
        .iter()
        .map(|name| std::fs::File::options().append(true).open(root.join(name)).unwrap())
        .collect();
    fixture.workspace().set_disk_hook(move |_| {
        if counter.fetch_add(1, Ordering::Relaxed) != moment {
            return;
        }
        for (name, mut handle) in ["b", "made"].iter().zip(&handles) {
            let path = root.join(name);
            match saving {
                Saving::InPlace => std::fs::write(&path, "person's work").unwrap(),
                Saving::ByRename => {
                    let beside = root.join(format!("{name}.swap"));
                    std::fs::write(&beside, "person's work").unwrap();
                    std::fs::rename(beside, path).unwrap();
                }
                Saving::OldHandle => handle.write_all(b"person's work").unwrap(),
            }
        }
    });
    fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap();
    let operations = count.load(Ordering::Relaxed);

    let is_work = |bytes: Vec<u8>| bytes.ends_with(b"person's work");
    let trash = read_tree(&fixture.store.join("trash"));
    let in_trash = trash
        .keys()
        .filter(|path| {
            is_work(std::fs::read(fixture.store.join("trash").join(path)).unwrap_or_default())
        })
        .count();
    if moment < operations {
        let in_place = ["b", "made"]
            .iter()
            .filter(|name| is_work(std::fs::read(fixture.path(name)).unwrap_or_default()))
            .count();
        let about = format!(
            "{saving:?} before operation {moment}: {in_place} and {in_trash}, {has_plain_renames}"
        );
        match saving {
            Saving::InPlace | Saving::ByRename => assert_eq!(in_place, 2, "{about}"),
            Saving::OldHandle => assert!(in_place + in_trash >= 2, "{about}"),
        }
    }
    assert_eq!(fixture.read("a"), "old");
    assert_eq!(fixture.read("gone"), "old");
    let left: Vec<_> = fixture
        .state()
        .into_keys()
        .filter(|path| path.to_string_lossy().contains(".windlass"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    operations
}

#[test]
fn w9_what_a_person_saves_at_any_moment_of_a_restore_survives() {
    for has_plain_renames in [false, true] {
        for saving in [Saving::InPlace, Saving::ByRename, Saving::OldHandle] {
            let mut moment = 0;
            while moment < save_during_restore(moment, saving, has_plain_renames) {
                moment += 1;
            }
            assert!(moment > 15, "{saving:?}: {moment} moments");
        }
    }
}

#[test]
fn w12_a_cancelled_restore_stops_between_files_and_can_be_repeated() {
    let mut fixture = Fixture::new();
    for number in 0..10 {
        fixture.write(&format!("f{number}"), "old");
    }
    let before = fixture.look().id;
    let tree = fixture.state();
    for number in 0..10 {
        fixture.write(&format!("f{number}"), "new");
    }
    let after = fixture.look().id;
    let plan = fixture.plan(before, after);
    let cancel = CancelFlag::new();
    let stop = cancel.clone();
    let exchanges = AtomicUsize::new(0);
    fixture.workspace().set_disk_hook(move |operation| {
        if operation == "exchange" && exchanges.fetch_add(1, Ordering::Relaxed) == 3 {
            stop.cancel();
        }
    });
    let report = fixture.workspace().carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
    assert!(report.is_cancelled);
    assert_eq!(result_paths(&report, RestoreResult::Restored).len(), 4);
    assert_eq!(result_paths(&report, RestoreResult::NotDone).len(), 6);
    for number in 0..10 {
        assert!(["old", "new"].contains(&fixture.read(&format!("f{number}")).as_str()));
    }
    assert!(!fixture.workspace().has_unfinished_restore());
    fixture.undo(before, after);
    assert_same(&fixture.state(), &tree, "repeated");
}

#[test]
fn replacements_are_on_the_disk_before_the_first_is_in_its_place() {
    let mut fixture = Fixture::in_memory();
    for name in ["a", "b", "gone"] {
        fixture.write(name, "old");
    }
    let before = fixture.look().id;
    fixture.write("a", "new");
    fixture.write("b", "new");
    std::fs::remove_file(fixture.path("gone")).unwrap();
    let after = fixture.look().id;
    let plan = fixture.plan(before, after);
    let operations = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&operations);
    fixture.workspace().set_disk_hook(move |operation| told.lock().unwrap().push(operation));
    fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap();
    let operations = operations.lock().unwrap();
    let place = |wanted| operations.iter().position(|one| *one == wanted).unwrap();
    let last_written = operations.iter().rposition(|one| *one == "write beside").unwrap();
    let synced = place("sync replacements");
    assert!(last_written < synced, "{operations:?}");
    assert!(synced < place("exchange") && synced < place("rename into place"), "{operations:?}");
}

#[test]
fn w11_what_the_store_has_no_room_for_is_told_before_and_left_after() {
    let limits = WorkspaceLimits { session_bytes: 4_000, ..WorkspaceLimits::default() };
    let mut fixture = Fixture::with(WorkspaceOptions { limits, ..WorkspaceOptions::default() });
    fixture.write("small", "s");
    let noise = Random::new(1).noise(20_000);
    fixture.write("large", &noise);
    let report = fixture.look();
    let named: Vec<String> = report.uncovered.iter().map(|one| one.path.to_string()).collect();
    assert_eq!(named, ["large"]);
    fixture.write("large", "overwritten");
    fixture.write("small", "changed");
    let after = fixture.look().id;
    let plan = fixture.plan(report.id, after);
    assert_eq!(standing_paths(&plan, PathStanding::NotKept), ["large"]);
    fixture.undo(report.id, after);
    assert_eq!(fixture.read("small"), "s");
    assert_eq!(fixture.read("large"), "overwritten");
}

#[test]
fn w28_modes_come_back_and_setuid_never_does() {
    let mut fixture = Fixture::new();
    fixture.write("read_only", "r");
    fixture.write("script", "s");
    fixture.write("privileged", "p");
    fixture.write("closed/inside", "i");
    set_mode(&fixture.path("read_only"), 0o444);
    set_mode(&fixture.path("privileged"), 0o4755);
    set_mode(&fixture.path("closed"), 0o555);
    let before = fixture.look().id;
    set_mode(&fixture.path("script"), 0o755);
    set_mode(&fixture.path("closed"), 0o755);
    fixture.write("closed/inside", "changed");
    set_mode(&fixture.path("closed"), 0o555);
    std::fs::remove_file(fixture.path("read_only")).unwrap();
    std::fs::remove_file(fixture.path("privileged")).unwrap();
    let after = fixture.look().id;
    fixture.undo(before, after);
    let mode = |name: &str| fixture.path(name).metadata().unwrap().mode() & 0o7777;
    assert_eq!(mode("read_only"), 0o444);
    assert_eq!(mode("script"), 0o644);
    assert_eq!(mode("privileged"), 0o755);
    assert_eq!(mode("closed"), 0o555);
    assert_eq!(fixture.read("closed/inside"), "i");
    set_mode(&fixture.path("closed"), 0o755);
}

#[test]
fn w29_only_what_changed_is_written_and_gets_a_new_time() {
    let mut fixture = Fixture::new();
    fixture.write("changed", "old");
    fixture.write("untouched", "same");
    let inode =
        |path: &Path| path.metadata().map(|found| (found.ino(), found.mtime_nsec())).unwrap();
    let untouched = inode(&fixture.path("untouched"));
    let before = fixture.look().id;
    let old_time = fixture.path("changed").metadata().unwrap().modified().unwrap();
    fixture.write("changed", "new");
    let new_time = fixture.path("changed").metadata().unwrap().modified().unwrap();
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_eq!(inode(&fixture.path("untouched")), untouched);
    let time = fixture.path("changed").metadata().unwrap().modified().unwrap();
    assert!(time > old_time && time >= new_time, "a build must see that the source changed again");
}

#[test]
fn large_new_files_are_moved_away_and_not_deleted() {
    let limits = WorkspaceLimits { file_bytes: 1_000, ..WorkspaceLimits::default() };
    let mut fixture = Fixture::with(WorkspaceOptions { limits, ..WorkspaceOptions::default() });
    let before = fixture.look().id;
    fixture.write("large", vec![b'l'; 5_000]);
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert!(!fixture.path("large").exists());
    let trash = read_tree(&fixture.store.join("trash"));
    let is_large = |path: &&std::path::PathBuf| {
        fixture.store.join("trash").join(path).metadata().unwrap().len() == 5_000
    };
    assert_eq!(trash.keys().filter(is_large).count(), 1);
}

#[test]
fn w9_with_the_store_on_another_file_system_nothing_is_lost() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    let mut fixture = Fixture::new();
    fixture.store = memory.path().join("store");
    let limits = WorkspaceLimits { file_bytes: 1_000, ..WorkspaceLimits::default() };
    let options = WorkspaceOptions { limits, ..WorkspaceOptions::default() };
    fixture.reopen_with(options);
    fixture.write("edited", "old");
    fixture.write("removed", "old");
    let before = fixture.look().id;
    fixture.write("edited", "new");
    std::fs::remove_file(fixture.path("removed")).unwrap();
    fixture.write("made", "new");
    fixture.write("large", vec![b'l'; 5_000]);
    let after = fixture.look().id;
    let report = fixture.undo(before, after);
    for name in ["edited", "removed"] {
        assert_eq!(fixture.read(name), "old");
    }
    assert!(!fixture.path("made").exists());
    // Its bytes are not stored, and it cannot be moved to the store's trash: it stays.
    assert_eq!(fixture.path("large").metadata().unwrap().len(), 5_000, "{:?}", report.outcomes);
    let refused = RestoreResult::Failed(std::io::ErrorKind::CrossesDevices);
    assert_eq!(result_paths(&report, refused), ["large"]);
    fixture.undo(report.before, report.after);
    assert_eq!(fixture.read("edited"), "new");
    assert_eq!(fixture.read("made"), "new");
}

#[test]
fn a_root_that_was_replaced_is_looked_at_anew() {
    let mut fixture = Fixture::new();
    fixture.write("a", "old");
    let before = fixture.look().id;
    let moved = fixture.root.with_file_name("moved");
    std::fs::rename(&fixture.root, &moved).unwrap();
    std::fs::create_dir(&fixture.root).unwrap();
    fixture.write("a", "new");
    let after = fixture.look().id;
    assert_ne!(before, after);
    fixture.undo(before, after);
    assert_eq!(fixture.read("a"), "old");
    assert_eq!(std::fs::read_dir(&moved).unwrap().count(), 1);
    std::fs::remove_dir_all(&fixture.root).unwrap();
    let gone = fixture.workspace().look(windlass_workspace::LookDepth::Quick, &CancelFlag::new());
    assert!(matches!(gone, Err(WorkspaceError::Disk { .. })));
}

#[test]
fn w5_what_became_ignored_or_untracked_since_goes_back_in_another_process_too() {
    let mut fixture = Fixture::new();
    fixture.git(&["init", "-q"]);
    fixture.write(".gitignore", "out/\n");
    fixture.write("out/tracked", "one");
    fixture.write("out/deep/tracked", "one");
    fixture.write("out/built", "not covered");
    fixture.write("dist/file", "one");
    fixture.git(&["add", "-f", "out/tracked", "out/deep/tracked"]);
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "one"]);
    let before = fixture.look().id;
    let held = fixture.state();
    fixture.write(".gitignore", "out/\ndist/\n");
    fixture.write("out/tracked", "two");
    fixture.write("out/deep/tracked", "two");
    fixture.write("dist/file", "two");
    fixture.write("dist/new", "two");
    fixture.git(&["rm", "-rq", "--cached", "out"]);
    let after = fixture.look().id;
    let changed = fixture.state();
    for _ in 0..2 {
        // Another session looks, which asks the rules as they are now.
        fixture.reopen();
        fixture.look();
        fixture.reopen();
        let report = fixture.undo(before, after);
        assert_eq!(result_paths(&report, RestoreResult::Skipped), Vec::<String>::new());
        let is_file = |path: &Path| !path.starts_with(".git");
        for (path, standing) in held.iter().filter(|(path, _)| is_file(path)) {
            assert_eq!(fixture.state().get(path), Some(standing), "{}", path.display());
        }
        assert!(!fixture.path("dist/new").exists());
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
        fixture.reopen();
        fixture.undo(report.before, report.after);
        for (path, standing) in changed.iter().filter(|(path, _)| is_file(path)) {
            assert_eq!(fixture.state().get(path), Some(standing), "{}", path.display());
        }
    }
    assert_eq!(fixture.read("out/built"), "not covered");
}

#[test]
fn a_restore_waits_for_a_lock_that_a_child_holds_for_a_moment() {
    let mut fixture = Fixture::new();
    fixture.write("a", "one");
    let before = fixture.look().id;
    fixture.write("a", "two");
    let after = fixture.look().id;
    let plan = fixture.plan(before, after);
    let lock = std::fs::File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(fixture.store.join("restore-lock"))
        .unwrap();
    lock.lock().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        // Until the restore was asked for, and a moment more.
        receiver.recv().unwrap();
        for spin in 0..20_000 {
            std::hint::black_box(spin);
        }
        drop(lock);
    });
    sender.send(()).unwrap();
    let report = fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new());
    assert_eq!(report.unwrap().outcomes.len(), 1);
    holder.join().unwrap();
    assert_eq!(fixture.read("a"), "one");
}
