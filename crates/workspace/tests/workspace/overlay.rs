//! Accepting a trial: the overlay's changes are carried over, changes by others are conflicts, and
//! after a kill at any moment the trial can be accepted again.
//!
//! The upper folder is built by hand as the kernel would write it, so that these tests need no
//! mount.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use windlass_workspace::{
    CancelFlag, OverlayPlan, OverlayTrial, RestoreConsent, SnapshotId, TrialFiles, Workspace,
};

use crate::fixture::{Fixture, TreeState, assert_same, read_tree};
use crate::kill::{for_every_moment, kill_at};

/// A root, a trial on it, and the tree that accepting the trial must give.
struct Tried {
    fixture: Fixture,
    trial: OverlayTrial,
    upper: PathBuf,
    expected: TreeState,
    _folder: tempfile::TempDir,
}

/// Builds the upper folder as the kernel would have written it, and the merged tree as a separate
/// folder.
fn try_changes() -> Option<Tried> {
    let mut fixture = Fixture::new();
    fixture.write(".gitignore", "build/\n");
    fixture.write("edited", "old");
    fixture.write("removed/inner/file", "old");
    fixture.write("removed/build/made", "old");
    fixture.write("anew/old", "old");
    fixture.write("build/kept", "kept");
    fixture.write("build/stale", "stale");
    fixture.write("build/replaced/old", "a folder becomes a file");
    fixture.write("untouched", "same");
    let before = fixture.look().id;
    let folder = tempfile::tempdir().unwrap();
    wait_for_the_next_tick(folder.path());
    let upper = folder.path().join("upper");
    let merged = folder.path().join("merged");
    std::fs::create_dir_all(upper.join("build/sub")).unwrap();
    std::fs::create_dir_all(upper.join("anew")).unwrap();
    let marked = setxattr(upper.join("anew"), "user.overlay.opaque", b"y", XattrFlags::empty());
    if marked.is_err() || !white_out(&upper.join("removed")) {
        return None;
    }
    assert!(white_out(&upper.join("build/stale")));
    for (path, text) in
        [("edited", "new"), ("anew/new", "n"), ("build/sub/x", "x"), ("build/replaced", "file")]
    {
        std::fs::write(upper.join(path), text).unwrap();
    }
    symlink("edited", upper.join("build/link")).unwrap();
    let after = look_at_merged(&fixture, &upper, &merged);
    let expected = read_tree(&merged);
    let began = std::fs::metadata(&merged).unwrap().modified().unwrap();
    let trial = OverlayTrial { before, after, files: TrialFiles::Overlay(upper.clone()), began };
    Some(Tried { fixture, trial, upper, expected, _folder: folder })
}

/// Waits for the next tick of the file system's clock.
fn wait_for_the_next_tick(folder: &Path) {
    let touch = || {
        std::fs::write(folder.join("clock"), "tick").unwrap();
        std::fs::metadata(folder.join("clock")).unwrap().modified().unwrap()
    };
    let first = touch();
    assert!((0..1_000_000).any(|_| touch() > first), "the clock stands still");
}

/// Creates a whiteout. Very old kernels allow this only to root; returns false there.
fn white_out(path: &Path) -> bool {
    mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).is_ok()
}

/// A snapshot of the merged tree in the root's store, as a look at the mounted overlay would give.
fn look_at_merged(fixture: &Fixture, _upper: &Path, merged: &Path) -> SnapshotId {
    let write = |name: &str, text: &str| {
        let path = merged.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".gitignore", "build/\n");
    write("edited", "new");
    write("anew/new", "n");
    write("build/kept", "kept");
    write("build/sub/x", "x");
    write("build/replaced", "file");
    write("untouched", "same");
    symlink("edited", merged.join("build/link")).unwrap();
    let options = windlass_workspace::WorkspaceOptions {
        is_overlay: true,
        ..windlass_workspace::WorkspaceOptions::default()
    };
    let mut workspace = Workspace::open(merged, &fixture.store, options).unwrap();
    workspace.look(windlass_workspace::LookDepth::Quick, &CancelFlag::new()).unwrap().id
}

fn plan(workspace: &mut Workspace, trial: &OverlayTrial) -> OverlayPlan {
    workspace.plan_trial(trial, &CancelFlag::new()).unwrap()
}

fn accept(workspace: &mut Workspace, trial: &OverlayTrial, consent: &RestoreConsent) {
    let plan = plan(workspace, trial);
    workspace.accept_trial(trial, &plan, consent, &CancelFlag::new()).unwrap();
}

#[test]
fn a_trial_is_carried_over_with_what_snapshots_do_not_cover() {
    let Some(mut tried) = try_changes() else { return };
    let made = plan(tried.fixture.workspace(), &tried.trial);
    assert!(made.conflicts().is_empty(), "{made:?}");
    accept(tried.fixture.workspace(), &tried.trial, &RestoreConsent::None);
    assert_same(&tried.fixture.state(), &tried.expected, "as on the overlay");
    // Accepting it again changes nothing.
    accept(tried.fixture.workspace(), &tried.trial, &RestoreConsent::None);
    assert_same(&tried.fixture.state(), &tried.expected, "as on the overlay");
}

