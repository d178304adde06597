//! Opens the page in the user's browser. The address contains the token, so it is not passed as an
//! argument, which other users could see in the process list: the browser opens a file readable
//! only by this user that redirects to the address.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use windlass_host::random;

/// A file that redirects to the page. Removed on drop.
#[derive(Debug)]
pub(crate) struct RedirectFile {
    folder: PathBuf,
    path: PathBuf,
}

impl RedirectFile {
    /// `address` must be one we built: it is not escaped for HTML.
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

    /// Starts the browser without waiting for it. The caller may ignore a failure: the address is
    /// printed too.
    pub(crate) fn open(&self) -> io::Result<Child> {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(&self.path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        // If this fails, the leftover token is invalid once the server has ended.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
