//! Opens a page in the user's browser. It may fail: the address is shown too.

use std::process::{Command, Stdio};

pub(super) fn open_in_browser(address: &str) {
    let is_page = address.starts_with("https://") || address.starts_with("http://");
    if !is_page {
        return;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
