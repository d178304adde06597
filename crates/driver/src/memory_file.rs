//! Notes for later sessions: one Markdown file with one line per note, written by a model after a
//! run.
//!
//! New lines are appended, so that concurrent sessions lose nothing; existing lines are not
//! repeated. A consolidated version replaces the whole file, and the previous one is kept beside
//! it. The engine decides when to ask for notes, and a model writes them.

use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;
use windlass_vocabulary::Chore;

#[derive(Debug)]
pub(crate) struct MemoryFile {
    path: PathBuf,
}

impl MemoryFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Saves notes. Returns all of them when they should be consolidated. An error is one line
    /// about why nothing was saved.
    pub(crate) async fn save(&self, chore: Chore, text: String) -> Result<Option<String>, String> {
        let path = self.path.clone();
        let place = path.display().to_string();
        let kept = spawn_blocking(move || match chore {
            Chore::Memory => append_notes(&path, &text),
            Chore::Consolidation => replace_notes(&path, &text).map(|()| None),
            Chore::Title | Chore::Suggestion | Chore::Question => Ok(None),
        });
        let kept = kept.await.map_err(|error| error.to_string())?;
        kept.map_err(|error| format!("{place}: nothing could be noted: {error}"))
    }
}

fn append_notes(path: &Path, text: &str) -> std::io::Result<Option<String>> {
    let before = read_notes(path)?;
    let is_new = |line: &&str| !before.lines().any(|known| known.trim() == *line);
    let lines: Vec<&str> = text.lines().filter(is_new).collect();
    if lines.is_empty() || before.len() + text.len() > BYTES_MAX {
        return Ok((before.len() + text.len() > BYTES_MAX).then_some(before));
    }
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let added = format!("{gap}{}\n", lines.join("\n"));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    file.write_all(added.as_bytes())?;
    let all = before + &added;
    Ok((all.lines().count() > CONSOLIDATE_LINES_MIN).then_some(all))
}

fn replace_notes(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::copy(path, path.with_extension("md.before"))?;
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
    let written = file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all());
    let done = written.and_then(|()| std::fs::rename(&new, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    done
}

fn read_notes(path: &Path) -> std::io::Result<String> {
    // Reading a named pipe at this path would block.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(std::io::Error::other("it is not a file"));
    }
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(2 * BYTES_MAX as u64).read_to_string(&mut text)?;
    Ok(text)
}

/// Limit on the bytes read back. Above it, nothing is added until the notes are consolidated.
const BYTES_MAX: usize = 25 * 1024;
/// Notes are consolidated above this many lines: only 200 are read back.
const CONSOLIDATE_LINES_MIN: usize = 150;
