//! Where links lead, compared with what the system says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::select;
use windlass_permission::file_system_view::{
    FileSystemView, PathEntry, VirtualTree, resolve_links,
};

/// The real files, as a caller that may touch the disk would bring them.
struct Disk;

impl FileSystemView for Disk {
    fn entry_at(&self, path: &Path) -> PathEntry {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                fs::read_link(path).map_or(PathEntry::Unknown, PathEntry::Symlink)
            }
            Ok(found) if found.is_dir() => PathEntry::Directory,
            Ok(found) if found.is_file() => PathEntry::File,
            Ok(_) => PathEntry::Special,
            Err(_) => PathEntry::Missing,
        }
    }
}

fn names() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c", "d"])
}

fn paths() -> impl Strategy<Value = String> {
    let piece = select(vec!["a", "b", "c", "d", "..", ".", "a", "b"]);
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_path_leads_where_the_system_says(
        links in prop::collection::vec((names(), names(), paths()), 0..6),
        asked in prop::collection::vec(paths(), 1..8),
    ) {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().canonicalize().unwrap().join("w");
        let mut tree = VirtualTree::new(None);
        for name in ["a", "b"] {
            fs::create_dir_all(root.join(name)).unwrap();
            tree.insert(&root.join(name), PathEntry::Directory);
        }
        for (directory, name, target) in links {
            let place = root.join(directory);
            if !place.is_dir() || place.is_symlink() {
                continue;
            }
            let link = place.join(name);
            if symlink(&target, &link).is_ok() {
                tree.insert(&link, PathEntry::Symlink(PathBuf::from(&target)));
            }
        }
        for path in asked {
            let Ok(real) = root.join(&path).canonicalize() else { continue };
            let on_disk = resolve_links(&Disk, &root, Path::new(&path));
            prop_assert_eq!(&on_disk.real, &real, "{}", path);
            if real.starts_with(&root) {
                prop_assert_eq!(resolve_links(&tree, &root, Path::new(&path)).real, real, "{}", path);
            }
        }
    }
}
