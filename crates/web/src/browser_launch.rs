//! Opens the page in the user's browser. The address carries the token, so it is not an argument that
//! other users could read off the list of processes: the browser is given a file that only this user can
//! read, which leads on to the address.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use windlass_host::random;

/// A file that leads to the page. Gone when dropped.
#[derive(Debug)]
pub(crate) struct RedirectFile {
    folder: PathBuf,
    path: PathBuf,
}

impl RedirectFile {
    /// `address` is one of ours: it holds nothing that HTML would read as its own.
    pub(crate) fn create(parent: &Path, address: &str) -> io::Result<Self> {
        let folder = parent.join(format!("windlass-view-{}", random::generate_name()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let redirect = Self { path: folder.join("open.html"), folder };
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&redirect.path)?;
        writeln!(
            file,
            "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
             <meta http-equiv=refresh content=\"0;url={address}\"><title>Windlass</title>\
             <p>Opening the viewer.</p>"
        )?;
        Ok(redirect)
    }

    /// Starts the browser and does not wait for it. It may fail: the address is printed too.
    pub(crate) fn open(&self) -> io::Result<Child> {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(&self.path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        // What is left holds a token that no server knows any more.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
