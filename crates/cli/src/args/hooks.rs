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
    /// List active hooks: when each runs, for what, and where it is defined.
    List(HooksListArgs),
    /// Run the hooks of one event on a sample; show what each says and the outcome.
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
    /// The tool, for tool events. [default: Bash]
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The sample, as a JSON object: the tool's input for tool events, event fields for the others.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
