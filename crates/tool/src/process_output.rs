//! Keeps the output of a process in constant memory.
//!
//! The first and last bytes of each stream are kept; once both streams together exceed what is
//! shown, everything is written to one file in order of arrival, up to a limit. The supervisor
//! decides when to stop a process.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::secrets::{Secrets, StreamRedactor};

/// The first and the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    end_bytes_max: usize,
    total: u64,
    /// Bytes that were shown while the process runs, or passed over.
    shown: u64,
}

impl HeadAndTail {
    /// Keeps at most `inline_max` bytes of either end.
    pub(crate) fn new(inline_max: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            end_bytes_max: inline_max,
            total: 0,
            shown: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.end_bytes_max.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = rest.get(rest.len().saturating_sub(self.end_bytes_max)..).unwrap_or(rest);
        let over = (self.tail.len() + rest.len()).saturating_sub(self.end_bytes_max);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    pub(crate) fn into_head(self) -> Vec<u8> {
        self.head
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What came since the last call, for display: whole lines, the newest if there are many. Without
    /// a whole line it is what there is of one. Of a line that was written over, the last state.
    pub(crate) fn take_new_lines(&mut self) -> Option<String> {
        let new = usize::try_from(self.total - self.shown).unwrap_or(usize::MAX);
        let kept = self.head.iter().chain(&self.tail).rev();
        let mut bytes: Vec<u8> = kept.take(new.min(SHOWN_BYTES_MAX)).copied().collect();
        bytes.reverse();
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(whole);
        self.shown = self.total - rest.len() as u64;
        // The first line was cut if some was passed over.
        let start = match new > bytes.len() {
            true => memchr::memchr(b'\n', lines).map_or(0, |at| at + 1),
            false => 0,
        };
        let text = decode_lossy(lines.get(start..).unwrap_or(lines));
        if !text.trim().is_empty() {
            let lines: Vec<&str> = text.trim_end().lines().map(last_state_of_line).collect();
            return Some(lines.join("\n"));
        }
        let text = decode_lossy(trim_partial_char_at_start(rest));
        Some(last_state_of_line(text.trim())).filter(|line| !line.is_empty()).map(str::to_owned)
    }

    /// The stream as text of at most `bytes_max` bytes; the middle says what is left out.
    pub(crate) fn render(&self, bytes_max: usize) -> String {
        let mut shown = self.head.clone();
        if self.total <= bytes_max as u64 {
            shown.extend(&self.tail);
            return decode_lossy(&shown);
        }
        let half = bytes_max / 2;
        let first = trim_partial_char_at_end(shown.get(..half).unwrap_or(&shown));
        let all: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        let last =
            trim_partial_char_at_start(all.get(all.len().saturating_sub(half)..).unwrap_or(&all));
        let left_out = self.total.saturating_sub((first.len() + last.len()) as u64);
        format!("{}\n[{left_out} bytes left out here]\n{}", decode_lossy(first), decode_lossy(last))
    }
}

/// What stands there after its carriage returns.
fn last_state_of_line(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit_once('\r').map_or(line, |(_, last)| last)
}

/// Bytes of output that are shown at once while a process runs.
const SHOWN_BYTES_MAX: usize = 4_000;

/// Text for a model: invalid UTF-8 and NUL become the replacement character.
pub(crate) fn decode_lossy(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// Without the bytes of an incomplete character at the end.
fn trim_partial_char_at_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    }
}

/// Without the bytes of an incomplete character at the start.
fn trim_partial_char_at_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    bytes.get(cut..).unwrap_or(bytes)
}

/// All output of a process in order of arrival: in memory while it is short, then on disk.
#[derive(Debug)]
pub(crate) struct OutputSpill {
    path: PathBuf,
    buffer: Vec<u8>,
    buffer_bytes_max: usize,
    bytes_max: u64,
    file: Option<File>,
    written: u64,
    problem: Option<String>,
    /// The file is read while it is written, so each write is flushed.
    is_live: bool,
    redactor: StreamRedactor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpillCapacity {
    Available,
    /// The limit is reached: stop the process.
    Exhausted,
}

impl OutputSpill {
    pub(crate) fn new(path: PathBuf, buffer_bytes_max: usize, bytes_max: u64) -> Self {
        Self {
            path,
            buffer: Vec::new(),
            buffer_bytes_max,
            bytes_max,
            file: None,
            written: 0,
            problem: None,
            is_live: false,
            redactor: StreamRedactor::default(),
        }
    }

    /// Discards everything, without a limit.
    pub(crate) fn discarding() -> Self {
        let problem = Some("it is not kept".to_owned());
        Self { problem, ..Self::new(PathBuf::new(), 0, u64::MAX) }
    }

    pub(crate) fn with_redaction(mut self, secrets: &Secrets) -> Self {
        self.redactor = secrets.redact_stream();
        self
    }

