//! Reads a key from standard input, without echo on a terminal. Errors never repeat the key.

use crate::words;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use windlass_host::command_error::CommandError;
use windlass_host::signals::await_unless_signalled;
use windlass_host::signals::{ExitSignal, SignalListener};
use windlass_provider::api_key_format::check_api_key;

/// Returns the signal if one arrives first.
pub(super) async fn read_key(
    provider: &str,
    signals: &mut SignalListener,
) -> Result<Result<String, ExitSignal>, CommandError> {
    let is_terminal = io::stdin().is_terminal();
    // Dropping this restores the terminal.
    let _echo_off = is_terminal
        .then(TerminalEchoOff::start)
        .transpose()
        .map_err(|error| unreadable_input_error(&error))?;
    if is_terminal {
        eprint!("{}", words::ask_for_key(&provider));
    }
    let reading = tokio::task::spawn_blocking(move || read_stdin(is_terminal));
    let bytes = match await_unless_signalled(signals, reading).await {
        Ok(read) => read
            .map_err(io::Error::other)
            .and_then(|read| read)
            .map_err(|error| unreadable_input_error(&error))?,
        Err(signal) => {
            if is_terminal {
                eprintln!();
            }
            return Ok(Err(signal));
        }
    };
    validate_key(&bytes, provider).map(Ok)
}

/// Reads standard input to its end, or one line of a terminal.
fn read_stdin(is_terminal: bool) -> io::Result<Vec<u8>> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let deadline = Instant::now() + if is_terminal { TYPING_TIMEOUT } else { PIPE_TIMEOUT };
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while bytes.len() <= INPUT_BYTES_MAX && !(is_terminal && bytes.ends_with(b"\n")) {
        if !is_ready(&input, deadline.saturating_duration_since(Instant::now()))? {
            return Err(io::Error::other(words::KEY_TIMEOUT));
        }
        match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

fn is_ready(input: &File, timeout: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(timeout).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&limit)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn validate_key(bytes: &[u8], provider: &str) -> Result<String, CommandError> {
    let checked = check_api_key(str::from_utf8(bytes).unwrap_or("\0"));
    checked
        .map(str::to_owned)
        .map_err(|problem| CommandError::usage(words::describe_refused_key(&problem, &provider)))
}

fn unreadable_input_error(error: &io::Error) -> CommandError {
    CommandError::failure(words::describe_unreadable_key(error))
}

/// Turns the echo of the terminal off until it is dropped.
struct TerminalEchoOff(Termios);

impl TerminalEchoOff {
    fn start() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        // Echo the newline, or the next output would continue the line of the prompt.
        quiet.local_modes.insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(&stdin, OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for TerminalEchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

const TYPING_TIMEOUT: Duration = Duration::from_secs(600);
const PIPE_TIMEOUT: Duration = Duration::from_secs(60);
const INPUT_BYTES_MAX: usize = 16 * 1024;
