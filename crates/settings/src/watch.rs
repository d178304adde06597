//! Files that change while a session goes on: which did, and what is in force then.
//!
//! Nothing is watched. Whoever asks is told, by what the file system says of each file, and what comes of
//! it goes through the same door as at the start. Two things never get looser by it: a file that cannot
//! be read any more goes on saying what it said last, and a project that was trusted for one run is
//! trusted for what it was at the start of it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_permission::layer::Source;

use crate::load;
use crate::loaded::{FileRead, Loaded, State};
use crate::place::{Given, Request};
use crate::problem::Severity;
use crate::trust::TrustStore;

/// What the files of a session were like when they were last looked at.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    files: BTreeMap<PathBuf, Seen>,
    /// Files that go on saying something that they no longer hold.
    held: Held,
    /// What the project wanted at the start: what is trusted, if it is trusted for one run.
    once: String,
    store: Option<Stamp>,
}

/// What files are taken to say, in the place of what is in them; nothing is a file that is not there.
pub(crate) type Held = BTreeMap<PathBuf, Option<String>>;

/// A file when it was last looked at.
#[derive(Clone, Debug)]
struct Seen {
    source: Source,
    stamp: Option<Stamp>,
    /// What of it counts; empty, if it cannot be read.
    text: Option<String>,
}

/// By this a file is known to be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    place: (u64, u64),
    size: u64,
    mode: u32,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file; nothing, if there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self {
            place: (found.dev(), found.ino()),
            size: found.len(),
            mode: found.mode(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChanged {
    /// Its layer.
    pub source: Source,
    /// The file.
    pub path: PathBuf,
}

impl Watch {
    /// From what was read at the start.
    #[must_use]
    pub fn new(request: &Request, loaded: &Loaded) -> Self {
        let mut watch = Self { once: loaded.trust.digest_besides_kept(), ..Self::default() };
        watch.keep(request, &loaded.files);
        watch
    }

    /// Is anything not as it was? Cheap.
    #[must_use]
    pub fn is_stale(&self, request: &Request) -> bool {
        self.store != store(request) || !self.changed(request).is_empty()
    }

    /// The files that are not as they were.
    #[must_use]
    pub fn changed(&self, request: &Request) -> Vec<FileChanged> {
        let mut changed: Vec<FileChanged> = Vec::new();
        let candidates = load::candidates(request);
        for candidate in &candidates {
            let Given::File(path) = &candidate.given else { continue };
            let before = self.files.get(path).and_then(|seen| seen.stamp);
            if before != Stamp::of(path) {
                changed.push(FileChanged { source: candidate.source, path: path.clone() });
            }
        }
        // One that nobody would look for any more is gone.
        for (path, seen) in self.files.iter().filter(|(_, seen)| seen.stamp.is_some()) {
            let is_candidate = candidates
                .iter()
                .any(|candidate| matches!(&candidate.given, Given::File(known) if known == path));
            if !is_candidate {
                changed.push(FileChanged { source: seen.source, path: path.clone() });
            }
        }
        changed
    }

    /// What is in force from now on, and one line for each file that cannot be read any more. What
    /// somebody refused to let change stays as it was until it changes again.
    pub fn read(&mut self, request: &Request, refused: &[PathBuf]) -> (Loaded, Vec<String>) {
        for FileChanged { path, .. } in self.changed(request) {
            match refused.contains(&path) {
                true => drop(self.held.insert(path.clone(), self.text(&path))),
                false => drop(self.held.remove(&path)),
            }
        }
        let mut loaded = self.load(request);
        let mut lines = Vec::new();
        for problem in loaded.problems.iter().filter(|problem| problem.severity == Severity::File) {
            let path = PathBuf::from(&problem.name);
            let good = self.text(&path).filter(|text| !text.is_empty());
            let Some(text) = good.filter(|_| !self.held.contains_key(&path)) else { continue };
            let what = problem.what.split("; until it is mended").next().unwrap_or_default();
            let mut told = problem.clone();
            told.what = format!("{what}; until it is mended, what it said before holds");
            lines.push(told.to_string());
            self.held.insert(path, Some(text));
        }
        if !lines.is_empty() {
            loaded = self.load(request);
        }
        self.keep(request, &loaded.files);
        (loaded, lines)
    }

    fn load(&self, request: &Request) -> Loaded {
        let mut request = request.clone();
        let is_trusted = std::mem::take(&mut request.is_trusted);
        let mut loaded = load::load_held(&request, &self.held);
        // Trust for one run is trust in what was there when it was given.
        if is_trusted && self.once == loaded.trust.digest_besides_kept() {
            request.is_trusted = true;
            loaded = load::load_held(&request, &self.held);
        }
        loaded
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.files.get(path)?.text.clone()
    }

    fn keep(&mut self, request: &Request, files: &[FileRead]) {
        self.files.clear();
        for file in files {
            let text = match file.state {
                State::Absent => None,
                State::Read => file.text.clone(),
                // Which is as broken as it was.
                State::Broken => Some(String::new()),
            };
            let seen = Seen { source: file.source, stamp: file.stamp, text };
            self.files.insert(PathBuf::from(&file.name), seen);
        }
        self.store = store(request);
    }
}

/// Where the user's trust is kept, which counts like a file of settings.
fn store(request: &Request) -> Option<Stamp> {
    let state = request.places.state.as_ref()?;
    Stamp::of(TrustStore::new(state).path())
}
