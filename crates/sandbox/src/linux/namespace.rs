//! The first process of a command's namespace: when it is gone, all are.
//!
//! Bubblewrap says who it is and in which namespace. It is looked up only when the command is to be
//! settled, and believed only if that process is in that namespace still: numbers are used again.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

/// What it says has under 200 bytes.
const WORDS_MAX: usize = 4096;

/// Ends what is left in the namespace that bubblewrap told of, and waits until it is gone. Says
/// whether it is.
pub(super) fn end(told: &OwnedFd, within: Duration) -> bool {
    let Some((pid, namespace)) = first_process(told) else {
        // It ended before it came so far, and said why on its standard error.
        return true;
    };
    let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return true;
    };
    let link = format!("/proc/{}/ns/pid", pid.as_raw_nonzero());
    // One that has just died has no namespace to show, and is all the sooner gone.
    let is_another = std::fs::metadata(link)
        .is_ok_and(|found| namespace.is_some_and(|inode| inode != found.ino()));
    if is_another {
        return true;
    }
    if namespace.is_some() {
        let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
    }
    is_ready(&process, Instant::now() + within)
}

/// Waits until there is something to read, or the other end is gone.
pub(super) fn is_ready(descriptor: &impl AsFd, deadline: Instant) -> bool {
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

/// Reads what is there. The launcher has ended, so there will not be more.
fn first_process(told: &OwnedFd) -> Option<(Pid, Option<u64>)> {
    let mut words = Vec::new();
    while !words.contains(&b'}') && words.len() < WORDS_MAX && is_ready(told, Instant::now()) {
        let mut chunk = [0; 512];
        let read = rustix::io::read(told, &mut chunk).ok().filter(|read| *read > 0)?;
        words.extend_from_slice(chunk.get(..read)?);
    }
    let words = String::from_utf8_lossy(&words);
    let pid = i32::try_from(number_after(&words, "\"child-pid\"")?).ok().and_then(Pid::from_raw)?;
    Some((pid, number_after(&words, "\"pid-namespace\"")))
}

fn number_after(words: &str, name: &str) -> Option<u64> {
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
        let words = "{\n    \"child-pid\": 16734,\n    \"pid-namespace\": 4026532297\n}\n";
        assert_eq!(number_after(words, "\"child-pid\""), Some(16734));
        assert_eq!(number_after(words, "\"pid-namespace\""), Some(4_026_532_297));
        assert_eq!(number_after(words, "\"net-namespace\""), None);
        assert_eq!(number_after("{\"child-pid\": x}", "\"child-pid\""), None);
        assert_eq!(number_after("{\"child-pid\": 99999999999999999999}", "\"child-pid\""), None);
    }
}
