//! Creates names for a command, except protected ones.
//!
//! A mount can hold only what exists, and Landlock knows no names. So Landlock takes the right to
//! create names away, the kernel passes each creating call to the supervisor, and the supervisor
//! performs it unless the name is protected. It runs inside the sandbox, with the same mounts, user
//! and capabilities as the command, but without that restriction.
//!
//! Other calls, and what the supervisor does not understand, go on in the kernel. A command that
//! exchanges the path after the supervisor has read it gains nothing: the kernel does not let it
//! create anything.

mod caller;
mod creating_call;
mod creation_filter;
mod creation_place;
mod notification;
mod refused_names;

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc;

use landlock::RulesetStatus;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use super::entry_arguments::EntryArguments;
use super::{EXIT_NOT_ENTERED, exit_code};
use caller::Caller;
use creating_call::{CreatingCall, PassedPath};
use creation_place::{CreationPlace, LastLink};
use notification::{CallAnswer, CallNotification, NotificationListener};
use refused_names::RefusedNames;

/// Can this kernel pass creating calls to a supervisor? Needs Linux 5.19 with Landlock, and no other
/// supervisor around us.
pub(in crate::linux) fn can_supervise() -> bool {
    let tried = std::thread::Builder::new().spawn(|| matches!(restrict_thread(&[]), Ok(Some(_))));
    tried.is_ok_and(|tried| tried.join().unwrap_or(false))
}

/// Runs a command that cannot create the names that `entry` refuses. Returns its exit code.
pub(super) fn run(mut command: Command, entry: &EntryArguments) -> io::Result<i32> {
    if entry.refuse.is_empty() {
        return command.spawn()?.wait().map(exit_code);
    }
    // Some kernels let a process read only the memory of its descendants.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let child = spawn_supervised(command, entry)?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if Some(ended) == child => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                return Ok(status.exit_status().or(signal).unwrap_or(EXIT_NOT_ENTERED));
            }
            // An orphan, or a signal.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn spawn_supervised(mut command: Command, entry: &EntryArguments) -> io::Result<Child> {
    let (listeners, received) = mpsc::sync_channel(1);
    let granted = entry.write.clone();
    // The restrictions apply to a thread and to what it starts.
    let restricted = std::thread::Builder::new().name("restricted".to_owned());
    let restricted = restricted.spawn(move || {
        let listener = restrict_thread(&granted)?;
        let listener = listener.ok_or_else(|| io::Error::other("Landlock is not enforced"))?;
        let _ = listeners.send(listener);
        command.spawn()
    })?;
    if let Ok(listener) = received.recv() {
        let refused = RefusedNames::open(&entry.refuse);
        let supervisor = CreationSupervisor { refused, granted: entry.write.clone() };
        let supervising = std::thread::Builder::new().name("supervisor".to_owned());
        supervising.spawn(move || supervisor.serve(&listener))?;
    }
    restricted.join().unwrap_or_else(|_| Err(io::Error::other("the starting thread broke")))
}

fn restrict_thread(granted: &[PathBuf]) -> io::Result<Option<NotificationListener>> {
    rustix::thread::set_no_new_privs(true)?;
    let rules = creation_filter::build_rules(granted).map_err(io::Error::other)?;
    let status = rules.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Ok(None);
    }
    NotificationListener::install(&creation_filter::build_filter()).map(Some)
}

#[derive(Debug)]
struct CreationSupervisor {
    refused: RefusedNames,
    /// Below these directories the kernel lets the command create names.
    granted: Vec<PathBuf>,
}

impl CreationSupervisor {
    fn serve(&self, listener: &NotificationListener) {
        while let Some(call) = listener.receive() {
            let answer = self.answer(listener, &call).unwrap_or_else(CallAnswer::Failed);
            listener.send(&call, answer);
        }
    }

    fn answer(
        &self,
        listener: &NotificationListener,
        call: &CallNotification,
    ) -> Result<CallAnswer, Errno> {
        let Some(creating) = CreatingCall::decode(call) else {
            return Ok(CallAnswer::Native);
        };
        let waiting = SupervisedCall { caller: Caller::open(call.thread)?, call, listener };
        match creating {
            CreatingCall::Open { path, flags, mode } => self.open(&waiting, path, flags, mode),
            CreatingCall::MakeDirectory { path, mode } => self.create(&waiting, path, |place| {
                let _mask = AppliedMask::apply(&waiting.caller)?;
                let mode = Mode::from_raw_mode(mode & 0o7777);
                rustix::fs::mkdirat(&place.parent, place.to_name(), mode)
            }),
            CreatingCall::MakeNode { path, mode, device } => self.create(&waiting, path, |place| {
                let _mask = AppliedMask::apply(&waiting.caller)?;
                let kind = match FileType::from_raw_mode(mode) {
                    FileType::Unknown => FileType::RegularFile,
                    kind => kind,
                };
                let mode = Mode::from_raw_mode(mode & 0o7777);
                rustix::fs::mknodat(&place.parent, place.to_name(), kind, mode, device)
            }),
            CreatingCall::MakeSymlink { text, path } => {
                let text = waiting.caller.read_text(text)?;
                self.create(&waiting, path, |place| {
                    rustix::fs::symlinkat(&*text, &place.parent, place.to_name())
                })
            }
            CreatingCall::MakeLink { old, new, flags } => self.create(&waiting, new, |place| {
                make_link(&waiting.caller, old, AtFlags::from_bits_retain(flags), place)
            }),
            CreatingCall::Rename { old, new, flags } => {
                self.rename(&waiting, old, new, RenameFlags::from_bits_retain(flags))
            }
        }
    }

