//! The command line about what may be done.

use std::path::PathBuf;

use clap::ValueEnum;

/// What may be done.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Permission")]
pub(crate) struct PermissionArgs {
    /// What to do with calls that no rule covers. [default: default]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission_mode: Option<PermissionModeArg>,
    /// Allow every call; --disallowedTools still applies.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) dangerously_skip_permissions: bool,
    /// Tools to offer: a list such as `Read,Bash`, `default` for all, or "" for none.
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    pub(crate) tools: Vec<String>,
    /// Allow these calls: `Edit`, `Bash(cargo test:*)`; separate with commas, spaces or flags.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) allowed_tools: Vec<String>,
    /// Deny these calls. A bare tool name hides the tool from the model.
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) disallowed_tools: Vec<String>,
    /// Additional working directories: readable, and editable where edits are allowed.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Run shell commands in a kernel sandbox: they write only where the session works, see no secrets
    /// in the home directory and reach no network. `auto` continues without a sandbox if there is none.
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, default_missing_value = "auto", require_equals = true)]
    pub(crate) sandbox: Option<SandboxArg>,
    /// Let sandboxed commands reach this host: `example.org`, `*.example.org`, `example.org:8443`.
    #[arg(long, value_name = "HOST", num_args = 1..)]
    pub(crate) sandbox_allow_domain: Vec<String>,
}

/// When shell commands are held by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    /// Never.
    Off,
    /// If available.
    Auto,
    /// Always; no command runs without it.
    Required,
}

/// The decision when no rule applies, as spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum PermissionModeArg {
    /// Allow reading in the working directories, ask about the rest; with -p, deny it.
    #[value(alias = "manual")]
    Default,
    /// Also allow edits in the working directories.
    AcceptEdits,
    /// Allow nothing that changes anything.
    Plan,
    /// Allow only what a rule allows.
    DontAsk,
    /// Allow everything that no rule denies.
    BypassPermissions,
    /// Refused, in words.
    #[value(hide = true)]
    Auto,
}
