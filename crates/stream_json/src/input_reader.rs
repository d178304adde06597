//! Standard input, line by line, read by a thread of its own.
//!
//! The thread blocks while its lines are not taken. Lines are parsed here and handled in the event loop.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc;

use crate::frame::IncomingFrame;
use windlass_host::standard_streams::StandardInput;

#[derive(Debug)]
pub(crate) enum InputLine {
    Frame(IncomingFrame),
    Invalid { number: u64, problem: String },
    End,
}

pub(crate) fn spawn_stdin_reader() -> mpsc::Receiver<InputLine> {
    let (lines, inbox) = mpsc::channel(LINES_MAX);
    let work = move || {
        read_lines(io::BufReader::with_capacity(READ_BYTES, StandardInput), &lines);
        let _ = lines.blocking_send(InputLine::End);
    };
    // Without a thread the channel closes, which is taken for the end.
    let _ = std::thread::Builder::new().name("lines".to_owned()).spawn(work);
    inbox
}

/// The input of a process that reads nothing: one prompt, and the end.
pub(crate) fn send_single_frame(prompt: IncomingFrame) -> mpsc::Receiver<InputLine> {
    let (lines, inbox) = mpsc::channel(2);
    let _ = lines.try_send(InputLine::Frame(prompt));
    let _ = lines.try_send(InputLine::End);
    inbox
}

fn read_lines(mut from: impl BufRead, lines: &mpsc::Sender<InputLine>) {
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        number += 1;
        match from.by_ref().take(BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < BYTES_MAX;
        let input = match is_whole {
            true => match parse_line(&line) {
                Some(Ok(incoming)) => InputLine::Frame(incoming),
                Some(Err(problem)) => InputLine::Invalid { number, problem },
                None => continue,
            },
            false => {
                if skip_line(&mut from).is_err() {
                    return;
                }
                let problem = format!("it is longer than {BYTES_MAX} bytes");
                InputLine::Invalid { number, problem }
            }
        };
        if lines.blocking_send(input).is_err() {
            return;
        }
    }
}

fn parse_line(line: &[u8]) -> Option<Result<IncomingFrame, String>> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    let parsed = serde_json::from_slice(line).map(|mut frame| {
        if let IncomingFrame::User(prompt) = &mut frame {
            prompt.line_bytes = line.len();
        }
        frame
    });
    Some(parsed.map_err(|error| error.to_string()))
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

/// Bytes asked of standard input at a time.
const READ_BYTES: usize = 64 * 1024;
const LINES_MAX: usize = 64;
/// Bytes of a line: a prompt with many pictures.
const BYTES_MAX: u64 = 128 << 20;
