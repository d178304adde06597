//! What all threads of a search found, put together and in order.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use super::Input;
use super::search::context;
use crate::surroundings::lock;

/// What was found in one file.
#[derive(Debug)]
pub(super) struct Hits {
    pub(super) path: PathBuf,
    pub(super) modified: SystemTime,
    pub(super) count: u64,
    pub(super) lines: Vec<String>,
}

/// What all threads found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Mutex<Vec<Hits>>,
    pub(super) bytes: AtomicUsize,
    problems: Mutex<(u64, Option<String>)>,
}

impl Found {
    /// The files, in no order, and what could not be searched.
    pub(super) fn take(self) -> (Vec<Hits>, Option<String>) {
        let (count, first) = self.problems.into_inner().unwrap_or_default();
        let remark = first.map(|problem| {
            format!("[{count} files could not be searched to their end: {problem}]")
        });
        (self.files.into_inner().unwrap_or_default(), remark)
    }

    /// A file that cannot be searched is passed over, told of in the end.
    pub(super) fn pass_over(&self, problem: String) {
        let mut problems = lock(&self.problems);
        problems.0 += 1;
        problems.1.get_or_insert(problem);
    }
}

/// How many lines there are to show, breaks included.
pub(super) fn lines(files: &[Hits], input: &Input) -> usize {
    let breaks = if context(input) == (0, 0) { 0 } else { files.len().saturating_sub(1) };
    files.iter().map(|file| file.lines.len()).sum::<usize>() + breaks
}

/// Puts files in order and keeps the first: by path, or the newest first. Only what is kept is
/// sorted, because of a large tree little is shown.
pub(super) fn keep_first(files: &mut Vec<Hits>, count: usize, is_newest_first: bool) {
    let order = |one: &Hits, other: &Hits| {
        let by_time = match is_newest_first {
            true => other.modified.cmp(&one.modified),
            false => std::cmp::Ordering::Equal,
        };
        by_time.then_with(|| by_path(&one.path, &other.path))
    };
    if files.len() > count {
        files.select_nth_unstable_by(count, order);
        files.truncate(count);
    }
    files.sort_unstable_by(order);
}

/// The lines of all files, with breaks between them where there is context.
pub(super) fn joined(files: Vec<Hits>, input: &Input) -> Vec<String> {
    let has_context = context(input) != (0, 0);
    let mut all = Vec::new();
    for file in files {
        if has_context && !all.is_empty() {
            all.push("--".to_owned());
        }
        all.extend(file.lines);
    }
    all
}

/// The order of a listing: by name, directory by directory.
fn by_path(one: &Path, other: &Path) -> std::cmp::Ordering {
    let (one, other) = (one.as_os_str().as_encoded_bytes(), other.as_os_str().as_encoded_bytes());
    // A separator comes before every letter, or `a-b` would come between `a` and `a/c`.
    let rank = |bytes: &[u8], at: usize| {
        bytes.get(at).map(|byte| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 })
    };
    match one.iter().zip(other).position(|(a, b)| a != b) {
        Some(at) => rank(one, at).cmp(&rank(other, at)),
        None => one.len().cmp(&other.len()),
    }
}
