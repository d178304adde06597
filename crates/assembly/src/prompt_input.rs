//! Where the prompt comes from: the command line, standard input, or both.
//!
//! Reads standard input only when something else than a terminal is at the other end, at most
//! [`BYTES_MAX`] of it, and never waits longer than [`SILENCE_MAX`] for the next piece. A program that
//! starts us often forgets to close it, so one that stays silent from the start is left alone when the
//! command line holds the prompt, or when it is a socket, which no shell makes. The caller lets signals
//! end the process. What is not text is refused here: a model would get noise, and
//! answer nonsense for no visible reason.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::options::RunOptions;
use windlass_host::command_error::CommandError;
use windlass_host::standard_streams::write_error_line;

/// Bytes taken from standard input, and of a prompt altogether.
const BYTES_MAX: usize = 10 * 1024 * 1024;
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// After this time a message says that input is awaited, or silent input is ignored.
const WAITING_NOTICE_AFTER: Duration = Duration::from_secs(3);

/// The prompt on the command line; `None` if it is missing or blank.
pub fn read_from_command_line(options: &RunOptions) -> Result<Option<String>, CommandError> {
    let given = match (options.print.clone().flatten(), options.prompt.clone()) {
        (Some(_), Some(second)) => {
            return Err(CommandError::usage(format!(
                "there are two prompts, the second is \"{}\"; put the whole prompt in quotes",
                second.to_string_lossy()
            )));
        }
        (first, second) => first.or(second),
    };
    let text = given.map(OsString::into_string).transpose().map_err(|_| {
        CommandError::usage(
            "the prompt is not text in UTF-8; name the file in the prompt and let the model read it",
        )
    })?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// Reads the prompt from standard input. `None` if that is empty.
pub(crate) fn read_from_stdin() -> Result<Option<String>, CommandError> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    let text = read_piped_stdin(PromptOnCommandLine::Absent).map_err(|problem| match problem {
        StdinError::Unreadable(error) => {
            CommandError::usage(format!("standard input cannot be read: {error}; {EMPTY_PROMPT}"))
        }
        StdinError::Unusable(error) => error,
    })?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

pub(crate) fn empty_prompt_error() -> CommandError {
    CommandError::usage(EMPTY_PROMPT)
}

const EMPTY_PROMPT: &str =
    "the prompt is empty; write it after -p, or pipe it in: `echo \"...\" | windlass -p`";

/// The prompt with standard input appended.
pub(crate) fn append_stdin(prompt: String) -> Result<String, CommandError> {
    if io::stdin().is_terminal() {
        return Ok(prompt);
    }
    let more = match read_piped_stdin(PromptOnCommandLine::Complete) {
        Ok(more) => more,
        Err(StdinError::Unusable(error)) => return Err(error),
        Err(StdinError::Unreadable(error)) => {
            // There is a prompt, so this error is only a warning.
            write_error_line(&format!(
                "windlass: standard input cannot be read ({error}); continuing without it"
            ));
            return Ok(prompt);
        }
    };
    if more.trim().is_empty() {
        return Ok(prompt);
    }
    if prompt.len() + more.len() > BYTES_MAX {
        return Err(too_long_error());
    }
    Ok(format!("{prompt}\n\n{more}"))
}

enum StdinError {
    Unreadable(io::Error),
    Unusable(CommandError),
}

/// Does the command line hold a prompt already?
#[derive(Clone, Copy, PartialEq, Eq)]
enum PromptOnCommandLine {
    Complete,
    Absent,
}

fn read_piped_stdin(prompt: PromptOnCommandLine) -> Result<String, StdinError> {
    let stdin = io::stdin();
    let fd = stdin.as_fd().try_clone_to_owned();
    // A handle of our own: the one of the standard library would read ahead and hide it from `poll`.
    let mut input = File::from(fd.map_err(StdinError::Unreadable)?);
    let is_socket = input.metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    let began = Instant::now();
    let mut has_announced = false;
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let limit = if has_announced { SILENCE_MAX } else { WAITING_NOTICE_AFTER };
        if !wait_until_readable(&input, limit).map_err(StdinError::Unreadable)? {
            if has_announced {
                return Err(StdinError::Unusable(silent_stdin_error()));
            }
            let may_go_on = is_socket || prompt == PromptOnCommandLine::Complete;
            if may_go_on && bytes.is_empty() {
                let words =
                    format!("nothing arrived for {} seconds", WAITING_NOTICE_AFTER.as_secs());
                return Err(StdinError::Unreadable(io::Error::other(words)));
            }
            has_announced = true;
            write_error_line(
                "windlass: waiting for standard input to end; if there is none, add </dev/null",
            );
            continue;
        }
        has_announced = has_announced || began.elapsed() > WAITING_NOTICE_AFTER;
        match input.read(&mut chunk) {
            Ok(0) => return decode_text(bytes).map_err(StdinError::Unusable),
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            Err(error) => return Err(StdinError::Unreadable(error)),
        }
        if bytes.len() > BYTES_MAX {
            return Err(StdinError::Unusable(too_long_error()));
        }
    }
}

fn wait_until_readable(input: &File, within: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(input, PollFlags::IN)];
    let limit = Timespec::try_from(within).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&limit)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn decode_text(bytes: Vec<u8>) -> Result<String, CommandError> {
    let advice = "pipe in text, or name the file in the prompt and let the model read it";
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(CommandError::usage(format!(
            "standard input is not text: byte {at} is a NUL; {advice}"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!(
            "standard input is not text in UTF-8: byte {at} does not fit; {advice}"
        ))
    })
}

fn too_long_error() -> CommandError {
    CommandError::usage(
        "the prompt with standard input is over 10 MB; name the file in the prompt and let the model \
         read it",
    )
}

fn silent_stdin_error() -> CommandError {
    CommandError::failure(format!(
        "standard input has been silent for {} minutes and was not closed; close it, or use \
         </dev/null",
        SILENCE_MAX.as_secs() / 60
    ))
}
