//! The options of a run: the first stage of a session. Plain values, whether they come from the
//! command line or from a client's `initialize`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use windlass_provider::model_options::ModelOptions;
use windlass_vocabulary::{MicroUsd, PermissionMode};

/// A run: one prompt, a stream of prompts, or a conversation.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// `-p`, with the prompt if it follows directly.
    pub print: Option<Option<OsString>>,
    pub prompt: Option<OsString>,
    pub model: ModelOptions,
    pub limit: LimitOptions,
    pub permission: PermissionOptions,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    pub output_format: OutputFormat,
    pub verbose: bool,
    /// Read nothing that was customised but rules that deny or ask.
    pub bare: bool,
    pub screen_reader: bool,
    pub session: SessionOptions,
    pub mcp: McpOptions,
    pub headless: HeadlessOptions,
    pub settings: SettingsOptions,
}

impl RunOptions {
    pub fn reads_stream_json(&self) -> bool {
        self.headless.stream.input_format == InputFormat::StreamJson
    }

    /// Do memory files, skills, agents, commands, styles and plugins count?
    pub(crate) fn loads_project_files(&self) -> bool {
        !self.bare && !self.settings.safe_mode
    }
}

#[derive(Clone, Debug, Default)]
pub struct LimitOptions {
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<MicroUsd>,
    pub max_retries: Option<u8>,
    pub no_circle_guard: bool,
    /// Above how many tokens history is summarised.
    pub compaction_window: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct PermissionOptions {
    pub permission_mode: Option<PermissionMode>,
    pub dangerously_skip_permissions: bool,
    /// The tools to offer; empty when nothing was said.
    pub tools: Vec<String>,
    pub allowed_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    pub add_dir: Vec<PathBuf>,
    pub sandbox: Option<SandboxUse>,
    pub sandbox_allow_domain: Vec<String>,
}

/// When shell commands run in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxUse {
    Off,
    /// Use a sandbox if one is available.
    Auto,
    /// Always; without a sandbox nothing runs.
    Required,
}

#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// `-c`: the newest session of this directory.
    pub goes_on: bool,
    /// `-r`: this session, or whichever the user picks.
    pub resume: Option<Option<String>>,
    pub fork_session: bool,
    /// Finish the run that was cut off, without a new prompt.
    pub continue_run: bool,
    /// Go on behind this message and forget what came after it.
    pub resume_session_at: Option<String>,
    /// The prompt whose turn alone may be forgotten.
    pub resume_drops_turn: Option<String>,
    /// Go on from the transcript if the journal cannot be used.
    pub from_transcript: bool,
    pub session_id: Option<String>,
    pub name: Option<String>,
    pub no_session_persistence: bool,
    pub journal: Option<PathBuf>,
    /// The socket of the process that also keeps the journal.
    pub journal_relay: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct McpOptions {
    pub mcp_config: Vec<String>,
    /// Only the servers of `mcp_config`.
    pub strict_mcp_config: bool,
}

/// Options of client programs.
#[derive(Clone, Debug, Default)]
pub struct HeadlessOptions {
    pub stream: StreamOptions,
    /// Who answers permission prompts: `stdio`, or a tool as `mcp__server__tool`.
    pub permission_prompt_tool: Option<String>,
    /// `--permission-prompts none`: deny instead of asking.
    pub denies_prompts: bool,
    pub allow_dangerously_skip_permissions: bool,
    pub prompt_files: PromptFileOptions,
    pub agents: Option<String>,
    pub agent: Option<String>,
    pub betas: Vec<String>,
    pub max_thinking_tokens: Option<u64>,
    pub task_budget: Option<u64>,
    pub plugin_dir: Vec<PathBuf>,
    pub plugin_dir_no_mcp: Vec<PathBuf>,
    pub debug: Option<Option<String>>,
    pub debug_file: Option<PathBuf>,
    /// A user is present. Not a flag: it depends on the terminal.
    pub is_attended: bool,
}

impl HeadlessOptions {
    /// Is there a person or a program that answers permission prompts?
    pub fn can_prompt_for_permission(&self) -> bool {
        let is_client = self.stream.input_format == InputFormat::StreamJson
            && self.permission_prompt_tool.as_deref() == Some("stdio");
        let can_answer = is_client || self.permission_prompt_mcp_tool().is_some();
        self.is_attended || !self.denies_prompts && can_answer
    }

    /// The server and the tool that answer permission prompts.
    pub fn permission_prompt_mcp_tool(&self) -> Option<(&str, &str)> {
        self.permission_prompt_tool.as_deref()?.strip_prefix("mcp__")?.split_once("__")
    }
}

/// Files with parts of the system prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptFileOptions {
    pub system_prompt: Option<PathBuf>,
    pub append_system_prompt: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    pub input_format: InputFormat,
    pub include_partial_messages: bool,
    pub include_hook_events: bool,
    pub replay_user_messages: bool,
    pub session_mirror: bool,
    pub forward_subagent_text: bool,
    /// `None` leaves it to the settings.
    pub prompt_suggestions: Option<bool>,
    /// The JSON Schema the answer must fit.
    pub json_schema: Option<String>,
    /// Nothing begins before the client has sent `initialize`.
    pub await_initialize: bool,
    pub thinking_display: Option<ThinkingDisplay>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    #[default]
    Text,
    Json,
    StreamJson,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    #[default]
    Text,
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingDisplay {
    Summarized,
    Omitted,
}

#[derive(Clone, Debug, Default)]
pub struct SettingsOptions {
    /// A JSON object, or a file with one.
    pub settings: Option<String>,
    pub managed_settings: Option<String>,
    pub setting_sources: Option<String>,
    pub project_config_root: Option<PathBuf>,
    pub trust_project: bool,
    pub safe_mode: bool,
    /// No skills and no custom commands.
    pub disable_slash_commands: bool,
}

impl SettingsOptions {
    /// Where the project's own files are looked for.
    pub fn resolve_project_root(&self, cwd: &Path) -> PathBuf {
        self.project_config_root.as_ref().map_or_else(|| cwd.to_owned(), |root| cwd.join(root))
    }
}
