//! Restricts this process with Landlock, seccomp and limits, and executes the command.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::creation_supervisor;
use super::entry_arguments::EntryArguments;
use crate::linux::process_limits::set_limits;
use crate::linux::seccomp::{self, ForeignProcesses, RefusedCalls, SocketPolicy};

/// The newest version we know; an older kernel applies what it knows.
const NEWEST: ABI = ABI::V7;

/// Devices without state that all programs use.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Limit on the entries listed to leave out hidden ones.
const ENTRIES_MAX: usize = 20_000;

pub(super) fn run_restricted(entry: &EntryArguments) -> Result<i32, String> {
    // Leaves the supervisor's process group, so that a signal to the command's group does not reach
    // it.
    rustix::process::setsid().map_err(|error| format!("no session: {error}"))?;
    // Without a user namespace, the kernel counts all processes of the user.
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

/// Sets limits and executes the command: what bubblewrap cannot do.
pub(super) fn run_limited(entry: &EntryArguments) -> Result<i32, String> {
    set_limits(&entry.limits.unwrap_or_default(), 0)?;
    if entry.refuse.is_empty() {
        return exec_command(entry);
    }
    let (program, command) = build_command(entry)?;
    creation_supervisor::run(command, entry)
        .map_err(|error| format!("`{}` cannot be started: {error}", program.display()))
}

/// The same, and blocks abstract sockets of other processes if the kernel supports that.
pub(super) fn run_scoped(entry: &EntryArguments) -> Result<i32, String> {
    let problem = |error: landlock::RulesetError| format!("Landlock: {error}");
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)
        .map_err(problem)?;
    rules.create().map_err(problem)?.restrict_self().map_err(problem)?;
    run_limited(entry)
}

/// Executes a command with Landlock refused, for tests.
pub(super) fn run_without_landlock(entry: &EntryArguments) -> Result<i32, String> {
    seccompiler::apply_filter(&seccomp::build_landlock_refusal())
        .map_err(|error| format!("no filter: {error}"))?;
    exec_command(entry)
}

/// Reports for the probe how much of Landlock this kernel enforces.
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
    let (program, mut command) = build_command(entry)?;
    let error = command.exec();
    Err(format!("`{}` cannot be started: {error}", program.display()))
}

fn build_command(entry: &EntryArguments) -> Result<(&OsStr, Command), String> {
    let Some((program, arguments)) = entry.command.split_first() else {
        return Err("no command".into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    set_environment(&mut command, entry);
    Ok((program, command))
}

pub(super) fn set_environment(command: &mut Command, entry: &EntryArguments) {
    for pair in &entry.environment {
        let text = pair.as_encoded_bytes();
        let Some(at) = text.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        use std::os::unix::ffi::OsStrExt as _;
        let (name, value) = text.split_at(at);
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value.get(1..).unwrap_or_default()));
    }
}

/// The visible processes and threads of this user.
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

/// Without capabilities, root cannot bypass file permissions.
fn drop_capabilities() -> Result<(), String> {
    let all = CapabilitySet::from_bits_retain(u64::MAX);
    for capability in all.iter() {
        // Fails for processes without capabilities, and for numbers this kernel does not know.
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
        // A path that was deleted meanwhile needs no rule.
        let Ok(opened) = PathFd::new(&path) else {
            continue;
        };
        // Rights for directories are invalid for a file.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(problem)?;
    }
    rules.restrict_self().map_err(problem)
}

/// The readable paths: everything except the hidden ones, by granting their siblings on every
/// level. Symlinks are left out, because a rule for a symlink applies to its target.
fn list_readable_paths(hidden: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let ancestors: BTreeSet<&Path> =
        hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    if ancestors.is_empty() {
        return Ok(vec!["/".into()]);
    }
    let mut list = Vec::new();
    for directory in &ancestors {
        // A directory below a hidden one is hidden too.
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
