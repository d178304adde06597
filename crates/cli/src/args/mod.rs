//! The command line as it was typed: dumb values, checked only for their form.
//!
//! What they mean together is decided in `compose.rs`. Doc comments here are the help text.

mod headless;
mod hooks;
mod policy;
mod remote;
mod session;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use windlass_vocabulary::{MicroUsd, Prices};

use crate::config::amount::micro_dollars;
use crate::config::model;

pub(crate) use headless::{HeadlessArgs, InputFormat};
pub(crate) use hooks::{HooksArgs, HooksCommand, HooksListArgs, HooksTestArgs};
pub(crate) use policy::{ExplainArgs, PolicyArgs, PolicyCommand, RememberArgs};
pub(crate) use remote::{
    AddArgs, AddJsonArgs, McpArgs, McpCommand, RemoteArgs, Scope, TransportArg,
};
pub(crate) use session::{
    BugreportArgs, CostArgs, Division, ExportFormat, ListArgs, OneArgs, ReplayArgs, ResumeArgs,
    RewindArgs, SearchArgs, SessionArgs, SessionsArgs, SessionsCommand, WhyArgs,
};
pub(crate) use settings::{DoctorArgs, SettingsArgs, TrustArgs};

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
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print the version.
    #[arg(short = 'v', long, action = ArgAction::Version, help_heading = None)]
    version: Option<bool>,
}

/// The commands beside asking.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch the real engine mend a small project, with a rehearsed model; needs no key.
    #[command(after_help = include_str!("../text/help/demo.txt"))]
    Demo(DemoArgs),
    /// Serve a scripted model on this machine, for trying rules, limits and faults for nothing.
    #[command(after_help = include_str!("../text/help/rehearse.txt"))]
    Rehearse(RehearseArgs),
    /// Write down what a command and a real model server say to each other, without secrets.
    #[command(after_help = include_str!("../text/help/record.txt"))]
    Record(RecordArgs),
    /// Print the worst case for the settings given: model calls, turns, money.
    #[command(after_help = include_str!("../text/help/bound.txt"))]
    Bound(BoundArgs),
    /// List the models that are known: window, output, prices, and whether there is a key.
    #[command(after_help = include_str!("../text/help/models.txt"))]
    Models(ModelsArgs),
    /// List, show, search, export, rename and delete sessions that were kept.
    #[command(after_help = include_str!("../text/help/sessions.txt"))]
    Sessions(SessionsArgs),
    /// Go on with a session, also in the middle of a run that was cut off.
    #[command(after_help = include_str!("../text/help/resume.txt"))]
    Resume(ResumeArgs),
    /// Go back to an earlier prompt: the conversation, the files our tools changed, or both.
    #[command(after_help = include_str!("../text/help/rewind.txt"))]
    Rewind(RewindArgs),
    /// Play a session again and check that every decision comes out the same.
    #[command(after_help = include_str!("../text/help/replay.txt"))]
    Replay(ReplayArgs),
    /// Say in plain words why a session went on, recovered, shrank, changed its model or stopped.
    #[command(after_help = include_str!("../text/help/why.txt"))]
    Why(WhyArgs),
    /// Pack a session for a bug report, without anything that was said in it.
    #[command(after_help = include_str!("../text/help/bugreport.txt"))]
    Bugreport(BugreportArgs),
    /// Draw what fills the window of a session, and what was left out to make room.
    #[command(after_help = include_str!("../text/help/context.txt"))]
    Context(OneArgs),
    /// Tell how well tokens and cache were foreseen, request by request.
    #[command(after_help = include_str!("../text/help/stats.txt"))]
    Stats(OneArgs),
    /// Tell what sessions cost: one of them, or all by day, model and project.
    #[command(after_help = include_str!("../text/help/cost.txt"))]
    Cost(CostArgs),
    /// Test policies like code, and see why a command would run, ask or be denied.
    #[command(after_help = include_str!("../text/help/permission.txt"))]
    Permission(PolicyArgs),
    /// Show and trust what the project brings along: hooks, variables, servers, allow rules.
    #[command(after_help = include_str!("../text/help/trust.txt"))]
    Trust(TrustArgs),
    /// List hooks, and try them on a sample.
    #[command(after_help = include_str!("../text/help/hooks.txt"))]
    Hooks(HooksArgs),
    /// Tell what was read from where, and what is wrong.
    #[command(after_help = include_str!("../text/help/doctor.txt"))]
    Doctor(DoctorArgs),
    /// Add, list and remove MCP servers, whose tools a session can use.
    #[command(after_help = include_str!("../text/help/mcp.txt"))]
    Mcp(McpArgs),
    /// The client of the official conformance runner.
    #[command(name = "__mcp-conformance", hide = true)]
    McpConformance {
        /// Where the runner's server is.
        url: String,
    },
    /// Keep API keys in the system's key ring, and see where each one comes from.
    #[command(after_help = include_str!("../text/help/key.txt"))]
    Key(KeyArgs),
}

