//! Looks for files whose names fit a few letters, beside the conversation. Folders that are ignored
//! stay out of sight; so much is walked and no more.

use std::path::PathBuf;
use std::sync::mpsc as blocking;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::fuzzy;

/// A thread that knows the names below a folder. Ends with whoever holds it.
#[derive(Debug)]
pub(crate) struct FileSearch {
    queries: blocking::SyncSender<String>,
    matches: mpsc::Receiver<FileNameMatches>,
}

/// What fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileNameMatches {
    /// The letters.
    pub query: String,
    /// Names that fit, the best first.
    pub names: Vec<String>,
}

impl FileSearch {
    /// Begins; nothing is read before something is wanted.
    pub(crate) fn start(folder: PathBuf) -> Self {
        let (queries, asked) = blocking::sync_channel::<String>(QUERIES_MAX);
        let (tell, matches) = mpsc::channel(QUERIES_MAX);
        std::thread::spawn(move || {
            let mut names: Vec<String> = Vec::new();
            let mut read: Option<Instant> = None;
            while let Ok(first) = asked.recv() {
                // Only the last wish counts.
                let wanted = asked.try_iter().last().unwrap_or(first);
                if read.is_none_or(|read| read.elapsed() > NAMES_MAX_AGE) {
                    names = walk_file_names(&folder);
                    read = Some(Instant::now());
                }
                let best =
                    fuzzy::find_best_matches(&wanted, names.iter().map(String::as_str), SHOWN_MAX);
                let names = best.into_iter().map(str::to_owned).collect();
                if tell.blocking_send(FileNameMatches { query: wanted, names }).is_err() {
                    return;
                }
            }
        });
        Self { queries, matches }
    }

    /// Looks for these letters. A wish too many is dropped; the next letter brings another.
    pub(crate) fn request(&self, wanted: String) {
        let _ = self.queries.try_send(wanted);
    }

    /// What was found.
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
/// How long names are believed.
const NAMES_MAX_AGE: Duration = Duration::from_secs(5);
const WALK_MAX: Duration = Duration::from_secs(2);
const NAMES_MAX: usize = 100_000;
const SHOWN_MAX: usize = 8;
