//! The mounts that this process sees.

use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::mount::MountFlags;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MountEntry {
    pub(super) point: PathBuf,
    pub(super) is_read_only: bool,
    /// Flags to repeat when remounting, because some cannot be removed.
    pub(super) flags: MountFlags,
    kind: String,
}

impl MountEntry {
    /// Kernel file systems, which contain no user files.
    pub(super) fn is_system(&self) -> bool {
        SYSTEM_KINDS.contains(&self.kind.as_str())
    }

    /// A line of `mountinfo`: six fields, optional ones, a dash, and the kind.
    fn parse(line: &str) -> Option<Self> {
        let (fields, rest) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(4);
        let point = PathBuf::from(std::ffi::OsString::from_vec(unescape(fields.next()?)));
        let options = fields.next()?;
        let mut flags = MountFlags::empty();
        for option in options.split(',') {
            flags |= match option {
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "noatime" => MountFlags::NOATIME,
                "nodiratime" => MountFlags::NODIRATIME,
                "relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            };
        }
        let is_read_only = options.split(',').any(|option| option == "ro");
        let kind = rest.split(' ').next()?.to_owned();
        Some(Self { point, is_read_only, flags, kind })
    }
}

pub(super) fn read_mount_table() -> Result<Vec<MountEntry>, String> {
    let text = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| format!("/proc/self/mountinfo cannot be read: {error}"))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(MountEntry::parse).collect())
}

/// Blanks and backslashes are written as three octal digits.
fn unescape(field: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped.filter(|_| *byte == b'\\') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    bytes
}

const SYSTEM_KINDS: [&str; 19] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_blanks_in_paths_and_flags() {
        let line =
            "36 35 98:0 /mnt1 /mnt\\040two\\134x rw,nosuid,relatime shared:1 - ext4 /dev/r rw";
        let entry = MountEntry::parse(line).expect("a mount");
        assert_eq!(entry.point, PathBuf::from("/mnt two\\x"));
        assert!(!entry.is_read_only && !entry.is_system());
        assert_eq!(entry.flags, MountFlags::NOSUID | MountFlags::RELATIME);
        assert_eq!(MountEntry::parse("nonsense"), None);
    }
}
