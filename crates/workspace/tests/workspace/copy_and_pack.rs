//! Copies are independent of the original; packs are taken whole or not at all.

use std::collections::BTreeSet;

use windlass_workspace::{
    CancelFlag, ContentDigest, PackOptions, PackProblem, RelativePath, UncoveredReason,
    WorkspaceError, WorkspaceLimits, WorkspaceOptions,
};

use crate::fixture::{Fixture, Random, assert_same, read_tree, run_git};
use crate::hostile_pack::HostilePack;

#[test]
fn w30_a_copy_and_its_origin_do_not_touch_each_other() {
    let mut fixture = Fixture::new();
    fixture.git(&["init", "-q"]);
    fixture.write(".gitignore", "ignored/\n");
    fixture.write("a", "one\n");
    fixture.write("large", Random::new(5).noise(200_000));
    fixture.write("ignored/x", "x");
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "one"]);
    let moment = fixture.look().id;
    fixture.write("a", "later\n");
    let origin = fixture.state();
    let place = fixture.store.parent().unwrap().join("copy");
    let report = fixture.workspace().copy_to(moment, &place, &CancelFlag::new()).unwrap();
    let missing: Vec<_> =
        report.missing.iter().map(|one| (one.path.to_string(), one.reason)).collect();
    assert_eq!(missing, [("ignored".to_owned(), UncoveredReason::Ignored)]);
    assert_eq!(std::fs::read(place.join("a")).unwrap(), b"one\n");
    assert_eq!(run_git(&place, &["status", "--porcelain"]), "");
    assert_same(&fixture.state(), &origin, "the origin after the copy");

    std::fs::write(place.join("a"), "copy\n").unwrap();
    std::fs::File::options().write(true).open(place.join("large")).unwrap().set_len(10).unwrap();
    run_git(&place, &["commit", "-qam", "copy"]);
    run_git(&place, &["gc", "-q", "--prune=now"]);
    assert_same(&fixture.state(), &origin, "the origin after work in the copy");
    fixture.git(&["fsck", "--strict"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    run_git(&place, &["fsck", "--strict"]);
}

#[test]
fn a_copy_goes_to_an_empty_place_outside_or_nowhere() {
    let mut fixture = Fixture::new();
    fixture.write("a", "a");
    let moment = fixture.look().id;
    let cancel = CancelFlag::new();
    let outside = fixture.store.parent().unwrap().join("place");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("theirs"), "theirs").unwrap();
    let before = read_tree(&outside);
    let refused = fixture.workspace().copy_to(moment, &outside, &cancel).unwrap_err();
    assert!(matches!(refused, WorkspaceError::PlaceNotEmpty(_)));
    assert_same(&read_tree(&outside), &before, "a place with files");
    for inside in [fixture.path("inside"), fixture.store.join("inside")] {
        let refused = fixture.workspace().copy_to(moment, &inside, &cancel).unwrap_err();
        assert!(matches!(refused, WorkspaceError::PlaceInside(_)));
        assert!(!inside.exists());
    }
    let unknown = "0".repeat(64).parse().unwrap();
    let place = fixture.store.parent().unwrap().join("new");
    assert!(fixture.workspace().copy_to(unknown, &place, &cancel).is_err());
    assert!(!place.exists());
    let stopped = CancelFlag::new();
    stopped.cancel();
    assert!(fixture.workspace().copy_to(moment, &place, &stopped).is_err());
    assert!(!place.exists());
}

/// Flips a bit of a stored content.
fn damage(store: &std::path::Path, content: &[u8]) {
    let segment = std::fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "segment"))
        .unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let place = bytes.windows(content.len()).position(|window| window == content).unwrap();
    bytes[place] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let mut fixture = Fixture::in_memory();
    fixture.write("a/closed/f", "f");
    crate::fixture::set_mode(&fixture.path("a/closed"), 0o555);
    fixture.write("z", "the content that is lost");
    let moment = fixture.look().id;
    // As large as before: it has to come from the store.
    fixture.write("z", "another text of its size");
    fixture.workspace = None;
    damage(&fixture.store, b"the content that is lost");
    let place = fixture.store.parent().unwrap().join("copy");
    let failed = fixture.reopen().copy_to(moment, &place, &CancelFlag::new()).unwrap_err();
    assert!(matches!(failed, WorkspaceError::NotKept(_)));
    assert!(!place.exists());
    crate::fixture::set_mode(&fixture.path("a/closed"), 0o755);
}

