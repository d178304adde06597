//! Frames about the session.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A frame about the session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "System")]
pub(crate) struct SystemFrame {
    /// Which.
    #[serde(flatten)]
    pub what: SystemSubtype,
}

/// One file that differs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChangedFile")]
pub(crate) struct ChangedFileFrame {
    /// Below the working directory.
    pub path: String,
    /// `created`, `modified` or `deleted`.
    pub kind: &'static str,
}

/// What it says.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(crate) enum SystemSubtype {
    /// A prompt is taken up: what the session is made of now.
    Init(Box<InitFrame>),
    /// A model call failed and will be tried again.
    ApiRetry {
        /// Which try failed.
        attempt: u8,
        /// Tries after the first.
        max_retries: u8,
        /// Until the next.
        retry_delay_ms: u64,
        /// HTTP status, if there was one.
        error_status: Option<u16>,
        /// What kind of failure.
        error: &'static str,
    },
    /// Files of the working directory differ from before these calls.
    FilesChanged {
        /// The calls that ran together.
        tool_use_ids: Vec<String>,
        /// The first of the files, below the working directory.
        files: Vec<ChangedFileFrame>,
        /// How many differ.
        count: usize,
    },
    /// History before this was summarised.
    CompactBoundary {
        /// How.
        compact_metadata: CompactMetadata,
    },
    /// What is going on.
    Status {
        /// `compacting`, or nothing.
        status: Option<&'static str>,
        /// The permission mode, when it changed.
        #[serde(rename = "permissionMode", skip_serializing_if = "Option::is_none")]
        permission_mode: Option<String>,
        /// How compacting went.
        #[serde(skip_serializing_if = "Option::is_none")]
        compact_result: Option<&'static str>,
    },
    /// Whether more is to come.
    SessionStateChanged {
        /// `idle`, `running` or `requires_action`.
        state: &'static str,
        /// For the SDK, not for its caller.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        sdk_host_only: bool,
    },
    /// A nested session or a command began to run.
    TaskStarted {
        /// Its id.
        task_id: String,
        /// What it is for.
        description: String,
        /// `local_agent` or `local_bash`.
        task_type: &'static str,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
    },
    /// It is still running.
    TaskProgress {
        /// Its id.
        task_id: String,
        /// What it is for.
        description: String,
        /// What it took so far.
        usage: TaskUsage,
        /// What it did last.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_tool_name: Option<String>,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
    },
    /// It ended.
    TaskNotification {
        /// Its id.
        task_id: String,
        /// `completed`, `failed` or `stopped`.
        status: &'static str,
        /// Where its output lies; empty if nowhere.
        output_file: String,
        /// The result.
        summary: String,
        /// What it took.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<TaskUsage>,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
    },
    /// All tasks that run in the background now.
    BackgroundTasksChanged {
        /// Their ids and what they are for.
        tasks: Vec<Value>,
    },
    /// A hook began to run.
    HookStarted {
        /// This run of it.
        hook_id: String,
        /// Its name.
        hook_name: String,
        /// When it runs.
        hook_event: String,
    },
    /// A hook ended.
    HookResponse {
        /// This run of it.
        hook_id: String,
        /// Its name.
        hook_name: String,
        /// When it runs.
        hook_event: String,
        /// What it said.
        output: String,
        /// What it printed.
        stdout: String,
        /// What it complained.
        stderr: String,
        /// How it exited.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// `success`, `error` or `cancelled`.
        outcome: &'static str,
    },
    /// A call was not allowed.
    PermissionDenied {
        /// The tool.
        tool_name: String,
        /// The call.
        tool_use_id: String,
        /// Why.
        message: String,
    },
    /// Something people should know; nothing else follows from it.
    Informational {
        /// The words.
        content: String,
        /// `info` or `warning`.
        level: &'static str,
    },
}

/// What the session is made of when a prompt is taken up.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Init")]
pub(crate) struct InitFrame {
    /// Where it works.
    pub cwd: String,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// MCP servers: `name` and `status`.
    pub mcp_servers: Vec<Value>,
    /// Who is asked.
    pub model: String,
    /// What happens when no rule speaks.
    #[serde(rename = "permissionMode")]
    pub permission_mode: String,
    /// Commands that a prompt may begin with.
    pub slash_commands: Vec<String>,
    /// Agents that may be asked for.
    pub agents: Vec<String>,
    /// Skills that were found.
    pub skills: Vec<String>,
    /// Plugins: `name` and `path`.
    pub plugins: Vec<Value>,
    /// The output style as it is set, whether there is one of that name or not.
    pub output_style: String,
    /// The source of the key.
    #[serde(rename = "apiKeySource")]
    pub api_key_source: String,
    /// The level of the protocol that is spoken, as a version that clients compare.
    pub claude_code_version: String,
    /// Our own version.
    pub windlass_version: String,
    /// What of the protocol is there beyond that.
    pub capabilities: Vec<String>,
    /// Betas that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub betas: Vec<String>,
}

/// How history was summarised.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompactMetadata {
    /// `manual` or `auto`.
    pub trigger: &'static str,
    /// Estimate of the input before.
    pub pre_tokens: u64,
    /// Estimate of the input after.
    pub post_tokens: u64,
}

/// What a task took.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct TaskUsage {
    /// Tokens in and out.
    pub total_tokens: u64,
    /// Tools it used.
    pub tool_uses: u64,
    /// How long it took.
    pub duration_ms: u64,
}
