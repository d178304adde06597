//! Contents in git's packs are not stored again, and stay available whatever happens to the
//! repository.

use std::path::PathBuf;

use windlass_workspace::{
    CancelFlag, LookDepth, RestoreConsent, SnapshotId, Workspace, WorkspaceOptions,
};

use crate::fixture::{Fixture, Random, assert_same, set_mode};

fn referring() -> WorkspaceOptions {
    WorkspaceOptions { refers_to_packs: true, ..WorkspaceOptions::default() }
}

/// Text files, each in several versions, all in one pack.
fn packed_tree(files: usize) -> Fixture {
    let fixture = Fixture::with(referring());
    fixture.git(&["init", "-q"]);
    for version in 0..4 {
        for number in 0..files {
            let line = format!("line of file {number} that nobody reads\n");
            let mut text = line.repeat(60 + (number * 7) % 160);
            text.push_str(&format!("version {version}\n"));
            text.push_str(&line.repeat(40));
            let mut bytes = text.into_bytes();
            // Incompressible, so that storing it would show.
            bytes.extend(Random::new(number as u64 + 1).noise(1_500));
            fixture.write(&format!("folder{}/file{number}", number % 9), bytes);
        }
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-qm", &format!("version {version}")]);
    }
    fixture.git(&["repack", "-adfq", "--depth=50", "--window=20"]);
    fixture.git(&["prune-packed", "-q"]);
    fixture
}

fn held_packs(fixture: &Fixture) -> Vec<PathBuf> {
    let folder = fixture.store.join("git-objects/.git/objects/pack");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut packs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    packs.retain(|path| path.extension().is_some_and(|end| end == "pack"));
    packs.sort();
    packs
}

/// Changes every file of the tree in place, except `.git`.
fn change_everything(fixture: &Fixture) {
    for folder in 0..9 {
        for entry in std::fs::read_dir(fixture.path(format!("folder{folder}"))).unwrap() {
            std::fs::write(entry.unwrap().path(), "changed").unwrap();
        }
    }
}

