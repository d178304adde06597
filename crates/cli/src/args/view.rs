//! The command line of the viewer and of files to share.

use std::path::PathBuf;

use windlass_assembly::options::RunOptions;
use windlass_host::command_error::CommandError;
use windlass_web::{ExportFormat, ExportOptions, ViewOptions};

use super::{LimitArgs, McpConfigArgs, ModelArgs, PermissionArgs, SettingsArgs};

/// `windlass view`.
#[derive(Debug, clap::Args)]
pub(crate) struct ViewArgs {
    /// The session to show first, by id or name; otherwise the list.
    pub(crate) session: Option<String>,
    /// Do not start a browser; print the address only.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Listen on this port of 127.0.0.1; the system chooses one otherwise.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Take part: answer questions, send messages, interrupt and rewind from the page.
    #[arg(long)]
    pub(crate) act: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) limit: LimitArgs,
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    #[command(flatten)]
    pub(crate) mcp: McpConfigArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Read the page from this folder.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) assets: Option<PathBuf>,
}

/// `windlass export`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) target: ExportTargetArgs,
    /// Take out where files lie: the project and home directories.
    #[arg(long)]
    pub(crate) redact_paths: bool,
}

/// What to write. `-` is standard output.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ExportTargetArgs {
    /// One page that opens without a server and asks for nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// The conversation as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Everything the page shows, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// The timeline as Chrome trace events, for Perfetto.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl ExportArgs {
    /// `None` if no file was named, which clap refuses.
    pub(crate) fn to_options(&self) -> Option<ExportOptions> {
        let ExportTargetArgs { html, markdown, json, trace } = &self.target;
        let targets = [
            (html, ExportFormat::Html),
            (markdown, ExportFormat::Markdown),
            (json, ExportFormat::Json),
            (trace, ExportFormat::Trace),
        ];
        let (file, format) = targets
            .into_iter()
            .find_map(|(file, format)| file.as_ref().map(|file| (file.clone(), format)))?;
        let session = self.session.clone();
        let redacts_paths = self.redact_paths;
        Some(ExportOptions { session, format, file, redacts_paths })
    }
}

impl TryFrom<ViewArgs> for ViewOptions {
    type Error = CommandError;

    fn try_from(args: ViewArgs) -> Result<Self, CommandError> {
        let run = RunOptions {
            model: args.model.into(),
            limit: args.limit.into(),
            permission: args.permission.try_into()?,
            mcp: args.mcp.into(),
            settings: args.settings.into(),
            ..RunOptions::default()
        };
        Ok(Self {
            session: args.session,
            port: args.port,
            opens_browser: !args.no_open,
            acting: args.act.then_some(run),
            assets: args.assets,
        })
    }
}
