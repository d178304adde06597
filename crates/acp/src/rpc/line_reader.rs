//! Standard input, line by line, read by a thread of its own that blocks while its lines are not taken.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) enum RpcLine {
    Line(Vec<u8>),
    TooLong,
}

/// The channel closes at the end of the input.
pub(crate) fn spawn_line_reader() -> mpsc::Receiver<RpcLine> {
    let (lines, inbox) = mpsc::channel(LINES_MAX);
    let work = move || read_lines(io::stdin().lock(), &lines);
    // Without a thread the channel closes, which is taken for the end.
    let _ = std::thread::Builder::new().name("lines".to_owned()).spawn(work);
    inbox
}

fn read_lines(mut from: impl BufRead, lines: &mpsc::Sender<RpcLine>) {
    loop {
        let mut line = Vec::new();
        match from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES_MAX;
        let input = match is_whole {
            true if line.trim_ascii().is_empty() => continue,
            true => RpcLine::Line(line),
            false if skip_rest(&mut from).is_err() => return,
            false => RpcLine::TooLong,
        };
        if lines.blocking_send(input).is_err() {
            return;
        }
    }
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

const LINES_MAX: usize = 64;
/// A prompt with many pictures. The npm client sends at most 32 MiB.
const LINE_BYTES_MAX: u64 = 128 << 20;