fn tree_bytes(fixture: &Fixture) -> u64 {
    let folders = (0..9).map(|folder| fixture.path(format!("folder{folder}")));
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn a_first_look_stores_nothing_that_a_pack_has() {
    let mut fixture = packed_tree(300);
    let first = fixture.look();
    let stored = fixture.workspace().usage().bytes;
    let tree = tree_bytes(&fixture);
    // 36 bytes per file plus the folder records; git's index is stored whole.
    let index = fixture.path(".git/index").metadata().unwrap().len();
    assert!(stored - index < tree / 50, "{stored} bytes for {tree}, {index} of the index");
    let held = fixture.state();
    change_everything(&fixture);
    let after = fixture.look().id;
    fixture.undo(first.id, after);
    assert_same(&fixture.state(), &held, "read from the pack");
    // Another process, which does not look first.
    fixture.reopen();
    let plan = fixture.plan(after, first.id);
    let back = fixture.workspace().carry_out(&plan, &RestoreConsent::All, &CancelFlag::new());
    assert!(back.unwrap().outcomes.iter().all(|outcome| outcome.result.is_restored()));
    assert_eq!(fixture.read("folder0/file0"), "changed");
}

#[test]
fn w21_what_only_a_pack_had_is_there_when_the_repository_is_gone() {
    let mut fixture = packed_tree(40);
    let before = fixture.look().id;
    let held = fixture.state();
    // Rewrites, repacks and prunes, so that only the store still has the old pack.
    fixture.git(&["checkout", "-q", "--orphan", "other"]);
    fixture.git(&["rm", "-rqf", "."]);
    fixture.write("folder0/new", "new");
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-qm", "other"]);
    fixture.git(&["branch", "-D", "main"]);
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    let after = fixture.look().id;
    fixture.workspace().forget(&[before, after]).unwrap();
    fixture.undo(before, after);
    for number in 0..40 {
        let name = PathBuf::from(format!("folder{}/file{number}", number % 9));
        assert_eq!(fixture.state().get(&name), held.get(&name));
    }
    fixture.git(&["fsck", "--strict"]);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");

    let mut fixture = packed_tree(40);
    let before = fixture.look().id;
    let held = fixture.state();
    std::fs::remove_dir_all(fixture.path(".git")).unwrap();
    change_everything(&fixture);
    let after = fixture.look().id;
    fixture.workspace().forget(&[before, after]).unwrap();
    fixture.reopen_with(referring());
    fixture.undo(before, after);
    for number in 0..40 {
        let name = PathBuf::from(format!("folder{}/file{number}", number % 9));
        assert_eq!(fixture.state().get(&name), held.get(&name));
    }
    fixture.git(&["fsck", "--strict"]);
}

#[test]
fn every_version_of_a_chain_of_deltas_is_read_right() {
    let mut fixture = packed_tree(30);
    let mut versions: Vec<SnapshotId> = Vec::new();
    let mut states = Vec::new();
    for back in [3, 1, 2, 0] {
        fixture.git(&["checkout", "-q", &format!("main~{back}")]);
        let stored = fixture.workspace().usage().bytes;
        versions.push(fixture.look().id);
        let grown = fixture.workspace().usage().bytes - stored;
        assert!(grown < tree_bytes(&fixture) / 5, "{grown} bytes for a version that git has");
        states.push(fixture.state());
    }
    for (id, state) in versions.iter().zip(&states) {
        let plan = fixture.workspace().plan(*id, &[], &CancelFlag::new()).unwrap();
        fixture.workspace().carry_out(&plan, &RestoreConsent::All, &CancelFlag::new()).unwrap();
        assert_same(&fixture.state(), state, "a version");
    }
}

#[test]
fn w26_a_pack_that_was_written_over_costs_what_was_only_there_and_gives_no_wrong_bytes() {
    let mut fixture = packed_tree(30);
    let before = fixture.look().id;
    let held = fixture.state();
    let pack = held_packs(&fixture).remove(0);
    let whole = std::fs::read(&pack).unwrap();
    set_mode(&pack, 0o644);
    // The pack is cut while the files still exist: the next look stores them.
    std::fs::File::options().write(true).open(&pack).unwrap().set_len(1_000).unwrap();
    fixture.write("other", "a change");
    let looked = fixture.look();
    assert!(looked.bytes_read > tree_bytes(&fixture) / 2, "read again: {looked:?}");
    change_everything(&fixture);
    let after = fixture.look().id;
    fixture.undo(looked.id, after);
    let path = PathBuf::from("folder1/file1");
    assert_eq!(fixture.state().get(&path), held.get(&path), "stored before it was changed");
    assert!(fixture.workspace().has_snapshot(before));

    // Flipped bits in the middle: a content is either unavailable or right.
    for place in (40..whole.len() - 30).step_by(whole.len() / 23) {
        let mut fixture = packed_tree(12);
        let before = fixture.look().id;
        let pack = held_packs(&fixture).remove(0);
        let mut bytes = std::fs::read(&pack).unwrap();
        let place = place % (bytes.len() - 60) + 20;
        bytes[place] ^= 0x20;
        set_mode(&pack, 0o644);
        std::fs::write(&pack, bytes).unwrap();
        set_mode(&pack, 0o444);
        let held = fixture.state();
        change_everything(&fixture);
        let after = fixture.look().id;
        fixture.undo(before, after);
        for (path, now) in fixture.state() {
            let is_changed = fixture.path(&path).is_file()
                && std::fs::read(fixture.path(&path)).unwrap() == b"changed";
            assert!(is_changed || held.get(&path) == Some(&now), "{}", path.display());
        }
    }
}

#[test]
fn packs_that_can_be_written_and_repositories_of_another_kind_are_not_relied_on() {
    let mut fixture = packed_tree(20);
    for entry in std::fs::read_dir(fixture.path(".git/objects/pack")).unwrap() {
        set_mode(&entry.unwrap().path(), 0o644);
    }
    fixture.look();
    let stored = fixture.workspace().usage().bytes;
    let other = {
        let mut trusted = packed_tree(20);
        trusted.look();
        trusted.workspace().usage().bytes
    };
    assert!(stored > other + 20_000, "{stored} and {other}");

    let mut fixture = Fixture::with(referring());
    fixture.git(&["init", "-q", "--object-format=sha256"]);
    fixture.write("a", Random::new(1).noise(20_000));
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "one"]);
    fixture.git(&["repack", "-adq"]);
    fixture.look();
    assert!(fixture.workspace().usage().bytes > 20_000);
}

