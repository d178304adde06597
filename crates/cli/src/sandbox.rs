//! `--sandbox`: shell commands held by the kernel to what the session may touch.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{Confined, Confinement, Surroundings};
use windlass_sandbox::{Network, Wanted};

use crate::args::SandboxArg;
use crate::refusal::Refusal;

/// The hidden subcommand through which a process restricts itself before it becomes a command.
pub(crate) const ENTRY: &str = "__sandbox";

/// If this process was started to become a command in the sandbox, it does, and this does not come
/// back unless that failed.
pub(crate) fn enter() -> Option<i32> {
    let mut arguments = std::env::args_os().skip(1);
    let is_meant = arguments.next().is_some_and(|word| word == ENTRY);
    is_meant.then(|| windlass_sandbox::enter(&arguments.collect::<Vec<OsString>>()))
}

/// Puts the session's commands into a sandbox, if that is wanted. Says what holds them.
pub(crate) fn confine(
    wish: SandboxArg,
    surroundings: &mut Surroundings,
) -> Result<Option<String>, Refusal> {
    if wish == SandboxArg::Off {
        return Ok(None);
    }
    let confinement = Confinement {
        roots: surroundings.directories(),
        home: std::env::home_dir(),
        hidden: Vec::new(),
        network: Network::Off,
        // A model that could leave it at will would be held by nothing.
        may_be_left: false,
    };
    let ourselves = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("windlass"));
    match Confined::probe(&Wanted::any(ourselves, [ENTRY]), confinement) {
        Ok(confined) => {
            let report = confined.report().to_owned();
            surroundings.launcher = Some(Arc::new(confined));
            Ok(Some(report))
        }
        Err(unavailable) if wish == SandboxArg::Required => Err(Refusal::failed(format!(
            "a sandbox is required and none can be had: {unavailable}; install bubblewrap, or leave \
             out --sandbox"
        ))),
        Err(unavailable) => Ok(Some(format!(
            "commands run without a sandbox, because none can be had: {unavailable}"
        ))),
    }
}
