//! Images from the clipboard, read by a program of the system. Its time and its output are bounded;
//! over the limit it is killed with everything it started.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::TuiEventLoop;
use super::image_import::{IMAGE_MAX, store_image};
use super::task_outcome::TuiTaskOutcome;
use crate::words;

impl TuiEventLoop {
    pub(super) fn paste_clipboard_image(&self) {
        let outcome_sender = self.outcome_sender.clone();
        let directory = self.scratch_directory.clone();
        self.session_runtime.spawn_blocking(move || {
            let image = read_clipboard_image()
                .and_then(|bytes| store_image(&directory, "clipboard.png", &bytes));
            // Fails only if the TUI was closed meanwhile.
            let _ = outcome_sender.blocking_send(TuiTaskOutcome::ImageImported(image));
        });
    }
}

struct ClipboardProgram {
    name: &'static str,
    arguments: &'static [&'static str],
    /// Useless unless this environment variable is set.
    needs: Option<&'static str>,
}

const CLIPBOARD_PROGRAMS: &[ClipboardProgram] = &[
    ClipboardProgram {
        name: "wl-paste",
        arguments: &["--type", "image/png"],
        needs: Some("WAYLAND_DISPLAY"),
    },
    ClipboardProgram {
        name: "xclip",
        arguments: &["-selection", "clipboard", "-t", "image/png", "-o"],
        needs: Some("DISPLAY"),
    },
    ClipboardProgram { name: "pngpaste", arguments: &["-"], needs: None },
];

fn read_clipboard_image() -> Result<Vec<u8>, String> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut tried = Vec::new();
    for ClipboardProgram { name, arguments, needs } in CLIPBOARD_PROGRAMS {
        if needs.is_some_and(|needs| !is_set(needs)) {
            continue;
        }
        match read_program_output(name, arguments) {
            Ok(bytes) if bytes.starts_with(PNG_SIGNATURE) => return Ok(bytes),
            Ok(_) => tried.push(words::describe_clipboard_without_image(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tried.push(format!("{name}: {error}")),
        }
    }
    Err(match tried.is_empty() {
        true => words::NO_CLIPBOARD_PROGRAM.to_owned(),
        false => words::describe_empty_clipboard(&tried.join("; ")),
    })
}

fn read_program_output(program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let stdout = child.stdout.take();
    let (output_sender, output) = mpsc::sync_channel(1);
    // The thread ends with the program, which is killed after the timeout.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.map_or(Ok(0), |out| out.take(IMAGE_MAX + 1).read_to_end(&mut bytes));
        let _ = output_sender.send(read.map(|_| bytes));
    });
    let read = output.recv_timeout(PROGRAM_TIMEOUT);
    kill_process_group_of(&mut child);
    let bytes = read.map_err(|_| io::Error::other(words::CLIPBOARD_TOO_SLOW))??;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= IMAGE_MAX) {
        true => Ok(bytes),
        false => Err(io::Error::other(words::IMAGE_TOO_LARGE)),
    }
}

fn kill_process_group_of(child: &mut Child) {
    // Fails only if the group has already exited.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(3);
