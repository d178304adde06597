//! The command line about settings files: which are read, what stands over them, and whom to trust.

use std::path::PathBuf;

/// Which settings count.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingsArgs {
    /// More settings, over those of files: a JSON object, or a file with one.
    #[arg(long, value_name = "JSON|PATH")]
    pub(crate) settings: Option<String>,
    /// Settings that nothing overrides but the machine's own managed ones: a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) managed_settings: Option<String>,
    /// The files to read: a list of user, project, local; "" for none. [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) setting_sources: Option<String>,
    /// Look here for what the project brings along, instead of where we are: settings, instructions,
    /// commands, agents, skills.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) project_config_root: Option<PathBuf>,
    /// Let what the project brings along take effect in this run: its hooks, variables, servers and
    /// allow rules. `windlass trust` shows them, and remembers.
    #[arg(long)]
    pub(crate) trust_project: bool,
    /// Leave out everything that was customised, to see whether it is to blame. Rules that deny or
    /// ask still hold.
    #[arg(long)]
    pub(crate) safe_mode: bool,
    /// Load no skills and no commands of the user's, the project's or plugins.
    #[arg(long)]
    pub(crate) disable_slash_commands: bool,
}

/// `windlass doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `windlass trust`.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project. [default: the one we are in]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Only show what would be trusted.
    #[arg(long, conflicts_with_all = ["list", "forget"])]
    pub(crate) show: bool,
    /// List the projects that are trusted.
    #[arg(long, conflicts_with_all = ["forget", "path"])]
    pub(crate) list: bool,
    /// Let your key be sent to this host, which the project's settings name.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["list", "forget", "show"])]
    pub(crate) endpoint: Option<String>,
    /// Trust the project no longer.
    #[arg(long)]
    pub(crate) forget: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
