//! The keys of a settings file and their types. The JSON Schema in `docs/` is generated from them.
//!
//! Every key is optional. Hooks and plugins are interpreted elsewhere; here they are JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// The settings of one file, or of all layers merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SettingsFile {
    /// Permission rules and the permission mode.
    pub permissions: Option<PermissionSettings>,
    /// Managed settings only: use only the allow, ask and deny rules of managed settings.
    pub allow_managed_permission_rules_only: Option<bool>,
    /// Environment variables for the session and its tools.
    pub env: Option<BTreeMap<String, Scalar>>,
    /// The sandbox for shell commands.
    pub sandbox: Option<SandboxSettings>,
    /// Enabled plugins, by `name@marketplace`.
    pub enabled_plugins: Option<Map<String, Value>>,
    /// Disable the shell snippets in skills and commands.
    pub disable_skill_shell_execution: Option<bool>,
    #[serde(flatten)]
    pub secret_programs: SecretProgramSettings,
    #[serde(flatten)]
    pub hooks: HookSettings,
    #[serde(flatten)]
    pub models: ModelSettings,
    #[serde(flatten)]
    pub mcp: McpSettings,
    #[serde(flatten)]
    pub memory: MemorySettings,
    #[serde(flatten)]
    pub run_limits: RunLimitSettings,
    #[serde(flatten)]
    pub appearance: AppearanceSettings,
    #[serde(flatten)]
    pub storage: StorageSettings,
    #[serde(flatten)]
    pub unused: UnusedSettings,
}

/// Programs that print secrets when they are needed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SecretProgramSettings {
    /// A command that prints the API key.
    pub api_key_helper: Option<String>,
    /// A command that prints headers for telemetry requests, as a JSON object.
    pub otel_headers_helper: Option<String>,
}

/// Commands that run at events of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HookSettings {
    /// Hooks that run at events of a session: for each event, a list of matchers with handlers.
    pub hooks: Option<Map<String, Value>>,
    /// Disable all hooks.
    pub disable_all_hooks: Option<bool>,
    /// Managed settings only: run only the hooks of managed settings.
    pub allow_managed_hooks_only: Option<bool>,
    /// URLs that HTTP hooks may call; `*` matches any text. Without this, every URL is allowed.
    pub allowed_http_hook_urls: Option<Vec<String>>,
    /// Environment variables that HTTP hooks may send. Without this, those that each hook lists.
    pub http_hook_allowed_env_vars: Option<Vec<String>>,
}

/// The model and its effort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// The default model.
    pub model: Option<String>,
    /// Models to use, in order, when the default model is overloaded or unavailable.
    pub fallback_model: Option<OneOrMany>,
    /// The models that users may choose.
    pub available_models: Option<Vec<String>>,
    /// The default reasoning effort of the model.
    pub effort_level: Option<EffortLevel>,
    /// Use extended thinking by default, if the model supports it.
    pub always_thinking_enabled: Option<bool>,
}

/// Which MCP servers are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct McpSettings {
    /// Enable every server of the project's `.mcp.json`.
    pub enable_all_project_mcp_servers: Option<bool>,
    /// Servers of the project's `.mcp.json` to enable; all others are disabled.
    pub enabled_mcpjson_servers: Option<Vec<String>>,
    /// Servers of the project's `.mcp.json` to disable.
    pub disabled_mcpjson_servers: Option<Vec<String>>,
    /// MCP servers that must not be used, wherever they are configured: each with `serverName`,
    /// `serverCommand` (the program and its arguments) or `serverUrl` (`*` matches any text).
    pub denied_mcp_servers: Option<Vec<Map<String, Value>>>,
    /// The only MCP servers that may be used, written like those that are denied. The list of managed
    /// settings stands alone; lists of a project do not count.
    pub allowed_mcp_servers: Option<Vec<Map<String, Value>>>,
}

