//! The keys of a settings file and their types. The JSON Schema in `docs/` is made from these.
//!
//! Everything is optional. What hooks and plugins mean is known elsewhere; here they are JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// The settings of one file, or of all layers together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SettingsFile {
    /// What may run.
    pub permissions: Option<PermissionSettings>,
    /// Managed: only managed allow, ask and deny rules count.
    pub allow_managed_permission_rules_only: Option<bool>,
    /// Variables to set, for the session and its tools.
    pub env: Option<BTreeMap<String, Scalar>>,
    /// The fence around shell commands.
    pub sandbox: Option<SandboxSettings>,
    /// Plugins, by `name@marketplace`.
    pub enabled_plugins: Option<Map<String, Value>>,
    /// Do not run the shell snippets of skills and commands.
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
    /// A program that prints the API key.
    pub api_key_helper: Option<String>,
    /// A program that prints the headers for telemetry, as a JSON object.
    pub otel_headers_helper: Option<String>,
}

/// Programs run at fixed points of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HookSettings {
    /// Programs of the user's, run at fixed points: event, then matchers and handlers.
    pub hooks: Option<Map<String, Value>>,
    /// Run no hooks.
    pub disable_all_hooks: Option<bool>,
    /// Managed: run only managed hooks.
    pub allow_managed_hooks_only: Option<bool>,
    /// Addresses that hooks may ask, a star standing for anything; all when nothing is said.
    pub allowed_http_hook_urls: Option<Vec<String>>,
    /// Variables that hooks may send to servers; those each names when nothing is said.
    pub http_hook_allowed_env_vars: Option<Vec<String>>,
}

/// Which model is asked, and how hard it works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// The model to ask.
    pub model: Option<String>,
    /// Whom to ask when it is overloaded or gone, in order.
    pub fallback_model: Option<OneOrMany>,
    /// The models people may choose from.
    pub available_models: Option<Vec<String>>,
    /// How hard the model should work.
    pub effort_level: Option<EffortLevel>,
    /// Think before speaking, where the model can be told.
    pub always_thinking_enabled: Option<bool>,
}

/// Which servers of the project's `.mcp.json` are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct McpSettings {
    /// Use every server of the project's `.mcp.json`.
    pub enable_all_project_mcp_servers: Option<bool>,
    /// Servers of `.mcp.json` to use.
    pub enabled_mcpjson_servers: Option<Vec<String>>,
    /// Servers of `.mcp.json` not to use.
    pub disabled_mcpjson_servers: Option<Vec<String>>,
}

/// Instruction files, notes, and the calls made after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MemorySettings {
    /// Globs of instruction files not to read, on absolute paths.
    pub claude_md_excludes: Option<Vec<String>>,
    /// Read the notes that were kept of earlier conversations in the project, and keep new ones.
    pub auto_memory_enabled: Option<bool>,
    /// Where such notes are kept, instead of beside the transcripts.
    pub auto_memory_directory: Option<String>,
    /// What is seen to when a run is over, each by one more call of the small model.
    pub after_run: Option<AfterRunSettings>,
}

/// When a conversation is summarised, and when a run is ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunLimitSettings {
    /// Make a summary when the window is full.
    pub auto_compact_enabled: Option<bool>,
    /// The window to stay within, in tokens.
    pub auto_compact_window: Option<u64>,
    /// End a run, or ask, when the same turns come again and again with the same results.
    pub circle_guard: Option<bool>,
}

/// How answers and the terminal look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AppearanceSettings {
    /// The style of answers, by name.
    pub output_style: Option<String>,
    /// The language of answers.
    pub language: Option<String>,
    /// A program that prints the line of status.
    pub status_line: Option<StatusLine>,
    /// The colours.
    pub theme: Option<String>,
    /// How the terminal calls the user: `auto`, `bell`, `osc9`, `osc777` or `off`, or a name that Claude
    /// Code has for one of them.
    pub preferred_notif_channel: Option<String>,
}

/// What is kept on the disk, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StorageSettings {
    /// Days after which sessions are removed; at least one.
    pub cleanup_period_days: Option<NonZeroU32>,
    /// Keep what edits replace, to take them back.
    pub file_checkpointing_enabled: Option<bool>,
    /// Megabytes that the snapshots of one directory may take; 2048 unless given.
    pub snapshot_megabytes_max: Option<NonZeroU32>,
    /// Days after which snapshots of a session that has ended are given up; kept with it unless given.
    pub snapshot_period_days: Option<NonZeroU32>,
}

