//! Which sockets of the host have a name in the file system.
//!
//! A read-only mount does not keep a command from talking to a socket it can name, so each one
//! that stays visible is covered. Sockets made after the command has started are not seen here.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// A busy machine has a few hundred sockets, each line about a hundred bytes.
const LIST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Mounts are cheap, not free; a machine with more named sockets than this is not a desktop.
const SOCKETS_MAX: usize = 512;

/// Every socket with a path that exists and that we can reach ourselves.
pub(crate) fn list_host_sockets() -> Vec<PathBuf> {
    let mut list = Vec::new();
    let file = std::fs::File::open("/proc/net/unix");
    if file.and_then(|file| file.take(LIST_BYTES_MAX).read_to_end(&mut list)).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&list);
    let named: BTreeSet<&str> = text.lines().filter_map(parse_socket_path).collect();
    let exist = named.into_iter().filter_map(|name| {
        let path = Path::new(name);
        let is_socket =
            std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        is_socket.then(|| std::fs::canonicalize(path).ok()).flatten()
    });
    exist.take(SOCKETS_MAX).collect()
}

/// The last of eight columns, where it is a path: abstract names start with `@`.
fn parse_socket_path(line: &str) -> Option<&str> {
    let at = line.find(" /")?;
    line.get(at + 1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_are_taken() {
        let path = "0000: 00000002 00000000 00010000 0001 01 1234 /run/dbus/system bus";
        assert_eq!(parse_socket_path(path), Some("/run/dbus/system bus"));
        assert_eq!(parse_socket_path("0000: 00000003 00000000 00000000 0001 03 1234"), None);
        assert_eq!(
            parse_socket_path("0000: 00000002 00000000 00010000 0001 01 1234 @/tmp/.X11"),
            None
        );
    }
}
