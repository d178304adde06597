//! Restricts this very process with Landlock, seccomp and limits, and becomes the command.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::entry_arguments::EntryArguments;
use crate::linux::process_limits::set_limits;
use crate::linux::seccomp::{self, ForeignProcesses, RefusedCalls, SocketPolicy};

/// The newest rules we know; an older kernel takes what it knows.
const NEWEST: ABI = ABI::V7;

/// Devices without a memory, that everything writes to or reads from.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Entries looked at to leave the hidden out.
const ENTRIES_MAX: usize = 20_000;

pub(super) fn run_restricted(entry: &EntryArguments) -> Result<i32, String> {
    // Out of the supervisor's process group, so that a signal to its own does not reach that.
    rustix::process::setsid().map_err(|error| format!("no session: {error}"))?;
    // Without a namespace of its own the kernel counts all processes of the user.
    let is_root = rustix::process::geteuid().is_root();
    set_limits(&entry.limits.unwrap_or_default(), if is_root { 0 } else { count_own_tasks() })?;
    drop_capabilities()?;
    let status = apply_landlock(entry)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("this kernel does not enforce Landlock".into());
    }
    let sockets = if entry.network { SocketPolicy::Internet } else { SocketPolicy::None };
    let refusals = RefusedCalls {
        sockets,
        metadata: !entry.metadata,
        foreign_processes: ForeignProcesses::RefuseControl,
    };
    seccompiler::apply_filter(&seccomp::build_program(refusals))
        .map_err(|error| format!("no filter: {error}"))?;
    exec_command(entry)
}

/// Sets limits on this process and becomes the command: the part that bubblewrap cannot do.
pub(super) fn run_limited(entry: &EntryArguments) -> Result<i32, String> {
    set_limits(&entry.limits.unwrap_or_default(), 0)?;
    exec_command(entry)
}

/// The same, and keeps away from sockets without a file that are not its own, where the kernel can.
pub(super) fn run_scoped(entry: &EntryArguments) -> Result<i32, String> {
    let problem = |error: landlock::RulesetError| format!("Landlock: {error}");
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)
        .map_err(problem)?;
    rules.create().map_err(problem)?.restrict_self().map_err(problem)?;
    run_limited(entry)
}

/// Becomes a command for which the kernel has no Landlock: to try out what happens without.
pub(super) fn run_without_landlock(entry: &EntryArguments) -> Result<i32, String> {
    seccompiler::apply_filter(&seccomp::build_landlock_refusal())
        .map_err(|error| format!("no filter: {error}"))?;
    exec_command(entry)
}

/// Says how much of Landlock this kernel enforces, for the probe: restricts itself to nothing.
pub(super) fn check_landlock() -> Result<i32, String> {
    let status = apply_landlock(&EntryArguments::default())?;
    let word = match status.ruleset {
        RulesetStatus::FullyEnforced => "full",
        RulesetStatus::PartiallyEnforced => "partial",
        RulesetStatus::NotEnforced => return Err("this kernel does not enforce Landlock".into()),
    };
    let refusals = RefusedCalls {
        sockets: SocketPolicy::None,
        metadata: true,
        foreign_processes: ForeignProcesses::RefuseControl,
    };
    seccompiler::apply_filter(&seccomp::build_program(refusals))
        .map_err(|error| format!("no filter: {error}"))?;
    println!("{word}");
    Ok(0)
}

fn exec_command(entry: &EntryArguments) -> Result<i32, String> {
    let Some((program, arguments)) = entry.command.split_first() else {
        return Err("no command".into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    set_environment(&mut command, entry);
    let error = command.exec();
    Err(format!("`{}` cannot be started: {error}", program.display()))
}

pub(super) fn set_environment(command: &mut Command, entry: &EntryArguments) {
    for pair in &entry.environment {
        let text = pair.as_encoded_bytes();
        let Some(at) = text.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        use std::os::unix::ffi::OsStrExt as _;
        let (name, value) = text.split_at(at);
        command.env(
            std::ffi::OsStr::from_bytes(name),
            std::ffi::OsStr::from_bytes(value.get(1..).unwrap_or_default()),
        );
    }
}

/// Processes and threads of this user, as far as they can be seen.
fn count_own_tasks() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let uid = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let ours = entries.flatten().filter(|entry| {
        entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
            && entry.metadata().is_ok_and(|found| found.uid() == uid)
    });
    ours.map(|entry| std::fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count) as u64)
        .sum()
}

/// Root without its powers: what it may not do as an owner it may not do.
fn drop_capabilities() -> Result<(), String> {
    let all = CapabilitySet::from_bits_retain(u64::MAX);
    for capability in all.iter() {
        // Refused to those who have none to drop, and for numbers this kernel does not know.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)
        .map_err(|error| format!("capabilities cannot be dropped: {error}"))?;
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no new rights: {error}"))
}

fn apply_landlock(entry: &EntryArguments) -> Result<RestrictionStatus, String> {
    let problem = |error: landlock::RulesetError| format!("Landlock: {error}");
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(problem)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)
        .map_err(problem)?;
    if !entry.network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST)).map_err(problem)?;
    }
    let mut rules = rules.create().map_err(problem)?;
    let nodes = AccessFs::MakeChar | AccessFs::MakeBlock;
    let writing = AccessFs::from_all(NEWEST) & !nodes;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let mut grants: Vec<(PathBuf, BitFlags<AccessFs>)> =
        vec![("/".into(), AccessFs::ReadDir.into())];
    grants.extend(
        list_readable_paths(&entry.hide)?
            .into_iter()
            .map(|path| (path, AccessFs::from_read(NEWEST))),
    );
    grants.extend(entry.write.iter().map(|path| (path.clone(), writing)));
    grants.extend(DEVICES.iter().map(|path| (PathBuf::from(path), device)));
    for (path, access) in grants {
        // What is gone since it was listed needs no rule.
        let Ok(opened) = PathFd::new(&path) else {
            continue;
        };
        // The rest of a directory's rights mean nothing on a file.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(problem)?;
    }
    rules.restrict_self().map_err(problem)
}

/// What may be read: everything but the hidden, by naming what stands beside it on every level.
/// Links are left out, because a rule for a link is a rule for what it points to.
fn list_readable_paths(hidden: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let ancestors: BTreeSet<&Path> =
        hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    if ancestors.is_empty() {
        return Ok(vec!["/".into()]);
    }
    let mut list = Vec::new();
    for directory in &ancestors {
        // A directory below a hidden one is hidden with it.
        if hidden.iter().any(|path| directory.starts_with(path)) {
            continue;
        }
        let Ok(entries) = std::fs::read_dir(directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && !hidden.contains(&path) && !ancestors.contains(path.as_path()) {
                list.push(path);
            }
            if list.len() > ENTRIES_MAX {
                return Err(format!("`{}` has too many entries", directory.display()));
            }
        }
    }
    Ok(list)
}
