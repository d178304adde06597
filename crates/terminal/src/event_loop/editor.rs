//! What needs the terminal for itself: an editor, and standing still.

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

/// An editor that has the terminal.
pub(super) struct RunningEditor {
    /// Until it ends.
    pub(super) task: JoinHandle<io::Result<()>>,
    path: PathBuf,
    /// The file is somebody's and stays; what is written there is not said.
    is_user_file: bool,
}

impl TuiEventLoop {
    /// Stops the process, as a shell's user expects, and goes on when it is told to.
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

    /// Stops the process and comes back when it goes on. The first thread does it: a signal to the
    /// process stops that one before its call returns, and it answers when it was woken.
    fn stop_process(&self) {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        self.session_runtime.spawn(async move {
            // Only this cannot be ignored, and only us: commands that run are not in our hands.
            let _ = tell.send(kill_process(getpid(), Signal::STOP));
        });
        // The time we stood still counts, too; whoever is late then goes on at once.
        let _ = told.recv_timeout(STOP_WAIT);
    }

    /// Lets somebody write what is to be said in an editor.
    pub(super) fn edit_prompt(&mut self) -> io::Result<()> {
        let path = match write_prompt_file(&self.app.input.composer.full_text()) {
            Ok(path) => path,
            Err(error) => {
                self.app.show_text(
                    &format!("there is no place to write in: {error}"),
                    TextStyle::Failure,
                );
                return Ok(());
            }
        };
        self.edit_file(path, false)
    }

    /// Opens an editor with a file.
    pub(super) fn edit_file(&mut self, path: PathBuf, is_kept: bool) -> io::Result<()> {
        self.reader.pause()?;
        self.renderer.release_terminal()?;
        let file = path.clone();
        let task = self.session_runtime.spawn_blocking(move || run_editor(&file));
        self.editor = Some(RunningEditor { task, path, is_user_file: is_kept });
        Ok(())
    }

    /// The editor is done.
    pub(super) fn finish_editing(&mut self, done: io::Result<()>) -> io::Result<()> {
        let Some(RunningEditor { path, is_user_file: is_kept, .. }) = self.editor.take() else {
            return Ok(());
        };
        if is_kept {
            match done {
                Ok(()) => self.app.show_dim_line(&format!("{} was edited", path.display())),
                Err(error) => {
                    self.app.show_text(&format!("the editor failed: {error}"), TextStyle::Failure);
                }
            }
            self.renderer.reacquire_terminal()?;
            return self.reader.resume();
        }
        match done.and_then(|()| read_edited_file(&path)) {
            Ok(text) => self.app.input.composer.set_text(text.trim_end_matches('\n')),
            Err(error) => {
                self.app.show_text(&format!("the editor failed: {error}"), TextStyle::Failure);
            }
        }
        // Ours alone; what is left of it harms nobody.
        let _ = std::fs::remove_file(path);
        self.renderer.reacquire_terminal()?;
        self.reader.resume()
    }
}

/// A new file that only we can read, with this in it.
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
    Err(io::Error::other("no name is left"))
}

/// Runs the editor people have chosen, which may have words of its own. It takes as long as a person
/// does; the session goes on meanwhile.
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
        false => Err(io::Error::other(format!("it ended with {status}; set EDITOR to another"))),
    }
}

fn read_edited_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(EDITED_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const EDITED_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long a busy session may take to stop.
const STOP_WAIT: Duration = Duration::from_secs(5);
