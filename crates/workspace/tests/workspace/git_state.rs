//! Git's state is restored with the files, or not at all.

use std::path::Path;

use windlass_workspace::{
    CancelFlag, PathStanding, RestoreConsent, RestoreResult, UncoveredReason, WorkspaceLimits,
    WorkspaceOptions,
};

use crate::fixture::{Fixture, assert_same, result_paths, run_git, standing_paths};

fn commit_one() -> Fixture {
    let fixture = Fixture::new();
    fixture.git(&["init", "-q"]);
    fixture.write("a", "one\n");
    fixture.write("sub/b", "one\n");
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "one"]);
    fixture
}

fn head(folder: &Path) -> String {
    run_git(folder, &["rev-parse", "HEAD"])
}

#[test]
fn w22_commits_branches_stashes_and_rebases_of_a_turn_go_back() {
    let mut fixture = commit_one();
    fixture.git(&["branch", "kept"]);
    fixture.write("staged", "staged\n");
    fixture.git(&["add", "staged"]);
    let before = fixture.look().id;
    let status = fixture.git(&["status", "--porcelain=v2", "--branch"]);
    let refs = fixture.git(&["for-each-ref"]);

    fixture.write("a", "two\n");
    fixture.git(&["stash", "-q"]);
    fixture.git(&["checkout", "-q", "-b", "topic"]);
    fixture.write("c", "three\n");
    fixture.git(&["add", "c"]);
    fixture.git(&["commit", "-qm", "two"]);
    fixture.git(&["branch", "-qD", "kept"]);
    fixture.git(&["pack-refs", "--all"]);
    fixture.git(&["rebase", "-q", "--force-rebase", "main"]);
    fixture.git(&["tag", "t"]);
    let after = fixture.look().id;

    let report = fixture.undo(before, after);
    let bad: Vec<_> =
        report.outcomes.iter().filter(|one| one.result != RestoreResult::Restored).collect();
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(fixture.git(&["for-each-ref"]), refs);
    assert_eq!(fixture.git(&["status", "--porcelain=v2", "--branch"]), status);
    fixture.git(&["fsck", "--strict"]);
    // And back to the state before the restore.
    fixture.undo(report.before, report.after);
    assert_eq!(fixture.git(&["symbolic-ref", "HEAD"]), "refs/heads/topic");
    fixture.git(&["fsck", "--strict"]);
}

#[test]
fn w22_a_persons_later_commit_is_not_moved() {
    let mut fixture = commit_one();
    let before = fixture.look().id;
    fixture.write("a", "turn\n");
    fixture.git(&["commit", "-qam", "turn"]);
    let after = fixture.look().id;
    fixture.write("person", "p\n");
    fixture.git(&["add", "person"]);
    fixture.git(&["commit", "-qm", "person"]);
    let theirs = head(&fixture.root);
    let plan = fixture.plan(before, after);
    let git_steps: Vec<_> = plan.steps.iter().filter(|step| step.path.is_git_state()).collect();
    assert!(!git_steps.is_empty());
    assert!(git_steps.iter().all(|step| step.standing == PathStanding::ChangedByOthers));
    fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap();
    assert_eq!(head(&fixture.root), theirs);
    assert_eq!(fixture.read("a"), "one\n");
    assert_eq!(fixture.read("person"), "p\n");
    fixture.git(&["fsck"]);
}

