//! The command line about keys.

use std::ffi::OsString;

use clap::Subcommand;

/// `windlass key`.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Store a provider's key in the key ring. Prompts for it, or reads it from standard input.
    Set(KeySetArgs),
    /// Show which providers have a key and where it comes from, never the key itself.
    List(KeyListArgs),
    /// Remove a provider's key from the key ring.
    #[command(alias = "rm")]
    Remove(KeyRemoveArgs),
}

/// `windlass key set`.
#[derive(Debug, clap::Args)]
pub(crate) struct KeySetArgs {
    /// The provider: anthropic, openai, gemini, openrouter, or one of your config.toml.
    pub(crate) provider: String,
    /// Taken only to say that a key does not belong here.
    #[arg(hide = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}

/// `windlass key list`.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyListArgs {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass key remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyRemoveArgs {
    /// The provider.
    pub(crate) provider: String,
}
