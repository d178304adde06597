//! Runs shell commands in a sandbox, the kernel's part of the policy.
//!
//! What a command may access follows from the working directories and the user's settings; whether
//! it may run at all was decided before. What cannot be confined does not start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::process::Child;
use windlass_permission::Confinement;
use windlass_sandbox::{
    ProxyThread, RevertedProtectedFile, Sandbox, SandboxNetwork, SandboxPlan, SandboxProbeOptions,
    SandboxUnavailable, VisibleHome,
};
use windlass_tool::{
    ASK_TO_RUN_UNCONFINED, LaunchExit, LaunchRequest, PreparedLaunch, ProcessLauncher,
    SpawnCommandFn, may_hold_token,
};

/// The limits for commands of a session.
#[derive(Clone, Debug, Default)]
pub struct CommandSandboxConfig {
    /// Directories with write access.
    pub roots: Vec<PathBuf>,
    /// The home directory whose secrets are hidden.
    pub home: Option<PathBuf>,
    /// Further paths that are hidden.
    pub hidden: Vec<PathBuf>,
    /// Exceptions inside hidden paths.
    pub shown: Vec<PathBuf>,
    /// Files and directories inside the roots that stay read-only.
    pub protected: Vec<PathBuf>,
    /// Further paths with read access, and sockets that may be used.
    pub readable: Vec<PathBuf>,
    /// The network access.
    pub network: SandboxNetwork,
    /// The proxy to the allowed hosts; it runs as long as this exists.
    pub gate: Option<Arc<ProxyThread>>,
    /// Whether a call may request to run without the sandbox; the permission rules decide on it.
    pub may_be_disabled: bool,
}

/// Starts commands in a sandbox.
#[derive(Debug)]
pub struct ToolSandboxLauncher {
    sandbox: Arc<Sandbox>,
    config: CommandSandboxConfig,
    /// Its home directory, if that can be hidden.
    home: Option<VisibleHome>,
}

impl ToolSandboxLauncher {
    /// Finds the sandbox mechanism of this machine.
    ///
    /// # Errors
    ///
    /// There is none that works: then no command that needs confinement may start.
    pub fn probe(
        wanted: &SandboxProbeOptions,
        confinement: CommandSandboxConfig,
    ) -> Result<Self, SandboxUnavailable> {
        Ok(Self::new(Arc::new(Sandbox::probe(wanted)?), confinement))
    }

    fn new(sandbox: Arc<Sandbox>, config: CommandSandboxConfig) -> Self {
        let home = VisibleHome::find(config.home.as_deref(), &config.roots, &config.hidden);
        Self { sandbox, config, home }
    }

    /// Describes the mechanism, why it was chosen, and its limits, for users.
    #[must_use]
    pub fn report(&self) -> &str {
        self.sandbox.report()
    }

    fn build_plan(&self, launch: &LaunchRequest<'_>) -> SandboxPlan {
        let CommandSandboxConfig { roots, home, hidden, shown, protected, readable, .. } =
            &self.config;
        let mut plan = SandboxPlan::new(launch.directory, home.as_deref());
        plan.roots.clone_from(roots);
        plan.protected.clone_from(protected);
        plan.readable.clone_from(readable);
        // A home inside the temporary directory is hidden like any other: writes there fail instead
        // of being lost.
        let is_apart = |home: &&PathBuf| !roots.iter().any(|root| home.starts_with(root));
        plan.readable.extend(home.iter().filter(is_apart).cloned());
        plan.scratch = vec![launch.scratch_directory.to_owned()];
        plan.hidden.extend(hidden.iter().cloned());
        plan.hidden.retain(|path| !shown.iter().any(|shown| path.starts_with(shown)));
        plan.environment = launch.environment.to_vec();
        plan.environment.retain(|(name, _)| !name.to_str().is_some_and(may_hold_token));
        plan.hidden.extend(launch.hidden.iter().cloned());
        if launch.confinement == Confinement::ReadOnly {
            plan.readable.extend(launch.readable.iter().cloned());
        }
        if let Some(home) = &self.home {
            home.restrict_sandbox(&mut plan, self.sandbox.backend());
        }
        plan.network = match &self.config.gate {
            Some(gate) => SandboxNetwork::ViaProxy(gate.socket().to_owned()),
            None => self.config.network.clone(),
        };
        plan.is_background = launch.is_long_lived;
        if launch.confinement == Confinement::ReadOnly {
            // A command judged to be read-only gets no write access in the session's sandbox
            // either.
            plan.readable.append(&mut plan.roots);
            plan.network = SandboxNetwork::Off;
        }
        plan
    }
}

