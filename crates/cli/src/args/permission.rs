//! The command line about what may be done.

use std::path::PathBuf;

use clap::ValueEnum;

/// What may be done.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Permission")]
pub(crate) struct PermissionArgs {
    /// What happens to a call that no rule of --allowedTools or --disallowedTools fits. [default:
    /// default]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission_mode: Option<PermissionModeArg>,
    /// Let every call run. Rules of --disallowedTools still hold.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) dangerously_skip_permissions: bool,
    /// The tools on offer: a list such as `Read,Bash`, `default` for all, or "" for none.
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    pub(crate) tools: Vec<String>,
    /// Calls that may run: `Edit`, `Bash(cargo test:*)`; commas, spaces or several flags.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) allowed_tools: Vec<String>,
    /// Calls that may never run. A tool's bare name hides the tool from the model.
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) disallowed_tools: Vec<String>,
    /// More directories to work in, beside the one we are in. What is below may be read, and edited
    /// where edits are allowed.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Hold shell commands by the kernel: they write where the session works, see no secrets of the
    /// home and reach no network. `auto` goes on without where none can be had; `required` does not.
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, default_missing_value = "auto", require_equals = true)]
    pub(crate) sandbox: Option<SandboxArg>,
    /// A host that commands in the sandbox may reach: `example.org`, `*.example.org`,
    /// `example.org:8443`.
    #[arg(long, value_name = "HOST", num_args = 1..)]
    pub(crate) sandbox_allow_domain: Vec<String>,
}

/// When shell commands are held by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    /// Never.
    Off,
    /// Where it can be had.
    Auto,
    /// Always; without it nothing runs.
    Required,
}

/// What happens when no rule speaks, as it is spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum PermissionModeArg {
    /// Reading in the working directories runs, the rest is denied.
    #[value(alias = "manual")]
    Default,
    /// Edits in the working directories run too.
    AcceptEdits,
    /// Nothing that changes anything runs.
    Plan,
    /// Only what a rule allows runs.
    DontAsk,
    /// Everything runs that no rule denies.
    BypassPermissions,
    /// Refused, in words.
    #[value(hide = true)]
    Auto,
}
