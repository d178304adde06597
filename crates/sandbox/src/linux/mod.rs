//! The sandbox on Linux: bubblewrap where it works, Landlock where it does not.

mod bound;
mod bubblewrap;
mod cgroup;
pub(crate) mod enter;
mod launch;
mod layout;
mod namespace;
mod probe;
mod seccomp;
mod sockets;
mod watch;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{self, Reason};
use crate::plan::{Network, Plan};
use crate::refusal::{Refused, Unavailable};
use crate::wanted::{Backend, Wanted};
use bubblewrap::Proc;
use cgroup::{Lease, Pool};
use enter::Order;
pub use launch::{Launch, Settled};
use launch::{StandingBy, Start};
use layout::Layout;
use seccomp::{Refusals, Sockets};
pub use watch::TakenBack;
use watch::{Holding, Watches};

/// A sandbox that works on this machine.
#[derive(Debug)]
pub struct Sandbox {
    wanted: Wanted,
    means: Means,
    watches: Watches,
    groups: Arc<Pool>,
    /// For the kernel, as bubblewrap reads it.
    program: Arc<[u8]>,
    report: String,
}

/// What it works with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Means {
    Bubblewrap { program: PathBuf, proc: Proc },
    Landlock { is_full: bool },
}

impl Sandbox {
    /// Finds out, by trying, what works here. Takes some tens of milliseconds; once is enough.
    ///
    /// # Errors
    ///
    /// When nothing works, with what was tried, why it failed, and what to install.
    pub fn probe(wanted: &Wanted) -> Result<Self, Unavailable> {
        let (means, why) = probe::probe(wanted)?;
        let groups = Arc::new(Pool::default());
        let report = probe::report(&means, &why, &groups);
        let refusals = Refusals { sockets: Sockets::Contained, metadata: false };
        let program = seccomp::bytes(&seccomp::program(refusals)).into();
        let (wanted, watches) = (wanted.clone(), Watches::default());
        Ok(Self { wanted, means, watches, groups, program, report })
    }