impl ProcessLauncher for ToolSandboxLauncher {
    fn prepare(&self, launch: &LaunchRequest<'_>) -> Result<Box<dyn PreparedLaunch>, String> {
        let may_leave = launch.is_unconfined && self.config.may_be_disabled;
        let is_judged = launch.confinement != Confinement::Unconfined;
        if !is_judged && (launch.is_excluded || may_leave) {
            return Ok(Box::new(UnsandboxedCommand {
                command: Some(launch.build_command()),
                sandbox: Arc::clone(&self.sandbox),
            }));
        }
        if launch.is_unconfined && !self.config.may_be_disabled {
            return Err(
                "the call asks to run without the sandbox, which may not be left here".to_owned()
            );
        }
        // The directory where the shell saves its state is mounted, so it must exist.
        std::fs::create_dir_all(launch.scratch_directory).map_err(|error| {
            format!("{} cannot be made: {error}", launch.scratch_directory.display())
        })?;
        let plan = self.build_plan(launch);
        let held = self
            .sandbox
            .prepare_command(&plan, launch.program, launch.arguments)
            .map_err(|refused| format!("the sandbox cannot hold it: {refused}"))?;
        let sandbox = Arc::clone(&self.sandbox);
        let gate = self.config.gate.clone();
        let may_be_left = self.config.may_be_disabled;
        Ok(Box::new(SandboxedCommand {
            sandbox,
            plan,
            launch: held,
            gate,
            may_be_disabled: may_be_left,
        }))
    }

    fn accept_file(&self, path: &Path) {
        self.sandbox.accept_protected_change(path);
    }

    fn for_directories(&self, directories: &[PathBuf]) -> Option<Arc<dyn ProcessLauncher>> {
        let confinement =
            CommandSandboxConfig { roots: directories.to_vec(), ..self.config.clone() };
        Some(Arc::new(Self::new(Arc::clone(&self.sandbox), confinement)))
    }
}

#[derive(Debug)]
struct SandboxedCommand {
    sandbox: Arc<Sandbox>,
    plan: SandboxPlan,
    launch: windlass_sandbox::SandboxLaunch,
    gate: Option<Arc<ProxyThread>>,
    may_be_disabled: bool,
}

impl PreparedLaunch for SandboxedCommand {
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> io::Result<Child> {
        self.launch.spawn(start)
    }

    fn continue_in_background(&mut self) -> bool {
        self.launch.continue_in_background()
    }

    fn finish(self: Box<Self>, end: &LaunchExit) -> Vec<String> {
        let Self { sandbox, plan, launch, gate, may_be_disabled: may_be_left } = *self;
        let settled = launch.clean_up();
        let mut words: Vec<String> = settled.reverted.iter().map(describe_restored_path).collect();
        words.extend(settled.left_alone.iter().map(|path| {
            format!(
                "{} is protected, and came to be or changed while the command ran; the user should \
                 look at it before anything uses it.",
                path.display()
            )
        }));
        words.extend(settled.problem);
        let reason = sandbox.explain_failure(&plan, end.code, &end.stderr);
        let refused = gate.map(|gate| gate.refusals()).unwrap_or_default();
        words.extend(
            refused.into_iter().map(|why| format!("The sandbox blocked a connection: {why}.")),
        );
        if let Some(reason) = reason {
            words.push(reason.words);
            words.extend(may_be_left.then(|| ASK_TO_RUN_UNCONFINED.to_owned()));
        }
        words
    }
}

/// Describes a protected file that was moved aside, for the model.
fn describe_restored_path(taken: &RevertedProtectedFile) -> String {
    let path = taken.path.display();
    let kept = match &taken.moved_to {
        Some(kept) => format!("what the command left there is now {}", kept.display()),
        None => "what the command left there is gone".to_owned(),
    };
    let before = if taken.is_restored { ", and what was there before is back" } else { "" };
    format!("{path} is protected: {kept}{before}.")
}

#[derive(Debug)]
struct UnsandboxedCommand {
    command: Option<std::process::Command>,
    sandbox: Arc<Sandbox>,
}

impl PreparedLaunch for UnsandboxedCommand {
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> io::Result<Child> {
        let command =
            self.command.take().ok_or_else(|| io::Error::other("it was started before"))?;
        start(command)
    }

    fn finish(self: Box<Self>, _: &LaunchExit) -> Vec<String> {
        self.sandbox.accept_protected_changes();
        Vec::new()
    }
}
