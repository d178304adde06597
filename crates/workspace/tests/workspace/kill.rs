//! Kills before every operation that changes the disk.
//!
//! The hook panics there, which leaves the disk as a kill would: nothing is written during
//! unwinding. Then everything is reopened, as the next process would do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_workspace::{
    CancelFlag, LookDepth, PackOptions, RestoreConsent, RestoreResult, SnapshotId, Workspace,
};

use crate::fixture::{Fixture, Random, TreeState, assert_same};

/// Runs `act` until it is killed before operation number `moment`. Returns whether that happened.
pub(crate) fn kill_at(
    fixture: &mut Fixture,
    moment: usize,
    act: impl FnOnce(&mut Workspace),
) -> bool {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let workspace = fixture.workspace();
    workspace.set_disk_hook(move |operation| {
        if counter.fetch_add(1, Ordering::Relaxed) == moment {
            std::panic::resume_unwind(Box::new(operation));
        }
    });
    let ended = catch_unwind(AssertUnwindSafe(|| act(workspace)));
    fixture.reopen();
    ended.is_err()
}

/// Runs `check` for every moment at which the work can be killed; there must be at least `least`.
pub(crate) fn for_every_moment(least: usize, mut check: impl FnMut(usize) -> bool) {
    let mut moment = 0;
    while check(moment) {
        moment += 1;
    }
    assert!(moment >= least, "only {moment} moments");
}

struct ChangedTree {
    fixture: Fixture,
    before: SnapshotId,
    after: SnapshotId,
    tree_before: TreeState,
    tree_after: TreeState,
}

fn change_tree() -> ChangedTree {
    let mut fixture = Fixture::in_memory();
    fixture.write("edited", "old");
    fixture.write("removed/inner/file", "old");
    fixture.write("becomes_folder", "old");
    fixture.write("becomes_file/inside", "old");
    fixture.write("untouched", "same");
    std::os::unix::fs::symlink("edited", fixture.path("link")).unwrap();
    let before = fixture.look().id;
    let tree_before = fixture.state();
    fixture.write("edited", "new");
    std::fs::remove_dir_all(fixture.path("removed")).unwrap();
    std::fs::remove_file(fixture.path("becomes_folder")).unwrap();
    fixture.write("becomes_folder/inside", "new");
    std::fs::remove_dir_all(fixture.path("becomes_file")).unwrap();
    fixture.write("becomes_file", "new");
    fixture.write("made/new", "new");
    std::fs::remove_file(fixture.path("link")).unwrap();
    std::os::unix::fs::symlink("untouched", fixture.path("link")).unwrap();
    let after = fixture.look().id;
    let tree_after = fixture.state();
    ChangedTree { fixture, before, after, tree_before, tree_after }
}

fn check_restore(moment: usize, second: Option<usize>, has_plain_renames: bool) -> bool {
    let mut changed = change_tree();
    let fixture = &mut changed.fixture;
    let be_plain = |fixture: &mut Fixture| {
        if has_plain_renames {
            fixture.workspace().use_plain_renames();
        }
    };
    be_plain(fixture);
    let plan = fixture.plan(changed.before, changed.after);
    let cancel = CancelFlag::new();
    let was_killed = kill_at(fixture, moment, |workspace| {
        workspace.carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
    });
    for (path, standing) in &fixture.state() {
        let is_ours = path.to_string_lossy().contains(".windlass-restore-");
        let is_old_or_new = changed.tree_before.get(path) == Some(standing)
            || changed.tree_after.get(path) == Some(standing)
            || matches!(standing, crate::fixture::Standing::Folder { .. });
        assert!(is_ours || is_old_or_new, "killed at {moment}: {path:?} is {standing:?}");
    }
    be_plain(fixture);
    if let Some(second) = second {
        kill_at(fixture, second, |workspace| {
            workspace.finish().unwrap();
        });
        be_plain(fixture);
    }
    let has_begun = fixture.workspace().has_unfinished_restore();
    let finished = fixture.workspace().finish().unwrap();
    assert_eq!(finished.is_some(), has_begun);
    if let Some(report) = finished {
        let bad: Vec<_> = report
            .outcomes
            .iter()
            .filter(|one| {
                !matches!(one.result, RestoreResult::Restored | RestoreResult::AlreadyThere)
            })
            .collect();
        assert!(bad.is_empty(), "killed at {moment}, {second:?}: {bad:?}");
        assert_same(
            &fixture.state(),
            &changed.tree_before,
            &format!("killed at {moment}, {second:?}"),
        );
    } else {
        // Killed before the log was written (nothing done) or after it was removed (everything
        // done).
        let state = fixture.state();
        assert!(state == changed.tree_before || state == changed.tree_after, "killed at {moment}");
    }
    assert!(fixture.workspace().finish().unwrap().is_none());
    fixture.undo(changed.before, changed.after);
    assert_same(&fixture.state(), &changed.tree_before, "and then by hand");
    was_killed
}

