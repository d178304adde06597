//! The sandbox on Linux: bubblewrap where it works, Landlock where it does not.

mod bubblewrap;
pub(crate) mod cell;
mod cgroup;
pub(crate) mod enter;
mod guarded_root;
mod host_sockets;
mod linked_secrets;
mod mount_layout;
mod mount_renewal;
mod namespace_status;
mod probe;
mod process_limits;
mod sandbox_launch;
mod seccomp;
pub(crate) mod trial;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{SandboxPlanRefusal, SandboxUnavailable};
use crate::failure::{self, SandboxFailure};
use crate::plan::{SandboxNetwork, SandboxPlan};
use crate::probe_options::{SandboxBackend, SandboxProbeOptions};
use bubblewrap::ProcMount;
use cgroup::{CgroupLease, CgroupPool};
use enter::EntryArguments;
pub use guarded_root::RevertedProtectedFile;
use guarded_root::{GuardDuration, GuardMethod, GuardedRoots};
use mount_layout::MountLayout;
use mount_renewal::RunningSandbox;
pub use sandbox_launch::{SandboxCleanup, SandboxLaunch};
use sandbox_launch::{SandboxLaunchMethod, SandboxPendingEnd};
use seccomp::{ForeignProcesses, RefusedCalls, SocketPolicy};

/// A sandbox that works on this machine.
#[derive(Debug)]
pub struct Sandbox {
    options: SandboxProbeOptions,
    mechanism: SandboxMechanism,
    /// Are missing protected names held by a supervisor inside?
    is_supervised: bool,
    guarded_roots: GuardedRoots,
    cgroups: Arc<CgroupPool>,
    /// The seccomp filter in the form bubblewrap reads.
    seccomp_program: Arc<[u8]>,
    report: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SandboxMechanism {
    Bubblewrap { program: PathBuf, proc: ProcMount },
    Landlock { is_full: bool },
}

impl Sandbox {
    /// Checks by trying what works here. Takes some tens of milliseconds; call it once.
    ///
    /// # Errors
    ///
    /// Nothing works. The error says what was tried, why it failed, and what to install.
    pub fn probe(options: &SandboxProbeOptions) -> Result<Self, SandboxUnavailable> {
        let (mechanism, why) = probe::probe(options)?;
        let cgroups = Arc::new(CgroupPool::default());
        // The supervisor finds the command's processes by their numbers in `/proc`.
        let is_supervised = match &mechanism {
            SandboxMechanism::Bubblewrap { proc: ProcMount::Fresh, .. } => enter::can_supervise(),
            SandboxMechanism::Bubblewrap { proc: ProcMount::Host, .. }
            | SandboxMechanism::Landlock { .. } => false,
        };
        let report = probe::render_report(&mechanism, is_supervised, &why, &cgroups);
        let refusals = RefusedCalls {
            sockets: SocketPolicy::Contained,
            metadata: false,
            foreign_processes: ForeignProcesses::OutOfReach,
        };
        let program = seccomp::to_bytes(&seccomp::build_program(refusals)).into();
        Ok(Self {
            options: options.clone(),
            mechanism,
            is_supervised,
            guarded_roots: GuardedRoots::default(),
            cgroups,
            seccomp_program: program,
            report,
        })
    }

    #[must_use]
    pub fn backend(&self) -> SandboxBackend {
        match self.mechanism {
            SandboxMechanism::Bubblewrap { .. } => SandboxBackend::Bubblewrap,
            SandboxMechanism::Landlock { .. } => SandboxBackend::Landlock,
        }
    }

    /// Describes the mechanism, why it was chosen, and its limits, for users.
    #[must_use]
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Prepares a command.
    ///
    /// # Errors
    ///
    /// This plan cannot be enforced: a path does not exist, or the mechanism cannot do it.
    pub fn prepare_command<A: AsRef<OsStr>>(
        &self,
        plan: &SandboxPlan,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        let mut command = vec![program.as_ref().to_os_string()];
        command.extend(arguments.into_iter().map(|argument| argument.as_ref().to_os_string()));
        self.prepare(plan, command, LimitSetter::ByEntry)
    }

    /// Prepares a bash command: slightly faster than [`Sandbox::prepare_command`], because bash
    /// sets its limits itself.
    ///
    /// # Errors
    ///
    /// As for [`Sandbox::prepare_command`].
    pub fn prepare_shell(
        &self,
        plan: &SandboxPlan,
        bash: &Path,
        script: &OsStr,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        let mut command: Vec<OsString> = vec![bash.into()];
        command.extend(["--noprofile", "--norc", "-c"].map(OsString::from));
        command.push(script.to_os_string());
        self.prepare(plan, command, LimitSetter::ByShell)
    }

