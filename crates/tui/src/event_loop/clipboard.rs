//! Images from the clipboard, by whichever program of the system knows it, and images that were
//! dragged in from elsewhere. A program gets so much time and may give so much; then it is killed with
//! everything it started. The image becomes a file of the session's own, which it may read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::TuiEventLoop;
use super::task_outcome::TuiTaskOutcome;

impl TuiEventLoop {
    /// Looks for an image in the clipboard, beside the conversation.
    pub(super) fn paste_clipboard_image(&self) {
        let (tell, aside) = (self.outcome_sender.clone(), self.scratch_directory.clone());
        self.session_runtime.spawn_blocking(move || {
            let taken = read_clipboard_image()
                .and_then(|bytes| store_image(&aside, "clipboard.png", &bytes));
            // Nobody waits for it any more when the conversation is over.
            let _ = tell.blocking_send(TuiTaskOutcome::ImageImported(taken));
        });
    }

    /// Brings an image that was dragged in: whoever did that wants it to be seen.
    pub(super) fn import_dragged_image(&self, path: String) {
        let (tell, aside) = (self.outcome_sender.clone(), self.scratch_directory.clone());
        self.session_runtime.spawn_blocking(move || {
            let name = path.rsplit('/').next().unwrap_or("image").to_owned();
            let read =
                read_image_file(Path::new(&path)).map_err(|error| format!("{path}: {error}"));
            let _ = tell.blocking_send(TuiTaskOutcome::ImageImported(
                read.and_then(|bytes| store_image(&aside, &name, &bytes)),
            ));
        });
    }
}

/// Programs that know the clipboard, and the variable without which they do not.
const CLIPBOARD_PROGRAMS: &[(&str, &[&str], Option<&str>)] = &[
    ("wl-paste", &["--type", "image/png"], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"], Some("DISPLAY")),
    ("pngpaste", &["-"], None),
];

fn read_clipboard_image() -> Result<Vec<u8>, String> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut tried = Vec::new();
    for (program, words, needs) in CLIPBOARD_PROGRAMS {
        if needs.is_some_and(|needs| !is_set(needs)) {
            continue;
        }
        match read_program_output(program, words) {
            Ok(bytes) if bytes.starts_with(PNG_SIGNATURE) => return Ok(bytes),
            Ok(_) => tried.push(format!("{program} has none")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tried.push(format!("{program}: {error}")),
        }
    }
    Err(match tried.is_empty() {
        true => {
            "no program here knows the clipboard: install wl-paste, xclip or pngpaste, or drag \
                 the image in"
                .to_owned()
        }
        false => format!("there is no image in the clipboard ({})", tried.join("; ")),
    })
}

/// What a program prints, if it ends in time and well.
fn read_program_output(program: &str, words: &[&str]) -> io::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let stdout = child.stdout.take();
    let (tell, told) = mpsc::sync_channel(1);
    // It ends with the program, which is killed when its time is over.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.map_or(Ok(0), |out| out.take(IMAGE_MAX + 1).read_to_end(&mut bytes));
        let _ = tell.send(read.map(|_| bytes));
    });
    let read = told.recv_timeout(PROGRAM_TIMEOUT);
    kill_process_group_of(&mut child);
    let bytes = read.map_err(|_| io::Error::other("it takes too long"))??;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= IMAGE_MAX) {
        true => Ok(bytes),
        false => Err(io::Error::other("the image is too large")),
    }
}

/// Ends a program and everything it started.
fn kill_process_group_of(child: &mut Child) {
    // Whoever is gone already cannot be killed.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

/// What a file holds, if it is one and not too large.
fn read_image_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > IMAGE_MAX {
        return Err(io::Error::other("it is no file, or too large"));
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Keeps an image in a new file that only we can read; gives what it is called, and where it is.
fn store_image(aside: &Path, name: &str, bytes: &[u8]) -> Result<(String, PathBuf), String> {
    static NEXT_IMAGE: AtomicU32 = AtomicU32::new(1);
    let number = NEXT_IMAGE.fetch_add(1, Ordering::Relaxed);
    let path = aside.join(format!("image-{}-{number}-{name}", std::process::id()));
    let folder = DirBuilder::new().recursive(true).mode(0o700).create(aside);
    let write = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = folder.and_then(|()| write()).and_then(|mut file| file.write_all(bytes));
    match written {
        Ok(()) => Ok((name.to_owned(), path)),
        Err(error) => Err(format!("the image cannot be kept at {}: {error}", path.display())),
    }
}

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const IMAGE_MAX: u64 = 20 * 1024 * 1024;
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(3);
