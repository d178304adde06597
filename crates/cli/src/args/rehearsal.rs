//! The command line of commands that rehearse, record, and look things up.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{LimitArgs, ModelArgs};

/// `windlass demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Do not slow it down for watching.
    #[arg(long)]
    pub(crate) fast: bool,
    /// Keep the folder of the project.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// `windlass rehearse`.
#[derive(Debug, clap::Args)]
pub(crate) struct RehearseArgs {
    /// The script, in TOML; --example prints one.
    #[arg(required_unless_present_any = ["example", "cassette"])]
    pub(crate) script: Option<PathBuf>,
    /// Answer from a recording instead: a folder that `windlass record` made. Exits with 1 if what
    /// is asked differs from what was recorded.
    #[arg(long, value_name = "DIR", conflicts_with = "script")]
    pub(crate) cassette: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 takes any free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Print a script to begin with, with comments.
    #[arg(long, conflicts_with_all = ["script", "cassette", "command"])]
    pub(crate) example: bool,
    /// With a command: log its requests on standard error.
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Run this against the server, and exit with its code.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `windlass record`.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs {
    /// The folder for the recording; it must hold none yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Whose traffic to record. [default: the default model's provider]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The real server. [default: the provider's address]
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// The port on 127.0.0.1; 0 takes any free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Run this through the recorder, and exit with its code.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `windlass bound`.
#[derive(Debug, clap::Args)]
pub(crate) struct BoundArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) limit: LimitArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `windlass models`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelsArgs {
    /// Only those whose name contains this.
    pub(crate) part: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
