//! Standard input and output as lines, for front ends used by programs. Each is handled by a
//! thread.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, oneshot};

use crate::standard_streams::{StandardInput, StandardOutput};

#[derive(Debug)]
pub enum StdinLine {
    /// Without surrounding whitespace; never empty.
    Line(Vec<u8>),
    /// Longer than [`LINE_BYTES_MAX`]; it was skipped.
    TooLong,
}

/// Reads standard input to its end, or until `on_line` returns false. Blocks; skips blank lines,
/// but `number` counts them.
pub fn for_each_stdin_line(on_line: impl FnMut(u64, StdinLine) -> bool) {
    for_each_line(BufReader::with_capacity(READ_BYTES, StandardInput), on_line);
}

fn for_each_line(mut from: impl BufRead, mut on_line: impl FnMut(u64, StdinLine) -> bool) {
    for number in 1.. {
        let mut line = Vec::new();
        match from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES_MAX;
        replace_lone_surrogates(&mut line);
        let input = match is_whole {
            true if line.trim_ascii().is_empty() => continue,
            true => StdinLine::Line(line.trim_ascii().to_vec()),
            false if skip_rest(&mut from).is_err() => return,
            false => StdinLine::TooLong,
        };
        if !on_line(number, input) {
            return;
        }
    }
}

/// Replaces escapes of half a surrogate pair by U+FFFD. Programs write them for text that was cut
/// inside a character; JSON parsers here would reject the whole line, and with it the prompt.
fn replace_lone_surrogates(line: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = line.get(at..).and_then(|rest| rest.iter().position(|it| *it == b'\\'))
    {
        at += found;
        let second = read_unicode_escape(line, at + ESCAPE_BYTES);
        at += match read_unicode_escape(line, at) {
            Some(0xd800..=0xdbff) if matches!(second, Some(0xdc00..=0xdfff)) => 2 * ESCAPE_BYTES,
            Some(0xd800..=0xdfff) => {
                if let Some(digits) = line.get_mut(at + 2..at + ESCAPE_BYTES) {
                    digits.copy_from_slice(b"fffd");
                }
                ESCAPE_BYTES
            }
            // Also of a backslash, which then begins no escape.
            Some(_) | None => 2,
        };
    }
}

/// The code unit of the escape `\uXXXX` at this place.
fn read_unicode_escape(line: &[u8], at: usize) -> Option<u16> {
    let digits = line.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

fn skip_rest(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Standard output as a queue of lines. Queueing never blocks and never drops; producers wait for
/// room before they create more, so a slow reader delays output but never input.
#[derive(Debug)]
pub struct StdoutLines {
    /// `None` after the end.
    lines: Option<Sender<String>>,
    state: Arc<StdoutState>,
}

#[derive(Debug, Default)]
struct StdoutState {
    queued_bytes: AtomicUsize,
    is_closed: AtomicBool,
    /// Why writing failed, unless the reader closed the pipe.
    failure: OnceLock<io::Error>,
    /// Notified when there is room again, or the reader closed the pipe.
    room_changed: Notify,
}

impl StdoutLines {
    /// The receiver completes when everything was written, after this is ended or dropped.
    #[must_use]
    pub fn spawn() -> (Self, oneshot::Receiver<()>) {
        let (lines, inbox) = channel();
        let (finished, done) = oneshot::channel();
        let state = Arc::new(StdoutState::default());
        let worker_state = Arc::clone(&state);
        let work = move || {
            write_lines(&inbox, &worker_state, StandardOutput::Stdout);
            let _ = finished.send(());
        };
        // Without a thread nothing is written, as with a closed pipe.
        if std::thread::Builder::new().name("frames".to_owned()).spawn(work).is_err() {
            state.is_closed.store(true, Ordering::Release);
        }
        (Self { lines: Some(lines), state }, done)
    }

    pub fn write(&self, mut line: String) {
        let Some(lines) = &self.lines else { return };
        line.push('\n');
        self.state.queued_bytes.fetch_add(line.len(), Ordering::AcqRel);
        if lines.send(line).is_err() {
            self.state.is_closed.store(true, Ordering::Release);
        }
    }

    /// Closes the queue.
    pub fn end(&mut self) {
        self.lines = None;
    }

    pub fn has_room(&self) -> bool {
        self.state.queued_bytes.load(Ordering::Acquire) < QUEUED_BYTES_MAX
    }

    pub fn is_empty(&self) -> bool {
        self.state.queued_bytes.load(Ordering::Acquire) == 0
    }

    /// Has the reader closed the pipe?
    pub fn is_closed(&self) -> bool {
        self.state.is_closed.load(Ordering::Acquire)
    }

    /// Why lines were lost, unless the reader closed the pipe.
    pub fn failure(&self) -> Option<&io::Error> {
        self.state.failure.get()
    }

    /// Waits until there is room again, or the reader closed the pipe.
    pub async fn wait_for_change(&self) {
        self.state.room_changed.notified().await;
    }

    /// Returns at once if there is room or the reader closed the pipe.
    pub async fn wait_for_room(&self) {
        loop {
            let changed = self.state.room_changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.has_room() || self.is_closed() {
                return;
            }
            changed.await;
        }
    }
}

impl StdoutState {
    /// Notifies all current waiters, and the next one, which would otherwise miss it.
    fn tell_change(&self) {
        self.room_changed.notify_waiters();
        self.room_changed.notify_one();
    }
}

fn write_lines(lines: &Receiver<String>, state: &StdoutState, mut to: impl Write) {
    while let Ok(line) = lines.recv() {
        let written = to.write_all(line.as_bytes()).and_then(|()| to.flush());
        let before = state.queued_bytes.fetch_sub(line.len(), Ordering::AcqRel);
        if let Err(error) = written {
            // If the client closed the pipe, it does not want the lines; every other error is
            // reported.
            if error.kind() != io::ErrorKind::BrokenPipe {
                let _ = state.failure.set(error);
            }
            state.is_closed.store(true, Ordering::Release);
            state.tell_change();
            return;
        }
        if before >= QUEUED_BYTES_MAX && before - line.len() < QUEUED_BYTES_MAX {
            state.tell_change();
        }
    }
}

/// Of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;
/// Bytes per read of standard input.
const READ_BYTES: usize = 64 * 1024;
/// Limit on a line: enough for a prompt with many images.
pub const LINE_BYTES_MAX: u64 = 128 << 20;
/// Above this many queued bytes there is no room.
const QUEUED_BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_nothing_else() {
        for (given, read) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uDC00\uD83D\uD83D\ude00\n""#, r#""\ufffd\ufffd\uD83D\ude00\n""#),
            (r#""\\ud83d \u00e9 \ud8""#, r#""\\ud83d \u00e9 \ud8""#),
            (r"\", r"\"),
        ] {
            let mut line = given.as_bytes().to_vec();
            replace_lone_surrogates(&mut line);
            assert_eq!(String::from_utf8(line).unwrap(), read);
        }
    }
}
