//! `windlass permission`: policies tested and explained.

use clap::Subcommand;

use super::{PermissionArgs, SettingsArgs};

/// Testing and explaining policies.
#[derive(Debug, clap::Args)]
pub(crate) struct PermissionCommandArgs {
    #[command(subcommand)]
    pub(crate) command: PermissionCommand,
}

/// What to do with a policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    /// Judge cases: JSON lines on standard input, one JSON line each on standard output.
    Check,
    /// Explain what would happen to a command under the current settings, part by part.
    Explain(Box<PermissionExplainArgs>),
    /// Always allow something in this project: adds rules to .claude/settings.local.json.
    Remember(PermissionRememberArgs),
}

/// Remembers what is allowed.
#[derive(Debug, clap::Args)]
pub(crate) struct PermissionRememberArgs {
    /// Rules such as `Bash(npm test:*)`.
    #[arg(value_name = "RULE", required = true)]
    pub(crate) rules: Vec<String>,
}

/// Explaining what would come of a call.
#[derive(Debug, clap::Args)]
pub(crate) struct PermissionExplainArgs {
    /// The shell command; with --tool, that tool's input as JSON.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: String,
    /// A tool other than Bash.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