    /// Writes to disk from the first byte, to be read while it is written. The file exists at once.
    pub(crate) async fn create_live(path: PathBuf, bytes_max: u64) -> std::io::Result<Self> {
        let file = Some(create_file(&path).await?);
        Ok(Self { file, is_live: true, ..Self::new(path, 0, bytes_max) })
    }

    /// Writes to disk from now on, to be read while it is written. Returns whether that worked.
    pub(crate) async fn make_live(&mut self) -> bool {
        if self.file.is_none() && self.problem.is_none() {
            match create_file(&self.path).await {
                Ok(file) => self.file = Some(file),
                Err(_) => return false,
            }
            let early = std::mem::take(&mut self.buffer);
            self.buffer_bytes_max = 0;
            self.append(&early).await;
        }
        if let Some(file) = &mut self.file {
            self.is_live = file.flush().await.is_ok();
        }
        self.is_live
    }

    pub(crate) async fn push(&mut self, bytes: &[u8]) -> SpillCapacity {
        let mut redaction = std::mem::take(&mut self.redactor);
        let room = self.push_redacted(&redaction.redact_chunk(bytes)).await;
        self.redactor = redaction;
        room
    }

    async fn push_redacted(&mut self, bytes: &[u8]) -> SpillCapacity {
        if self.file.is_none() && self.problem.is_none() {
            if self.buffer.len() + bytes.len() <= self.buffer_bytes_max {
                self.buffer.extend_from_slice(bytes);
                return SpillCapacity::Available;
            }
            match create_file(&self.path).await {
                Ok(file) => self.file = Some(file),
                Err(error) => self.problem = Some(error.to_string()),
            }
            let early = std::mem::take(&mut self.buffer);
            self.append(&early).await;
        }
        self.append(bytes).await;
        if self.written >= self.bytes_max {
            SpillCapacity::Exhausted
        } else {
            SpillCapacity::Available
        }
    }

    /// Without a file the bytes are only counted, so that the limit applies anyway.
    async fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.bytes_max - self.written).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        self.written += bytes.len() as u64;
        if let Some(file) = &mut self.file {
            let mut written = file.write_all(bytes).await;
            if self.is_live && written.is_ok() {
                written = file.flush().await;
            }
            if let Err(error) = written {
                self.problem = Some(error.to_string());
                self.file = None;
            }
        }
    }

    /// The file with all output, or why there is none.
    pub(crate) async fn finish(mut self) -> SpillOutcome {
        let rest = self.redactor.take_rest();
        if !rest.is_empty() {
            self.push_redacted(&rest).await;
        }
        if let Some(mut file) = self.file.take()
            && let Err(error) = file.flush().await
        {
            self.problem = Some(error.to_string());
        } else if self.problem.is_none() && self.buffer.is_empty() && self.written > 0 {
            return SpillOutcome::Saved { path: self.path, bytes: self.written };
        }
        match self.problem {
            Some(problem) => SpillOutcome::Failed { path: self.path, problem },
            None => SpillOutcome::NotNeeded,
        }
    }
}

/// What happened to an output that may have been too long to show.
#[derive(Debug)]
pub(crate) enum SpillOutcome {
    NotNeeded,
    Saved { path: PathBuf, bytes: u64 },
    Failed { path: PathBuf, problem: String },
}

async fn create_file(path: &Path) -> std::io::Result<File> {
    if let Some(directory) = path.parent() {
        tokio::fs::create_dir_all(directory).await?;
    }
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_running_process_is_whole_lines_each_once() {
        let mut output = HeadAndTail::new(10_000);
        let mut push = |text: &str| {
            output.push(text.as_bytes());
            output.take_new_lines()
        };
        assert_eq!(push("one\n\n  two\nthr").as_deref(), Some("one\n\n  two"));
        assert_eq!(push("ee").as_deref(), Some("three"), "there is no whole line yet");
        assert_eq!(push("!\nfour\n").as_deref(), Some("three!\nfour"));
        assert_eq!(push(""), None);
        assert_eq!(push("10%\r20%\r").as_deref(), Some("20%"));
        assert_eq!(push("\n\n").as_deref(), Some("20%"));
        let many: String = (0..2_000).map(|number| format!("line {number}\n")).collect();
        let shown = push(&many).unwrap_or_default();
        assert!(shown.starts_with("line ") && shown.ends_with("\nline 1999"), "{shown}");
        assert!(shown.len() <= SHOWN_BYTES_MAX, "{} bytes", shown.len());
        let long = "ä".repeat(50_000);
        let shown = push(&long).unwrap_or_default();
        assert!(!shown.contains('\u{fffd}') && shown.ends_with('ä'), "{shown}");
        assert_eq!(push("\nlast\n").as_deref().map(|it| it.ends_with("last")), Some(true));
    }
}