#[test]
fn a_copy_takes_from_the_tree_what_is_unchanged_there_and_nothing_else() {
    let mut fixture = Fixture::in_memory();
    fixture.write("same", "as it was");
    fixture.write("changed", "before");
    fixture.write("longer", "short");
    fixture.write("gone/f", "removed since");
    crate::fixture::set_mode(&fixture.path("same"), 0o666);
    let moment = fixture.look().id;
    fixture.write("changed", "after!");
    fixture.write("longer", "short and more");
    std::fs::remove_dir_all(fixture.path("gone")).unwrap();
    let place = fixture.store.parent().unwrap().join("copy");
    fixture.workspace().copy_to(moment, &place, &CancelFlag::new()).unwrap();
    for (name, text) in [
        ("same", "as it was"),
        ("changed", "before"),
        ("longer", "short"),
        ("gone/f", "removed since"),
    ] {
        assert_eq!(std::fs::read_to_string(place.join(name)).unwrap(), text, "{name}");
    }
    let mode = std::os::unix::fs::MetadataExt::mode(&place.join("same").metadata().unwrap());
    assert_eq!(mode & 0o7777, 0o666, "whatever the umask is");

    // Damaged in the store, it is still whole in the tree.
    fixture.write("changed", "before");
    std::fs::remove_file(fixture.path("longer")).unwrap();
    let moment = fixture.look().id;
    fixture.workspace = None;
    damage(&fixture.store, b"as it was");
    let place = fixture.store.parent().unwrap().join("second");
    fixture.reopen().copy_to(moment, &place, &CancelFlag::new()).unwrap();
    assert_eq!(std::fs::read_to_string(place.join("same")).unwrap(), "as it was");
}

#[test]
fn a_copy_of_a_linked_worktree_does_not_share_its_repository() {
    let mut fixture = Fixture::new();
    fixture.write(".git", "gitdir: /somewhere/.git/worktrees/x\n");
    fixture.write("module/.git", "gitdir: ../modules/m\n");
    fixture.write("escape/.git", "gitdir: ../../m\n");
    let moment = fixture.look().id;
    let place = fixture.store.parent().unwrap().join("copy");
    let report = fixture.workspace().copy_to(moment, &place, &CancelFlag::new()).unwrap();
    let missing: Vec<_> = report.missing.iter().map(|one| one.path.to_string()).collect();
    assert_eq!(missing, [".git", "escape/.git"]);
    assert!(place.join("module/.git").exists());
}

fn pack_tree(options: &PackOptions) -> (Fixture, Vec<u8>, windlass_workspace::PackReport) {
    let mut fixture = Fixture::in_memory();
    fixture.write(".gitignore", ".env\nsecret/\n");
    fixture.write(".env", "KEY=1\n");
    fixture.write("secret/s", "s");
    fixture.write(".git/HEAD", "ref: refs/heads/main\n");
    fixture.write("src/main", "code");
    fixture.write("src/again", "code");
    std::fs::create_dir(fixture.path("empty")).unwrap();
    std::os::unix::fs::symlink("src/main", fixture.path("link")).unwrap();
    let moment = fixture.look().id;
    let mut pack = Vec::new();
    let report = fixture.workspace().pack(moment, options, &mut pack).unwrap();
    (fixture, pack, report)
}

#[test]
fn w32_a_pack_holds_the_files_but_nothing_ignored_and_nothing_of_git() {
    let (fixture, pack, report) = pack_tree(&PackOptions::default());
    let left_out: Vec<_> = report.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out, [".env", ".git"]);
    assert_eq!(report.bytes, pack.len() as u64);
    let mut other = Fixture::in_memory();
    let id = other.workspace().unpack(&mut pack.as_slice()).unwrap();
    assert_eq!(id, report.id);
    let place = other.store.parent().unwrap().join("copy");
    other.workspace().copy_to(id, &place, &CancelFlag::new()).unwrap();
    let mut expected = fixture.state();
    expected.retain(|path, _| {
        ![".env", ".git", "secret"].iter().any(|left_out| path.starts_with(left_out))
    });
    assert_same(&read_tree(&place), &expected, "the other side");
    // Included by name, it is packed.
    let named = BTreeSet::from([RelativePath::new(".env").unwrap()]);
    let (_, pack, _) = pack_tree(&PackOptions { include_ignored: named, known: Vec::new() });
    let id = other.workspace().unpack(&mut pack.as_slice()).unwrap();
    let place = other.store.parent().unwrap().join("second");
    other.workspace().copy_to(id, &place, &CancelFlag::new()).unwrap();
    assert_eq!(std::fs::read(place.join(".env")).unwrap(), b"KEY=1\n");
}

