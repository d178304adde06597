//! Random trees and changes: a restore gives the exact bytes, modes and links, and restoring from
//! there gives the changed tree again.

use std::path::{Path, PathBuf};

use windlass_workspace::{CancelFlag, LookDepth, RestoreConsent, RestoreResult};

use crate::fixture::{Fixture, Random, assert_same, bytes_path, read_tree, set_mode};

const NAMES: &[&[u8]] =
    &[b"a", b"b", b"c", b"A", b"line\nbreak", b"\xff\xfe", b"space name", b".hidden", b"-dash"];
const MODES: &[u32] = &[0o644, 0o755, 0o600, 0o444];
const FOLDER_MODES: &[u32] = &[0o755, 0o700, 0o555];

fn random_path(random: &mut Random, root: &Path) -> PathBuf {
    let mut path = root.to_owned();
    for _ in 0..=random.below(3) {
        path.push(bytes_path(random.pick(NAMES)));
    }
    path
}

fn remove(path: &Path) {
    let _ = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) | Err(_) => std::fs::remove_file(path),
    };
}

/// One random change, as a shell command might make it. Fails in a folder without write access.
fn change(random: &mut Random, root: &Path) {
    let path = random_path(random, root);
    let parent = path.parent().unwrap().to_owned();
    if std::fs::create_dir_all(&parent).is_err() {
        // A file is in the way: it is replaced by a folder.
        let blocking = parent.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap();
        remove(blocking);
        let _ = std::fs::create_dir_all(&parent);
    }
    let Ok(parent) = parent.canonicalize() else { return };
    if !parent.starts_with(root.canonicalize().unwrap()) {
        return;
    }
    match random.below(9) {
        0..=2 => {
            remove(&path);
            let size = [0, 1, 10, 5_000][random.below(4)];
            let bytes: Vec<u8> = (0..size).map(|_| random.below(256) as u8).collect();
            if std::fs::write(&path, bytes).is_ok() {
                set_mode(&path, random.pick(MODES));
            }
        }
        3 => remove(&path),
        4 => {
            remove(&path);
            let target = random.pick(&["a", "../b", "/nowhere", "loop"]);
            let _ = std::os::unix::fs::symlink(target, &path);
        }
        5 => {
            remove(&path);
            let _ = std::fs::create_dir(&path);
        }
        6 => {
            let from = random_path(random, root);
            let is_inside = path.starts_with(&from) || from.starts_with(&path);
            if !is_inside && from.symlink_metadata().is_ok() {
                remove(&path);
                let _ = std::fs::rename(from, &path);
            }
        }
        7 => {
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                set_mode(&path, random.pick(FOLDER_MODES));
            }
        }
        _ => {
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                set_mode(&path, random.pick(MODES));
            }
        }
    }
}

fn check_seed(seed: u64) {
    let mut random = Random::new(seed);
    let mut fixture = Fixture::in_memory();
    for _ in 0..30 {
        change(&mut random, &fixture.root);
    }
    let before = fixture.look().id;
    let tree_before = fixture.state();
    let mut batches = Vec::new();
    let mut last = before;
    for _ in 0..3 {
        for _ in 0..8 {
            change(&mut random, &fixture.root);
        }
        let after = fixture.look().id;
        batches.push((last, after));
        last = after;
    }
    let tree_after = fixture.state();

    let cancel = CancelFlag::new();
    let plan = fixture.workspace().plan(before, &batches, &cancel).unwrap();
    let report = fixture.workspace().carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
    let bad: Vec<_> = report
        .outcomes
        .iter()
        .filter(|o| o.result != RestoreResult::Restored)
        .map(|o| (o, plan.steps.iter().find(|step| step.path == o.path)))
        .collect();
    assert_same(&fixture.state(), &tree_before, &format!("seed {seed}: {bad:#?}"));
    assert_eq!(report.after, before, "seed {seed}");
    let thorough = fixture.workspace().look(LookDepth::Thorough, &cancel).unwrap();
    assert_eq!(thorough.id, before, "seed {seed}");

    fixture.undo(report.before, report.after);
    assert_same(&fixture.state(), &tree_after, &format!("seed {seed}: the undo of the undo"));

    let place = fixture.store.parent().unwrap().join("copy");
    fixture.workspace().copy_to(before, &place, &cancel).unwrap();
    assert_same(&read_tree(&place), &tree_before, &format!("seed {seed}: the copy"));
}

#[test]
fn going_back_is_exact_on_random_trees() {
    for seed in 1..=60 {
        check_seed(seed);
    }
}
