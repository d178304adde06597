//! The file of a transcript. Other programs append to it too, so it is never rewritten.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::JournalError;
use crate::project_key::project_key;

#[derive(Debug)]
pub struct TranscriptFile {
    path: PathBuf,
    file: File,
}

impl TranscriptFile {
    /// Opens or creates a transcript, with access for this user only.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(JournalError::disk_error(folder, "made"))?;
        }
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(JournalError::NotAFile { path: path.to_owned() });
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(JournalError::disk_error(path, "opened"))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Appends lines in one write. Not synced: what a power loss destroys can be rebuilt from the
    /// journal.
    pub fn append(&mut self, lines: &[String]) -> Result<(), JournalError> {
        let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.file
            .write_all(text.as_bytes())
            .map_err(JournalError::disk_error(&self.path, "written"))
    }

    /// The end of the file, where readers look for the title; as many bytes as they read.
    pub fn read_tail(&mut self) -> Result<String, JournalError> {
        let mut read = || {
            let length = self.file.metadata()?.len();
            self.file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            (&self.file).take(TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().map_err(JournalError::disk_error(&self.path, "read"))
    }

    /// Appends the lines that are missing, and returns them. Lines are compared by UUID; lines of
    /// other programs and incomplete ones stay as they are.
    pub fn append_missing(&mut self, lines: &[String]) -> Result<Vec<String>, JournalError> {
        let mut text = Vec::new();
        let begun = self.file.seek(SeekFrom::Start(0));
        begun
            .and_then(|_| self.file.read_to_end(&mut text))
            .map_err(JournalError::disk_error(&self.path, "read"))?;
        let known: HashSet<Cow<'_, str>> =
            text.split(|byte| *byte == b'\n').filter_map(parse_line_uuid).collect();
        let is_missing =
            |line: &&String| parse_line_uuid(line.as_bytes()).is_none_or(|u| !known.contains(&u));
        let mut missing: Vec<String> = lines.iter().filter(is_missing).cloned().collect();
        let is_torn = !text.is_empty() && !text.ends_with(b"\n");
        if is_torn {
            missing.insert(0, String::new());
        }
        self.append(&missing)?;
        if is_torn {
            missing.remove(0);
        }
        Ok(missing)
    }
}

/// The sessions of this directory whose transcripts have this title, and their paths. Ignores case;
/// of several titles in one transcript the last one counts.
#[must_use]
pub fn find_by_title(config: &Path, cwd: &Path, title: &str) -> Vec<(String, PathBuf)> {
    let folder = config.join("projects").join(project_key(cwd));
    let title = title.to_lowercase();
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    let is_meant = |path: &PathBuf| {
        let tail = File::open(path).map(|file| TranscriptFile { path: path.clone(), file });
        let tail = tail.ok().and_then(|mut file| file.read_tail().ok()).unwrap_or_default();
        parse_last_title(&tail).is_some_and(|own| own.to_lowercase() == title)
    };
    // Opening a pipe or device would block.
    let is_file = |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file());
    let transcripts =
        files.filter(|path| path.extension().is_some_and(|it| it == "jsonl") && is_file(path));
    let meant = transcripts.take(SEARCHED_TRANSCRIPTS_MAX).filter(is_meant);
    meant
        .filter_map(|path| {
            let id = path.file_stem()?.to_str()?.to_owned();
            Some((id, path))
        })
        .collect()
}

/// The last title in the file.
fn parse_last_title(tail: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct TranscriptTitleLine {
        #[serde(rename = "customTitle")]
        custom_title: String,
    }
    let lines = tail.lines().rev().filter(|line| line.contains(r#""customTitle""#));
    let titles = lines.filter_map(|line| serde_json::from_str::<TranscriptTitleLine>(line).ok());
    titles.map(|titled| titled.custom_title).next()
}

/// Writes a file with an agent's metadata beside its transcript.
pub fn write_agent_metadata(transcript: &Path, meta: &str) -> Result<(), JournalError> {
    let path = transcript.with_extension("meta.json");
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(meta.as_bytes()))
        .map_err(JournalError::disk_error(&path, "written"))
}

/// The UUID of a complete line. An incomplete one is not valid JSON, wherever it was cut.
fn parse_line_uuid(line: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct TranscriptUuidLine<'a> {
        #[serde(borrow)]
        uuid: Cow<'a, str>,
    }
    serde_json::from_slice::<TranscriptUuidLine<'_>>(line).ok().map(|known| known.uuid)
}

/// Bytes at a transcript's end that readers examine for lists.
const TAIL_BYTES: u64 = 64 << 10;
/// Limit on the transcripts searched for a title.
const SEARCHED_TRANSCRIPTS_MAX: usize = 20_000;
