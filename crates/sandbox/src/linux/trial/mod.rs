//! Mounts a trial in namespaces of its own, and executes its command.
//!
//! An unprivileged user needs a user namespace to mount; root sees more owners without one. With
//! `userxattr` the overlay stores its attributes where an unprivileged process can write them.
//! Everything outside of the overlay is read-only, so that refused writes leave no trace.

mod mount_table;

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use self::mount_table::{MountEntry, read_mount_table};
use super::enter::follow_parent;
use crate::trial_mount::{TrialArguments, TrialMount};

pub(crate) fn run_trial(arguments: &[OsString]) -> Result<i32, String> {
    let TrialArguments { mount, parent_pid, command } = TrialArguments::parse(arguments)?;
    if let Some(parent) = parent_pid {
        follow_parent(parent)?;
    }
    let directory = std::env::current_dir()
        .map_err(|error| format!("the current directory cannot be found: {error}"))?;
    enter_namespaces()?;
    mount_trial(&mount)?;
    // The old current directory is below the overlay now.
    std::env::set_current_dir(&directory)
        .map_err(|error| format!("{} cannot be entered: {error}", directory.display()))?;
    let (program, rest) = command.split_first().ok_or("no command")?;
    let error = Command::new(program).args(rest).exec();
    Err(format!("{} cannot be started: {error}", program.display()))
}

fn enter_namespaces() -> Result<(), String> {
    let user = geteuid();
    let group = getegid();
    if user.is_root() && unshare(UnshareFlags::NEWNS).is_ok() {
        return Ok(());
    }
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
        .map_err(|error| format!("this system gives no user namespace: {error}"))?;
    let [user, group] = [user.as_raw(), group.as_raw()].map(|id| format!("{id} {id} 1"));
    let maps = [
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", user.as_str()),
        ("/proc/self/gid_map", group.as_str()),
    ];
    for (file, words) in maps {
        std::fs::write(file, words)
            .map_err(|error| format!("{file} cannot be written: {error}"))?;
    }
    Ok(())
}

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    // The other function is `unsafe` because of flags that are not used here.
    #[expect(deprecated, reason = "the way without `unsafe`")]
    rustix::thread::unshare(flags)
}

fn mount_trial(trial: &TrialMount) -> Result<(), String> {
    let propagation = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", propagation)
        .map_err(|error| format!("mounts cannot be made private: {error}"))?;
    let folder = trial.upper.parent().unwrap_or(&trial.upper);
    let table = read_mount_table()?;
    let is_inside =
        |entry: &&MountEntry| entry.point.starts_with(&trial.root) && entry.point != trial.root;
    if let Some(inner) = table.iter().find(is_inside) {
        return Err(format!("{} is a mount inside the directory", inner.point.display()));
    }
    let open = trial.writable.iter().chain(&trial.shared_folders);
    let writable: Vec<&Path> = open.map(|path| path.as_path()).chain([folder]).collect();
    for path in writable.iter().filter(|path| path.exists() && !path.starts_with(&trial.root)) {
        mount_bind_recursive(*path, *path)
            .map_err(|error| format!("{} cannot be kept writable: {error}", path.display()))?;
    }
    for entry in &table {
        if !writable.iter().any(|path| entry.point.starts_with(path)) {
            make_read_only(entry)?;
        }
    }
    for shared in &trial.shared_folders {
        protect_entries(shared, trial.own_name.as_deref())?;
    }
    mount_overlay(trial)?;
    // The overlay accesses the folder directly; other processes must not write there.
    let hidden = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    match find_entry(folder)? {
        Some(entry) => remount(folder, hidden | entry.flags),
        None => Err(format!("{} is not among the mounts", folder.display())),
    }
}

/// Protects the entries of a writable folder from changes, with one mount each.
fn protect_entries(folder: &Path, own: Option<&OsStr>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be held: {error}", folder.display());
    // If it contains part of the root, the overlay covers it.
    let Some(mounted) = find_entry(folder)? else { return Ok(()) };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_own = own.is_some_and(|own| name.as_bytes().starts_with(own.as_bytes()));
        let is_link = entry.file_type().map_err(failed)?.is_symlink();
        if is_own || is_link {
            continue;
        }
        let path = entry.path();
        match mount_bind(&path, &path) {
            Ok(()) => remount(&path, mounted.flags | MountFlags::BIND | MountFlags::RDONLY)?,
            // It was removed meanwhile.
            Err(Errno::NOENT) => {}
            Err(error) => return Err(format!("{} cannot be held: {error}", path.display())),
        }
    }
    Ok(())
}

fn find_entry(point: &Path) -> Result<Option<MountEntry>, String> {
    Ok(read_mount_table()?.into_iter().rfind(|entry| entry.point == point))
}

fn make_read_only(entry: &MountEntry) -> Result<(), String> {
    if entry.is_read_only || entry.is_system() {
        return Ok(());
    }
    remount(&entry.point, entry.flags | MountFlags::BIND | MountFlags::RDONLY)
}

fn remount(point: &Path, flags: MountFlags) -> Result<(), String> {
    match mount_remount(point, flags, c"") {
        // Covered by another mount, or inaccessible for this user: it cannot be written anyway.
        Ok(()) | Err(Errno::ACCESS | Errno::NOENT | Errno::INVAL | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(format!("{} cannot be made read-only: {error}", point.display())),
    }
}

fn mount_overlay(trial: &TrialMount) -> Result<(), String> {
    let mut options = Vec::new();
    let layers = [("lowerdir", &trial.root), ("upperdir", &trial.upper), ("workdir", &trial.work)];
    for (name, path) in layers {
        options.extend_from_slice(name.as_bytes());
        options.push(b'=');
        for byte in path.as_os_str().as_bytes() {
            if matches!(byte, b'\\' | b',' | b':') {
                options.push(b'\\');
            }
            options.push(*byte);
        }
        options.push(b',');
    }
    options.extend_from_slice(b"userxattr");
    let options =
        CString::new(options).map_err(|_| "a path of the trial has a NUL byte".to_owned())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("windlass-trial", &trial.root, "overlay", flags, options.as_c_str())
        .map_err(|error| format!("no overlay over {}: {error}", trial.root.display()))
}