#[test]
fn w33_a_persons_change_is_a_conflict_where_the_trial_touched_it_and_nowhere_else() {
    let Some(mut tried) = try_changes() else { return };
    tried.fixture.write("edited", "mine");
    tried.fixture.write("untouched", "mine");
    tried.fixture.write("removed/build/made", "mine");
    let made = plan(tried.fixture.workspace(), &tried.trial);
    let conflicts: Vec<PathBuf> =
        made.conflicts().into_iter().map(|path| path.as_path().to_owned()).collect();
    assert_eq!(conflicts, [PathBuf::from("edited")]);
    accept(tried.fixture.workspace(), &tried.trial, &RestoreConsent::None);
    assert_eq!(tried.fixture.read("edited"), "mine");
    assert_eq!(tried.fixture.read("untouched"), "mine");
    assert_eq!(tried.fixture.read("removed/build/made"), "mine", "newer than the trial");
    assert_eq!(tried.fixture.read("build/sub/x"), "x");
}

#[test]
fn w33_a_kill_while_a_trial_is_accepted_is_made_good() {
    if try_changes().is_none() {
        return;
    }
    for_every_moment(10, |moment| {
        let mut tried = try_changes().unwrap();
        let trial = tried.trial.clone();
        let was_killed = kill_at(&mut tried.fixture, moment, |workspace| {
            accept(workspace, &trial, &RestoreConsent::None);
        });
        let workspace = tried.fixture.workspace();
        if workspace.has_unfinished_restore() {
            workspace.finish().unwrap();
        }
        accept(workspace, &trial, &RestoreConsent::None);
        assert_same(&tried.fixture.state(), &tried.expected, &format!("killed at {moment}"));
        was_killed
    });
}

#[test]
fn a_process_that_outlives_a_trial_cannot_write_what_was_accepted() {
    use std::io::Write;

    let Some(mut tried) = try_changes() else { return };
    let survivor = std::fs::File::options().append(true).open(tried.upper.join("build/sub/x"));
    let mut survivor = survivor.unwrap();
    let modified = survivor.metadata().unwrap().modified().unwrap();
    accept(tried.fixture.workspace(), &tried.trial, &RestoreConsent::None);
    survivor.write_all(b" and more").unwrap();
    assert_eq!(tried.fixture.read("build/sub/x"), "x");
    let accepted = std::fs::metadata(tried.fixture.path("build/sub/x")).unwrap();
    assert_eq!(accepted.modified().unwrap(), modified, "builds go by the time");
}

#[test]
fn nothing_is_accepted_while_another_process_goes_back() {
    let Some(mut tried) = try_changes() else { return };
    let before = tried.fixture.state();
    let made = plan(tried.fixture.workspace(), &tried.trial);
    let other = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(tried.fixture.store.join("restore-lock"))
        .unwrap();
    rustix::fs::flock(&other, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let trial = tried.trial.clone();
    let refused = tried.fixture.workspace().accept_trial(
        &trial,
        &made,
        &RestoreConsent::None,
        &CancelFlag::new(),
    );
    assert!(matches!(refused, Err(windlass_workspace::WorkspaceError::InUse)), "{refused:?}");
    assert_same(&tried.fixture.state(), &before, "nothing was begun");
    drop(other);
    accept(tried.fixture.workspace(), &tried.trial, &RestoreConsent::None);
    assert_same(&tried.fixture.state(), &tried.expected, "as on the overlay");
}

/// Takes a snapshot of one folder into the store of another.
fn look_at(root: &Path, store: &Path) -> SnapshotId {
    let options = windlass_workspace::WorkspaceOptions {
        is_overlay: true,
        ..windlass_workspace::WorkspaceOptions::default()
    };
    let mut workspace = Workspace::open(root, store, options).unwrap();
    workspace.look(windlass_workspace::LookDepth::Quick, &CancelFlag::new()).unwrap().id
}

#[test]
fn what_was_done_in_a_copy_is_accepted_with_its_commits_and_without_what_no_copy_has() {
    let mut fixture = Fixture::new();
    fixture.git(&["init", "-q"]);
    fixture.write(".gitignore", "build/\n");
    for name in ["a", "b", "c", "build/made"] {
        fixture.write(name, "one");
    }
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "first"]);
    let before = fixture.look().id;
    let copy = fixture.store.parent().unwrap().join("copy");
    fixture.workspace().copy_to(before, &copy, &CancelFlag::new()).unwrap();
    std::fs::write(copy.join("a"), "two").unwrap();
    std::fs::remove_file(copy.join("c")).unwrap();
    crate::fixture::run_git(&copy, &["commit", "-qam", "second"]);
    let after = look_at(&copy, &fixture.store);
    let began = std::fs::metadata(&copy).unwrap().modified().unwrap();
    let trial = OverlayTrial { before, after, files: TrialFiles::Copy(copy), began };
    // A user's change is a conflict only at a path that the copy changed.
    fixture.write("b", "mine");
    assert!(plan(fixture.workspace(), &trial).conflicts().is_empty());
    fixture.write("a", "mine");
    let conflicts = plan(fixture.workspace(), &trial);
    let conflicts: Vec<String> = conflicts.conflicts().iter().map(ToString::to_string).collect();
    assert_eq!(conflicts, ["a"]);
    accept(fixture.workspace(), &trial, &RestoreConsent::All);
    let held = ["a", "b", "build/made"].map(|name| fixture.read(name));
    assert_eq!(held, ["two", "mine", "one"]);
    assert!(!fixture.path("c").exists());
    assert_eq!(fixture.git(&["log", "--format=%s"]), "second\nfirst");
    fixture.git(&["fsck", "--strict"]);
}