    fn prepare(
        &self,
        plan: &SandboxPlan,
        command: Vec<OsString>,
        limiting: LimitSetter,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        match &self.mechanism {
            SandboxMechanism::Bubblewrap { program, proc } => {
                self.prepare_bubblewrap(plan, program, *proc, command, limiting)
            }
            SandboxMechanism::Landlock { .. } => self.prepare_landlock(plan, command),
        }
    }

    /// Must be called after something else may have changed protected files: otherwise the change
    /// would be attributed to a background command.
    pub fn accept_protected_changes(&self) {
        self.guarded_roots.accept_changes();
    }

    /// Must be called after this file was created with permission.
    pub fn accept_protected_change(&self, path: &Path) {
        self.guarded_roots.accept_change(path);
    }

    /// Did a command fail because of the sandbox? Guesses from its output, and the message says so.
    #[must_use]
    pub fn explain_failure(
        &self,
        plan: &SandboxPlan,
        exit: Option<i32>,
        stderr: &str,
    ) -> Option<SandboxFailure> {
        failure::explain_failure(self.backend(), plan, exit, stderr)
    }

    fn prepare_bubblewrap(
        &self,
        plan: &SandboxPlan,
        program: &Path,
        proc: ProcMount,
        mut command: Vec<OsString>,
        limiting: LimitSetter,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        let layout = MountLayout::from_plan(plan)?;
        let method = match self.is_supervised {
            true => GuardMethod::MountsAndSupervisor,
            false => GuardMethod::Mounts,
        };
        let guarded_roots = self.guard_roots(plan, method)?;
        let mut layout = layout.with_mounts(plan, &guarded_roots)?;
        let environment = SplitEnvironment::from_plan(plan);
        let cgroup = self.cgroups.lease(&plan.limits);
        let mut after = vec![OsString::from("--")];
        let mut role = self.entry_role(plan, &cgroup);
        let refuse: Vec<PathBuf> = match self.is_supervised {
            true => guarded_roots.iter().flat_map(|root| root.list_refused_names()).collect(),
            false => Vec::new(),
        };
        if role.is_none() && !refuse.is_empty() {
            role = Some("limit");
        }
        if refuse.is_empty() && role == Some("limit") && limiting == LimitSetter::ByShell {
            role = None;
            if let Some(script) = command.last_mut() {
                let mut limited = OsString::from(process_limits::render_ulimits(&plan.limits));
                limited.push(&*script);
                *script = limited;
            }
        }
        match role {
            None => after.extend(command),
            Some(role) => {
                let entry =
                    std::fs::canonicalize(&self.options.entry.program).map_err(|error| {
                        let program = self.options.entry.program.display();
                        SandboxPlanRefusal::new(format!(
                            "`{program}`, through which it is entered: {error}"
                        ))
                    })?;
                after.push(entry.clone().into());
                layout.make_visible(entry);
                after.extend(self.options.entry.arguments.iter().cloned());
                after.push(role.into());
                let socket = match &plan.network {
                    SandboxNetwork::ViaProxy(socket) => Some(socket.clone()),
                    SandboxNetwork::Off | SandboxNetwork::Open => None,
                };
                let entry = EntryArguments {
                    write: layout.list_free_directories(plan),
                    refuse,
                    socket,
                    limits: Some(plan.limits),
                    command,
                    ..EntryArguments::default()
                };
                after.extend(entry.to_arguments());
            }
        }
        let mut before = bubblewrap::build_arguments(plan, &layout, proc);
        for (name, value) in environment.guarded {
            before.extend(["--setenv".into(), name, value]);
        }
        let filter = Arc::clone(&self.seccomp_program);
        Ok(SandboxLaunch {
            launcher: SandboxLaunchMethod::Bubblewrap { filter },
            program: program.to_path_buf(),
            arguments: before,
            final_arguments: after,
            environment: environment.plain,
            directory: "/".into(),
            cgroup: Some(cgroup),
            guarded_roots,
            scratch: None,
            running: Arc::new(RunningSandbox::new(self.options.entry.clone())),
            pending_end: SandboxPendingEnd::Nothing,
        })
    }

    /// What our entry must still do inside; a start without it is faster.
    fn entry_role(&self, plan: &SandboxPlan, cgroup: &CgroupLease) -> Option<&'static str> {
        let is_bounded = cgroup.counts_processes()
            && cgroup.counts_memory()
            && plan.limits.processor_seconds.is_none();
        match plan.network {
            SandboxNetwork::ViaProxy(_) => Some("bridge"),
            // Abstract sockets belong to the network namespace, which is the host's.
            SandboxNetwork::Open => Some("scope"),
            SandboxNetwork::Off if is_bounded => None,
            SandboxNetwork::Off => Some("limit"),
        }
    }

