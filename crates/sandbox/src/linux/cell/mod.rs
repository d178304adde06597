//! The read-only cell: Landlock and seccomp around a single command, without a helper program.
//!
//! Both apply to the calling thread and to what it starts. So a separate thread drops its rights,
//! starts the command and ends: no helper program, no namespace, and no privilege needed. What the
//! kernel cannot enforce, such as too many hidden paths, is an error, and the command does not
//! start.

mod readable_paths;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
    Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::BpfProgram;

use super::sandbox_launch::SPAWN_LOCK;
use super::seccomp::{self, ForeignProcesses, RefusedCalls, SocketPolicy};
use crate::cell_plan::CellPlan;
use crate::error::{SandboxPlanRefusal, SandboxUnavailable};
use readable_paths::ReadablePaths;

/// The newest version we know; an older kernel applies what it knows.
const NEWEST: ABI = ABI::V7;

/// Landlock restricts signals since this version. Before it, seccomp refuses them.
const SIGNALS_SCOPED_SINCE: ABI = ABI::V6;

/// Devices without state that all programs use.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// A cell that works on this machine.
#[derive(Debug)]
pub struct Cell {
    filter: Arc<BpfProgram>,
    report: String,
    /// The rules of the last plan, because the next one is usually the same.
    readable: Mutex<Option<CachedReadableRules>>,
}

#[derive(Debug)]
struct CachedReadableRules {
    hidden: Vec<PathBuf>,
    home: Option<PathBuf>,
    shown: Vec<PathBuf>,
    paths: ReadablePaths,
    rules: RulesetCreated,
}

/// A command that is ready to be started in a cell.
#[derive(Debug)]
pub struct PreparedCell {
    filter: Arc<BpfProgram>,
    reading: RulesetCreated,
    writing: RulesetCreated,
}

impl Cell {
    /// Checks by trying whether commands can be confined here. Takes well under a millisecond.
    ///
    /// # Errors
    ///
    /// The kernel lacks what a cell needs. The error says what to do about it.
    pub fn probe() -> Result<Self, SandboxUnavailable> {
        let tried = std::thread::spawn(try_cell).join();
        let held = match tried {
            Ok(Ok(held)) => held,
            Ok(Err(why)) => return Err(SandboxUnavailable::new(why)),
            Err(_) => return Err(SandboxUnavailable::new("the trial broke down")),
        };
        let foreign = held.foreign_processes();
        let mut report = format!("a read-only cell by Landlock (ABI {}) and seccomp", held.abi);
        if foreign == ForeignProcesses::RefuseSignals {
            report.push_str("; commands in it can send no signals at all on this kernel");
        }
        Ok(Self { filter: Arc::new(build_filter(foreign)), report, readable: Mutex::default() })
    }

    /// Describes the mechanism and its limits, for users.
    #[must_use]
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Prepares a cell for one command.
    ///
    /// # Errors
    ///
    /// This plan cannot be enforced.
    pub fn prepare(&self, plan: &CellPlan) -> Result<PreparedCell, SandboxPlanRefusal> {
        let refused = |why: String| SandboxPlanRefusal::new(why);
        let reading = self.readable_rules(plan).map_err(refused)?;
        let writing = build_writing_rules(&plan.temporary_directory).map_err(refused)?;
        Ok(PreparedCell { filter: Arc::clone(&self.filter), reading, writing })
    }

    fn readable_rules(&self, plan: &CellPlan) -> Result<RulesetCreated, String> {
        let mut cached = self.readable.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = cached.as_ref().filter(|cached| {
            let is_same_home = cached.home == plan.home;
            is_same_home
                && cached.hidden == plan.hidden
                && cached.shown == plan.shown
                && cached.paths.is_current()
        });
        if let Some(fits) = fits {
            return fits.rules.try_clone().map_err(|error| error.to_string());
        }
        let paths = ReadablePaths::list(plan)?;
        let rules = build_reading_rules(&paths.granted)?;
        let clone = rules.try_clone().map_err(|error| error.to_string())?;
        *cached = Some(CachedReadableRules {
            hidden: plan.hidden.clone(),
            home: plan.home.clone(),
            shown: plan.shown.clone(),
            paths,
            rules,
        });
        Ok(clone)
    }
}

impl PreparedCell {
    /// The same command: what starts it is confined here, so it needs no other words.
    #[must_use]
    pub fn confine_command(&self, command: std::process::Command) -> std::process::Command {
        command
    }

    /// Runs `start` on a thread that has dropped its rights. What it starts has no rights either.
    /// Blocks until `start` returns.
    ///
    /// # Errors
    ///
    /// The error of `start`, or why the thread could not be restricted: then `start` did not run.
    pub fn spawn<T: Send>(self, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        // A sandbox that is starting now has inheritable descriptors, which must not leak to this
        // command.
        let _turn = SPAWN_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // Inherited descriptors may be open for writing.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("cell".to_owned());
            let started = thread.spawn_scoped(scope, || {
                self.restrict_thread().map_err(io::Error::other)?;
                start()
            })?;
            started.join().unwrap_or_else(|_| Err(io::Error::other("the launching thread broke")))
        })
    }

    /// Drops the rights of this thread.
    pub(in crate::linux) fn restrict_thread(self) -> Result<(), String> {
        drop_capabilities()?;
        for rules in [self.reading, self.writing] {
            let status = rules.restrict_self().map_err(|error| format!("Landlock: {error}"))?;
            if status.ruleset == RulesetStatus::NotEnforced {
                return Err("this kernel does not enforce Landlock".to_owned());
            }
        }
        seccompiler::apply_filter(&self.filter).map_err(|error| format!("no filter: {error}"))
    }
}

