//! Descriptors that somebody left open for us, and that a command must not get.
//!
//! Everything we open ourselves closes when another program starts. What our own parent left open
//! does not: a directory among it would lead a command out of its mounts. Closing by number needs
//! `unsafe`, so where there are any, a shell closes them on the way to the command.

use std::ffi::OsString;
use std::path::Path;

const SHELL: &str = "/bin/bash";

/// The flag, as the kernel prints it.
const CLOSES: u64 = 0o2_000_000;

/// Numbers above standard error that stay open in a new program.
pub(crate) fn descriptors() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fdinfo") else {
        return Vec::new();
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = numbers.filter(|number| *number > 2 && stays_open(*number)).collect();
    found.sort_unstable();
    found
}

fn stays_open(number: u32) -> bool {
    let facts = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
    let flags = facts.ok().and_then(|facts| {
        let line = facts.lines().find_map(|line| line.strip_prefix("flags:"))?;
        u64::from_str_radix(line.trim(), 8).ok()
    });
    flags.is_some_and(|flags| flags & CLOSES == 0)
}

/// The command, with a shell before it that closes these; the command itself when there are none.
pub(crate) fn without(descriptors: &[u32], command: Vec<OsString>) -> Vec<OsString> {
    if descriptors.is_empty() {
        return command;
    }
    let closing: String = descriptors.iter().map(|number| format!(" {number}>&-")).collect();
    let script = format!("exec{closing}; exec \"$@\"");
    let mut wrapped: Vec<OsString> =
        [SHELL, "--noprofile", "--norc", "-c", &script, "bash"].map(OsString::from).into();
    wrapped.extend(command);
    wrapped
}

/// Can they be closed here?
pub(crate) fn can_be_closed() -> bool {
    Path::new(SHELL).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_open_is_seen_and_what_closes_is_not() {
        let closes = std::fs::File::open("/dev/null").unwrap();
        let stays = std::fs::File::open("/dev/null").unwrap();
        rustix::io::fcntl_setfd(&stays, rustix::io::FdFlags::empty()).unwrap();
        let number = |file: &std::fs::File| {
            use std::os::fd::AsRawFd as _;
            u32::try_from(file.as_raw_fd()).unwrap()
        };
        let found = descriptors();
        assert!(found.contains(&number(&stays)) && !found.contains(&number(&closes)), "{found:?}");
    }

    #[test]
    fn a_shell_comes_before_the_command_only_when_there_is_something_to_close() {
        assert_eq!(without(&[], vec!["true".into()]), ["true"]);
        let wrapped = without(&[7, 251], vec!["a b".into(), "c".into()]);
        assert_eq!(wrapped.get(4).unwrap(), "exec 7>&- 251>&-; exec \"$@\"");
        assert_eq!(wrapped.get(6..).unwrap(), ["a b", "c"]);
    }
}
