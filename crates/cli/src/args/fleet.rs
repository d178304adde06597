//! The commands of a fleet. `windlass-fleet` runs them; their words are passed on as they are.

use std::ffi::OsString;

use clap::Subcommand;

/// Sessions on many hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetSubcommand {
    /// Serve the HTTP API of a fleet.
    Serve(FleetWords),
    /// Claim sessions of a fleet and run them on this host.
    Worker(FleetWords),
    /// Create, check and look after the store of a fleet.
    Store(FleetWords),
    /// Start a session in a fleet.
    Submit(FleetWords),
    /// Start one session in a fleet for each row of a file.
    Batch(FleetWords),
    /// List the sessions of a fleet.
    Ps(FleetWords),
    /// Follow a session of a fleet, and send it messages.
    Attach(FleetWords),
    /// Answer a question of a session of a fleet.
    Answer(FleetWords),
    /// Cancel a session of a fleet.
    Cancel(FleetWords),
    /// Print what a session of a fleet said.
    Logs(FleetWords),
    /// Print what a session of a fleet changed, as a patch.
    Patch(FleetWords),
}

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct FleetWords {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) words: Vec<OsString>,
}

impl FleetSubcommand {
    /// The name of the command and the words behind it.
    pub(crate) fn into_words(self) -> (&'static str, Vec<OsString>) {
        let (name, args) = match self {
            Self::Serve(args) => ("serve", args),
            Self::Worker(args) => ("worker", args),
            Self::Store(args) => ("store", args),
            Self::Submit(args) => ("submit", args),
            Self::Batch(args) => ("batch", args),
            Self::Ps(args) => ("ps", args),
            Self::Attach(args) => ("attach", args),
            Self::Answer(args) => ("answer", args),
            Self::Cancel(args) => ("cancel", args),
            Self::Logs(args) => ("logs", args),
            Self::Patch(args) => ("patch", args),
        };
        (name, args.words)
    }
}
