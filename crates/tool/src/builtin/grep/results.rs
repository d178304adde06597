//! Merges the results of all threads, and sorts them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use super::GrepInput;
use super::file_searcher::resolve_context_lines;
use crate::lock::lock;

#[derive(Debug)]
pub(super) struct FileMatches {
    pub(super) path: PathBuf,
    pub(super) modified: SystemTime,
    pub(super) match_count: u64,
    pub(super) lines: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct GrepResults {
    pub(super) files: Mutex<Vec<FileMatches>>,
    pub(super) bytes_stored: AtomicUsize,
    problems: Mutex<(u64, Option<String>)>,
}

impl GrepResults {
    /// The unsorted files, and a message about what could not be searched.
    pub(super) fn into_files_and_remark(self) -> (Vec<FileMatches>, Option<String>) {
        let (count, first) = self.problems.into_inner().unwrap_or_default();
        let remark = first.map(|problem| {
            format!("[{count} files could not be searched to their end: {problem}]")
        });
        (self.files.into_inner().unwrap_or_default(), remark)
    }

    /// A file that cannot be searched is skipped and reported at the end.
    pub(super) fn record_problem(&self, problem: String) {
        let mut problems = lock(&self.problems);
        problems.0 += 1;
        problems.1.get_or_insert(problem);
    }
}

pub(super) fn count_lines(files: &[FileMatches], input: &GrepInput) -> usize {
    let breaks =
        if resolve_context_lines(input) == (0, 0) { 0 } else { files.len().saturating_sub(1) };
    files.iter().map(|file| file.lines.len()).sum::<usize>() + breaks
}

/// Sorts files by path or newest first, and keeps the first. Sorts only what is kept, because only
/// a small part of a large tree is shown.
pub(super) fn sort_and_truncate(files: &mut Vec<FileMatches>, count: usize, is_newest_first: bool) {
    let order = |one: &FileMatches, other: &FileMatches| {
        let by_time = match is_newest_first {
            true => other.modified.cmp(&one.modified),
            false => std::cmp::Ordering::Equal,
        };
        by_time.then_with(|| compare_paths(&one.path, &other.path))
    };
    if files.len() > count {
        files.select_nth_unstable_by(count, order);
        files.truncate(count);
    }
    files.sort_unstable_by(order);
}

/// The lines of all files, with separators if there is context.
pub(super) fn join_lines(files: Vec<FileMatches>, input: &GrepInput) -> Vec<String> {
    let has_context = resolve_context_lines(input) != (0, 0);
    let mut all = Vec::new();
    for file in files {
        if has_context && !all.is_empty() {
            all.push("--".to_owned());
        }
        all.extend(file.lines);
    }
    all
}

/// Compares by name, directory by directory.
fn compare_paths(one: &Path, other: &Path) -> std::cmp::Ordering {
    let one = one.as_os_str().as_encoded_bytes();
    let other = other.as_os_str().as_encoded_bytes();
    // The separator must sort first, or `a-b` would come between `a` and `a/c`.
    let rank = |bytes: &[u8], at: usize| {
        bytes.get(at).map(|byte| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 })
    };
    match one.iter().zip(other).position(|(a, b)| a != b) {
        Some(at) => rank(one, at).cmp(&rank(other, at)),
        None => one.len().cmp(&other.len()),
    }
}
