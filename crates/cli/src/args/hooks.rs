//! The command line about hooks: look at them, and try them on a sample.

use super::SettingsArgs;

/// `windlass hooks`.
#[derive(Debug, clap::Args)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    pub(crate) command: HooksCommand,
}

/// What to do with hooks.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum HooksCommand {
    /// List the hooks in force: when each runs, for what, and where it is written.
    List(HooksListArgs),
    /// Run the hooks of one event on a sample, and tell what each said and what it comes to.
    Test(HooksTestArgs),
}

/// `windlass hooks list`.
#[derive(Debug, clap::Args)]
pub(crate) struct HooksListArgs {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `windlass hooks test`.
#[derive(Debug, clap::Args)]
pub(crate) struct HooksTestArgs {
    /// The event: PreToolUse, UserPromptSubmit, Stop and so on.
    #[arg(value_name = "EVENT")]
    pub(crate) event: String,
    /// The tool, for events that are about one. [default: Bash]
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// What the sample says: the tool's input for events about a tool, fields of the event for
    /// others. A JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
