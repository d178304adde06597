//! The command line of commands that rehearse, record, and look things up.

use std::ffi::OsString;
use std::path::PathBuf;

use windlass_demo::DemoOptions;

use super::{LimitArgs, ModelArgs};

/// `windlass demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Run at full speed.
    #[arg(long)]
    pub(crate) fast: bool,
    /// Keep the project's folder.
    #[arg(long)]
    pub(crate) keep: bool,
}

impl DemoArgs {
    pub(crate) fn to_options(&self) -> DemoOptions {
        DemoOptions { is_fast: self.fast, should_keep: self.keep }
    }
}

/// `windlass rehearse`.
#[derive(Debug, clap::Args)]
pub(crate) struct RehearseArgs {
    /// The script, in TOML; --example prints one.
    #[arg(required_unless_present_any = ["example", "cassette"])]
    pub(crate) script: Option<PathBuf>,
    /// Answer from a recording instead: a folder made by `windlass record`. Exits with 1 if the requests
    /// differ from the recorded ones.
    #[arg(long, value_name = "DIR", conflicts_with = "script")]
    pub(crate) cassette: Option<PathBuf>,
    /// Port on 127.0.0.1; 0 for any free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Print a commented script to start from.
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
    /// Folder for the recording; must not hold one yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Whose traffic to record. [default: the default model's provider]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The real server. [default: the provider's address]
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Port on 127.0.0.1; 0 for any free one.
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
    /// Only models whose name contains this.
    pub(crate) part: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
