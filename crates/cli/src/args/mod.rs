//! The command line as it was typed: plain values, checked only for their form.
//!
//! `options.rs` converts them for `windlass_assembly`, which decides what they mean together. Doc
//! comments here are the help text.

mod acp;
mod auth;
mod fleet;
pub(crate) mod foreign_flags;
mod headless;
mod hooks;
mod key;
mod mcp;
mod model;
mod options;
mod permission;
mod permission_command;
mod rehearsal;
mod session;
mod settings;
mod trial;
mod view;

use std::ffi::OsString;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

pub(crate) use acp::{AcpArgs, AcpCommand, AcpSetupArgs, EditorArg};
pub(crate) use auth::{AuthArgs, AuthCommand, move_settings_behind_auth};
pub(crate) use fleet::FleetSubcommand;
pub(crate) use headless::{
    HeadlessArgs, InputFormatArg, PermissionPromptsArg, StreamArgs, ThinkingDisplayArg,
};
pub(crate) use hooks::{HooksArgs, HooksCommand, HooksListArgs, HooksTestArgs};
pub(crate) use key::{KeyArgs, KeyCommand, KeyListArgs};
pub(crate) use mcp::{
    McpAddArgs, McpAddJsonArgs, McpArgs, McpCommand, McpConfigArgs, McpScopeArg, McpServeArgs,
    McpTransportArg, split_variables,
};
pub(crate) use model::{EffortArg, LimitArgs, ModelArgs, ThinkingArg};
pub(crate) use permission::{PermissionArgs, PermissionModeArg, SandboxArg};
pub(crate) use permission_command::{
    PermissionCommand, PermissionCommandArgs, PermissionExplainArgs, PermissionRememberArgs,
};
pub(crate) use rehearsal::{BoundArgs, DemoArgs, ModelsArgs, RecordArgs, RehearseArgs};
pub(crate) use session::{
    BugreportArgs, CostArgs, CostGroupingArg, DiffArgs, ForkArgs, PackArgs, ReplayArgs, ResumeArgs,
    RewindArgs, SessionArgs, SessionExportFormat, SessionsArgs, SessionsCommand, SessionsListArgs,
    SessionsRestoreArgs, SessionsSearchArgs, SingleSessionArgs, UnpackArgs, WhyArgs,
};
pub(crate) use settings::{DoctorArgs, SettingsArgs, TrustArgs, UpdateArgs};
pub(crate) use trial::{ApplyArgs, RaceArgs};
pub(crate) use view::{ExportArgs, ViewArgs};

/// An agent you can leave alone: it asks a model, runs the tools the model wants, and stops for a
/// reason it can name.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    override_usage = "windlass [PROMPT] [OPTIONS]\n       windlass -p [PROMPT] [OPTIONS]\n       windlass <COMMAND>",
    after_help = include_str!("../text/help/windlass.txt"),
)]
pub(crate) struct CliArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print the version.
    #[arg(short = 'v', long, action = ArgAction::Version, help_heading = None)]
    version: Option<bool>,
}

