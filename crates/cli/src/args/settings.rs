//! The command line about settings files: which are read, what overrides them, and what to trust.

use std::path::PathBuf;

/// Which settings count.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingsArgs {
    /// Additional settings that override the files: a JSON object, or a file containing one.
    #[arg(long, value_name = "JSON|PATH")]
    pub(crate) settings: Option<String>,
    /// Settings that only the machine's managed ones override: a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) managed_settings: Option<String>,
    /// Settings files to read: a list of user, project, local; "" for none. [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) setting_sources: Option<String>,
    /// Look here for what the project brings along, instead of where we are: settings, instructions,
    /// commands, agents, skills.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) project_config_root: Option<PathBuf>,
    /// Trust the project for this run: its hooks, variables, servers and allow rules apply.
    /// `windlass trust` shows them, and remembers.
    #[arg(long)]
    pub(crate) trust_project: bool,
    /// Ignore all customisation, to find out whether it causes a problem. Deny and ask rules still
    /// apply.
    #[arg(long)]
    pub(crate) safe_mode: bool,
    /// Load no skills and no commands of the user's, the project's or plugins.
    #[arg(long)]
    pub(crate) disable_slash_commands: bool,
}

/// `windlass doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Skip the request to the model server.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `windlass trust`.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project. [default: the current one]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Only show what would be trusted.
    #[arg(long, conflicts_with_all = ["list", "forget"])]
    pub(crate) show: bool,
    /// List trusted projects.
    #[arg(long, conflicts_with_all = ["forget", "path"])]
    pub(crate) list: bool,
    /// Allow sending your key to this host, which the project's settings name.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["list", "forget", "show"])]
    pub(crate) endpoint: Option<String>,
    /// Stop trusting the project.
    #[arg(long)]
    pub(crate) forget: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass update`.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// This version instead of the newest; one that was installed before needs no network.
    pub(crate) version: Option<String>,
    /// Only say whether there is a newer version.
    #[arg(long)]
    pub(crate) check: bool,
}
