//! What takes the terminal away from the TUI: an editor, and Ctrl-Z.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use tokio::task::JoinHandle;

use super::TuiEventLoop;
use crate::styled_line::TextStyle;
use crate::words;

/// While it runs, nothing is painted and no key is read.
pub(super) struct RunningEditor {
    pub(super) task: JoinHandle<io::Result<()>>,
    target: EditTarget,
}

pub(super) enum EditTarget {
    /// A temporary file that becomes the text of the composer.
    Prompt(PathBuf),
    /// A file of the user, which stays where it is.
    UserFile(PathBuf),
}

impl TuiEventLoop {
    /// Stops the process as Ctrl-Z does in a shell; returns when it is continued.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        if self.editor.is_some() {
            return Ok(());
        }
        self.reader.pause()?;
        self.renderer.release_terminal()?;
        self.stop_process();
        self.renderer.reacquire_terminal()?;
        self.reader.resume()
    }

    /// Runs on the main thread: a signal to the process stops that thread before `kill` returns, so
    /// its answer comes after the process was continued.
    fn stop_process(&self) {
        let (continued_sender, continued) = std::sync::mpsc::sync_channel(1);
        self.session_runtime.spawn(async move {
            // SIGSTOP cannot be ignored. It goes to this process alone: commands have groups of
            // their own and run on.
            let _ = continued_sender.send(kill_process(getpid(), Signal::STOP));
        });
        // The timeout runs on while the process is stopped, so a late answer is not waited for.
        let _ = continued.recv_timeout(STOP_WAIT);
    }

    /// Opens the text of the composer in an editor.
    pub(super) fn edit_prompt(&mut self) -> io::Result<()> {
        let path = match write_prompt_file(&self.app.input.composer.full_text()) {
            Ok(path) => path,
            Err(error) => {
                self.app.show_text(&words::describe_no_edit_file(&error), TextStyle::Failure);
                return Ok(());
            }
        };
        self.start_editor(EditTarget::Prompt(path))
    }

    pub(super) fn start_editor(&mut self, target: EditTarget) -> io::Result<()> {
        self.reader.pause()?;
        self.renderer.release_terminal()?;
        let (EditTarget::Prompt(path) | EditTarget::UserFile(path)) = &target;
        let path = path.clone();
        let task = self.session_runtime.spawn_blocking(move || run_editor(&path));
        self.editor = Some(RunningEditor { task, target });
        Ok(())
    }

    pub(super) fn finish_editing(&mut self, done: io::Result<()>) -> io::Result<()> {
        let Some(editor) = self.editor.take() else { return Ok(()) };
        let edited = match editor.target {
            EditTarget::UserFile(path) => done.map(|()| {
                self.app.show_dim_line(&words::describe_edited(&path));
            }),
            EditTarget::Prompt(path) => {
                let text = done.and_then(|()| read_edited_file(&path));
                // Nothing depends on it: the file is readable for this user only.
                let _ = std::fs::remove_file(path);
                text.map(|text| self.app.input.composer.set_text(text.trim_end_matches('\n')))
            }
        };
        if let Err(error) = edited {
            self.app.show_text(&words::describe_editor_failure(&error), TextStyle::Failure);
        }
        self.renderer.reacquire_terminal()?;
        self.reader.resume()
    }
}

/// Creates a file that only this user can read.
fn write_prompt_file(text: &str) -> io::Result<PathBuf> {
    let mut tries_left = 100_u8;
    for number in 0_u32.. {
        let name = format!("windlass-prompt-{}-{number}.md", std::process::id());
        let path = std::env::temp_dir().join(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries_left > 0 => {
                tries_left -= 1;
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(words::NO_EDIT_FILE_NAME))
}

/// Runs `VISUAL` or `EDITOR` through a shell, because it may contain arguments. Blocks while the
/// user edits; the session continues meanwhile.
fn run_editor(path: &Path) -> io::Result<()> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".into());
    let status = Command::new("/bin/sh")
        .args(["-c", "eval \"$WINDLASS_EDITOR \\\"\\$1\\\"\"", "sh"])
        .arg(path)
        .env("WINDLASS_EDITOR", editor)
        .stdin(Stdio::inherit())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(words::describe_editor_exit(status))),
    }
}

fn read_edited_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(EDITED_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const EDITED_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long a busy main thread may take to stop the process.
const STOP_WAIT: Duration = Duration::from_secs(5);
