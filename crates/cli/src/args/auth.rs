//! The command line of `windlass auth`, which scripts and editors call to see whether there is a key.

use clap::Subcommand;

/// `windlass auth`.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

/// What about keys.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Say whether there is a key for the default model. Exit code 0 is yes, 1 is no.
    Status {
        /// Print one JSON object, as is the default.
        #[arg(long, conflicts_with = "text")]
        json: bool,
        /// Print a line for people.
        #[arg(long)]
        text: bool,
    },
    /// There is no login; says how a key is stored.
    Login,
    /// There is no login; says how a key is removed.
    Logout,
}
