//! The command line of the front end for editors.

use clap::{Subcommand, ValueEnum};

use super::{LimitArgs, McpConfigArgs, ModelArgs, PermissionArgs, SettingsArgs};

/// `windlass acp`.
#[derive(Debug, clap::Args)]
pub(crate) struct AcpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AcpCommand>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) limit: LimitArgs,
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    #[command(flatten)]
    pub(crate) mcp: McpConfigArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Log more.
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// What to do besides serving.
#[derive(Debug, Subcommand)]
pub(crate) enum AcpCommand {
    /// Show the entry for an editor's settings; --yes writes it.
    Setup(AcpSetupArgs),
}

/// `windlass acp setup`.
#[derive(Debug, clap::Args)]
pub(crate) struct AcpSetupArgs {
    /// The editor.
    #[arg(long, value_name = "EDITOR", value_enum)]
    pub(crate) editor: EditorArg,
    /// Write the entry, after showing it.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// An editor that can start us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditorArg {
    Zed,
    Jetbrains,
    #[value(alias = "neovim")]
    Nvim,
}