#[test]
fn forgetting_keeps_the_packs_and_the_names_that_a_snapshot_needs() {
    let mut fixture = packed_tree(60);
    // Noise only in the first snapshot, so that its segment is rewritten.
    fixture.write("noise", Random::new(3).noise(200_000));
    let first = fixture.look().id;
    std::fs::remove_file(fixture.path("noise")).unwrap();
    let second = fixture.look().id;
    let held = fixture.state();
    let freed = fixture.workspace().forget(&[second]).unwrap();
    assert!(freed > 150_000, "{freed}");
    assert!(!fixture.workspace().has_snapshot(first));
    fixture.reopen_with(referring());
    change_everything(&fixture);
    let third = fixture.look().id;
    std::fs::remove_dir_all(fixture.path(".git")).unwrap();
    let last = fixture.look().id;
    fixture.workspace().forget(&[second, third, last]).unwrap();
    let plan =
        fixture.workspace().plan(second, &[(second, third), (third, last)], &CancelFlag::new());
    fixture
        .workspace()
        .carry_out(&plan.unwrap(), &RestoreConsent::None, &CancelFlag::new())
        .unwrap();
    for path in held.keys().filter(|path| path.starts_with("folder3")) {
        assert_eq!(fixture.state().get(path), held.get(path), "{}", path.display());
    }
    fixture.workspace().forget(&[]).unwrap();
    assert!(held_packs(&fixture).is_empty());
    // The removed packs' contents are not assumed to be stored.
    let now = fixture.look().id;
    let held = fixture.state();
    change_everything(&fixture);
    let changed = fixture.look().id;
    fixture.undo(now, changed);
    for path in held.keys().filter(|path| path.starts_with("folder4")) {
        assert_eq!(fixture.state().get(path), held.get(path), "{}", path.display());
    }
}

#[test]
fn two_processes_and_one_that_stores_everything_read_what_is_only_in_a_pack() {
    let mut fixture = packed_tree(20);
    let mut other =
        Workspace::open(&fixture.root, &fixture.store, WorkspaceOptions::default()).unwrap();
    let before = fixture.look().id;
    let held = fixture.state();
    change_everything(&fixture);
    let after = other.look(LookDepth::Quick, &CancelFlag::new()).unwrap().id;
    let plan = other.plan(before, &[(before, after)], &CancelFlag::new()).unwrap();
    let report = other.carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap();
    assert!(report.outcomes.iter().all(|outcome| outcome.result.is_restored()), "{report:?}");
    assert_same(&fixture.state(), &held, "the other process knows the pack");
}

#[test]
fn w21_contents_in_a_pack_stay_available_when_every_file_is_made_writable() {
    let mut fixture = packed_tree(30);
    let before = fixture.look().id;
    let held = fixture.state();
    // As `chmod -R u+w .` does. The store's link is the same file.
    for entry in std::fs::read_dir(fixture.path(".git/objects/pack")).unwrap() {
        set_mode(&entry.unwrap().path(), 0o644);
    }
    change_everything(&fixture);
    let after = fixture.look().id;
    fixture.reopen_with(referring());
    fixture.undo(before, after);
    for number in 0..30 {
        let name = PathBuf::from(format!("folder{}/file{number}", number % 9));
        assert_eq!(fixture.state().get(&name), held.get(&name));
    }
}

#[test]
fn a_content_that_a_pack_has_as_a_change_of_a_large_file_is_stored() {
    let mut fixture = Fixture::with(referring());
    fixture.git(&["init", "-q"]);
    let noise = Random::new(9).noise(2_500_000);
    let zeros = vec![0; 72 << 20];
    fixture.write("file", [zeros.as_slice(), &noise].concat());
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-qm", "large"]);
    fixture.write("file", &noise);
    fixture.git(&["commit", "-qam", "small"]);
    fixture.git(&["repack", "-adfq", "--depth=50", "--window=20"]);
    fixture.git(&["prune-packed", "-q"]);
    let packed = fixture.path(".git/objects/pack").read_dir().unwrap().flatten();
    let packed: u64 = packed.map(|entry| entry.metadata().unwrap().len()).sum();
    assert!(packed < 3_000_000, "one is a change of the other: {packed}");
    let before = fixture.look().id;
    assert!(fixture.workspace().usage().bytes > 2_400_000, "stored as a whole");
    fixture.write("file", "changed");
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert!(std::fs::read(fixture.path("file")).unwrap() == noise);
}

#[test]
fn w21_a_content_in_one_of_many_small_packs_stays_available() {
    let mut fixture = packed_tree(12);
    let before = fixture.look().id;
    let held = fixture.state();
    // Each of these packs is larger than the one that the contents are in.
    for number in 0..70_u64 {
        std::fs::write(fixture.path("large"), Random::new(number + 50).noise(60_000)).unwrap();
        fixture.git(&["add", "large"]);
        fixture.git(&["commit", "-qm", "large"]);
        fixture.git(&["repack", "-dq"]);
    }
    fixture.look();
    assert!(held_packs(&fixture).len() > 70);
    change_everything(&fixture);
    let after = fixture.look().id;
    fixture.reopen_with(referring());
    fixture.undo(before, after);
    for number in 0..12 {
        let name = PathBuf::from(format!("folder{}/file{number}", number % 9));
        assert_eq!(fixture.state().get(&name), held.get(&name));
    }
}
