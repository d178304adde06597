//! Paths below a root that the repository's configuration names: hooks and included files.
//!
//! Their names are chosen by the user, so they cannot be listed in advance. The user trusted the
//! current content of such a file; a command that writes there could make git run something later.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::git_config_text::{NamedPlace, list_named_places};

const CONFIG_BYTES_MAX: u64 = 1024 * 1024;
/// More than any real configuration has.
const PLACES_MAX: usize = 16;

/// Paths below the root.
pub(super) fn list_configured_places(root: &Path) -> Vec<PathBuf> {
    let Some(git) = find_common_directory(root) else { return Vec::new() };
    let mut places = Vec::new();
    for name in ["config", "config.worktree"] {
        let file = git.join(name);
        for place in list_named_places(&read_bounded(&file).unwrap_or_default()) {
            let whole = match place {
                NamedPlace::Hooks(text) => root.join(text),
                NamedPlace::Include(text) => git.join(text),
            };
            places.extend(resolve_below(root, &whole));
        }
    }
    places.truncate(PLACES_MAX);
    places
}

/// The directory with the configuration: `.git`, or the main one of a linked worktree.
fn find_common_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if std::fs::symlink_metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let text = read_bounded(&git)?;
    let text = String::from_utf8_lossy(&text);
    let own = root.join(text.strip_prefix("gitdir:")?.trim());
    match read_bounded(&own.join("commondir")) {
        Some(text) => Some(own.join(String::from_utf8_lossy(&text).trim())),
        None => Some(own),
    }
}

/// Relative and normalized. `None` for the root itself, and for paths outside of it.
fn resolve_below(root: &Path, whole: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(component);
            }
        }
    }
    let below = resolved.strip_prefix(root).ok()?;
    // Paths in there are guarded already.
    let is_apart = below != Path::new("") && !below.starts_with(".git");
    is_apart.then(|| below.to_owned())
}

fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(CONFIG_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
