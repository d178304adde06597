//! The command line of `windlass auth`, which scripts and editors call to see whether there is a key.

use std::ffi::OsString;

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
        /// Additional settings that override the files: a JSON object, or a file containing one.
        #[arg(long, value_name = "JSON|PATH")]
        settings: Option<String>,
    },
    /// There is no login; says how a key is stored.
    Login,
    /// There is no login; says how a key is removed.
    Logout,
}

/// Adapters write `--settings JSON auth status`, with the flag before the command, as the reference
/// command line wants it.
pub(crate) fn move_settings_behind_auth(
    arguments: impl Iterator<Item = OsString>,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let is_at = |at: usize, word: &str| arguments.get(at).is_some_and(|found| found == word);
    if is_at(1, "--settings") && is_at(3, "auth") && is_at(4, "status") {
        let flag: Vec<OsString> = arguments.drain(1..3).collect();
        arguments.extend(flag);
    }
    arguments
}
