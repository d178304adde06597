//! The cell: confines commands that run without a question to what they were judged to do.
//!
//! Always on if the machine supports it, and no setting disables it: a command that needs more is
//! asked about. Without it, the policy is informed, and fewer commands run without a question.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::{CommandCellConfig, ToolCellLauncher, ToolSessionContext};
use windlass_host::environment::process_environment;
use windlass_host::user_directories;
use windlass_permission::{CellSupport, Policy, Rules};
use windlass_sandbox::{Cell, SYSTEM_SECRETS, SandboxProbeOptions, list_other_homes, secrets};

use crate::sandbox::{ENTRY_SUBCOMMAND, resolve_path};

/// Sets up the session's cell, and informs the policy whether there is one.
pub(crate) fn hold_unasked_commands(tool_context: &mut ToolSessionContext, policy: &mut Policy) {
    tool_context.hidden_paths.secrets = list_secrets(policy, &tool_context.files.cwd);
    if tool_context.processes.launcher.is_some() {
        // The session's sandbox holds them at least as strictly.
        policy.cell = CellSupport::Available;
        return;
    }
    let home = std::env::home_dir();
    let cwd = tool_context.files.cwd.clone();
    let hidden = list_denied_paths(&policy.rules, &cwd, home.as_deref())
        .into_iter()
        .chain(list_own_directories())
        .collect();
    let ourselves = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("windlass"));
    let config = CommandCellConfig {
        roots: tool_context.files.working_directories(),
        home,
        hidden,
        shown: Vec::new(),
        sandbox: SandboxProbeOptions::best_available(ourselves, [ENTRY_SUBCOMMAND]),
    };
    policy.cell = match ToolCellLauncher::probe(config) {
        Ok(launcher) => {
            tool_context.processes.cell = Some(Arc::new(launcher));
            CellSupport::Available
        }
        Err(_) => CellSupport::Missing,
    };
}

/// Can this machine confine commands that run without a question?
#[must_use]
pub fn find_support() -> CellSupport {
    Cell::probe().map_or(CellSupport::Missing, |_| CellSupport::Available)
}

/// Files that our tools must not read through another hard link, nor find by walking a directory.
fn list_secrets(policy: &Policy, cwd: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let mut secrets = list_denied_paths(&policy.rules, cwd, home.as_deref());
    let real_home = home.as_ref().and_then(|home| home.canonicalize().ok());
    let is_root = |other: &PathBuf| policy.directories.iter().any(|root| other.starts_with(root));
    // Other homes are outside, unless the session works above them.
    let others = list_other_homes(home.as_deref()).into_iter().filter(is_root);
    let homes = home.iter().chain(&real_home).cloned().chain(others);
    secrets.extend(homes.flat_map(|home| secrets::list_home_secrets(&home)));
    secrets.extend(SYSTEM_SECRETS.iter().map(PathBuf::from));
    let real: Vec<PathBuf> = secrets.iter().filter_map(|path| path.canonicalize().ok()).collect();
    secrets.extend(real);
    secrets.sort_unstable();
    secrets.dedup();
    secrets
}

/// Where our journals, settings and caches are: not for commands to read.
pub(crate) fn list_own_directories() -> Vec<PathBuf> {
    let lookup = process_environment;
    let own = [
        user_directories::config_directory(&lookup),
        user_directories::state_directory(&lookup),
        user_directories::cache_directory(&lookup),
    ];
    own.into_iter().flatten().collect()
}

/// The places that deny rules name outright. Patterns are looked up when a command starts, inside
/// the working directories.
fn list_denied_paths(rules: &Rules, cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let read = rules.deny.iter().filter(|rule| rule.tool == "Read");
    let named = read.filter_map(|rule| rule.content.as_deref());
    let literal = named.filter(|text| {
        let body = text.strip_suffix("/**").unwrap_or(text);
        body.contains('/') && !body.contains(['*', '?', '['])
    });
    literal.map(|text| resolve_path(text, cwd, home)).collect()
}
