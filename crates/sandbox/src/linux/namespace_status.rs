//! The first process of a command's namespace: when it ends, the kernel kills all others.
//!
//! Bubblewrap reports its id and namespace. They are used only at the end, and only if that process
//! is still in that namespace, because ids are reused.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

/// The report has less than 300 bytes.
const WORDS_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NamespaceStatus {
    first_pid: Option<Pid>,
    namespace: Option<u64>,
    /// It reported the end of the command, so the command had started.
    pub(super) has_ended: bool,
}

impl NamespaceStatus {
    /// Reads what was added since. After the launcher has ended there is no more.
    pub(super) fn read(from: &OwnedFd, words: &mut Vec<u8>) -> Self {
        while words.len() < WORDS_MAX && wait_readable(from, Instant::now()) {
            let mut chunk = [0; 512];
            match rustix::io::read(from, &mut chunk) {
                Ok(read) if read > 0 => words.extend_from_slice(chunk.get(..read).unwrap_or(&[])),
                _ => break,
            }
        }
        Self::parse(&String::from_utf8_lossy(words))
    }

    fn parse(words: &str) -> Self {
        let pid =
            parse_number_after(words, "\"child-pid\"").and_then(|pid| i32::try_from(pid).ok());
        Self {
            first_pid: pid.and_then(Pid::from_raw),
            namespace: parse_number_after(words, "\"pid-namespace\""),
            has_ended: parse_number_after(words, "\"exit-code\"").is_some(),
        }
    }

    /// Kills the namespace, and waits for its end. Returns whether it has ended.
    pub(super) fn kill(self, within: Duration) -> bool {
        let Some(first) = self.find_first_process() else {
            // It failed before it reported the namespace, with a message on standard error, or has
            // ended.
            return true;
        };
        if self.namespace.is_some() {
            let _ = rustix::process::pidfd_send_signal(&first.opened, Signal::KILL);
        }
        wait_readable(&first.opened, Instant::now() + within)
    }

    /// The first process of the namespace, unless its id was reused.
    pub(super) fn find_first_process(self) -> Option<FirstProcess> {
        let pid = self.first_pid?;
        let opened = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let number = pid.as_raw_nonzero().get();
        let link = format!("/proc/{number}/ns/pid");
        // A process that has just died has no namespace link.
        let is_another = std::fs::metadata(link)
            .is_ok_and(|found| self.namespace.is_some_and(|inode| inode != found.ino()));
        (!is_another).then_some(FirstProcess { number, opened })
    }
}

pub(super) struct FirstProcess {
    pub(super) number: i32,
    opened: OwnedFd,
}

/// Waits until there is something to read, or the other end is closed.
pub(super) fn wait_readable(descriptor: &impl AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
        let left = Timespec { tv_sec: seconds, tv_nsec: left.subsec_nanos().into() };
        let mut wanted = [PollFd::new(descriptor, PollFlags::IN)];
        match rustix::event::poll(&mut wanted, Some(&left)) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn parse_number_after(words: &str, name: &str) -> Option<u64> {
    let (_, after) = words.split_once(name)?;
    let value = after.trim_start_matches([':', ' ']);
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_read_from_what_bubblewrap_says() {
        let start = "{ \"child-pid\": 16734, \"pid-namespace\": 4026532297 }\n";
        let status = NamespaceStatus::parse(start);
        assert_eq!(status.first_pid, Pid::from_raw(16734));
        assert_eq!(status.namespace, Some(4_026_532_297));
        assert!(
            !status.has_ended
                && NamespaceStatus::parse(&format!("{start}{{ \"exit-code\": 0 }}\n")).has_ended
        );
        assert_eq!(NamespaceStatus::parse(""), NamespaceStatus::default());
        assert_eq!(NamespaceStatus::parse("{ \"child-pid\": x }"), NamespaceStatus::default());
        assert_eq!(
            NamespaceStatus::parse("{ \"child-pid\": 99999999999999999999 }"),
            NamespaceStatus::default()
        );
    }
}