/// The commands besides running a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Watch a scripted session fix a small project; needs no key.
    #[command(after_help = include_str!("../text/help/demo.txt"))]
    Demo(DemoArgs),
    /// Serve a scripted model on this machine, to try rules, limits and faults for free.
    #[command(after_help = include_str!("../text/help/rehearse.txt"))]
    Rehearse(RehearseArgs),
    /// Record the traffic between a command and a real model server, without secrets.
    #[command(after_help = include_str!("../text/help/record.txt"))]
    Record(RecordArgs),
    /// Print the worst case for these settings and what a typical task costs.
    #[command(after_help = include_str!("../text/help/bound.txt"))]
    Bound(BoundArgs),
    /// List known models: window, output, prices, and whether there is a key.
    #[command(after_help = include_str!("../text/help/models.txt"))]
    Models(ModelsArgs),
    /// List, show, search, export, rename, delete and restore saved sessions.
    #[command(after_help = include_str!("../text/help/sessions.txt"))]
    Sessions(SessionsArgs),
    /// Look at sessions in the browser: what happened, why, and what it cost.
    #[command(after_help = include_str!("../text/help/view.txt"))]
    View(Box<ViewArgs>),
    /// Write a session to a file to share, without secrets: a page, Markdown, JSON or a trace.
    #[command(after_help = include_str!("../text/help/export.txt"))]
    Export(ExportArgs),
    /// Resume a session, even in the middle of an interrupted run.
    #[command(after_help = include_str!("../text/help/resume.txt"))]
    Resume(ResumeArgs),
    /// Show what a session did to files, commands included.
    #[command(after_help = include_str!("../text/help/diff.txt"))]
    Diff(DiffArgs),
    /// Continue from any point of a session beside the original, with files of its own.
    #[command(after_help = include_str!("../text/help/fork.txt"))]
    Fork(ForkArgs),
    /// Apply, show or drop what a dry run changed.
    #[command(after_help = include_str!("../text/help/apply.txt"))]
    Apply(ApplyArgs),
    /// Run several continuations of a session side by side, and apply the best.
    #[command(after_help = include_str!("../text/help/race.txt"))]
    Race(RaceArgs),
    /// Pack a session with its files into one file, to go on with it on another machine.
    #[command(after_help = include_str!("../text/help/pack.txt"))]
    Pack(PackArgs),
    /// Unpack a session of `windlass pack` and its files.
    #[command(after_help = include_str!("../text/help/unpack.txt"))]
    Unpack(UnpackArgs),
    /// Rewind to an earlier prompt: the conversation, the files, or both.
    #[command(after_help = include_str!("../text/help/rewind.txt"))]
    Rewind(RewindArgs),
    /// Replay a session and check that every decision is identical.
    #[command(after_help = include_str!("../text/help/replay.txt"))]
    Replay(ReplayArgs),
    /// Explain why a session continued, recovered, shrank, switched models or stopped.
    #[command(after_help = include_str!("../text/help/why.txt"))]
    Why(WhyArgs),
    /// Pack a session for a bug report, without anything that was said in it.
    #[command(after_help = include_str!("../text/help/bugreport.txt"))]
    Bugreport(BugreportArgs),
    /// Show what fills the context window of a session, and what was dropped to make room.
    #[command(after_help = include_str!("../text/help/context.txt"))]
    Context(SingleSessionArgs),
    /// Show how well tokens and cache were predicted, request by request.
    #[command(after_help = include_str!("../text/help/stats.txt"))]
    Stats(SingleSessionArgs),
    /// Show what sessions cost: one of them, or all by day, model and project.
    #[command(after_help = include_str!("../text/help/cost.txt"))]
    Cost(CostArgs),
    /// Test permission rules like code, and see why a command would run, ask or be denied.
    #[command(after_help = include_str!("../text/help/permission.txt"))]
    Permission(PermissionCommandArgs),
    /// Review and trust what a project brings along: hooks, variables, servers, allow rules.
    #[command(after_help = include_str!("../text/help/trust.txt"))]
    Trust(TrustArgs),
    /// List hooks, and try them on a sample.
    #[command(after_help = include_str!("../text/help/hooks.txt"))]
    Hooks(HooksArgs),
    /// Check settings, sandbox, key and model server.
    #[command(after_help = include_str!("../text/help/doctor.txt"))]
    Doctor(DoctorArgs),
    /// Add, list, test and remove MCP servers; serve our own tools.
    #[command(after_help = include_str!("../text/help/mcp.txt"))]
    Mcp(McpArgs),
    /// Serve an editor over the Agent Client Protocol; `acp setup` writes the editor's entry.
    #[command(after_help = include_str!("../text/help/acp.txt"))]
    Acp(Box<AcpArgs>),
    /// Update this copy, or say which program does.
    #[command(after_help = include_str!("../text/help/update.txt"))]
    Update(UpdateArgs),
    /// Print completions for a shell: flags, commands, sessions, models, agents.
    #[command(after_help = include_str!("../text/help/completions.txt"))]
    Completions {
        /// Whose syntax to use.
        #[arg(value_enum)]
        shell: ShellArg,
    },
    /// Answer the scripts of `completions`.
    #[command(name = "__complete", hide = true)]
    Complete {
        #[arg(last = true)]
        words: Vec<String>,
    },
    /// Run sessions on many hosts: serve, worker, store, submit, batch, ps, attach, answer, cancel, logs.
    #[command(flatten)]
    Fleet(FleetSubcommand),
    /// The client of the official conformance runner.
    #[command(name = "__mcp-conformance", hide = true)]
    McpConformance {
        /// Where the runner's server is.
        url: String,
    },
    /// Store API keys in the system's key ring, and show where each one comes from.
    #[command(after_help = include_str!("../text/help/key.txt"))]
    Key(KeyArgs),
    /// Say whether there is a key: `auth status`, as scripts and editors ask for it.
    #[command(after_help = include_str!("../text/help/auth.txt"))]
    Auth(AuthArgs),
}

impl CliCommand {
    /// Their names, to find what a mistyped one was meant to be.
    pub(crate) const SUBCOMMAND_NAMES: &[&str] = &[
        "demo",
        "rehearse",
        "record",
        "bound",
        "models",
        "sessions",
        "view",
        "export",
        "resume",
        "diff",
        "fork",
        "apply",
        "race",
        "pack",
        "unpack",
        "rewind",
        "replay",
        "why",
        "bugreport",
        "context",
        "stats",
        "cost",
        "permission",
        "trust",
        "hooks",
        "doctor",
        "mcp",
        "acp",
        "key",
        "auth",
        "update",
        "completions",
        "serve",
        "worker",
        "store",
        "submit",
        "batch",
        "ps",
        "attach",
        "answer",
        "cancel",
        "logs",
        "patch",
        "help",
    ];
}

