//! `--sandbox`: shell commands held by the kernel to what the session may touch.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::{Confined, Confinement, Surroundings};
use windlass_sandbox::{Network, Wanted};

use crate::args::SandboxArg;
use crate::layers::SandboxWish;
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

/// A place as settings name it: from the root, from the home, or from where we are.
fn place(written: &str, cwd: &Path) -> PathBuf {
    let home = std::env::home_dir().unwrap_or_default();
    match (written.strip_prefix("~/"), written.strip_prefix("//")) {
        (Some(rest), _) => home.join(rest),
        (_, Some(rest)) => Path::new("/").join(rest),
        _ => cwd.join(written),
    }
}

/// Puts the session's commands into a sandbox, if that is wanted. Says what holds them.
pub(crate) fn confine(
    wish: &SandboxWish,
    surroundings: &mut Surroundings,
) -> Result<Option<String>, Refusal> {
    if wish.when == SandboxArg::Off {
        return Ok(None);
    }
    let files = wish.settings.filesystem.clone().unwrap_or_default();
    let places = |list: &Option<Vec<String>>| -> Vec<PathBuf> {
        let list = list.iter().flatten();
        list.map(|written| place(written, &surroundings.cwd)).collect()
    };
    let mut roots = surroundings.directories();
    roots.extend(places(&files.allow_write));
    let confinement = Confinement {
        roots,
        home: std::env::home_dir(),
        hidden: places(&files.deny_read),
        protected: places(&files.deny_write),
        network: Network::Off,
        // A model that could leave it at will would be held by nothing; where the user lets it ask,
        // whether it may is a matter of permission.
        may_be_left: wish.settings.allow_unsandboxed_commands == Some(true),
    };
    let ourselves = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("windlass"));
    match Confined::probe(&Wanted::any(ourselves, [ENTRY]), confinement) {
        Ok(confined) => {
            let report = confined.report().to_owned();
            surroundings.launcher = Some(Arc::new(confined));
            Ok(Some(report))
        }
        Err(unavailable) if wish.when == SandboxArg::Required => Err(Refusal::failed(format!(
            "a sandbox is required and none can be had: {unavailable}; install bubblewrap, or leave \
             out --sandbox and sandbox.failIfUnavailable"
        ))),
        Err(unavailable) => Ok(Some(format!(
            "commands run without a sandbox, because none can be had: {unavailable}"
        ))),
    }
}
