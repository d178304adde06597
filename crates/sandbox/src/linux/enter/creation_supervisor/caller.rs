//! What the supervisor reads of a waiting process: its memory, its directory, its mask.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// The kernel's limit on a path.
const PATH_BYTES_MAX: usize = 4096;
const PAGE: u64 = 4096;

#[derive(Debug)]
pub(super) struct Caller {
    thread: u32,
    memory: File,
}

impl Caller {
    pub(super) fn open(thread: u32) -> Result<Self, Errno> {
        let memory = File::open(format!("/proc/{thread}/mem")).map_err(|_| Errno::PERM)?;
        Ok(Self { thread, memory })
    }

    /// The text at this address, up to its first zero.
    pub(super) fn read_text(&self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        let mut from = address;
        while text.len() < PATH_BYTES_MAX {
            // The next page may be missing.
            let left = usize::try_from(PAGE - from % PAGE).map_err(|_| Errno::FAULT)?;
            let mut chunk = vec![0; left.min(PATH_BYTES_MAX)];
            let count = self.memory.read_at(&mut chunk, from).map_err(|_| Errno::FAULT)?;
            if count == 0 {
                return Err(Errno::FAULT);
            }
            chunk.truncate(count);
            if let Some(end) = chunk.iter().position(|byte| *byte == 0) {
                text.extend(chunk.drain(..end));
                return Ok(text);
            }
            text.append(&mut chunk);
            from = from
                .checked_add(u64::try_from(count).map_err(|_| Errno::FAULT)?)
                .ok_or(Errno::FAULT)?;
        }
        Err(Errno::NAMETOOLONG)
    }

    /// The directory from which a relative path starts.
    pub(super) fn open_directory(&self, directory: i32) -> Result<OwnedFd, Errno> {
        use std::os::fd::AsRawFd as _;
        let thread = self.thread;
        let (path, missing) = if directory == CWD.as_raw_fd() {
            (format!("/proc/{thread}/cwd"), Errno::NOENT)
        } else {
            (format!("/proc/{thread}/fd/{directory}"), Errno::BADF)
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => missing,
            other => other,
        })
    }

    /// An open file of the caller, as a path only.
    pub(super) fn open_own(&self, number: &str) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/{}/fd/{number}", self.thread);
        rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    /// The mask for the modes of new files.
    pub(super) fn read_mask(&self) -> Result<Mode, Errno> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.thread));
        let status = status.map_err(|_| Errno::PERM)?;
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
        Ok(Mode::from_raw_mode(mask.ok_or(Errno::PERM)?))
    }
}
