//! Lexical path scopes: what a path means before any file is looked at.
//!
//! Nothing here follows a symbolic link. The file tools open what they were granted without
//! following any, so the path that was judged is the path that is touched.

use std::path::{Component, Path, PathBuf};

/// The absolute path meant, with `.` and `..` taken out by their spelling alone.
#[must_use]
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}
