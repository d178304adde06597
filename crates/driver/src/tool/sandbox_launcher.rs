//! Shell commands behind the kernel's side of the policy.
//!
//! What a command may touch follows from where the session works and what the user allows; whether
//! it may run at all was decided before. What cannot be held as it must be does not start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::process::Child;
use windlass_permission::Confinement;
use windlass_sandbox::{
    ProxyThread, RevertedProtectedFile, Sandbox, SandboxBackend, SandboxNetwork, SandboxPlan,
    SandboxProbeOptions, SandboxUnavailable, secrets,
};
use windlass_tool::{
    ASK_TO_RUN_UNCONFINED, LaunchExit, LaunchRequest, PreparedLaunch, ProcessLauncher,
    SpawnCommandFn, may_hold_token,
};

/// What commands of a session are held to.
#[derive(Clone, Debug, Default)]
pub struct CommandSandboxConfig {
    /// Directories they may write to.
    pub roots: Vec<PathBuf>,
    /// Whose secrets are hidden.
    pub home: Option<PathBuf>,
    /// More that they must not see.
    pub hidden: Vec<PathBuf>,
    /// What they may see although it is the kind of place where secrets are.
    pub shown: Vec<PathBuf>,
    /// Files and directories that stay as they are, inside the roots.
    pub protected: Vec<PathBuf>,
    /// More that they may read, and sockets they may speak to.
    pub readable: Vec<PathBuf>,
    /// Whom they may talk to.
    pub network: SandboxNetwork,
    /// The way to those they may talk to, kept open as long as this is.
    pub gate: Option<Arc<ProxyThread>>,
    /// A call may ask to run without all this; whether it may is a matter of permission.
    pub may_be_disabled: bool,
}

/// Starts commands in a sandbox.
#[derive(Debug)]
pub struct ToolSandboxLauncher {
    sandbox: Arc<Sandbox>,
    config: CommandSandboxConfig,
}

impl ToolSandboxLauncher {
    /// Finds out what this machine can hold commands with.
    ///
    /// # Errors
    ///
    /// When it has nothing that works: then nothing may start that must be held.
    pub fn probe(
        wanted: &SandboxProbeOptions,
        confinement: CommandSandboxConfig,
    ) -> Result<Self, SandboxUnavailable> {
        let sandbox = Arc::new(Sandbox::probe(wanted)?);
        Ok(Self { sandbox, config: confinement })
    }

    /// With what, why with that, and what it does not cover; for people.
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
        // A home where the host keeps temporary files is a home all the same: what is written there
        // fails instead of vanishing.
        let is_apart = |home: &&PathBuf| !roots.iter().any(|root| home.starts_with(root));
        plan.readable.extend(home.iter().filter(is_apart).cloned());
        plan.scratch = vec![launch.scratch_directory.to_owned()];
        plan.hidden.extend(hidden.iter().cloned());
        plan.hidden.retain(|path| !shown.iter().any(|shown| path.starts_with(shown)));
        plan.environment = launch.environment.to_vec();
        plan.environment.retain(|(name, _)| !name.to_str().is_some_and(may_hold_token));
        self.hide_home(&mut plan);
        plan.network = match &self.config.gate {
            Some(gate) => SandboxNetwork::ViaProxy(gate.socket().to_owned()),
            None => self.config.network.clone(),
        };
        plan.is_background = launch.is_long_lived;
        plan.hidden.extend(launch.hidden.iter().cloned());
        if launch.confinement == Confinement::ReadOnly {
            // Judged to only read: the sandbox of the session holds it to that.
            plan.readable.append(&mut plan.roots);
            plan.network = SandboxNetwork::Off;
        }
        plan
    }
}

impl ToolSandboxLauncher {
    /// Of the home, only toolchains and what the user names are seen: whatever keeps a token there is
    /// not on a list of ours.
    fn hide_home(&self, plan: &mut SandboxPlan) {
        let Some(home) = self.config.home.as_deref().and_then(|home| home.canonicalize().ok())
        else {
            return;
        };
        // Where the session works in the home itself, the list of secrets has to do.
        if plan.roots.iter().any(|root| home.starts_with(root)) {
            return;
        }
        plan.readable.retain(|path| *path != home && Some(path) != self.config.home.as_ref());
        let is_needed = |path: &Path| {
            let mut named = plan.roots.iter().chain(&plan.scratch).chain(&plan.readable);
            named.any(|one| one.starts_with(path) || path.starts_with(one))
        };
        match self.sandbox.backend() {
            SandboxBackend::Bubblewrap => {
                let toolchains = secrets::list_home_toolchains(&home);
                plan.readable.extend(toolchains.into_iter().filter(|path| path.exists()));
                plan.hidden.push(home);
            }
            SandboxBackend::Landlock => {
                let toolchains = secrets::list_home_toolchains(&home);
                let Ok(entries) = std::fs::read_dir(&home) else {
                    return;
                };
                let others = entries.flatten().map(|entry| entry.path()).filter(|path| {
                    let is_toolchain = toolchains.iter().any(|one| one.starts_with(path));
                    !is_toolchain && !is_needed(path)
                });
                plan.hidden.extend(others.collect::<Vec<_>>());
            }
        }
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
        // The place where the shell leaves word is mounted, so it has to be there.
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
        Some(Arc::new(Self { sandbox: Arc::clone(&self.sandbox), config: confinement }))
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

/// What was moved out of the way, for the model.
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
