//! Watches a guarded root while a command runs, so that what must not come to be there is gone again
//! at once, and not only when the command ends.
//!
//! The kernel tells of new names within some tens of microseconds. What to do about one is decided by the
//! root itself. Where nothing can be watched, the comparison at the end is all there is, as before.

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

/// Many events fit; a burst of more is read in several rounds.
const BUFFER_BYTES: usize = 4096;

/// Ends the watching thread when it is dropped.
#[derive(Debug)]
pub(super) struct RootWatch {
    stop: OwnedFd,
}

/// A directory that is watched, and the paths below the root that its names stand for.
type WatchedNames = BTreeMap<i32, BTreeMap<OsString, PathBuf>>;

impl RootWatch {
    /// Watches the directories that hold these paths, which are below the root.
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
                // Gone when its commands have ended.
                let Some(root) = root.upgrade() else { return };
                root.handle_new_name(path);
            }
        }
    }
}