impl Command {
    /// Their names, to find what a mistyped one was meant to be.
    pub(crate) const NAMES: &[&str] = &[
        "demo",
        "rehearse",
        "record",
        "bound",
        "models",
        "sessions",
        "resume",
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
        "key",
        "help",
    ];
}

/// Asking a model.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Ask, print the final answer, exit. Without PROMPT, standard input is the prompt.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub(crate) print: Option<Option<OsString>>,
    /// The prompt, if it does not stand right after -p.
    #[arg(hide = true)]
    pub(crate) prompt: Option<OsString>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) limit: LimitArgs,
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    /// Say this to the model instead of our own system prompt.
    #[arg(long, value_name = "TEXT", help_heading = SAID)]
    pub(crate) system_prompt: Option<String>,
    /// Add this to the system prompt.
    #[arg(long, value_name = "TEXT", help_heading = SAID)]
    pub(crate) append_system_prompt: Option<String>,
    /// What to print: the answer, one JSON object with everything about the run, or one object a line
    /// while it happens.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, help_heading = SAID)]
    pub(crate) output_format: OutputFormat,
    /// Tell on standard error what happens on the way.
    #[arg(long, help_heading = SAID)]
    pub(crate) verbose: bool,
    /// Read no instructions, skills, notes or agents of the user's or the project's, and of their
    /// settings only the rules that deny or ask.
    #[arg(long, help_heading = SAID)]
    pub(crate) bare: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    #[command(flatten)]
    pub(crate) headless: HeadlessArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

impl RunArgs {
    /// Do prompts come line by line?
    pub(crate) fn is_stream_in(&self) -> bool {
        self.headless.input_format == InputFormat::StreamJson
    }
}

/// Which model.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The model to ask: provider/name, a name `windlass models` lists, or fable, opus, sonnet,
    /// haiku. [default: sonnet, or default_model of config.toml] [env: WINDLASS_MODEL,
    /// ANTHROPIC_MODEL]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Whom to ask when that one is overloaded or gone, in order; other providers too.
    #[arg(long, value_name = "MODEL,MODEL", value_delimiter = ',')]
    pub(crate) fallback_model: Vec<String>,
    /// Who writes summaries. [default: the model]
    #[arg(long, value_name = "MODEL")]
    pub(crate) small_model: Option<String>,
    /// How hard the model should work, where it can be told. Without it, the provider decides.
    #[arg(long, value_name = "EFFORT", value_enum)]
    pub(crate) effort: Option<EffortArg>,
    /// Whether the model thinks before it speaks, where it can be told.
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) thinking: Option<ThinkingArg>,
    /// Dollars per million tokens, for a model whose price is not known here.
    #[arg(long, value_name = "IN,OUT[,CACHE_WRITE,CACHE_READ]", value_parser = price)]
    pub(crate) price: Option<Prices>,
}

/// Where it ends.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Stop after this many rounds of tool calls. [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Never spend more than this many dollars. Checked before each request, not after.
    #[arg(long, value_name = "USD", value_parser = limit_usd)]
    pub(crate) max_budget_usd: Option<MicroUsd>,
    /// Try a failed request again at most so often; 0 is never. [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) max_retries: Option<u8>,
}

/// What may be done.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Permission")]
pub(crate) struct PermissionArgs {
    /// What happens to a call that no rule of --allowedTools or --disallowedTools fits. [default:
    /// default]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// Let every call run. Rules of --disallowedTools still hold.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) dangerously_skip_permissions: bool,
    /// The tools on offer: a list such as `Read,Bash`, `default` for all, or "" for none.
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    pub(crate) tools: Vec<String>,
    /// Calls that may run: `Edit`, `Bash(cargo test:*)`; commas, spaces or several flags.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) allowed_tools: Vec<String>,
    /// Calls that may never run. A tool's bare name hides the tool from the model.
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) disallowed_tools: Vec<String>,
    /// More directories to work in, beside the one we are in. What is below may be read, and edited
    /// where edits are allowed.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Hold shell commands by the kernel: they write where the session works, see no secrets of the
    /// home and reach no network. `auto` goes on without where none can be had; `required` does not.
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, default_missing_value = "auto", require_equals = true)]
    pub(crate) sandbox: Option<SandboxArg>,
    /// A host that commands in the sandbox may reach: `example.org`, `*.example.org`,
    /// `example.org:8443`.
    #[arg(long, value_name = "HOST", num_args = 1..)]
    pub(crate) sandbox_allow_domain: Vec<String>,
}