#[test]
fn w22_a_status_of_a_person_does_not_hold_back_gits_state() {
    let mut fixture = commit_one();
    let before = fixture.look().id;
    fixture.write("a", "turn\n");
    fixture.git(&["commit", "-qam", "turn"]);
    let after = fixture.look().id;
    // An editor runs `git status`, which rewrites the index with other times.
    std::fs::File::options()
        .write(true)
        .open(fixture.path("sub/b"))
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    fixture.git(&["status"]);
    let plan = fixture.plan(before, after);
    assert_eq!(standing_paths(&plan, PathStanding::ChangedByOthers), [""; 0]);
    let old = fixture.git(&["rev-parse", "HEAD~1"]);
    fixture.workspace().carry_out(&plan, &RestoreConsent::None, &CancelFlag::new()).unwrap();
    assert_eq!(head(&fixture.root), old);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[test]
fn w23_with_a_lock_of_git_files_go_back_and_gits_state_does_not() {
    let mut fixture = commit_one();
    let before = fixture.look().id;
    fixture.write("a", "turn\n");
    fixture.git(&["commit", "-qam", "turn"]);
    let after = fixture.look().id;
    let turn = head(&fixture.root);
    let free = fixture.plan(before, after);
    fixture.write(".git/index.lock", "");
    let plan = fixture.plan(before, after);
    assert!(standing_paths(&plan, PathStanding::GitLocked).contains(&".git/index".to_owned()));
    // A lock taken after planning is noticed too.
    let report =
        fixture.workspace().carry_out(&free, &RestoreConsent::All, &CancelFlag::new()).unwrap();
    assert!(result_paths(&report, RestoreResult::Skipped).contains(&".git/index".to_owned()));
    assert_eq!(fixture.read("a"), "one\n");
    assert_eq!(head(&fixture.root), turn);
    assert!(fixture.path(".git/index.lock").exists());
}

#[test]
fn w17_nested_repositories_submodules_and_worktrees_are_covered() {
    let mut fixture = commit_one();
    let other = tempfile::tempdir().unwrap();
    run_git(other.path(), &["init", "-q"]);
    std::fs::write(other.path().join("m"), "module\n").unwrap();
    run_git(other.path(), &["add", "."]);
    run_git(other.path(), &["commit", "-qm", "m"]);
    fixture.git(&["submodule", "--quiet", "add", other.path().to_str().unwrap(), "module"]);
    fixture.git(&["commit", "-qm", "module"]);
    let nested = fixture.path("nested");
    std::fs::create_dir(&nested).unwrap();
    run_git(&nested, &["init", "-q"]);
    std::fs::write(nested.join(".gitignore"), "cache/\n").unwrap();
    std::fs::create_dir(nested.join("cache")).unwrap();
    std::fs::write(nested.join("cache/x"), "x").unwrap();
    std::fs::write(nested.join("n"), "nested\n").unwrap();
    run_git(&nested, &["add", "."]);
    run_git(&nested, &["commit", "-qm", "n"]);
    fixture.git(&["clone", "-q", "--bare", ".", "bare.git"]);
    let report = fixture.look();
    let before = report.id;
    let named: Vec<_> =
        report.uncovered.iter().map(|one| (one.path.to_string(), one.reason)).collect();
    assert_eq!(named, [("nested/cache".to_owned(), UncoveredReason::Ignored)]);
    let heads = [head(&nested), head(&fixture.path("module")), head(&fixture.path("bare.git"))];

    for (folder, file) in [(nested.clone(), "n"), (fixture.path("module"), "m")] {
        std::fs::write(folder.join(file), "turn\n").unwrap();
        run_git(&folder, &["commit", "-qam", "turn"]);
        assert_ne!(head(&folder), heads[0]);
    }
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_eq!(
        [head(&nested), head(&fixture.path("module")), head(&fixture.path("bare.git"))],
        heads
    );
    for folder in [&nested, &fixture.path("module")] {
        assert_eq!(run_git(folder, &["status", "--porcelain"]), "");
        run_git(folder, &["fsck"]);
    }
    assert_eq!(std::fs::read(nested.join("n")).unwrap(), b"nested\n");
}

#[test]
fn w17_a_linked_worktree_is_covered_and_its_repository_is_not_written() {
    let main = commit_one();
    main.write(".gitignore", "*.log\n");
    main.write("t.log", "tracked\n");
    main.git(&["add", "-f", "."]);
    main.git(&["commit", "-qm", "log"]);
    let mut fixture = Fixture::new();
    std::fs::remove_dir(&fixture.root).unwrap();
    main.git(&["worktree", "add", "-q", fixture.root.to_str().unwrap(), "-b", "linked"]);
    fixture.reopen();
    let before = fixture.look().id;
    let tree = fixture.state();
    let git_before = crate::fixture::read_tree(&main.path(".git"));
    fixture.write("a", "turn\n");
    fixture.write("t.log", "turn\n");
    let after = fixture.look().id;
    let changes = fixture.workspace().changes(before, after).unwrap();
    assert!(
        changes.iter().all(|one| !matches!(
            one.after,
            windlass_workspace::PathImage::File { is_ignored: true, .. }
        )),
        "the index outside the root says that it is tracked"
    );
    fixture.undo(before, after);
    assert_same(&fixture.state(), &tree, "the worktree");
    assert_same(&crate::fixture::read_tree(&main.path(".git")), &git_before, "its repository");
}

#[test]
fn w19_bytes_are_exact_whatever_git_would_convert() {
    let mut fixture = commit_one();
    fixture.write(
        ".gitattributes",
        "* text=auto eol=lf ident\n*.utf16 working-tree-encoding=UTF-16\n*.bin filter=lfs\n",
    );
    fixture.git(&["config", "core.autocrlf", "true"]);
    fixture.write("crlf", "a\r\nb\n$Id$\r\n");
    fixture.write("x.utf16", b"\xff\xfea\0\n\0");
    fixture.write("x.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    let before = fixture.look().id;
    let tree = fixture.state();
    for name in ["crlf", "x.utf16", "x.bin", ".gitattributes"] {
        std::fs::remove_file(fixture.path(name)).unwrap();
    }
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_same(&fixture.state(), &tree, "bytes");
}

#[test]
fn w20_every_kind_of_index_is_read_or_passed_over() {
    let mut fixture = commit_one();
    fixture.write(".gitignore", "out/\n");
    for number in 0..30 {
        fixture.write(&format!("out/deep/er/f{number}"), "tracked");
    }
    fixture.write("out/flagged", "x");
    fixture.git(&["add", "-f", "."]);
    fixture.git(&["commit", "-qm", "out"]);
    let tracked_changes = |fixture: &mut Fixture, about: &str| {
        // A new process without a cache, so that only the index can show the files as tracked.
        std::fs::remove_file(fixture.store.join("look-cache")).ok();
        fixture.workspace = None;
        std::fs::remove_file(fixture.store.join("look-cache")).ok();
        fixture.reopen();
        let before = fixture.look().id;
        fixture.write("out/deep/er/f7", about);
        let after = fixture.look().id;
        fixture.workspace().changes(before, after).unwrap().len()
    };
    for version in ["2", "3", "4"] {
        fixture.git(&["update-index", "--index-version", version]);
        if version == "3" {
            // Git writes version 3 only if an entry has such a flag.
            fixture.git(&["update-index", "--skip-worktree", "out/flagged"]);
        }
        assert_eq!(tracked_changes(&mut fixture, version), 1, "version {version}");
    }
    fixture.git(&["update-index", "--assume-unchanged", "out/deep/er/f7"]);
    assert_eq!(tracked_changes(&mut fixture, "assumed"), 1, "assume-unchanged");
    fixture.git(&["update-index", "--split-index"]);
    fixture.write("later", "x");
    fixture.git(&["add", "later"]);
    assert_eq!(tracked_changes(&mut fixture, "split"), 1, "split");
    fixture.git(&["update-index", "--no-split-index"]);
    // Damaged: nothing is known to be tracked, and everything else still works.
    let index = fixture.path(".git/index");
    let whole = std::fs::read(&index).unwrap();
    for (about, bytes) in [
        ("cut", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("count", [&whole[..8], &[0xff; 4], &whole[12..]].concat()),
        ("noise", crate::fixture::Random::new(3).noise(10_000)),
    ] {
        std::fs::write(&index, bytes).unwrap();
        assert_eq!(tracked_changes(&mut fixture, about), 0, "{about}");
        fixture.write("a", about);
        fixture.look();
    }
}

#[test]
fn w22_state_of_which_a_part_is_not_kept_stays_as_a_whole() {
    let limits = WorkspaceLimits { file_bytes: 150, ..WorkspaceLimits::default() };
    let mut fixture = commit_one();
    fixture.reopen_with(WorkspaceOptions { limits, ..WorkspaceOptions::default() });
    let before = fixture.look().id;
    fixture.write("a", "turn\n");
    fixture.write("new", "turn\n");
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qam", "turn"]);
    let after = fixture.look().id;
    let turn = head(&fixture.root);
    let plan = fixture.plan(before, after);
    assert!(standing_paths(&plan, PathStanding::NotKept).contains(&".git/index".to_owned()));
    fixture.workspace().carry_out(&plan, &RestoreConsent::All, &CancelFlag::new()).unwrap();
    assert_eq!(head(&fixture.root), turn, "refs do not go back without the index");
    assert_eq!(fixture.read("a"), "one\n");
}

#[test]
fn w21_files_come_back_though_git_has_lost_its_objects() {
    let mut fixture = commit_one();
    fixture.write("second", "second\n");
    fixture.git(&["add", "."]);
    fixture.git(&["commit", "-qm", "second"]);
    let before = fixture.look().id;
    // The turn rewrites history and prunes everything unreachable.
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    fixture.write("a", "changed\n");
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_eq!((fixture.read("a"), fixture.read("second")), ("one\n".into(), "second\n".into()));
    assert_eq!(fixture.git(&["log", "--format=%s"]).lines().next(), Some("second"));
    fixture.git(&["fsck", "--strict"]);

    let mut fixture = commit_one();
    let before = fixture.look().id;
    std::fs::remove_dir_all(fixture.path(".git")).unwrap();
    fixture.write("a", "changed\n");
    let after = fixture.look().id;
    fixture.undo(before, after);
    assert_eq!(fixture.read("a"), "one\n", "a store of our own");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "", "and the repository with its objects");
    fixture.git(&["fsck", "--strict"]);
}

#[test]
fn w21_objects_that_nobody_needs_any_more_are_not_held() {
    let mut fixture = commit_one();
    let before = fixture.look().id;
    let kept = fixture.workspace().usage().bytes;
    std::fs::remove_dir_all(fixture.path(".git")).unwrap();
    let after = fixture.look().id;
    assert!(fixture.workspace().usage().bytes > kept, "what only the store has counts as its own");
    fixture.workspace().forget(&[before, after]).unwrap();
    fixture.undo(before, after);
    fixture.git(&["fsck", "--strict"]);
    fixture.workspace().forget(&[]).unwrap();
    assert!(!fixture.store.join("git-objects").exists());
}

#[test]
fn an_index_with_more_path_bytes_than_any_of_git_is_passed_over() {
    let mut fixture = Fixture::new();
    fixture.write(".git/HEAD", "ref: refs/heads/main\n");
    fixture.write(".gitignore", "out\n");
    fixture.write("out/tracked", "1");
    // Version 4: each path is the one before and one byte more.
    let entries = 6_000_u32;
    let index = |growth: &[u8]| {
        let mut bytes = b"DIRC\0\0\0\x04".to_vec();
        bytes.extend_from_slice(&entries.to_be_bytes());
        for number in 0..entries {
            bytes.extend_from_slice(&[0; 62]);
            bytes.push(0);
            bytes.extend_from_slice(if number == 0 { b"out/tracked" } else { growth });
            bytes.push(0);
        }
        bytes.extend_from_slice(&[0; 20]);
        bytes
    };
    for (growth, is_read) in [(b"".as_slice(), true), (b"x".as_slice(), false)] {
        fixture.write(".git/index", index(growth));
        let place = fixture.store.clone();
        fixture.workspace = None;
        std::fs::remove_dir_all(&place).unwrap();
        fixture.reopen();
        let uncovered = fixture.look().uncovered;
        let is_ignored = uncovered.iter().any(|one| one.path.to_string() == "out");
        assert_eq!(is_ignored, !is_read, "{uncovered:?}");
    }
}
