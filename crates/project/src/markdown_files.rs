//! Lists the Markdown files below a folder.

use std::path::{Path, PathBuf};

pub use windlass_driver::front_matter::FrontMatter;

/// Markdown files in a folder and its subfolders, sorted by name.
pub fn list_markdown_files(folder: &Path) -> Vec<PathBuf> {
    list_markdown_files_below(folder, FOLDER_DEPTH_MAX)
}

fn list_markdown_files_below(folder: &Path, depth: u8) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut entries: Vec<_> = entries.flatten().take(FILES_MAX).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if let Some(depth) = depth.checked_sub(1) {
                found.extend(list_markdown_files_below(&path, depth));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

const FILES_MAX: usize = 256;
const FOLDER_DEPTH_MAX: u8 = 4;
