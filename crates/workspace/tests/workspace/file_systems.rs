//! The same promises on other file systems, each in a file behind a loop device. Needs root and the
//! program that makes the file system; where either is missing, it passes without a check.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::{Fixture, assert_same};
use crate::look::check_writer_beside_looks;

/// Set in the process that has the file system, to the folder it is mounted on.
const MOUNTED: &str = "WORKSPACE_TEST_MOUNTED";
const ROUNDS: usize = 30;

/// Runs the named test again where this file system is mounted; returns the folder there.
fn mount(kind: &str, test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(MOUNTED) {
        return Some(folder.into());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mounted = folder.path().join("mounted");
    std::fs::create_dir(&mounted).unwrap();
    // The mount ends with the namespace, and the loop device with the mount.
    let script = "truncate -s 400M \"$1/image\" && \"mkfs.$2\" \"$1/image\" > \"$1/said\" 2>&1 && \
                  mount -o loop \"$1/image\" \"$1/mounted\" 2>> \"$1/said\" || exit 77; shift 2; exec \"$@\"";
    let ended = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(kind)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("file_systems::{test}"), "--nocapture"])
        .env(MOUNTED, &mounted)
        .output();
    let ended = ended.ok().filter(|ended| !matches!(ended.status.code(), Some(1 | 77 | 127)))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{} {}", text(&ended.stdout), text(&ended.stderr));
    None
}

fn check(mounted: &Path) {
    let make = |name: &str| {
        let [root, store] = ["root", "store"].map(|kind| mounted.join(format!("{kind}-{name}")));
        std::fs::create_dir(&root).unwrap();
        Fixture::at(root, store)
    };
    check_writer_beside_looks(ROUNDS, |round| make(&round.to_string()));
    let mut fixture = make("tree");
    for number in 0..50 {
        fixture.write(&format!("d{}/f{number}", number % 5), "one");
    }
    std::os::unix::fs::symlink("d0", fixture.path("link")).unwrap();
    let before = fixture.look().id;
    let old = fixture.state();
    std::fs::rename(fixture.path("d1"), fixture.path("moved")).unwrap();
    std::fs::remove_file(fixture.path("link")).unwrap();
    for number in 0..50 {
        fixture.write(&format!("d{}/f{number}", number % 5), "two");
    }
    let after = fixture.look().id;
    let new = fixture.state();
    fixture.undo(before, after);
    assert_same(&fixture.state(), &old, "back");
    let undone = fixture.look().id;
    fixture.undo(after, undone);
    assert_same(&fixture.state(), &new, "and forth");
}

#[test]
fn w3_on_ext4_a_writer_hides_nothing() {
    if let Some(mounted) = mount("ext4", "w3_on_ext4_a_writer_hides_nothing") {
        check(&mounted);
    }
}

#[test]
fn w3_on_xfs_a_writer_hides_nothing() {
    if let Some(mounted) = mount("xfs", "w3_on_xfs_a_writer_hides_nothing") {
        check(&mounted);
    }
}

#[test]
fn w3_on_btrfs_a_writer_hides_nothing() {
    if let Some(mounted) = mount("btrfs", "w3_on_btrfs_a_writer_hides_nothing") {
        check(&mounted);
    }
}