#[test]
fn w10_a_restore_killed_at_any_moment_is_finished() {
    for_every_moment(30, |moment| check_restore(moment, None, false));
}

#[test]
fn w10_where_names_cannot_be_exchanged_a_restore_killed_at_any_moment_is_finished() {
    for_every_moment(35, |moment| check_restore(moment, None, true));
    for second in (0..40).step_by(3) {
        for_every_moment(35, |moment| check_restore(moment, Some(second), true));
    }
}

#[test]
fn w10_a_restore_killed_twice_is_finished() {
    for second in (0..40).step_by(3) {
        for_every_moment(30, |moment| check_restore(moment, Some(second), false));
    }
}

#[test]
fn w10_a_look_killed_at_any_moment_leaves_the_older_snapshots_whole() {
    for_every_moment(3, |moment| {
        let mut changed = change_tree();
        let fixture = &mut changed.fixture;
        for number in 0..5 {
            fixture.write(&format!("more/{number}"), Random::new(number + 1).noise(900_000));
        }
        let was_killed = kill_at(fixture, moment, |workspace| {
            workspace.look(LookDepth::Quick, &CancelFlag::new()).unwrap();
        });
        let now = fixture.state();
        let looked = fixture.look().id;
        let thorough =
            fixture.workspace().look(LookDepth::Thorough, &CancelFlag::new()).unwrap().id;
        assert_eq!(looked, thorough);
        let plan = fixture
            .workspace()
            .plan(
                changed.before,
                &[(changed.before, changed.after), (changed.after, looked)],
                &CancelFlag::new(),
            )
            .unwrap();
        let report = fixture
            .workspace()
            .carry_out(&plan, &RestoreConsent::None, &CancelFlag::new())
            .unwrap();
        assert_same(&fixture.state(), &changed.tree_before, "the older snapshot");
        fixture.undo(report.before, report.after);
        assert_same(&fixture.state(), &now, "the newer snapshot");
        was_killed
    });
}

#[test]
fn w10_forgetting_killed_at_any_moment_keeps_what_is_wanted() {
    for_every_moment(4, |moment| {
        let mut changed = change_tree();
        let fixture = &mut changed.fixture;
        for number in 0..6 {
            fixture.write("noise", Random::new(number + 1).noise(5_000));
            fixture.look();
        }
        let live = [changed.before, changed.after];
        let was_killed = kill_at(fixture, moment, |workspace| {
            workspace.forget(&live).unwrap();
        });
        for snapshot in live {
            let place = fixture.store.parent().unwrap().join(format!("copy-{snapshot}"));
            fixture.workspace().copy_to(snapshot, &place, &CancelFlag::new()).unwrap();
        }
        fixture.workspace().forget(&live).unwrap();
        assert!(fixture.workspace().has_snapshot(changed.before));
        was_killed
    });
}

#[test]
fn w10_unpacking_killed_at_any_moment_is_repeated() {
    let mut origin = change_tree();
    let mut pack = Vec::new();
    let packed =
        origin.fixture.workspace().pack(origin.before, &PackOptions::default(), &mut pack).unwrap();
    for_every_moment(3, |moment| {
        let mut fixture = Fixture::in_memory();
        let was_killed = kill_at(&mut fixture, moment, |workspace| {
            workspace.unpack(&mut pack.as_slice()).unwrap();
        });
        assert_eq!(fixture.workspace().unpack(&mut pack.as_slice()).unwrap(), packed.id);
        let place = fixture.store.parent().unwrap().join("copy");
        fixture.workspace().copy_to(packed.id, &place, &CancelFlag::new()).unwrap();
        assert_same(&crate::fixture::read_tree(&place), &origin.tree_before, "after the kill");
        was_killed
    });
}