    fn prepare_landlock(
        &self,
        plan: &SandboxPlan,
        command: Vec<OsString>,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        if let SandboxNetwork::ViaProxy(_) = plan.network {
            return Err(SandboxPlanRefusal::new(
                "an allow list of hosts needs bubblewrap; Landlock can only close the network or \
                 leave it open",
            ));
        }
        if plan.is_background && !plan.roots.is_empty() {
            return Err(SandboxPlanRefusal::new(
                "Landlock cannot hold protected files against a program that goes on running; \
                 it needs bubblewrap, or no writable roots",
            ));
        }
        let layout = MountLayout::from_plan(plan)?;
        let inside =
            |hidden: &&PathBuf| layout.writable.iter().any(|root| hidden.starts_with(root));
        if let Some(hidden) = layout.hidden.iter().find(inside) {
            let hidden = hidden.display();
            return Err(SandboxPlanRefusal::new(format!(
                "Landlock cannot hide `{hidden}` inside a directory that may be written"
            )));
        }
        let guarded_roots = self.guard_roots(plan, GuardMethod::Nothing)?;
        let cgroup = self.cgroups.lease(&plan.limits);
        let scratch = create_private_directory()?;
        let SplitEnvironment { mut plain, guarded } = SplitEnvironment::from_plan(plan);
        plain.push(("TMPDIR".into(), scratch.clone().into()));
        let mut write = layout.writable;
        write.push(scratch.clone());
        let entry = EntryArguments {
            write,
            hide: layout.hidden,
            refuse: Vec::new(),
            remove: Some(scratch.clone()),
            parent_pid: i32::try_from(std::process::id()).ok(),
            environment: guarded.into_iter().map(|(name, value)| join_pair(name, &value)).collect(),
            network: plan.network == SandboxNetwork::Open,
            metadata: plan.may_change_metadata,
            socket: None,
            limits: Some(plan.limits),
            command,
        };
        let mut arguments = self.options.entry.arguments.clone();
        arguments.push("front".into());
        arguments.extend(entry.to_arguments());
        Ok(SandboxLaunch {
            launcher: SandboxLaunchMethod::Entry,
            program: self.options.entry.program.clone(),
            arguments,
            final_arguments: Vec::new(),
            environment: plain,
            directory: layout.directory,
            cgroup: Some(cgroup),
            guarded_roots,
            scratch: Some(scratch),
            running: Arc::new(RunningSandbox::new(self.options.entry.clone())),
            pending_end: SandboxPendingEnd::Nothing,
        })
    }

    fn guard_roots(
        &self,
        plan: &SandboxPlan,
        method: GuardMethod,
    ) -> Result<Vec<Arc<guarded_root::GuardedRoot>>, SandboxPlanRefusal> {
        let roots = plan.roots.iter().filter_map(|root| std::fs::canonicalize(root).ok());
        let duration = match plan.is_background {
            true => GuardDuration::Background,
            false => GuardDuration::Foreground,
        };
        let begin =
            |root: PathBuf| self.guarded_roots.guard(&root, &plan.protected, method, duration);
        roots.map(begin).collect()
    }
}

/// Which process sets limits that count only inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitSetter {
    ByEntry,
    ByShell,
}

/// The command's environment, split in two.
struct SplitEnvironment {
    /// Passed through the launcher's environment, which is not visible in process lists.
    plain: Vec<(OsString, OsString)>,
    /// Variables that would affect the launcher itself, before the sandbox exists.
    guarded: Vec<(OsString, OsString)>,
}

impl SplitEnvironment {
    fn from_plan(plan: &SandboxPlan) -> Self {
        let passed = plan.environment.iter().filter(|(name, _)| {
            // The sandbox sets its own temporary directory.
            !["TMPDIR", "TMP", "TEMP"].iter().any(|own| OsStr::new(own) == name)
        });
        let (guarded, plain) = passed.cloned().partition(|(name, _)| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"LD_") || name == b"GLIBC_TUNABLES" || name == b"GCONV_PATH"
        });
        Self { plain, guarded }
    }
}

fn join_pair(mut name: OsString, value: &OsStr) -> OsString {
    name.push("=");
    name.push(value);
    name
}

/// Creates a directory in the temporary one that no other user can open.
pub(super) fn create_private_directory() -> Result<PathBuf, SandboxPlanRefusal> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    const TRIES: usize = 100;
    let mut last = None;
    for _ in 0..TRIES {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-sandbox-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map(|error| error.to_string()).unwrap_or_default();
    Err(SandboxPlanRefusal::new(format!("no directory for temporary files: {why}")))
}
