//! Policies tested like code, on the real files: cases as JSON lines in, decisions out.
//!
//! `cargo run -p windlass-permission --example check < cases.jsonl`. Lines that are no cases give an
//! error line, and a failure at the end.

use std::io::BufRead as _;
use std::path::Path;
use std::process::ExitCode;

use windlass_permission::file_system_view::{FileSystemView, PathEntry};
use windlass_permission::policy_check::answer_case;

/// The real files.
struct Disk;

impl FileSystemView for Disk {
    fn entry_at(&self, path: &Path) -> PathEntry {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                std::fs::read_link(path).map_or(PathEntry::Unknown, PathEntry::Symlink)
            }
            Ok(found) if found.is_dir() => PathEntry::Directory,
            Ok(found) if found.is_file() => PathEntry::File,
            Ok(_) => PathEntry::Special,
            Err(_) => PathEntry::Missing,
        }
    }
}

fn main() -> ExitCode {
    let mut is_fine = true;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.trim().is_empty() {
            continue;
        }
        let (text, ok) = answer_case(&line, &Disk);
        is_fine &= ok;
        println!("{text}");
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