#[test]
fn what_the_other_side_knows_does_not_travel() {
    let mut fixture = Fixture::in_memory();
    fixture.write("large", Random::new(9).noise(100_000));
    fixture.write("small", "one");
    let first = fixture.look().id;
    let mut pack = Vec::new();
    fixture.workspace().pack(first, &PackOptions::default(), &mut pack).unwrap();
    let mut other = Fixture::in_memory();
    other.workspace().unpack(&mut pack.as_slice()).unwrap();
    fixture.write("small", "two");
    let second = fixture.look().id;
    let mut pack = Vec::new();
    let options = PackOptions { known: vec![first], ..PackOptions::default() };
    fixture.workspace().pack(second, &options, &mut pack).unwrap();
    assert!(pack.len() < 2_000, "{} bytes", pack.len());
    assert_eq!(other.workspace().unpack(&mut pack.as_slice()).unwrap(), second);
    // A machine that lacks the other contents refuses the pack.
    let mut third = Fixture::in_memory();
    let refused = third.workspace().unpack(&mut pack.as_slice()).unwrap_err();
    assert!(matches!(refused, WorkspaceError::PackRefused(PackProblem::MissingContent)));
}

/// A tree with git's state, an ignored file and many folders, as every host checks it out.
fn check_out() -> Fixture {
    let mut fixture = Fixture::in_memory();
    fixture.write(".gitignore", ".env\nbuilt/\n");
    fixture.write(".env", "KEY=1\n");
    fixture.write(".git/HEAD", "ref: refs/heads/main\n");
    for folder in 0..300 {
        fixture.write(&format!("folder{folder}/file"), format!("{folder}"));
    }
    fixture.look();
    fixture
}

#[test]
fn changes_of_a_folder_travel_without_the_rest_of_it() {
    let mut fixture = check_out();
    let mut other = check_out();
    // The other host's own git state and secrets differ.
    other.write(".git/HEAD", "ref: refs/heads/other\n");
    other.write(".env", "KEY=2\n");
    other.look();
    let base = fixture.look().id;
    fixture.write("folder7/file", "changed");
    fixture.write("new/file", "new");
    std::fs::remove_dir_all(fixture.path("folder9")).unwrap();
    let mut known = vec![base];
    for text in ["first", "second"] {
        fixture.write("folder8/again", text);
        // Equal to a file that never travels.
        fixture.write("folder8/example", "KEY=1\n");
        let changed = fixture.look().id;
        let mut pack = Vec::new();
        let options = PackOptions { known: known.clone(), ..PackOptions::default() };
        let report = fixture.workspace().pack(changed, &options, &mut pack).unwrap();
        assert!(pack.len() < 1_500, "{} bytes", pack.len());
        for position in (0..pack.len()).step_by(7) {
            let mut damaged = pack.clone();
            damaged[position] ^= 0x01;
            assert!(other.workspace().unpack(&mut damaged.as_slice()).is_err(), "at {position}");
        }
        assert_eq!(other.workspace().unpack(&mut pack.as_slice()).unwrap(), report.id);
        known.push(changed);
    }
    let place = other.store.parent().unwrap().join("copy");
    let full = other.workspace().unpack(&mut pack_whole(&mut fixture).as_slice()).unwrap();
    other.workspace().copy_to(full, &place, &CancelFlag::new()).unwrap();
    let mut expected = fixture.state();
    expected.retain(|path, _| ![".env", ".git"].iter().any(|left_out| path.starts_with(left_out)));
    assert_same(&read_tree(&place), &expected, "the other side");
}

fn pack_whole(fixture: &mut Fixture) -> Vec<u8> {
    let now = fixture.look().id;
    let mut pack = Vec::new();
    fixture.workspace().pack(now, &PackOptions::default(), &mut pack).unwrap();
    assert!(pack.starts_with(b"WLPACK1\n"), "every version reads a whole pack");
    pack
}

#[test]
fn a_folder_that_another_host_cannot_make_itself_travels_whole() {
    let mut fixture = check_out();
    // Known about, but carried by no pack: the receiver's record of the root differs.
    fixture.write("built/output", "b");
    let base = fixture.look().id;
    fixture.write("folder7/file", "changed");
    let changed = fixture.look().id;
    let options = PackOptions { known: vec![base], ..PackOptions::default() };
    let mut pack = Vec::new();
    let report = fixture.workspace().pack(changed, &options, &mut pack).unwrap();
    let mut other = check_out();
    assert_eq!(other.workspace().unpack(&mut pack.as_slice()).unwrap(), report.id);
}

