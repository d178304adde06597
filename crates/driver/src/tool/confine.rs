//! Shell commands behind the kernel's side of the policy.
//!
//! What a command may touch follows from where the session works and what the user allows; whether
//! it may run at all was decided before. What cannot be held as it must be does not start.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::process::Child;
use windlass_sandbox::{Gate, Network, Plan, Sandbox, TakenBack, Unavailable, Wanted};
use windlass_tool::{Launch, LaunchEnd, Launcher, Prepared, Start};

/// What commands of a session are held to.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
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
    pub network: Network,
    /// The way to those they may talk to, kept open as long as this is.
    pub gate: Option<Arc<Gate>>,
    /// A call may ask to run without all this; whether it may is a matter of permission.
    pub may_be_left: bool,
}

/// Starts commands in a sandbox.
#[derive(Debug)]
pub struct Confined {
    sandbox: Arc<Sandbox>,
    confinement: Confinement,
}

impl Confined {
    /// Finds out what this machine can hold commands with.
    ///
    /// # Errors
    ///
    /// When it has nothing that works: then nothing may start that must be held.
    pub fn probe(wanted: &Wanted, confinement: Confinement) -> Result<Self, Unavailable> {
        let sandbox = Arc::new(Sandbox::probe(wanted)?);
        Ok(Self { sandbox, confinement })
    }

    /// With what, why with that, and what it does not cover; for people.
    #[must_use]
    pub fn report(&self) -> &str {
        self.sandbox.report()
    }

    fn plan(&self, launch: &Launch<'_>) -> Plan {
        let Confinement { roots, home, hidden, shown, protected, readable, .. } = &self.confinement;
        let mut plan = Plan::new(launch.directory, home.as_deref());
        plan.roots.clone_from(roots);
        plan.protected.clone_from(protected);
        plan.readable.clone_from(readable);
        // A home where the host keeps temporary files is a home all the same: what is written there
        // fails instead of vanishing.
        let is_apart = |home: &&PathBuf| !roots.iter().any(|root| home.starts_with(root));
        plan.readable.extend(home.iter().filter(is_apart).cloned());
        plan.scratch = vec![launch.scratch.to_owned()];
        plan.hidden.extend(hidden.iter().cloned());
        plan.hidden.retain(|path| !shown.iter().any(|shown| path.starts_with(shown)));
        plan.environment = launch.environment.to_vec();
        plan.network = match &self.confinement.gate {
            Some(gate) => Network::Through(gate.socket().to_owned()),
            None => self.confinement.network.clone(),
        };
        plan.is_lasting = launch.is_lasting;
        plan
    }
}

impl Launcher for Confined {
    fn prepare(&self, launch: &Launch<'_>) -> Result<Box<dyn Prepared>, String> {
        let may_leave = launch.unconfined && self.confinement.may_be_left;
        if launch.is_excluded || may_leave {
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
        let sandbox = Arc::clone(&self.sandbox);
        let gate = self.confinement.gate.clone();
        let may_be_left = self.confinement.may_be_left;
        Ok(Box::new(Held { sandbox, plan, launch: held, gate, may_be_left }))
    }

    fn moved(&self, directories: &[PathBuf]) -> Option<Arc<dyn Launcher>> {
        let confinement = Confinement { roots: directories.to_vec(), ..self.confinement.clone() };
        Some(Arc::new(Self { sandbox: Arc::clone(&self.sandbox), confinement }))
    }
}

/// A command in the sandbox.
#[derive(Debug)]
struct Held {
    sandbox: Arc<Sandbox>,
    plan: Plan,
    launch: windlass_sandbox::Launch,
    gate: Option<Arc<Gate>>,
    may_be_left: bool,
}

impl Prepared for Held {
    fn spawn(&mut self, start: &mut Start<'_>) -> io::Result<Child> {
        self.launch.spawn(start)
    }

    fn settle(self: Box<Self>, end: &LaunchEnd) -> Vec<String> {
        let Self { sandbox, plan, launch, gate, may_be_left } = *self;
        let settled = launch.settle();
        let mut words: Vec<String> = settled.taken_back.iter().map(taken_back).collect();
        words.extend(settled.problem);
        let reason = sandbox.explain_failure(&plan, end.code, &end.stderr);
        let refused = gate.map(|gate| gate.refusals()).unwrap_or_default();
        words.extend(refused.into_iter().map(|why| format!("The sandbox let nobody out: {why}.")));
        if let Some(reason) = reason {
            words.push(reason.words);
            words.extend(may_be_left.then(|| HOW_TO_LEAVE.to_owned()));
        }
        words
    }
}

const HOW_TO_LEAVE: &str =
    "With dangerouslyDisableSandbox the user is asked to let it run outside.";

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
