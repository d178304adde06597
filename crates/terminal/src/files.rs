//! Looks for files whose names fit a few letters, beside the conversation. Folders that are ignored
//! stay out of sight; so much is walked and no more.

use std::path::PathBuf;
use std::sync::mpsc as blocking;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::fuzzy;

/// A thread that knows the names below a folder. Ends with whoever holds it.
#[derive(Debug)]
pub(crate) struct Files {
    wanted: blocking::SyncSender<String>,
    found: mpsc::Receiver<Found>,
}

/// What fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The letters.
    pub wanted: String,
    /// Names that fit, the best first.
    pub names: Vec<String>,
}

impl Files {
    /// Begins; nothing is read before something is wanted.
    pub(crate) fn below(folder: PathBuf) -> Self {
        let (wanted, asked) = blocking::sync_channel::<String>(ASKED_MAX);
        let (tell, found) = mpsc::channel(ASKED_MAX);
        std::thread::spawn(move || {
            let mut names: Vec<String> = Vec::new();
            let mut read: Option<Instant> = None;
            while let Ok(first) = asked.recv() {
                // Only the last wish counts.
                let wanted = asked.try_iter().last().unwrap_or(first);
                if read.is_none_or(|read| read.elapsed() > FRESH) {
                    names = walked(&folder);
                    read = Some(Instant::now());
                }
                let best = fuzzy::best(&wanted, names.iter().map(String::as_str), SHOWN_MAX);
                let names = best.into_iter().map(str::to_owned).collect();
                if tell.blocking_send(Found { wanted, names }).is_err() {
                    return;
                }
            }
        });
        Self { wanted, found }
    }

    /// Looks for these letters. A wish too many is dropped; the next letter brings another.
    pub(crate) fn look(&self, wanted: String) {
        let _ = self.wanted.try_send(wanted);
    }

    /// What was found.
    pub(crate) async fn next(&mut self) -> Option<Found> {
        self.found.recv().await
    }
}

fn walked(folder: &std::path::Path) -> Vec<String> {
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

const ASKED_MAX: usize = 64;
/// How long names are believed.
const FRESH: Duration = Duration::from_secs(5);
const WALK_MAX: Duration = Duration::from_secs(2);
const NAMES_MAX: usize = 100_000;
const SHOWN_MAX: usize = 8;
