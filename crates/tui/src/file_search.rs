//! Finds files whose names match a few letters, on a thread of its own. Honours ignore files; the walk
//! is bounded in time and number.

use std::path::PathBuf;
use std::sync::mpsc as blocking;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::fuzzy;

/// The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct FileSearch {
    queries: blocking::SyncSender<String>,
    matches: mpsc::Receiver<FileNameMatches>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileNameMatches {
    pub query: String,
    /// The best match first.
    pub names: Vec<String>,
}

impl FileSearch {
    /// Reads no directory before the first request.
    pub(crate) fn start(folder: PathBuf) -> Self {
        let (queries, query_receiver) = blocking::sync_channel::<String>(QUERIES_MAX);
        let (match_sender, matches) = mpsc::channel(QUERIES_MAX);
        std::thread::spawn(move || {
            let mut names: Vec<String> = Vec::new();
            let mut walked: Option<Instant> = None;
            while let Ok(first) = query_receiver.recv() {
                // Only the newest query counts.
                let query = query_receiver.try_iter().last().unwrap_or(first);
                if walked.is_none_or(|walked| walked.elapsed() > NAMES_MAX_AGE) {
                    names = walk_file_names(&folder);
                    walked = Some(Instant::now());
                }
                let best =
                    fuzzy::find_best_matches(&query, names.iter().map(String::as_str), SHOWN_MAX);
                let names = best.into_iter().map(str::to_owned).collect();
                if match_sender.blocking_send(FileNameMatches { query, names }).is_err() {
                    return;
                }
            }
        });
        Self { queries, matches }
    }

    /// A query over the limit is dropped; the next letter brings another.
    pub(crate) fn request(&self, query: String) {
        let _ = self.queries.try_send(query);
    }

    pub(crate) async fn next_matches(&mut self) -> Option<FileNameMatches> {
        self.matches.recv().await
    }
}

fn walk_file_names(folder: &std::path::Path) -> Vec<String> {
    let end = Instant::now() + WALK_MAX;
    let walk = ignore::WalkBuilder::new(folder)
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut names = Vec::new();
    for entry in walk.flatten().skip(1).take(NAMES_MAX) {
        let Ok(below) = entry.path().strip_prefix(folder) else { continue };
        let Some(name) = below.to_str().filter(|name| !name.chars().any(char::is_control)) else {
            continue;
        };
        match entry.file_type().is_some_and(|kind| kind.is_dir()) {
            true => names.push(format!("{name}/")),
            false => names.push(name.to_owned()),
        }
        if Instant::now() > end {
            break;
        }
    }
    names
}

const QUERIES_MAX: usize = 64;
/// Older names are read again.
const NAMES_MAX_AGE: Duration = Duration::from_secs(5);
const WALK_MAX: Duration = Duration::from_secs(2);
const NAMES_MAX: usize = 100_000;
const SHOWN_MAX: usize = 8;