    /// Opens a file that is missing. One that exists is opened by the kernel.
    fn open(
        &self,
        waiting: &SupervisedCall<'_>,
        path: PassedPath,
        flags: u32,
        mode: u32,
    ) -> Result<CallAnswer, Errno> {
        let flags = OFlags::from_bits_retain(flags);
        let last = match flags.intersects(OFlags::EXCL | OFlags::NOFOLLOW) {
            true => LastLink::Keep,
            false => LastLink::Follow,
        };
        let Some(place) = CreationPlace::find(&waiting.caller, path, last)? else {
            return Ok(CallAnswer::Native);
        };
        let is_left = place.wants_directory || flags.intersects(OFlags::DIRECTORY | OFlags::PATH);
        if is_left || self.is_granted(&place)? {
            return Ok(CallAnswer::Native);
        }
        if place.exists() {
            // A file that something outside has put there is not mounted yet. Other ways to write
            // to it are open until it is.
            let is_read = !flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC);
            if !is_read {
                self.check_name(&place)?;
            }
            return Ok(CallAnswer::Native);
        }
        self.check_name(&place)?;
        let _mask = AppliedMask::apply(&waiting.caller)?;
        waiting.check()?;
        let fresh = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        match rustix::fs::openat(&place.parent, &*place.name, fresh, mode) {
            Ok(file) => {
                let close_on_exec = flags.contains(OFlags::CLOEXEC);
                Ok(CallAnswer::Opened { file, close_on_exec })
            }
            // Another process created it meanwhile.
            Err(Errno::EXIST) => Ok(CallAnswer::Native),
            Err(error) => Err(error),
        }
    }

    fn create(
        &self,
        waiting: &SupervisedCall<'_>,
        path: PassedPath,
        create: impl FnOnce(&CreationPlace) -> Result<(), Errno>,
    ) -> Result<CallAnswer, Errno> {
        let Some(place) = CreationPlace::find(&waiting.caller, path, LastLink::Keep)? else {
            return Ok(CallAnswer::Native);
        };
        if self.is_granted(&place)? {
            return Ok(CallAnswer::Native);
        }
        if place.exists() {
            return Err(Errno::EXIST);
        }
        self.check_name(&place)?;
        waiting.check()?;
        create(&place).map(|()| CallAnswer::Done)
    }

    fn rename(
        &self,
        waiting: &SupervisedCall<'_>,
        old: PassedPath,
        new: PassedPath,
        flags: RenameFlags,
    ) -> Result<CallAnswer, Errno> {
        let old = CreationPlace::find(&waiting.caller, old, LastLink::Keep)?;
        let new = CreationPlace::find(&waiting.caller, new, LastLink::Keep)?;
        let (Some(old), Some(new)) = (old, new) else {
            return Ok(CallAnswer::Native);
        };
        if self.is_granted(&old)? && self.is_granted(&new)? {
            return Ok(CallAnswer::Native);
        }
        self.check_name(&new)?;
        if flags.intersects(RenameFlags::EXCHANGE | RenameFlags::WHITEOUT) {
            self.check_name(&old)?;
        }
        waiting.check()?;
        let from = old.to_name();
        let to = new.to_name();
        rustix::fs::renameat_with(&old.parent, from, &new.parent, to, flags)?;
        Ok(CallAnswer::Done)
    }

    fn is_granted(&self, place: &CreationPlace) -> Result<bool, Errno> {
        let parent = place.read_parent_path()?;
        Ok(self.granted.iter().any(|granted| parent.starts_with(granted)))
    }

    fn check_name(&self, place: &CreationPlace) -> Result<(), Errno> {
        match self.refused.contains(place, &place.read_parent_path()?) {
            true => Err(Errno::ROFS),
            false => Ok(()),
        }
    }
}

/// A call whose thread must still wait when the supervisor acts: its number could be used again.
struct SupervisedCall<'a> {
    caller: Caller,
    call: &'a CallNotification,
    listener: &'a NotificationListener,
}

impl SupervisedCall<'_> {
    fn check(&self) -> Result<(), Errno> {
        match self.listener.is_waiting(self.call) {
            true => Ok(()),
            false => Err(Errno::SRCH),
        }
    }
}

/// The caller's mask, in force until this is dropped. Only the supervisor creates files here.
struct AppliedMask {
    before: Mode,
}

impl AppliedMask {
    fn apply(caller: &Caller) -> Result<Self, Errno> {
        Ok(Self { before: rustix::process::umask(caller.read_mask()?) })
    }
}

impl Drop for AppliedMask {
    fn drop(&mut self) {
        rustix::process::umask(self.before);
    }
}

fn make_link(
    caller: &Caller,
    old: PassedPath,
    flags: AtFlags,
    place: &CreationPlace,
) -> Result<(), Errno> {
    let path = caller.read_text(old.address)?;
    let own = path.strip_prefix(b"/proc/self/fd/").and_then(|rest| std::str::from_utf8(rest).ok());
    let own = own.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let source = match own {
        Some(number) if flags.contains(AtFlags::SYMLINK_FOLLOW) => caller.open_own(number)?,
        _ if path.is_empty() && flags.contains(AtFlags::EMPTY_PATH) => {
            caller.open_own(&old.directory.to_string())?
        }
        Some(_) | None => {
            let last = match flags.contains(AtFlags::SYMLINK_FOLLOW) {
                true => LastLink::Follow,
                false => LastLink::Keep,
            };
            let found = CreationPlace::find(caller, old, last)?.ok_or(Errno::XDEV)?;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&found.parent, found.to_name(), flags, Mode::empty())?
        }
    };
    let source = format!("/proc/self/fd/{}", source.as_raw_fd());
    rustix::fs::linkat(CWD, source, &place.parent, place.to_name(), AtFlags::SYMLINK_FOLLOW)
}
