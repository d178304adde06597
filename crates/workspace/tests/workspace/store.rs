//! The store: damage is detected, limits hold, processes share it, and forgetting keeps live
//! snapshots.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_workspace::{
    CancelFlag, ContentDigest, LookDepth, PathStanding, RestoreConsent, SnapshotId, Workspace,
    WorkspaceError, WorkspaceLimits, WorkspaceOptions,
};

use crate::fixture::{Fixture, Random, assert_same, standing_paths};

fn segments(store: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "segment"))
        .collect();
    paths.sort();
    paths
}

/// Takes two snapshots of a few files and closes the workspace. The tree is at the second.
fn store_two() -> (Fixture, SnapshotId, SnapshotId) {
    let mut fixture = Fixture::in_memory();
    for number in 0..6 {
        fixture.write(&format!("folder{}/f{number}", number % 2), format!("old {number}"));
    }
    let before = fixture.look().id;
    for number in 0..6 {
        fixture.write(&format!("folder{}/f{number}", number % 2), format!("new {number}"));
    }
    let after = fixture.look().id;
    fixture.workspace = None;
    (fixture, before, after)
}

/// For any damage, opening works, and reads are either right or `NotKept`.
fn check_damaged(fixture: &mut Fixture, before: SnapshotId, after: SnapshotId, about: &str) {
    let cancel = CancelFlag::new();
    fixture.reopen();
    match fixture.workspace().changes(before, after) {
        Ok(changes) => {
            for change in changes {
                for (image, word) in [(change.before, "old"), (change.after, "new")] {
                    if let windlass_workspace::PathImage::File { content, .. } = image
                        && let Ok(bytes) = fixture.workspace().read(&content)
                    {
                        let number = change.path.to_string().pop().unwrap();
                        assert_eq!(bytes, format!("{word} {number}").as_bytes(), "{about}");
                    }
                }
            }
        }
        Err(WorkspaceError::NotKept(_) | WorkspaceError::DamagedRecord) => {}
        Err(error) => panic!("{about}: {error}"),
    }
    let looked = fixture.workspace().look(LookDepth::Quick, &cancel).unwrap();
    assert_eq!(looked.id, after, "{about}: the tree is what it is");
    // What the look stored again can be read.
    fixture.write("folder0/f0", "later");
    let later = fixture.look().id;
    fixture.undo(after, later);
    assert_eq!(fixture.read("folder0/f0"), "new 0", "{about}");
}

#[test]
fn w26_a_flipped_bit_anywhere_is_not_kept_and_never_wrong_bytes() {
    let (mut fixture, before, after) = store_two();
    let path = segments(&fixture.store).remove(0);
    let whole = std::fs::read(&path).unwrap();
    for position in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x10;
        for segment in segments(&fixture.store) {
            std::fs::remove_file(segment).unwrap();
        }
        std::fs::write(&path, damaged).unwrap();
        check_damaged(&mut fixture, before, after, &format!("bit at {position}"));
    }
}

#[test]
fn w26_a_torn_tail_costs_only_what_was_torn() {
    let (mut fixture, before, after) = store_two();
    let path = segments(&fixture.store).remove(0);
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(11) {
        for segment in segments(&fixture.store) {
            std::fs::remove_file(segment).unwrap();
        }
        std::fs::write(&path, &whole[..length]).unwrap();
        check_damaged(&mut fixture, before, after, &format!("cut at {length}"));
    }
}

#[test]
fn w26_a_lost_segment_is_not_kept_and_the_current_files_are_stored_again() {
    let (mut fixture, before, after) = store_two();
    for segment in segments(&fixture.store) {
        std::fs::remove_file(segment).unwrap();
    }
    let cancel = CancelFlag::new();
    let workspace = fixture.reopen();
    assert!(matches!(workspace.changes(before, after), Err(WorkspaceError::NotKept(_))));
    assert!(!workspace.has_snapshot(before));
    assert_eq!(workspace.look(LookDepth::Quick, &cancel).unwrap().id, after);
    fixture.write("folder0/f0", "later");
    let later = fixture.look().id;
    fixture.undo(after, later);
    assert_eq!(fixture.read("folder0/f0"), "new 0");
}

#[test]
fn w26_a_content_lost_from_the_store_is_told_in_the_plan() {
    let mut fixture = Fixture::new();
    fixture.write("a", "the content that is lost");
    fixture.write("b", "old");
    let before = fixture.look().id;
    fixture.write("a", "new");
    fixture.write("b", "new");
    let after = fixture.look().id;
    let path = segments(&fixture.store).remove(0);
    fixture.workspace = None;
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"the content that is lost";
    let place = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[place] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    fixture.reopen();
    let report = fixture.undo(before, after);
    assert_eq!(fixture.read("a"), "new", "{:?}", report.outcomes);
    assert_eq!(fixture.read("b"), "old");
    let plan = fixture.plan(before, after);
    assert_eq!(standing_paths(&plan, PathStanding::NotKept), ["a"]);
}