/// A shell that can be completed in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

/// Asking a model.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Ask, print the final answer, exit. Without PROMPT, standard input is the prompt.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub(crate) print: Option<Option<OsString>>,
    /// The prompt, if it does not directly follow -p.
    #[arg(hide = true)]
    pub(crate) prompt: Option<OsString>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) limit: LimitArgs,
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    /// Replace the system prompt.
    #[arg(long, value_name = "TEXT", help_heading = PROMPT_AND_OUTPUT_HEADING)]
    pub(crate) system_prompt: Option<String>,
    /// Add this to the system prompt.
    #[arg(long, value_name = "TEXT", help_heading = PROMPT_AND_OUTPUT_HEADING)]
    pub(crate) append_system_prompt: Option<String>,
    /// What to print: the answer, one JSON object about the whole run, or one JSON object per line as it
    /// happens.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, help_heading = PROMPT_AND_OUTPUT_HEADING)]
    pub(crate) output_format: OutputFormatArg,
    /// Log progress on standard error.
    #[arg(long, help_heading = PROMPT_AND_OUTPUT_HEADING)]
    pub(crate) verbose: bool,
    /// Ignore instructions, skills, notes and agents of user and project, and all their settings except
    /// deny and ask rules.
    #[arg(long, help_heading = PROMPT_AND_OUTPUT_HEADING)]
    pub(crate) bare: bool,
    /// Write line by line and never redraw, for screen readers.
    #[arg(long, alias = "ax-screen-reader", help_heading = PROMPT_AND_OUTPUT_HEADING)]
    pub(crate) screen_reader: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) mcp: McpConfigArgs,
    #[command(flatten)]
    pub(crate) headless: HeadlessArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

impl RunArgs {
    pub(crate) fn is_headless(&self) -> bool {
        self.print.is_some() || self.output_format == OutputFormatArg::StreamJson
    }

    pub(crate) fn reads_stream_json(&self) -> bool {
        self.headless.stream.input_format == InputFormatArg::StreamJson
    }
}

/// What to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormatArg {
    /// The final answer.
    #[default]
    Text,
    /// One object.
    Json,
    /// One object per line, as it happens.
    StreamJson,
}

/// The help section of flags that are neither about the model nor about limits.
const PROMPT_AND_OUTPUT_HEADING: &str = "Prompt and output";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        CliArgs::command().debug_assert();
        for name in CliCommand::SUBCOMMAND_NAMES.iter().filter(|name| **name != "help") {
            assert!(CliArgs::command().find_subcommand(name).is_some(), "{name}");
        }
        for command in CliArgs::command().get_subcommands().filter(|one| !one.is_hide_set()) {
            assert!(CliCommand::SUBCOMMAND_NAMES.contains(&command.get_name()), "{command}");
        }
    }

    #[test]
    fn every_example_of_the_help_is_understood() {
        use clap::CommandFactory;
        let command = CliArgs::command();
        let pages = std::iter::once(&command).chain(command.get_subcommands());
        let mut examples = 0;
        // Commands of a fleet are passed on; their help is that of `windlass-fleet`.
        let own = |page: &&clap::Command| {
            page.get_name() != "help" && !page.is_hide_set() && !page.is_disable_help_flag_set()
        };
        for page in pages.filter(own) {
            let text = page.get_after_help().unwrap_or_else(|| panic!("{}", page.get_name()));
            for line in text.to_string().lines().filter(|line| line.starts_with("  windlass ")) {
                assert!(line.chars().count() <= 100, "{line}");
                let typed = line.trim().split("   ").next().unwrap();
                let typed = typed.split(['|', '<', '>']).next().unwrap().trim();
                CliArgs::try_parse_from(windlass_project::argument_substitution::split_arguments(
                    typed,
                ))
                .unwrap_or_else(|error| panic!("{typed}: {error}"));
                examples += 1;
            }
        }
        assert!(examples > 20, "{examples}");
    }

    #[test]
    fn a_prompt_after_p_may_be_called_like_a_command() {
        let args = CliArgs::try_parse_from(["windlass", "-p", "demo", "--verbose"]).unwrap();
        assert!(args.command.is_none());
        assert_eq!(args.run.print, Some(Some("demo".into())));
        let args = CliArgs::try_parse_from(["windlass", "-p", "--verbose", "fix it"]).unwrap();
        assert_eq!(args.run.print, Some(None));
        assert_eq!(args.run.prompt, Some("fix it".into()));
    }
}