#[test]
fn w10_a_copy_killed_at_any_moment_leaves_the_origin_alone_and_is_made_elsewhere() {
    for_every_moment(5, |moment| {
        let mut changed = change_tree();
        let fixture = &mut changed.fixture;
        let folder = fixture.store.parent().unwrap().to_owned();
        let was_killed = kill_at(fixture, moment, |workspace| {
            workspace.copy_to(changed.before, &folder.join("cut"), &CancelFlag::new()).unwrap();
        });
        assert_same(&fixture.state(), &changed.tree_after, "the origin");
        let is_empty = std::fs::read_dir(folder.join("cut")).map_or(0, Iterator::count) == 0;
        let again =
            fixture.workspace().copy_to(changed.before, &folder.join("cut"), &CancelFlag::new());
        assert_eq!(again.is_ok(), is_empty, "half a copy is never taken for a whole one");
        let place = folder.join("copy");
        fixture.workspace().copy_to(changed.before, &place, &CancelFlag::new()).unwrap();
        assert_same(&crate::fixture::read_tree(&place), &changed.tree_before, "made anew");
        was_killed
    });
}

/// Environment variable for the process to be killed: the folder it works in.
const VICTIM_FOLDER: &str = "WORKSPACE_TEST_VICTIM_FOLDER";

/// Restores back and forth between two states until it is killed. Does nothing in an ordinary run.
#[test]
fn victim_of_the_next_test() {
    let Some(folder) = std::env::var_os(VICTIM_FOLDER).map(std::path::PathBuf::from) else {
        return;
    };
    let root = folder.join("root");
    let mut workspace = Workspace::open(
        &root,
        &folder.join("store"),
        windlass_workspace::WorkspaceOptions::default(),
    )
    .unwrap();
    let cancel = CancelFlag::new();
    let look = |workspace: &mut Workspace| workspace.look(LookDepth::Quick, &cancel).unwrap().id;
    let old = look(&mut workspace);
    for number in 0..20 {
        std::fs::write(root.join(format!("f{number}")), "new").unwrap();
    }
    let mut span = (old, look(&mut workspace));
    loop {
        println!("round");
        let plan = workspace.plan(span.0, &[span], &cancel).unwrap();
        let report = workspace.carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
        span = (report.before, report.after);
    }
}

#[test]
fn w10_a_process_that_is_killed_leaves_whole_files_and_a_restore_to_finish() {
    use std::io::BufRead;

    for round in 1..=12_u64 {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        for number in 0..20 {
            std::fs::write(root.join(format!("f{number}")), "old").unwrap();
        }
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::victim_of_the_next_test", "--nocapture", "--test-threads=1"])
            .env(VICTIM_FOLDER, folder.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(victim.stdout.take().unwrap()).lines();
        let is_round = |line: &std::io::Result<String>| {
            line.as_ref().is_ok_and(|line| line.ends_with("round"))
        };
        let rounds = lines.filter(is_round).take(usize::try_from(round).unwrap()).count();
        // Kills at a different point of the work in each round.
        for spin in 0..round * 40_000 {
            std::hint::black_box(spin);
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert_eq!(rounds as u64, round);

        let store = folder.path().join("store");
        let mut workspace =
            Workspace::open(&root, &store, windlass_workspace::WorkspaceOptions::default())
                .unwrap();
        for number in 0..20 {
            let bytes = std::fs::read(root.join(format!("f{number}"))).unwrap();
            assert!([b"old", b"new"].iter().any(|whole| bytes == *whole), "f{number}: {bytes:?}");
        }
        let finished = workspace.finish().unwrap();
        let all: std::collections::BTreeSet<Vec<u8>> =
            (0..20).map(|number| std::fs::read(root.join(format!("f{number}"))).unwrap()).collect();
        assert_eq!(all.len(), 1, "one state or the other: {:?}", finished.map(|one| one.outcomes));
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 20, "nothing is left beside");
    }
}
