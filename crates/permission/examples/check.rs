//! Policies tested like code, on the real files: cases as JSON lines in, decisions out.
//!
//! `cargo run -p windlass-permission --example check < cases.jsonl`. Lines that are no cases give an
//! error line, and a failure at the end.

use std::io::BufRead as _;
use std::path::Path;
use std::process::ExitCode;

use windlass_permission::check::answer;
use windlass_permission::world::{Entry, World};

/// The real files.
struct Disk;

impl World for Disk {
    fn at(&self, path: &Path) -> Entry {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                std::fs::read_link(path).map_or(Entry::Unknown, Entry::Symlink)
            }
            Ok(found) if found.is_dir() => Entry::Directory,
            Ok(found) if found.is_file() => Entry::File,
            Ok(_) => Entry::Special,
            Err(_) => Entry::Missing,
        }
    }
}

fn main() -> ExitCode {
    let mut is_fine = true;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.trim().is_empty() {
            continue;
        }
        let (text, ok) = answer(&line, &Disk);
        is_fine &= ok;
        println!("{text}");
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