#[test]
fn w26_a_foreign_or_damaged_cache_is_ignored() {
    let (mut fixture, _, after) = store_two();
    let cache = fixture.store.join("look-cache");
    let own = std::fs::read(&cache).unwrap();
    let (mut other, _, _) = store_two();
    other.workspace = None;
    let foreign = std::fs::read(other.store.join("look-cache")).unwrap();
    let mut flipped = own.clone();
    flipped[own.len() / 2] ^= 1;
    for bytes in [foreign, flipped, own[..own.len() / 2].to_vec(), Vec::new(), b"WLC1".to_vec()] {
        std::fs::write(&cache, bytes).unwrap();
        let report = fixture.reopen().look(LookDepth::Quick, &CancelFlag::new()).unwrap();
        assert_eq!(report.id, after);
        assert!(report.bytes_read > 0, "nothing was known");
    }
    std::fs::remove_file(&cache).ok();
    assert_eq!(fixture.look().id, after);
}

#[test]
fn w27_two_use_one_store_and_only_one_that_is_alone_removes() {
    let mut fixture = Fixture::new();
    fixture.write("a", "one");
    let first = fixture.look().id;
    let mut second =
        Workspace::open(&fixture.root, &fixture.store, WorkspaceOptions::default()).unwrap();
    let cancel = CancelFlag::new();
    // Each finds what the other has added, and neither overwrites it.
    for round in 0..20 {
        fixture.write("a", format!("by the first {round}"));
        let by_first = fixture.look().id;
        fixture.write("b", format!("by the second {round}"));
        let by_second = second.look(LookDepth::Quick, &cancel).unwrap().id;
        assert_eq!(fixture.workspace().changes(by_first, by_second).unwrap().len(), 1);
        assert!(!second.changes(first, by_first).unwrap().is_empty());
    }
    assert!(matches!(second.forget(&[]), Err(WorkspaceError::InUse)));
    assert!(matches!(fixture.workspace().forget(&[]), Err(WorkspaceError::InUse)));
    let now = second.look(LookDepth::Quick, &cancel).unwrap().id;
    drop(second);
    fixture.workspace().forget(&[first, now]).unwrap();
    let plan = fixture.workspace().plan(first, &[(first, now)], &cancel).unwrap();
    fixture.workspace().carry_out(&plan, &RestoreConsent::None, &cancel).unwrap();
    assert_eq!(fixture.read("a"), "one", "what is needed is still there");
}

#[test]
fn w27_the_store_stays_within_its_bound_and_says_what_it_lacks() {
    let limits = WorkspaceLimits { store_bytes: 60_000, ..WorkspaceLimits::default() };
    let options = WorkspaceOptions { limits, ..WorkspaceOptions::default() };
    let mut fixture = Fixture::with(options);
    let mut uncovered = 0;
    for round in 1..20 {
        let noise = Random::new(round).noise(10_000);
        fixture.write("noise", noise);
        uncovered += fixture.look().uncovered.len();
    }
    assert!(uncovered > 0);
    let usage = fixture.workspace().usage();
    assert!(usage.bytes < 70_000, "{usage:?}");
    // Forgetting frees room.
    let last = fixture.look().id;
    assert!(fixture.workspace().forget(&[last]).unwrap() > 40_000);
    assert!(fixture.look().uncovered.is_empty());
}

#[test]
fn w27_what_there_is_no_room_for_is_not_read_each_time_and_covered_when_there_is() {
    let limits = WorkspaceLimits { session_bytes: 20_000, ..WorkspaceLimits::default() };
    let mut fixture = Fixture::with(WorkspaceOptions { limits, ..WorkspaceOptions::default() });
    fixture.write("first", Random::new(1).noise(18_000));
    let first = fixture.look().id;
    std::fs::remove_file(fixture.path("first")).unwrap();
    fixture.write("second", Random::new(2).noise(18_000));
    assert_eq!(fixture.look().uncovered.len(), 1);
    let deadline = Instant::now() + Duration::from_secs(240);
    while fixture.look().bytes_read > 0 {
        assert!(Instant::now() < deadline, "it is read again and again");
    }
    let report = fixture.look();
    assert_eq!((report.bytes_read, report.uncovered.len()), (0, 1));
    assert!(fixture.workspace().has_snapshot(first));
    fixture.workspace().forget(&[report.id]).unwrap();
    let report = fixture.look();
    assert_eq!((report.bytes_read, report.uncovered.len()), (18_000, 0));
}

