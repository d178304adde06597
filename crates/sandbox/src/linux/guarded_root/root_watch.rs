//! Watches a guarded root while a command runs, so that forbidden new files are removed at once and
//! not only at the end.
//!
//! The kernel reports new names within some tens of microseconds. The root decides what to do about
//! one. If watching is not possible, only the comparison at the end remains.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::GuardedRoot;

/// Enough for many events; larger bursts are read in several rounds.
const BUFFER_BYTES: usize = 4096;

/// Ends the watching thread on drop.
#[derive(Debug)]
pub(super) struct RootWatch {
    stop: OwnedFd,
}

/// For each watch descriptor, the paths of the names in its directory.
type WatchedNames = BTreeMap<i32, BTreeMap<OsString, PathBuf>>;

impl RootWatch {
    /// Watches the directories of these paths, which are relative to the root.
    pub(super) fn start(root: &Arc<GuardedRoot>, paths: &[PathBuf]) -> rustix::io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let wanted = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let mut directories: BTreeMap<&Path, Option<i32>> = BTreeMap::new();
        let mut watched = WatchedNames::new();
        for path in paths {
            let parent = path.parent().unwrap_or(Path::new(""));
            let add = || inotify::add_watch(&events, root.root().join(parent), wanted).ok();
            let number = *directories.entry(parent).or_insert_with(add);
            if let (Some(number), Some(name)) = (number, path.file_name()) {
                watched.entry(number).or_default().insert(name.to_owned(), path.clone());
            }
        }
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?;
        let stopped = rustix::io::dup(&stop)?;
        let root = Arc::downgrade(root);
        std::thread::Builder::new()
            .name("root-watch".to_owned())
            .spawn(move || watch(&events, &stopped, &watched, &root))
            .map_err(|_| rustix::io::Errno::AGAIN)?;
        Ok(Self { stop })
    }
}

impl Drop for RootWatch {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

fn watch(events: &OwnedFd, stop: &OwnedFd, watched: &WatchedNames, root: &Weak<GuardedRoot>) {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    loop {
        let mut sources = [PollFd::new(events, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match rustix::event::poll(&mut sources, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        let [_, stopped] = &sources;
        if !stopped.revents().is_empty() {
            return;
        }
        let mut reader = inotify::Reader::new(events, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let names = watched.get(&event.wd());
            let path = name.and_then(|name| names.and_then(|names| names.get(name)));
            if let Some(path) = path {
                // The guard has been dropped because its commands have ended.
                let Some(root) = root.upgrade() else { return };
                root.handle_new_name(path);
            }
        }
    }
}
