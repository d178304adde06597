//! Computes the readable paths of a cell: everything except the hidden paths, by granting their
//! siblings.
//!
//! Landlock can only grant, and a grant includes everything below. So each directory above a hidden
//! path is listed, and its other entries are granted one by one. Symlinks get no grant: a rule for
//! a symlink applies to its target.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::cell_plan::CellPlan;
use crate::linux::linked_secrets::LinkedSecrets;

/// Limit on the grants. A machine that needs more has no cell.
const ENTRIES_MAX: usize = 20_000;

/// Never granted as a whole: contains terminals, disks and memory of other processes. The few
/// common devices are granted by name.
const DEVICE_DIRECTORY: &str = "/dev";

/// The grants of one plan, and what they depend on.
#[derive(Debug)]
pub(super) struct ReadablePaths {
    pub(super) granted: Vec<PathBuf>,
    stamps: Vec<(PathBuf, Option<ListedPathStamp>)>,
    hidden: Vec<PathBuf>,
    linked: LinkedSecrets,
}

/// Detects that the entries of a directory have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListedPathStamp {
    inode: u64,
    device: u64,
    changed: (i64, i64),
}

impl ReadablePaths {
    pub(super) fn list(plan: &CellPlan) -> Result<Self, String> {
        let linked = LinkedSecrets::list(&plan.hidden);
        let mut hidden = BTreeSet::from([PathBuf::from(DEVICE_DIRECTORY)]);
        // Canonical, like all paths here.
        let shown: Vec<PathBuf> =
            plan.shown.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        hidden.extend(linked.find_names(&shown)?);
        let mut list =
            Self { granted: Vec::new(), stamps: Vec::new(), hidden: plan.hidden.clone(), linked };
        // Not searched for hard links: one to any file of the home is no sign of an attack.
        for path in plan.hidden.iter().chain(&plan.home) {
            let real = std::fs::canonicalize(path).ok();
            // If it does not exist, it may be created later: then the grants must be rebuilt.
            list.stamps.push((path.clone(), real.as_deref().and_then(identity_of)));
            // Hide both a symlink's own path and its target.
            hidden.extend(real);
        }
        list.grant(Path::new("/"), &hidden)?;
        for path in &plan.shown {
            let Ok(path) = std::fs::canonicalize(path) else {
                // A toolchain may be installed later.
                list.stamps.push((path.clone(), None));
                continue;
            };
            if path == Path::new("/") || !hidden.iter().any(|hidden| path.starts_with(hidden)) {
                continue;
            }
            list.stamps.push((path.clone(), identity_of(&path)));
            // A shown directory may contain hidden files.
            let below: BTreeSet<PathBuf> =
                hidden.iter().filter(|one| one.starts_with(&path)).cloned().collect();
            if !below.contains(&path) {
                list.grant(&path, &below)?;
            }
        }
        Ok(list)
    }

    /// Are all listed directories unchanged, and has no secret got another hard link?
    pub(super) fn is_current(&self) -> bool {
        self.linked == LinkedSecrets::list(&self.hidden)
            && self.stamps.iter().all(|(path, stamp)| {
                let now = match stamp {
                    Some(ListedPathStamp { changed: UNCHANGING, .. }) | None => identity_of(path),
                    Some(_) => listing_of(path),
                };
                now == *stamp
            })
    }

    fn grant(&mut self, start: &Path, hidden: &BTreeSet<PathBuf>) -> Result<(), String> {
        let above: BTreeSet<&Path> =
            hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        let mut pending = vec![start.to_owned()];
        while let Some(path) = pending.pop() {
            if !above.contains(path.as_path()) {
                self.granted.push(path);
                if self.granted.len() > ENTRIES_MAX {
                    return Err(
                        "there are too many files beside those that must stay hidden".into()
                    );
                }
                continue;
            }
            // Must come before reading the entries: one added meanwhile makes the list outdated.
            self.stamps.push((path.clone(), listing_of(&path)));
            let Ok(entries) = std::fs::read_dir(&path) else {
                continue;
            };
            for entry in entries.flatten() {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                let entry = entry.path();
                if !is_link && !hidden.contains(&entry) {
                    pending.push(entry);
                }
            }
        }
        Ok(())
    }
}

/// For a path whose identity is watched, but not its entries.
const UNCHANGING: (i64, i64) = (0, 0);

fn identity_of(path: &Path) -> Option<ListedPathStamp> {
    let found = std::fs::metadata(path).ok()?;
    Some(ListedPathStamp { inode: found.ino(), device: found.dev(), changed: UNCHANGING })
}

fn listing_of(path: &Path) -> Option<ListedPathStamp> {
    let found = std::fs::metadata(path).ok()?;
    let changed = (found.mtime(), found.mtime_nsec());
    Some(ListedPathStamp { inode: found.ino(), device: found.dev(), changed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_and_what_is_shown_inside_it_is_not() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for directory in ["home/me/.ssh", "home/me/project/deep", "home/other/project/x"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("home/me/project/.env"), "").unwrap();
        let at = |path: &str| root.join(path);
        let plan = CellPlan {
            temporary_directory: PathBuf::new(),
            home: None,
            hidden: vec![
                at("home/me/.ssh"),
                at("home/other"),
                at("home/me/project/.env"),
                at("home/me/none"),
            ],
            shown: vec![at("home/other/project")],
        };
        let list = list_undisturbed(&plan);
        let is_granted = |path: &str| list.granted.iter().any(|one| at(path).starts_with(one));
        assert!(is_granted("home/me/project/deep") && is_granted("home/other/project/x"));
        for hidden in ["home/me/.ssh/id", "home/other", "home/me/project/.env", "home/me", "home"] {
            assert!(!is_granted(hidden), "{hidden}");
        }
        assert!(!list.granted.contains(&PathBuf::from("/dev")));
        std::fs::write(at("home/me/none"), "").unwrap();
        assert!(!list.is_current());
    }

    #[test]
    fn of_a_hidden_home_only_what_is_shown_is_granted() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for directory in ["me/.cargo/bin", "me/.config/git", "me/notes", "me/w/repo"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["me/.cargo/credentials.toml", "me/.cargo/config.toml", "me/.gitconfig"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let at = |path: &str| root.join(path);
        let plan = CellPlan {
            temporary_directory: PathBuf::new(),
            home: Some(at("me")),
            hidden: vec![at("me/.cargo/credentials.toml")],
            shown: ["me/.cargo", "me/.config/git", "me/.gitconfig", "me/.rustup", "me/w/repo"]
                .map(at)
                .into(),
        };
        let list = list_undisturbed(&plan);
        let is_granted = |path: &str| list.granted.iter().any(|one| at(path).starts_with(one));
        for shown in ["me/.cargo/bin/x", "me/.cargo/config.toml", "me/.gitconfig", "me/w/repo"] {
            assert!(is_granted(shown), "{shown}");
        }
        for hidden in ["me", "me/notes", "me/w", "me/.config", "me/.cargo/credentials.toml"] {
            assert!(!is_granted(hidden), "{hidden}");
        }
        std::fs::create_dir(at("me/.rustup")).unwrap();
        assert!(!list.is_current(), "a toolchain came");
    }

    /// Other tests create entries in the same temporary folder, which makes a list outdated.
    fn list_undisturbed(plan: &CellPlan) -> ReadablePaths {
        let lists = (0..1000).map(|_| ReadablePaths::list(plan).unwrap());
        lists.into_iter().find(ReadablePaths::is_current).expect("a list that is current")
    }
}