/// When shell commands are held by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    /// Never.
    Off,
    /// Where it can be had.
    Auto,
    /// Always; without it nothing runs.
    Required,
}

/// How hard the model should work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    /// Quick and cheap.
    Low,
    /// In between.
    Medium,
    /// Thorough.
    High,
    /// More than that.
    Xhigh,
    /// All it can.
    Max,
}

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingArg {
    /// As much as it finds right.
    Adaptive,
    /// Not at all.
    Disabled,
}

/// What to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The final answer.
    #[default]
    Text,
    /// One object.
    Json,
    /// One object a line, while it happens.
    StreamJson,
}

/// What happens when no rule speaks, as it is spelled on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum PermissionMode {
    /// Reading in the working directories runs, the rest is denied.
    #[value(alias = "manual")]
    Default,
    /// Edits in the working directories run too.
    AcceptEdits,
    /// Nothing that changes anything runs.
    Plan,
    /// Only what a rule allows runs.
    DontAsk,
    /// Everything runs that no rule denies.
    BypassPermissions,
    /// Refused, in words.
    #[value(hide = true)]
    Auto,
}

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

/// `windlass key`.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Put a provider's key into the key ring. It is asked for, or read from standard input.
    Set(KeySetArgs),
    /// Tell which providers have a key and where it comes from; never the key.
    List(KeyListArgs),
    /// Take a provider's key out of the key ring.
    #[command(alias = "rm")]
    Remove(KeyRemoveArgs),
}

/// `windlass key set`.
#[derive(Debug, clap::Args)]
pub(crate) struct KeySetArgs {
    /// Whose key: anthropic, openai, gemini, openrouter, or a provider of your config.toml.
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
    /// Whose key.
    pub(crate) provider: String,
}

/// Where flags stand in the help that are neither about the model nor about limits.
const SAID: &str = "Prompt and output";

fn limit_usd(text: &str) -> Result<MicroUsd, String> {
    match micro_dollars(text)? {
        0 => Err("must be more than 0".to_owned()),
        micros => Ok(MicroUsd(micros)),
    }
}

fn price(text: &str) -> Result<Prices, String> {
    let parts: Vec<u64> = text.split(',').map(micro_dollars).collect::<Result<_, _>>()?;
    match *parts.as_slice() {
        [0, 0, ..] => Err("a price of nothing limits nothing".to_owned()),
        [input, output] => Ok(model::prices(input, output)),
        [input, output, cache_write, cache_read] => {
            Ok(Prices { input, output, cache_write, cache_read })
        }
        _ => Err("give two prices, or four".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
        for name in Command::NAMES.iter().filter(|name| **name != "help") {
            assert!(Args::command().find_subcommand(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_example_of_the_help_is_understood() {
        use clap::CommandFactory;
        let command = Args::command();
        let pages = std::iter::once(&command).chain(command.get_subcommands());
        let mut examples = 0;
        for page in pages.filter(|page| page.get_name() != "help" && !page.is_hide_set()) {
            let text = page.get_after_help().unwrap_or_else(|| panic!("{}", page.get_name()));
            for line in text.to_string().lines().filter(|line| line.starts_with("  windlass ")) {
                assert!(line.chars().count() <= 100, "{line}");
                let typed = line.trim().split("   ").next().unwrap();
                let typed = typed.split(['|', '<', '>']).next().unwrap().trim();
                Args::try_parse_from(crate::expansion::parts(typed))
                    .unwrap_or_else(|error| panic!("{typed}: {error}"));
                examples += 1;
            }
        }
        assert!(examples > 20, "{examples}");
    }

    #[test]
    fn a_prompt_after_p_may_be_called_like_a_command() {
        let args = Args::try_parse_from(["windlass", "-p", "demo", "--verbose"]).unwrap();
        assert!(args.command.is_none());
        assert_eq!(args.run.print, Some(Some("demo".into())));
        let args = Args::try_parse_from(["windlass", "-p", "--verbose", "fix it"]).unwrap();
        assert_eq!(args.run.print, Some(None));
        assert_eq!(args.run.prompt, Some("fix it".into()));
    }
}
