//! Shell commands behind the kernel's side of the policy.
//!
//! What a command may touch follows from where the session works and what the user allows; whether
//! it may run at all was decided before. What cannot be held as it must be does not start.

use std::io;
use std::path::PathBuf;

use tokio::process::Child;
use windlass_sandbox::{Network, Plan, Sandbox, TakenBack, Unavailable, Wanted};
use windlass_tool::{Launch, LaunchEnd, Launcher, Prepared, Start};

/// What commands of a session are held to.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// Directories they may write to.
    pub roots: Vec<PathBuf>,
    /// Whose secrets are hidden.
    pub home: Option<PathBuf>,
    /// More that they must not see.
    pub hidden: Vec<PathBuf>,
    /// More in those directories that stays as it is.
    pub protected: Vec<PathBuf>,
    /// Whom they may talk to.
    pub network: Network,
    /// A call may ask to run without all this; whether it may is a matter of permission.
    pub may_be_left: bool,
}

/// Starts commands in a sandbox.
#[derive(Debug)]
pub struct Confined {
    sandbox: std::sync::Arc<Sandbox>,
    confinement: Confinement,
}

impl Confined {
    /// Finds out what this machine can hold commands with.
    ///
    /// # Errors
    ///
    /// When it has nothing that works: then nothing may start that must be held.
    pub fn probe(wanted: &Wanted, confinement: Confinement) -> Result<Self, Unavailable> {
        let sandbox = std::sync::Arc::new(Sandbox::probe(wanted)?);
        Ok(Self { sandbox, confinement })
    }

    /// With what, why with that, and what it does not cover; for people.
    #[must_use]
    pub fn report(&self) -> &str {
        self.sandbox.report()
    }

    fn plan(&self, launch: &Launch<'_>) -> Plan {
        let Confinement { roots, home, hidden, protected, network, may_be_left: _ } =
            &self.confinement;
        let mut plan = Plan::new(launch.directory, home.as_deref());
        plan.roots.clone_from(roots);
        plan.scratch = vec![launch.scratch.to_owned()];
        plan.hidden.extend(hidden.iter().cloned());
        plan.protected.clone_from(protected);
        plan.environment = launch.environment.to_vec();
        plan.network = network.clone();
        plan.is_lasting = launch.is_lasting;
        plan
    }
}

impl Launcher for Confined {
    fn prepare(&self, launch: &Launch<'_>) -> Result<Box<dyn Prepared>, String> {
        if launch.unconfined && self.confinement.may_be_left {
            return Ok(Box::new(Free(Some(launch.command()))));
        }
        if launch.unconfined {
            return Err(
                "the call asks to run without the sandbox, which may not be left here".to_owned()
            );
        }
        // The place where the shell leaves word is mounted, so it has to be there.
        std::fs::create_dir_all(launch.scratch)
            .map_err(|error| format!("{} cannot be made: {error}", launch.scratch.display()))?;
        let plan = self.plan(launch);
        let held = self
            .sandbox
            .command(&plan, launch.program, launch.arguments)
            .map_err(|refused| format!("the sandbox cannot hold it: {refused}"))?;
        let sandbox = std::sync::Arc::clone(&self.sandbox);
        Ok(Box::new(Held { sandbox, plan, launch: held }))
    }

    fn moved(&self, directories: &[PathBuf]) -> Option<std::sync::Arc<dyn Launcher>> {
        let confinement = Confinement { roots: directories.to_vec(), ..self.confinement.clone() };
        Some(std::sync::Arc::new(Self {
            sandbox: std::sync::Arc::clone(&self.sandbox),
            confinement,
        }))
    }
}

/// A command in the sandbox.
#[derive(Debug)]
struct Held {
    sandbox: std::sync::Arc<Sandbox>,
    plan: Plan,
    launch: windlass_sandbox::Launch,
}

impl Prepared for Held {
    fn spawn(&mut self, start: &mut Start<'_>) -> io::Result<Child> {
        self.launch.spawn(start)
    }

    fn settle(self: Box<Self>, end: &LaunchEnd) -> Vec<String> {
        let Self { sandbox, plan, launch } = *self;
        let settled = launch.settle();
        let mut words: Vec<String> = settled.taken_back.iter().map(taken_back).collect();
        words.extend(settled.problem);
        let reason = sandbox.explain_failure(&plan, end.code, &end.stderr);
        words.extend(reason.map(|reason| reason.words));
        words
    }
}

/// What was moved out of the way, for the model.
fn taken_back(taken: &TakenBack) -> String {
    let path = taken.path.display();
    let kept = match &taken.kept_as {
        Some(kept) => format!("what the command left there is now {}", kept.display()),
        None => "what the command left there is gone".to_owned(),
    };
    let before = if taken.is_restored { ", and what was there before is back" } else { "" };
    format!("{path} is protected: {kept}{before}.")
}

/// A command as it is.
#[derive(Debug)]
struct Free(Option<std::process::Command>);

impl Prepared for Free {
    fn spawn(&mut self, start: &mut Start<'_>) -> io::Result<Child> {
        let command = self.0.take().ok_or_else(|| io::Error::other("it was started before"))?;
        start(command)
    }

    fn settle(self: Box<Self>, _: &LaunchEnd) -> Vec<String> {
        Vec::new()
    }
}