/// Instruction files, memory notes, and model calls after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MemorySettings {
    /// Instruction files to ignore, as globs for absolute paths.
    pub claude_md_excludes: Option<Vec<String>>,
    /// Read the memory notes of earlier conversations in this project, and write new ones.
    pub auto_memory_enabled: Option<bool>,
    /// The directory for memory notes. The default is beside the transcripts.
    pub auto_memory_directory: Option<String>,
    /// Optional work after a run, each by one more call of the small model.
    pub after_run: Option<AfterRunSettings>,
}

/// When a conversation is compacted, and when a run is stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunLimitSettings {
    /// Compact the conversation automatically when the context window is nearly full.
    pub auto_compact_enabled: Option<bool>,
    /// The context window to use, in tokens, if smaller than the model's.
    pub auto_compact_window: Option<u64>,
    /// Stop a run, or ask, when the model repeats the same turns with the same results.
    pub circle_guard: Option<bool>,
}

/// The appearance of answers and of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AppearanceSettings {
    /// The output style of answers, by name.
    pub output_style: Option<String>,
    /// The preferred language of answers.
    pub language: Option<String>,
    /// A command that prints the status line.
    pub status_line: Option<StatusLine>,
    /// The color theme.
    pub theme: Option<String>,
    /// How to notify the user through the terminal: `auto`, `bell`, `osc9`, `osc777` or `off`.
    /// Claude Code's names for these are accepted too.
    pub preferred_notif_channel: Option<String>,
}

/// What is stored on disk, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StorageSettings {
    /// The number of days after which old sessions are deleted; at least 1.
    pub cleanup_period_days: Option<NonZeroU32>,
    /// Store the previous content of edited files, so that edits can be undone.
    pub file_checkpointing_enabled: Option<bool>,
    /// The disk space for snapshots of one directory, in megabytes. The default is 2048.
    pub snapshot_megabytes_max: Option<NonZeroU32>,
    /// The number of days after which snapshots of ended sessions are deleted. By default they are
    /// kept as long as the session.
    pub snapshot_period_days: Option<NonZeroU32>,
}

/// Known keys that Windlass does not use; `settings_key` says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UnusedSettings {
    /// The JSON Schema with which editors check this file.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Not used. Adds the agent as a co-author of commits; replaced by `attribution`.
    pub include_co_authored_by: Option<bool>,
    /// Not used. Text to add to commits and pull requests.
    pub attribution: Option<AttributionSetting>,
    /// Where plugins come from.
    pub extra_known_marketplaces: Option<Map<String, Value>>,
    /// Not used. Leave out ignored files in file suggestions.
    pub respect_gitignore: Option<bool>,
    /// Not used. The directory for plans.
    pub plans_directory: Option<String>,
}

/// Optional work after a run. The user never waits for it. Everything is off by default, except
/// that questions about the conversation can be asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "AfterRun"))]
pub struct AfterRunSettings {
    /// Generate a title for the session.
    pub title: Option<bool>,
    /// Suggest the next prompt.
    pub suggestion: Option<bool>,
    /// Write memory notes for later sessions; the same as `autoMemoryEnabled`.
    pub memory: Option<bool>,
    /// Shorten the memory notes when they have become long. On by default where notes are kept.
    pub consolidation: Option<bool>,
    /// Keep the data for questions about the conversation that do not become part of it.
    pub questions: Option<bool>,
}

/// Permission settings. Rules have the form `Tool` or `Tool(pattern)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Permissions"))]
pub struct PermissionSettings {
    /// Rules for calls that run without asking.
    pub allow: Option<Vec<String>>,
    /// Rules for calls that always ask.
    pub ask: Option<Vec<String>>,
    /// Rules for calls that are always denied.
    pub deny: Option<Vec<String>>,
    /// The permission mode when no rule matches: default, acceptEdits, plan, dontAsk or
    /// bypassPermissions.
    pub default_mode: Option<String>,
    /// Additional working directories.
    pub additional_directories: Option<Vec<String>>,
    /// Set to `disable` to forbid the mode bypassPermissions.
    pub disable_bypass_permissions_mode: Option<String>,
}

