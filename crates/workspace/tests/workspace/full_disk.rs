//! Tests on a disk that is really full: a small tmpfs in its own mount namespace.
//!
//! The test runs itself again in that namespace. Where the system allows none, it passes without a
//! check.

use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_workspace::{
    CancelFlag, LookDepth, RestoreConsent, RestoreResult, UncoveredReason, WorkspaceError,
};

use crate::fixture::{Fixture, Random, assert_same, result_paths};

/// Set in the namespace to the path of a 4 MB file system.
const SMALL_DISK: &str = "WORKSPACE_TEST_SMALL_DISK";

/// Returns the small disk in the process that has one; else runs the named test in such a process.
fn small_disk(test: &str) -> Option<PathBuf> {
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        return Some(disk.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let is_allowed =
        |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let namespace = ["--user", "--map-root-user", "--mount"];
    if !is_allowed(Command::new("unshare").args(namespace).arg("true")) {
        return None;
    }
    let script = "mount -t tmpfs -o size=4m small \"$1\" && exec \"$2\" --exact \"$3\" --nocapture";
    let ended = Command::new("unshare")
        .args(namespace)
        .args(["sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .arg(format!("full_disk::{test}"))
        .env(SMALL_DISK, folder.path())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{} {}", text(&ended.stdout), text(&ended.stderr));
    None
}

/// Writes a file until the disk is full.
fn fill(disk: &Path) -> PathBuf {
    use std::io::Write;
    let path = disk.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0; 1]).is_ok() {}
    path
}

#[test]
fn w11_a_disk_that_is_full_while_contents_are_kept_costs_only_the_way_back() {
    let Some(disk) =
        small_disk("w11_a_disk_that_is_full_while_contents_are_kept_costs_only_the_way_back")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let mut fixture = Fixture::at(root, disk.join("store"));
    fixture.write("small", "one");
    let first = fixture.look().id;
    // More than the measured room.
    fixture.write("large", Random::new(1).noise(6 << 20));
    fixture.write("small", "two");
    let second = fixture.look();
    let reasons: Vec<_> = second.uncovered.iter().map(|one| one.reason).collect();
    assert_eq!(reasons, [UncoveredReason::NoRoom]);
    // Another program fills the disk between measurement and write.
    std::fs::remove_file(fixture.path("large")).unwrap();
    fixture.write("medium", Random::new(2).noise(600_000));
    let filled = disk.clone();
    fixture.workspace().set_disk_hook(move |operation| {
        if operation == "write segment" {
            fill(&filled);
        }
    });
    let failed = fixture.workspace().look(LookDepth::Quick, &CancelFlag::new());
    assert!(matches!(failed, Err(WorkspaceError::NoRoom)), "told, nothing claimed: {failed:?}");
    fixture.workspace().set_disk_hook(|_| ());
    std::fs::remove_file(disk.join("filler")).unwrap();
    let third = fixture.look();
    assert_eq!(third.uncovered.len(), 0, "covered again: {:?}", third.uncovered);
    let held = fixture.state();
    let report = fixture.undo(first, third.id);
    assert_eq!(fixture.read("small"), "one");
    fixture.undo(report.before, report.after);
    assert_same(&fixture.state(), &held, "every content that was claimed is there");
}

#[test]
fn w12_a_disk_that_is_full_while_going_back_loses_nothing() {
    let Some(disk) = small_disk("w12_a_disk_that_is_full_while_going_back_loses_nothing") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let root = disk.join("root");
    std::fs::create_dir(&root).unwrap();
    let mut fixture = Fixture::at(root, folder.path().join("store"));
    for name in ["a", "b", "c"] {
        fixture.write(name, Random::new(3).noise(300_000));
    }
    fixture.write("d", "short");
    let before = fixture.look().id;
    let held_before = fixture.state();
    for name in ["a", "b", "c", "d"] {
        fixture.write(name, "new");
    }
    let after = fixture.look().id;
    let held_after = fixture.state();
    let filler = fill(&disk);
    let report = fixture.undo(before, after);
    let full = RestoreResult::Failed(std::io::ErrorKind::StorageFull);
    assert_eq!(result_paths(&report, full).len(), 4, "{:?}", report.outcomes);
    assert_same(&fixture.state(), &held_after, "old or new, and nothing beside");
    std::fs::remove_file(filler).unwrap();
    let plan = fixture.plan(before, after);
    let done = fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new());
    assert!(done.unwrap().outcomes.iter().all(|outcome| outcome.result.is_restored()));
    assert_same(&fixture.state(), &held_before, "done again, it is whole");
}