/// What the kernel was found to enforce.
struct EnforcedLandlock {
    abi: i32,
    status: RestrictionStatus,
}

impl EnforcedLandlock {
    fn foreign_processes(&self) -> ForeignProcesses {
        let is_scoped = self.abi >= SIGNALS_SCOPED_SINCE as i32;
        match is_scoped && self.status.ruleset != RulesetStatus::NotEnforced {
            true => ForeignProcesses::RefuseControl,
            false => ForeignProcesses::RefuseSignals,
        }
    }
}

/// Restricts this thread like a command, and checks whether that works.
fn try_cell() -> Result<EnforcedLandlock, String> {
    const ADVICE: &str = "a cell needs Linux 5.13 or newer with Landlock and seccomp enabled";
    let problem = |error: String| format!("{error}; {ADVICE}");
    let reading = build_reading_rules(&["/".into()]).map_err(problem)?;
    let writing = build_writing_rules(Path::new("/dev/null")).map_err(problem)?;
    drop_capabilities().map_err(problem)?;
    reading.restrict_self().map_err(|error| problem(error.to_string()))?;
    let status = writing.restrict_self().map_err(|error| problem(error.to_string()))?;
    let abi = match status.landlock {
        landlock::LandlockStatus::Available { effective_abi, .. } => effective_abi as i32,
        landlock::LandlockStatus::NotImplemented | landlock::LandlockStatus::NotEnabled => 0,
    };
    if status.ruleset == RulesetStatus::NotEnforced || abi == 0 {
        return Err(problem("this kernel does not enforce Landlock".to_owned()));
    }
    let enforced = EnforcedLandlock { abi, status };
    seccompiler::apply_filter(&build_filter(enforced.foreign_processes()))
        .map_err(|error| problem(format!("no filter: {error}")))?;
    // Some hosts accept rules and ignore them.
    let target = std::env::temp_dir().join(format!("windlass-cell-{}", std::process::id()));
    if std::fs::DirBuilder::new().create(&target).is_ok() {
        let _ = std::fs::remove_dir(&target);
        return Err(problem("this kernel accepts Landlock rules and does not enforce them".into()));
    }
    Ok(enforced)
}

fn build_filter(foreign_processes: ForeignProcesses) -> BpfProgram {
    seccomp::build_program(RefusedCalls {
        sockets: SocketPolicy::None,
        metadata: true,
        foreign_processes,
    })
}

/// Rules for reading and executing. A separate layer, because it is expensive to build and the same
/// for many commands.
fn build_reading_rules(granted: &[PathBuf]) -> Result<RulesetCreated, String> {
    let reading = AccessFs::from_read(NEWEST);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(reading)
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .and_then(Ruleset::create)
        .map_err(|error| format!("Landlock: {error}"))?;
    let mut grants: Vec<(&Path, BitFlags<AccessFs>)> =
        granted.iter().map(|path| (path.as_path(), reading)).collect();
    // Names may be listed everywhere, but hidden files may not be read.
    grants.push((Path::new("/"), AccessFs::ReadDir.into()));
    grants.extend(DEVICES.iter().map(|path| (Path::new(path), AccessFs::ReadFile.into())));
    add_rules(rules, &grants)
}

/// Rules for writing: one directory, and devices without state.
fn build_writing_rules(temporary_directory: &Path) -> Result<RulesetCreated, String> {
    let nodes = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock;
    let writing = AccessFs::from_all(NEWEST) & !AccessFs::from_read(NEWEST);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(|error| format!("Landlock: {error}"))?;
    let device = AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
    let mut grants = vec![(temporary_directory, writing & !nodes)];
    grants.extend(DEVICES.iter().map(|path| (Path::new(path), device)));
    add_rules(rules, &grants)
}

fn add_rules(
    mut rules: RulesetCreated,
    grants: &[(&Path, BitFlags<AccessFs>)],
) -> Result<RulesetCreated, String> {
    for (path, access) in grants {
        // A path that was deleted meanwhile needs no rule.
        let Ok(opened) = PathFd::new(path) else {
            continue;
        };
        // Rights for directories are invalid for a file.
        let access = if path.is_dir() { *access } else { *access & AccessFs::from_file(NEWEST) };
        let added = rules.add_rule(PathBeneath::new(opened, access));
        rules = added.map_err(|error| format!("Landlock: {error}"))?;
    }
    Ok(rules)
}

/// Root keeps only the capability to read files of other users, as it could outside.
fn drop_capabilities() -> Result<(), String> {
    let kept = CapabilitySet::DAC_READ_SEARCH;
    let mine = rustix::thread::capabilities(None).map_err(|error| error.to_string())?;
    if !mine.permitted.is_empty() {
        for capability in (CapabilitySet::from_bits_retain(u64::MAX) & !kept).iter() {
            // Fails for numbers that this kernel does not know.
            let _ = rustix::thread::remove_capability_from_bounding_set(capability);
        }
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let left = mine.permitted & kept;
    let sets = CapabilitySets {
        effective: mine.effective & kept,
        permitted: left,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets)
        .map_err(|error| format!("capabilities cannot be dropped: {error}"))?;
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no new rights: {error}"))
}
