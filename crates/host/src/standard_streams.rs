//! Standard input, output and error when other programs share them: non-blocking, full, or without
//! a reader.
//!
//! A program that shares a pipe or terminal with us may switch it to non-blocking mode. Writes then
//! wait for room and reads for input, as they otherwise would. There is no buffer, because a
//! buffered write that fails does not report how much was written. An error line without a reader
//! is abandoned after a timeout.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardOutput {
    Stdout,
    Stderr,
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout => write_when_ready(&io::stdout(), bytes),
            Self::Stderr => write_when_ready(&io::stderr(), bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unbuffered standard input.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        loop {
            match rustix::io::read(&stdin, &mut *buffer) {
                Err(Errno::AGAIN) => drop(wait_for(&stdin, PollFlags::IN, None)?),
                Err(Errno::INTR) => {}
                read => return Ok(read?),
            }
        }
    }
}

/// Writes a line to standard error. If it is not read, the rest is dropped after a second, because
/// the exit code reports the error too.
pub fn write_error_line(line: &str) {
    let text = format!("{line}\n");
    let deadline = Instant::now() + ERROR_LINE_MAX;
    let stderr = io::stderr();
    for chunk in text.as_bytes().chunks(ATOMIC_BYTES) {
        let mut rest = chunk;
        while !rest.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            // A ready pipe accepts this many bytes without blocking.
            if !wait_for(&stderr, PollFlags::OUT, Some(left)).unwrap_or(false) {
                return;
            }
            match rustix::io::write(&stderr, rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

fn write_when_ready(to: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::io::write(to, bytes) {
            Err(Errno::AGAIN) => drop(wait_for(to, PollFlags::OUT, None)?),
            Err(Errno::INTR) => {}
            written => return Ok(written?),
        }
    }
}

/// Waits until the descriptor is ready, up to a limit. Returns whether it is.
fn wait_for(fd: &impl AsFd, what: PollFlags, within: Option<Duration>) -> io::Result<bool> {
    let limit = within.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    let mut fds = [PollFd::new(fd, what)];
    match poll(&mut fds, limit.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// How long an error line waits for a reader.
const ERROR_LINE_MAX: Duration = Duration::from_secs(1);
/// The minimal size of atomic pipe writes on all systems.
const ATOMIC_BYTES: usize = 512;