    /// Which one it is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self.means {
            Means::Bubblewrap { .. } => Backend::Bubblewrap,
            Means::Landlock { .. } => Backend::Landlock,
        }
    }

    /// Which one, why, and what it does not cover; for people.
    #[must_use]
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Prepares a command.
    ///
    /// # Errors
    ///
    /// When this plan cannot be held here: a path that does not exist, or more than the backend
    /// can do.
    pub fn command<A: AsRef<OsStr>>(
        &self,
        plan: &Plan,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Launch, Refused> {
        let mut command = vec![program.as_ref().to_os_string()];
        command.extend(arguments.into_iter().map(|argument| argument.as_ref().to_os_string()));
        self.prepare(plan, command, Limiting::ByEntry)
    }

    /// Prepares a shell command, for bash: a little faster than [`Sandbox::command`], because bash
    /// sets its limits itself.
    ///
    /// # Errors
    ///
    /// As [`Sandbox::command`].
    pub fn shell(&self, plan: &Plan, bash: &Path, script: &OsStr) -> Result<Launch, Refused> {
        let mut command: Vec<OsString> = vec![bash.into()];
        command.extend(["--noprofile", "--norc", "-c"].map(OsString::from));
        command.push(script.to_os_string());
        self.prepare(plan, command, Limiting::ByShell)
    }

    fn prepare(
        &self,
        plan: &Plan,
        command: Vec<OsString>,
        limiting: Limiting,
    ) -> Result<Launch, Refused> {
        match &self.means {
            Means::Bubblewrap { program, proc } => {
                self.wrapped(plan, (program, *proc), command, limiting)
            }
            Means::Landlock { .. } => self.landlocked(plan, command),
        }
    }

    /// Did a command fail because of the sandbox? Reads what it wrote, so it is a guess, and worded
    /// as one.
    #[must_use]
    pub fn explain_failure(&self, plan: &Plan, exit: Option<i32>, stderr: &str) -> Option<Reason> {
        failure::explain(self.backend(), plan, exit, stderr)
    }

    fn wrapped(
        &self,
        plan: &Plan,
        (program, proc): (&Path, Proc),
        mut command: Vec<OsString>,
        limiting: Limiting,
    ) -> Result<Launch, Refused> {
        let layout = Layout::of(plan)?;
        let watched = self.watch(plan, Holding::Mounts)?;
        let mut layout = layout.for_mounts(plan, &watched);
        let environment = Environment::of(plan);
        let cgroup = self.groups.take(&plan.limits);
        let mut after = vec![OsString::from("--")];
        let mut way = self.way(plan, &cgroup);
        if way == Some("limit") && limiting == Limiting::ByShell {
            way = None;
            if let Some(script) = command.last_mut() {
                let mut limited = OsString::from(bound::in_shell(&plan.limits));
                limited.push(&*script);
                *script = limited;
            }
        }
        match way {
            None => after.extend(command),
            Some(role) => {
                let entry = std::fs::canonicalize(&self.wanted.entry.program).map_err(|error| {
                    let program = self.wanted.entry.program.display();
                    Refused::new(format!("`{program}`, through which it is entered: {error}"))
                })?;
                after.push(entry.clone().into());
                layout.show(entry);
                after.extend(self.wanted.entry.arguments.iter().cloned());
                after.push(role.into());
                let socket = match &plan.network {
                    Network::Through(socket) => Some(socket.clone()),
                    Network::Off | Network::Open => None,
                };
                let limits = Some(plan.limits);
                after.extend(Order { socket, limits, command, ..Order::default() }.arguments());
            }
        }
        let mut before = bubblewrap::arguments(plan, &layout, proc);
        for (name, value) in environment.guarded {
            before.extend(["--setenv".into(), name, value]);
        }
        let filter = Arc::clone(&self.program);
        Ok(Launch {
            start: Start::Bubblewrap { filter },
            program: program.to_path_buf(),
            arguments: (before, after),
            environment: environment.plain,
            directory: "/".into(),
            cgroup: Some(cgroup),
            watched: if plan.is_lasting { Vec::new() } else { watched },
            scratch: None,
            standing_by: StandingBy::Nothing,
        })
    }

    /// What our own entry must still do inside, if anything: a start without it is faster.
    fn way(&self, plan: &Plan, cgroup: &Lease) -> Option<&'static str> {
        let is_bounded = cgroup.counts_processes()
            && cgroup.counts_memory()
            && plan.limits.processor_seconds.is_none();
        match plan.network {
            Network::Through(_) => Some("bridge"),
            // Sockets without a file belong to the network, which is the host's.
            Network::Open => Some("scope"),
            Network::Off if is_bounded => None,
            Network::Off => Some("limit"),
        }
    }

    fn landlocked(&self, plan: &Plan, command: Vec<OsString>) -> Result<Launch, Refused> {
        if let Network::Through(_) = plan.network {
            return Err(Refused::new(
                "an allow list of hosts needs bubblewrap; Landlock can only close the network or \
                 leave it open",
            ));
        }
        if plan.is_lasting && !plan.roots.is_empty() {
            return Err(Refused::new(
                "Landlock cannot hold protected files against a program that goes on running; \
                 it needs bubblewrap, or no writable roots",
            ));
        }
        let layout = Layout::of(plan)?;
        let inside =
            |hidden: &&PathBuf| layout.writable.iter().any(|root| hidden.starts_with(root));
        if let Some(hidden) = layout.hidden.iter().find(inside) {
            let hidden = hidden.display();
            return Err(Refused::new(format!(
                "Landlock cannot hide `{hidden}` inside a directory that may be written"
            )));
        }
        let watched = self.watch(plan, Holding::Nothing)?;
        let cgroup = self.groups.take(&plan.limits);
        let scratch = private_directory()?;
        let Environment { mut plain, guarded } = Environment::of(plan);
        plain.push(("TMPDIR".into(), scratch.clone().into()));
        let mut write = layout.writable;
        write.push(scratch.clone());
        let order = Order {
            write,
            hide: layout.hidden,
            remove: Some(scratch.clone()),
            front: i32::try_from(std::process::id()).ok(),
            environment: guarded.into_iter().map(|(name, value)| pair(name, &value)).collect(),
            network: plan.network == Network::Open,
            metadata: plan.metadata,
            socket: None,
            limits: Some(plan.limits),
            command,
        };
        let mut arguments = self.wanted.entry.arguments.clone();
        arguments.push("front".into());
        arguments.extend(order.arguments());
        Ok(Launch {
            start: Start::Entry,
            program: self.wanted.entry.program.clone(),
            arguments: (arguments, Vec::new()),
            environment: plain,
            directory: layout.directory,
            cgroup: Some(cgroup),
            watched,
            scratch: Some(scratch),
            standing_by: StandingBy::Nothing,
        })
    }

    fn watch(&self, plan: &Plan, holding: Holding) -> Result<Vec<Arc<watch::Watched>>, Refused> {
        let roots = plan.roots.iter().filter_map(|root| std::fs::canonicalize(root).ok());
        let begin =
            |root: PathBuf| self.watches.begin(&root, &plan.protected, holding, !plan.is_lasting);
        roots.map(begin).collect()
    }
}

/// Who sets the limits that only count inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limiting {
    ByEntry,
    ByShell,
}

/// The command's environment in two parts.
struct Environment {
    /// Given to the launcher, which hands it on: not to be seen in a list of processes.
    plain: Vec<(OsString, OsString)>,
    /// What would change how the launcher itself runs, before the sandbox stands.
    guarded: Vec<(OsString, OsString)>,
}

impl Environment {
    fn of(plan: &Plan) -> Self {
        let kept = plan.environment.iter().filter(|(name, _)| {
            // The place for temporary files is the sandbox's own.
            !["TMPDIR", "TMP", "TEMP"].iter().any(|own| OsStr::new(own) == name)
        });
        let (guarded, plain) = kept.cloned().partition(|(name, _)| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"LD_") || name == b"GLIBC_TUNABLES" || name == b"GCONV_PATH"
        });
        Self { plain, guarded }
    }
}

fn pair(mut name: OsString, value: &OsStr) -> OsString {
    name.push("=");
    name.push(value);
    name
}

/// A directory below the system's temporary one that nobody else may open.
fn private_directory() -> Result<PathBuf, Refused> {
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
    Err(Refused::new(format!("no directory for temporary files: {why}")))
}