#[test]
fn forgetting_keeps_every_wanted_snapshot_and_frees_the_rest() {
    let mut fixture = Fixture::in_memory();
    let mut snapshots = Vec::new();
    for round in 0..12 {
        for file in 0..4 {
            let content = Random::new(round * 4 + file + 1).noise(3_000);
            fixture.write(&format!("d{file}/f"), content);
        }
        let id = fixture.look().id;
        snapshots.push((id, fixture.state()));
    }
    let live = [snapshots[2].0, snapshots[7].0, snapshots[11].0];
    let before = fixture.workspace().usage().bytes;
    let freed = fixture.workspace().forget(&live).unwrap();
    let after = fixture.workspace().usage().bytes;
    assert_eq!(before - after, freed);
    assert!(after * 2 < before, "{before} to {after}");
    fixture.reopen();
    let cancel = CancelFlag::new();
    for index in [2, 7, 11] {
        let (id, tree) = &snapshots[index];
        let plan = fixture.workspace().plan(*id, &[], &cancel).unwrap();
        fixture.workspace().carry_out(&plan, &RestoreConsent::All, &cancel).unwrap();
        assert_same(&fixture.state(), tree, "a wanted snapshot");
    }
    assert!(!fixture.workspace().has_snapshot(snapshots[5].0));
    // The trash of these restores is kept as long as the snapshot before them.
    assert!(fixture.workspace().usage().trash_bytes > 0);
    fixture.workspace().forget(&[]).unwrap();
    assert_eq!(fixture.workspace().usage().trash_bytes, 0);
}

#[test]
fn a_thousand_snapshots_cost_what_changed() {
    let mut fixture = Fixture::in_memory();
    for number in 0..200 {
        fixture.write(&format!("d{}/f{number}", number % 20), vec![b'x'; 2_000]);
    }
    fixture.look();
    let before = fixture.workspace().usage().bytes;
    for round in 0..300 {
        fixture.write("d3/changing", format!("round {round}"));
        fixture.look();
    }
    let each = (fixture.workspace().usage().bytes - before) / 300;
    assert!(each < 4_096, "{each} bytes a snapshot");
}

#[test]
fn a_record_that_another_process_was_writing_is_found_when_it_is_whole() {
    let (mut fixture, before, _) = store_two();
    let [segment] = segments(&fixture.store).try_into().unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    let _other =
        Workspace::open(&fixture.root, &fixture.store, WorkspaceOptions::default()).unwrap();
    for cut in (0..bytes.len()).step_by(37) {
        std::fs::write(&segment, &bytes[..cut]).unwrap();
        fixture.reopen();
        let had_it = fixture.workspace().has_snapshot(before);
        assert!(cut > 0 || !had_it);
        std::fs::write(&segment, &bytes).unwrap();
        assert!(fixture.workspace().has_snapshot(before), "cut at {cut}");
    }
}

#[test]
fn a_store_that_is_removed_while_it_is_opened_is_begun_anew() {
    use std::os::fd::AsRawFd;

    let (mut fixture, before, _) = store_two();
    let lock = File::options().write(true).open(fixture.store.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let name = fixture.store.join("lock");
    let root = fixture.root.clone();
    let store = fixture.store.clone();
    let opening =
        std::thread::spawn(move || Workspace::open(&root, &store, WorkspaceOptions::default()));
    let is_waiting = || {
        let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let own = lock.as_raw_fd().to_string();
        open.filter(|entry| entry.file_name().to_str() != Some(&own))
            .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|path| path == name))
    };
    let deadline = Instant::now() + Duration::from_secs(240);
    while cfg!(target_os = "linux") && !is_waiting() {
        assert!(Instant::now() < deadline, "it does not wait for the lock");
        std::thread::yield_now();
    }
    std::fs::remove_dir_all(&fixture.store).unwrap();
    drop(lock);
    fixture.workspace = Some(opening.join().unwrap().unwrap());
    assert!(!fixture.workspace().has_snapshot(before));
    let looked = fixture.look().id;
    fixture.write("folder0/f0", "newer");
    let after = fixture.look().id;
    fixture.undo(looked, after);
    assert_eq!(fixture.read("folder0/f0"), "new 0");
}