/// The reasoning effort of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EffortLevel {
    /// Fast and cheap.
    Low,
    /// Balanced.
    Medium,
    /// Thorough.
    High,
    /// Between high and max.
    Xhigh,
    /// The maximum of the model.
    Max,
}

/// A command that prints the status line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusLine {
    /// Always `command`.
    #[serde(rename = "type")]
    pub kind: StatusLineKind,
    /// The command to run.
    pub command: String,
    /// Not used. Padding around the status line, in columns.
    #[serde(default)]
    pub padding: Option<u32>,
}

/// The kind of status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, schemars(rename = "StatusKind"))]
pub enum StatusLineKind {
    /// The output of a command.
    Command,
}

/// Text to add to commits and pull requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AttributionSetting {
    /// Use the default text, or none.
    Flag(bool),
    /// Use these texts.
    Texts(Attribution),
}

/// Texts to add to commits and pull requests; an empty text adds nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Attribution {
    /// Added to commit messages.
    pub commit: Option<String>,
    /// Added to descriptions of pull requests.
    pub pr: Option<String>,
}

/// The sandbox for shell commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Sandbox"))]
pub struct SandboxSettings {
    /// Run shell commands in the sandbox.
    pub enabled: Option<bool>,
    /// Run no commands if no sandbox is available on this machine.
    pub fail_if_unavailable: Option<bool>,
    /// Run commands in the sandbox without asking.
    pub auto_allow_bash_if_sandboxed: Option<bool>,
    /// Commands that run outside of the sandbox.
    pub excluded_commands: Option<Vec<String>>,
    /// Allow the model to request that a command runs outside of the sandbox.
    pub allow_unsandboxed_commands: Option<bool>,
    /// Network access in the sandbox.
    pub network: Option<SandboxNetworkSettings>,
    /// File access in the sandbox.
    pub filesystem: Option<SandboxFilesystemSettings>,
    /// Not used. Accept a weaker sandbox inside of a container.
    pub enable_weaker_nested_sandbox: Option<bool>,
}

/// Network access of commands in the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Network"))]
pub struct SandboxNetworkSettings {
    /// Hosts that commands may connect to.
    pub allowed_domains: Option<Vec<String>>,
    /// Hosts that commands may not connect to.
    pub denied_domains: Option<Vec<String>>,
    /// Unix sockets that commands may use.
    pub allow_unix_sockets: Option<Vec<String>>,
    /// Not used. Allow commands to listen on local ports.
    pub allow_local_binding: Option<bool>,
    /// Not used. The port of your own HTTP proxy.
    pub http_proxy_port: Option<u16>,
    /// Not used. The port of your own SOCKS proxy.
    pub socks_proxy_port: Option<u16>,
    /// For administrators: only their `allowedDomains` count.
    pub allow_managed_domains_only: Option<bool>,
}

/// File access of commands in the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Filesystem"))]
pub struct SandboxFilesystemSettings {
    /// Additional paths that commands may write.
    pub allow_write: Option<Vec<String>>,
    /// Paths that commands may not write.
    pub deny_write: Option<Vec<String>>,
    /// Paths that commands may not read.
    pub deny_read: Option<Vec<String>>,
    /// Exceptions to `denyRead`.
    pub allow_read: Option<Vec<String>>,
    /// Not used. Disable the file restrictions of the sandbox.
    pub disabled: Option<bool>,
    /// For administrators: only their `allowRead` counts.
    pub allow_managed_read_paths_only: Option<bool>,
}

/// One text or a list of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OneOrMany {
    /// One text.
    One(String),
    /// A list of texts.
    Many(Vec<String>),
}

impl OneOrMany {
    /// As a list.
    #[must_use]
    pub fn list(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// The value of an environment variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Scalar {
    /// A text, used as it is.
    Text(String),
    /// A number, used as it is written.
    Number(#[cfg_attr(test, schemars(with = "f64"))] Number),
    /// `true` or `false`.
    Flag(bool),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}