#[test]
fn w31_a_pack_cut_or_damaged_anywhere_is_refused_whole() {
    let (_, pack, _) = pack_tree(&PackOptions::default());
    let mut other = Fixture::in_memory();
    for length in 0..pack.len() {
        let refused = other.workspace().unpack(&mut &pack[..length]).unwrap_err();
        assert!(matches!(refused, WorkspaceError::PackCut), "cut at {length}: {refused}");
    }
    for position in 0..pack.len() {
        let mut damaged = pack.clone();
        damaged[position] ^= 0x01;
        assert!(other.workspace().unpack(&mut damaged.as_slice()).is_err(), "bit at {position}");
    }
    let mut longer = pack.clone();
    longer.push(0);
    assert!(other.workspace().unpack(&mut longer.as_slice()).is_err());
    assert_eq!(other.workspace().usage().contents, 0, "nothing of it is in the store");
    assert!(other.state().is_empty());
    other.workspace().unpack(&mut pack.as_slice()).unwrap();
}

#[test]
fn w31_a_pack_over_the_bounds_is_refused() {
    let (_, pack, _) = pack_tree(&PackOptions::default());
    for limits in [
        WorkspaceLimits { pack_bytes: 20, ..WorkspaceLimits::default() },
        WorkspaceLimits { paths: 2, ..WorkspaceLimits::default() },
    ] {
        let mut other = Fixture::with(WorkspaceOptions { limits, ..WorkspaceOptions::default() });
        let refused = other.workspace().unpack(&mut pack.as_slice()).unwrap_err();
        assert!(matches!(refused, WorkspaceError::PackRefused(PackProblem::TooLarge)), "{refused}");
        assert_eq!(other.workspace().usage().contents, 0);
    }
}

/// Unpacks a pack with this root and returns why it is refused.
fn refuse(pack: HostilePack, root: ContentDigest) -> PackProblem {
    let mut other = Fixture::in_memory();
    let bytes = pack.end(root);
    let refused = other.workspace().unpack(&mut bytes.as_slice()).unwrap_err();
    assert_eq!(other.workspace().usage().contents, 0);
    match refused {
        WorkspaceError::PackRefused(problem) => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn w31_names_that_lead_elsewhere_are_refused() {
    for name in ["..", ".", "", "a/b", "/etc", "a\0"] {
        let mut pack = HostilePack::new();
        let content = pack.add(b"x");
        let root = pack.add_folder(&[HostilePack::file(name, content, 1, 0o644)]);
        assert_eq!(refuse(pack, root), PackProblem::BadRecord, "{name:?}");
    }
    for name in [".git", ".GIT"] {
        let mut pack = HostilePack::new();
        let content = pack.add(b"x");
        let root = pack.add_folder(&[HostilePack::file(name, content, 1, 0o644)]);
        assert_eq!(refuse(pack, root), PackProblem::CarriesGit, "{name:?}");
    }
    // A symlink and a folder with the same name: the folder's files would be written through the
    // link.
    let mut pack = HostilePack::new();
    let content = pack.add(b"x");
    let inner = pack.add_folder(&[HostilePack::file("f", content, 1, 0o644)]);
    let link = HostilePack::link("a", "/etc");
    let root = pack.add_folder(&[link, HostilePack::folder("a", inner)]);
    assert_eq!(refuse(pack, root), PackProblem::BadRecord);
    // Setuid, then a size that does not match the content.
    let mut pack = HostilePack::new();
    let content = pack.add(b"x");
    let root = pack.add_folder(&[HostilePack::file("f", content, 1, 0o4755)]);
    assert_eq!(refuse(pack, root), PackProblem::BadRecord);
    let mut pack = HostilePack::new();
    let content = pack.add(b"x");
    let root = pack.add_folder(&[HostilePack::file("f", content, 2, 0o644)]);
    assert_eq!(refuse(pack, root), PackProblem::MissingContent);
}

#[test]
fn w31_bombs_are_refused() {
    // Forty folders, each naming the next one twice: 2^40 files.
    let mut pack = HostilePack::new();
    let content = pack.add(b"x");
    let mut folder = pack.add_folder(&[HostilePack::file("f", content, 1, 0o644)]);
    for _ in 0..40 {
        let twice = [HostilePack::folder("a", folder), HostilePack::folder("b", folder)];
        folder = pack.add_folder(&twice);
    }
    assert_eq!(refuse(pack, folder), PackProblem::TooLarge);
    // Two thousand nested folders.
    let mut pack = HostilePack::new();
    let mut folder = pack.add_folder(&[]);
    for _ in 0..2_000 {
        folder = pack.add_folder(&[HostilePack::folder("a", folder)]);
    }
    assert_eq!(refuse(pack, folder), PackProblem::TooDeep);
    // A content that claims four gigabytes.
    let mut pack = HostilePack::new();
    let content = pack.add_claiming(b"small", u32::MAX);
    let root = pack.add_folder(&[HostilePack::file("f", content, 1, 0o644)]);
    assert_eq!(refuse(pack, root), PackProblem::TooLarge);
}
