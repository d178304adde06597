//! The command line of programs that drive us: agent SDKs, scripts, other front ends.
//!
//! Some flags exist because those programs send them; each says what it means here.

use std::path::PathBuf;

use clap::ValueEnum;

/// The shape of the stream-json protocol.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Driven by a program")]
pub(crate) struct StreamArgs {
    /// What standard input is: the prompt, or one JSON object a line, which implies -p.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) input_format: InputFormatArg,
    /// With stream-json: also stream partial answers.
    #[arg(long)]
    pub(crate) include_partial_messages: bool,
    /// With stream-json: also report hooks and their output.
    #[arg(long)]
    pub(crate) include_hook_events: bool,
    /// With stream-json: echo each prompt with its id when it is processed.
    #[arg(long)]
    pub(crate) replay_user_messages: bool,
    /// With stream-json: also send the lines of the transcript as they are written.
    #[arg(long)]
    pub(crate) session_mirror: bool,
    /// With stream-json: also send what sub-agents say and think.
    #[arg(long)]
    pub(crate) forward_subagent_text: bool,
    /// Suggest the next prompt after each run, which asks the model once more.
    #[arg(long, value_name = "ON", num_args = 0..=1, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) prompt_suggestions: Option<bool>,
    /// The answer must be one JSON object that this JSON Schema accepts.
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) json_schema: Option<String>,
    /// Wait for `initialize` before starting.
    #[arg(long, hide = true)]
    pub(crate) await_initialize: bool,
    /// `omitted` leaves out the model's thinking.
    #[arg(long, value_name = "HOW", value_enum, hide = true)]
    pub(crate) thinking_display: Option<ThinkingDisplayArg>,
}

/// Files with parts of the system prompt.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Prompt and output")]
pub(crate) struct PromptFileArgs {
    /// Read the system prompt from this file.
    #[arg(long, value_name = "PATH", conflicts_with = "system_prompt")]
    pub(crate) system_prompt_file: Option<PathBuf>,
    /// Add the text of this file to the system prompt.
    #[arg(long, value_name = "PATH", conflicts_with = "append_system_prompt")]
    pub(crate) append_system_prompt_file: Option<PathBuf>,
}

/// How a program talks to us.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Driven by a program")]
pub(crate) struct HeadlessArgs {
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    /// Who decides about calls that no rule covers: `stdio` for the program on standard input,
    /// `mcp__server__tool` for a tool of an MCP server.
    #[arg(long, value_name = "WHO")]
    pub(crate) permission_prompt_tool: Option<String>,
    /// `none` denies calls instead of asking. [default: host]
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) permission_prompts: Option<PermissionPromptsArg>,
    /// Allow switching to bypassPermissions later.
    #[arg(long)]
    pub(crate) allow_dangerously_skip_permissions: bool,
    #[command(flatten)]
    pub(crate) prompt_files: PromptFileArgs,
    /// Additional agents: a JSON object by name, each with description and prompt.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Run as this agent, with its prompt, tools and model.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Provider betas to request, separated by commas.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', num_args = 1.., hide = true)]
    pub(crate) betas: Vec<String>,
    /// 0 turns thinking off; any other number lets the model decide how much to think.
    #[arg(long, value_name = "N")]
    pub(crate) max_thinking_tokens: Option<u64>,
    /// Output tokens the whole task should take; passed on to the model.
    #[arg(long, value_name = "N")]
    pub(crate) task_budget: Option<u64>,
    /// A folder with a plugin: its commands, agents, skills, hooks and MCP servers.
    #[arg(long, value_name = "PATH")]
    pub(crate) plugin_dir: Vec<PathBuf>,
    /// The same without its MCP servers.
    #[arg(long, value_name = "PATH")]
    pub(crate) plugin_dir_no_mcp: Vec<PathBuf>,
    /// Log what happens to standard error, in every output format. A filter after `=` is ignored:
    /// everything is logged.
    #[arg(short, long, value_name = "FILTER", num_args = 0..=1, require_equals = true, hide = true)]
    pub(crate) debug: Option<Option<String>>,
    /// An old name of --debug.
    #[arg(long, hide = true)]
    pub(crate) mcp_debug: bool,
    /// Log to this file instead.
    #[arg(long, value_name = "PATH")]
    pub(crate) debug_file: Option<PathBuf>,
}

/// What standard input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormatArg {
    /// The prompt, or more of it.
    #[default]
    Text,
    /// One object a line.
    StreamJson,
}

/// What is shown of what the model thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingDisplayArg {
    /// What the provider sends.
    Summarized,
    /// Nothing.
    Omitted,
}

/// When people are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionPromptsArg {
    /// When there is a program or a tool that answers.
    Host,
    /// Never.
    None,
}
