//! Standard input, line by line, read by a thread of its own.
//!
//! The thread waits when nobody takes its lines. What a line means is said here; what follows from it
//! is not.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc;

use super::frame::Incoming;

/// What was read.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A line that means something.
    Line(Incoming),
    /// A line that does not: its number and what is wrong.
    Nonsense(u64, String),
    /// There will be no more.
    End,
}

/// Begins to read.
pub(crate) fn start() -> mpsc::Receiver<Heard> {
    let (lines, inbox) = mpsc::channel(LINES_MAX);
    let work = move || {
        read(io::stdin().lock(), &lines);
        let _ = lines.blocking_send(Heard::End);
    };
    // Without a thread the channel closes, which is taken for the end.
    let _ = std::thread::Builder::new().name("lines".to_owned()).spawn(work);
    inbox
}

/// Nothing is read: one prompt is all there is.
pub(crate) fn once(prompt: Incoming) -> mpsc::Receiver<Heard> {
    let (lines, inbox) = mpsc::channel(2);
    let _ = lines.try_send(Heard::Line(prompt));
    let _ = lines.try_send(Heard::End);
    inbox
}

fn read(mut from: impl BufRead, lines: &mpsc::Sender<Heard>) {
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        number += 1;
        match from.by_ref().take(BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < BYTES_MAX;
        let heard = match is_whole {
            true => match understood(&line) {
                Some(Ok(incoming)) => Heard::Line(incoming),
                Some(Err(problem)) => Heard::Nonsense(number, problem),
                None => continue,
            },
            false => {
                if skip_line(&mut from).is_err() {
                    return;
                }
                Heard::Nonsense(number, format!("it is longer than {BYTES_MAX} bytes"))
            }
        };
        if lines.blocking_send(heard).is_err() {
            return;
        }
    }
}

fn understood(line: &[u8]) -> Option<Result<Incoming, String>> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    Some(serde_json::from_slice(line).map_err(|error| error.to_string()))
}

fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
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

/// Lines that may wait to be taken.
const LINES_MAX: usize = 64;
/// Bytes of a line: a prompt with many pictures.
const BYTES_MAX: u64 = 128 << 20;