/// Known keys without effect here; `settings_key` says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UnusedSettings {
    /// The schema this file is checked against by an editor.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Name the agent as co-author of commits; replaced by `attribution`.
    pub include_co_authored_by: Option<bool>,
    /// What is added to commits and pull requests.
    pub attribution: Option<AttributionSetting>,
    /// Where plugins come from.
    pub extra_known_marketplaces: Option<Map<String, Value>>,
    /// Leave ignored files out where files are offered.
    pub respect_gitignore: Option<bool>,
    /// Where plans are written.
    pub plans_directory: Option<String>,
}

/// What is seen to when a run is over. Nobody waits for any of it, and none of it is on unless it is
/// asked for, except that a question beside the conversation may be asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "AfterRun"))]
pub struct AfterRunSettings {
    /// Ask for a name of the session.
    pub title: Option<bool>,
    /// Ask what the user may want to say next.
    pub suggestion: Option<bool>,
    /// Ask what is worth knowing in later sessions; `autoMemoryEnabled` says the same.
    pub memory: Option<bool>,
    /// Have notes made shorter when they have grown long; on where notes are kept.
    pub consolidation: Option<bool>,
    /// Keep what questions beside the conversation are asked of.
    pub questions: Option<bool>,
}

/// What may run. Rules are `Tool` or `Tool(what)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Permissions"))]
pub struct PermissionSettings {
    /// These run without a question.
    pub allow: Option<Vec<String>>,
    /// These always ask.
    pub ask: Option<Vec<String>>,
    /// These never run.
    pub deny: Option<Vec<String>>,
    /// What happens when no rule speaks: default, acceptEdits, plan, dontAsk, bypassPermissions.
    pub default_mode: Option<String>,
    /// More directories to work in.
    pub additional_directories: Option<Vec<String>>,
    /// `disable`: nothing may allow everything without asking.
    pub disable_bypass_permissions_mode: Option<String>,
}

/// How hard the model should work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EffortLevel {
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

/// A program that prints the line of status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusLine {
    /// Always `command`.
    #[serde(rename = "type")]
    pub kind: StatusLineKind,
    /// The program.
    pub command: String,
    /// Space around it.
    #[serde(default)]
    pub padding: Option<u32>,
}

/// The only kind there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, schemars(rename = "StatusKind"))]
pub enum StatusLineKind {
    /// A program.
    Command,
}

/// Whether something is added to commits and pull requests, or what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AttributionSetting {
    /// The usual, or nothing.
    Flag(bool),
    /// This.
    Texts(Attribution),
}

/// What is added to commits and pull requests; empty texts add nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Attribution {
    /// To commits.
    pub commit: Option<String>,
    /// To pull requests.
    pub pr: Option<String>,
}

/// The fence around shell commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Sandbox"))]
pub struct SandboxSettings {
    /// Hold shell commands.
    pub enabled: Option<bool>,
    /// Run nothing where no sandbox can be had.
    pub fail_if_unavailable: Option<bool>,
    /// Commands that are held run without a question.
    pub auto_allow_bash_if_sandboxed: Option<bool>,
    /// Commands that run outside.
    pub excluded_commands: Option<Vec<String>>,
    /// A command may ask to run outside.
    pub allow_unsandboxed_commands: Option<bool>,
    /// The network.
    pub network: Option<SandboxNetworkSettings>,
    /// Files.
    pub filesystem: Option<SandboxFilesystemSettings>,
    /// Make do with less inside a container.
    pub enable_weaker_nested_sandbox: Option<bool>,
}

/// What commands in the sandbox may reach.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Network"))]
pub struct SandboxNetworkSettings {
    /// Hosts that may be reached.
    pub allowed_domains: Option<Vec<String>>,
    /// Hosts that may not.
    pub denied_domains: Option<Vec<String>>,
    /// Sockets in the file system that may be reached.
    pub allow_unix_sockets: Option<Vec<String>>,
    /// Commands may listen on this machine.
    pub allow_local_binding: Option<bool>,
    /// A proxy of the user's for HTTP.
    pub http_proxy_port: Option<u16>,
    /// A proxy of the user's for everything.
    pub socks_proxy_port: Option<u16>,
}

/// What commands in the sandbox may touch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(rename = "Filesystem"))]
pub struct SandboxFilesystemSettings {
    /// More places to write.
    pub allow_write: Option<Vec<String>>,
    /// Places not to write.
    pub deny_write: Option<Vec<String>>,
    /// Places not to read.
    pub deny_read: Option<Vec<String>>,
    /// Places to read all the same.
    pub allow_read: Option<Vec<String>>,
    /// Hold no files back.
    pub disabled: Option<bool>,
}

/// One text or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
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

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Scalar {
    /// As it is.
    Text(String),
    /// As it is written.
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