#[test]
fn many_processes_beside_one_that_stays_take_few_segments() {
    let mut fixture = Fixture::in_memory();
    fixture.write("a", "0");
    fixture.look();
    let open = |fixture: &Fixture| {
        Workspace::open(&fixture.root, &fixture.store, WorkspaceOptions::default()).unwrap()
    };
    let cancel = CancelFlag::new();
    let mut taken = Vec::new();
    for number in 0..40 {
        let mut pair = [open(&fixture), open(&fixture)];
        for (place, workspace) in pair.iter_mut().enumerate() {
            fixture.write("a", format!("{number} {place}"));
            taken.push((workspace.look(LookDepth::Quick, &cancel).unwrap().id, fixture.state()));
        }
    }
    let count = segments(&fixture.store).len();
    assert!(count <= 3, "{count} segments");
    let place = fixture.store.with_file_name("copy");
    for (snapshot, tree) in taken {
        fixture.workspace().copy_to(snapshot, &place, &cancel).unwrap();
        assert_same(&crate::fixture::read_tree(&place), &tree, "whoever took it");
        std::fs::remove_dir_all(&place).unwrap();
    }
}

#[test]
fn w27_processes_that_begin_and_end_beside_each_other_lose_no_snapshot() {
    let mut fixture = Fixture::in_memory();
    for number in 0..30 {
        fixture.write(&format!("d{}/f{number}", number % 5), Random::new(number + 1).noise(3_000));
    }
    let first = fixture.look().id;
    let taken = std::sync::Mutex::new(vec![first]);
    std::thread::scope(|scope| {
        for thread in 0..5_u64 {
            let fixture = &fixture;
            let taken = &taken;
            let open = || {
                let options = WorkspaceOptions::default();
                Workspace::open(&fixture.root, &fixture.store, options).unwrap()
            };
            scope.spawn(move || {
                for round in 0..12 {
                    let mut workspace = open();
                    let noise = Random::new(thread * 100 + round + 50).noise(40_000);
                    fixture.write(&format!("d{thread}/own"), noise);
                    let looked = workspace.look(LookDepth::Quick, &CancelFlag::new()).unwrap();
                    taken.lock().unwrap().push(looked.id);
                }
            });
        }
    });
    let taken = taken.into_inner().unwrap();
    let count = segments(&fixture.store).len();
    assert!(count <= 12, "{count} segments");
    let copy = |fixture: &mut Fixture, snapshot: SnapshotId| {
        let place = fixture.store.with_file_name("copy");
        fixture.workspace().copy_to(snapshot, &place, &CancelFlag::new()).unwrap();
        std::fs::remove_dir_all(place).unwrap();
    };
    for snapshot in &taken {
        copy(&mut fixture, *snapshot);
    }
    // A process that comes later finds all of them, and keeps those that are wanted.
    fixture.reopen();
    let wanted: Vec<SnapshotId> = taken.iter().copied().step_by(4).collect();
    fixture.workspace().forget(&wanted).unwrap();
    fixture.reopen();
    for snapshot in wanted {
        copy(&mut fixture, snapshot);
    }
}

/// As a process of a version would that took no lock on segments.
#[test]
fn what_another_appends_to_our_segment_costs_no_content() {
    let mut fixture = Fixture::in_memory();
    fixture.write("a", "one");
    fixture.look();
    let mut other = Fixture::in_memory();
    other.write("b", Random::new(5).noise(5_000));
    other.look();
    let foreign = std::fs::read(&segments(&other.store)[0]).unwrap();
    let own = &segments(&fixture.store)[0];
    File::options().append(true).open(own).unwrap().write_all(&foreign).unwrap();

    fixture.write("a", Random::new(6).noise(9_000));
    let before = fixture.look().id;
    let tree = fixture.state();
    fixture.write("a", "three");
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_same(&fixture.state(), &tree, "in this process");
    fixture.write("a", "four");
    fixture.look();
    fixture.reopen();
    let place = fixture.store.with_file_name("copy");
    fixture.workspace().copy_to(before, &place, &CancelFlag::new()).unwrap();
    assert_same(&crate::fixture::read_tree(&place), &tree, "in a later one");
}

#[test]
fn a_digest_that_only_begins_like_a_known_one_is_not_found_and_costs_nothing() {
    for refers_to_packs in [false, true] {
        let mut fixture =
            Fixture::with(WorkspaceOptions { refers_to_packs, ..WorkspaceOptions::default() });
        fixture.git(&["init", "-q"]);
        fixture.write("a", "the content");
        fixture.git(&["add", "a"]);
        fixture.git(&["commit", "-qm", "one"]);
        fixture.git(&["repack", "-adq"]);
        fixture.look();
        let digest = ContentDigest::of(b"the content");
        let mut alike = *digest.as_bytes();
        alike[31] ^= 1;
        let alike = ContentDigest::from_bytes(alike);
        assert!(fixture.workspace().read(&alike).is_err());
        assert_eq!(fixture.workspace().read(&digest).unwrap(), b"the content");
    }
}
