//! The names of all metrics, events and spans this crate sends, which dashboards of the reference
//! CLI know. `docs/telemetry.md` lists the same, and a test compares the two.

/// A counter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MetricName {
    pub name: &'static str,
    pub unit: &'static str,
    pub description: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $name:literal, $unit:literal, $description:literal;)*) => {
        $(pub(crate) static $constant: MetricName =
            MetricName { name: $name, unit: $unit, description: $description };)*

        pub(crate) static METRICS: &[&MetricName] = &[$(&$constant),*];
    };
}

metrics! {
    SESSION_COUNT = "claude_code.session.count", "", "Sessions started";
    LINES_OF_CODE = "claude_code.lines_of_code.count", "", "Lines of code added and removed";
    PULL_REQUESTS = "claude_code.pull_request.count", "", "Pull requests created";
    COMMITS = "claude_code.commit.count", "", "Commits created";
    COST = "claude_code.cost.usage", "USD", "Cost of requests";
    TOKENS = "claude_code.token.usage", "tokens", "Tokens used";
    EDIT_DECISIONS = "claude_code.code_edit_tool.decision", "", "Decisions about edits";
    ACTIVE_TIME = "claude_code.active_time.total", "s", "Time at work";
}

macro_rules! names {
    ($($constant:ident = $name:literal;)*) => {
        $(pub(crate) const $constant: &str = $name;)*
    };
}

names! {
    USER_PROMPT = "claude_code.user_prompt";
    ASSISTANT_RESPONSE = "claude_code.assistant_response";
    API_REQUEST = "claude_code.api_request";
    API_ERROR = "claude_code.api_error";
    API_RETRIES_EXHAUSTED = "claude_code.api_retries_exhausted";
    API_REFUSAL = "claude_code.api_refusal";
    API_REQUEST_BODY = "claude_code.api_request_body";
    API_RESPONSE_BODY = "claude_code.api_response_body";
    TOOL_DECISION = "claude_code.tool_decision";
    TOOL_RESULT = "claude_code.tool_result";
    PERMISSION_MODE_CHANGED = "claude_code.permission_mode_changed";
    MCP_SERVER_CONNECTION = "claude_code.mcp_server_connection";
    PLUGIN_LOADED = "claude_code.plugin_loaded";
    HOOK_REGISTERED = "claude_code.hook_registered";
    HOOK_EXECUTION_START = "claude_code.hook_execution_start";
    HOOK_EXECUTION_COMPLETE = "claude_code.hook_execution_complete";
    COMPACTION = "claude_code.compaction";
    SUBAGENT_COMPLETED = "claude_code.subagent_completed";
    SKILL_ACTIVATED = "claude_code.skill_activated";
    AT_MENTION = "claude_code.at_mention";
    INTERNAL_ERROR = "claude_code.internal_error";
    RETENTION_SWEEP = "claude_code.retention_sweep";
}

names! {
    INTERACTION_SPAN = "claude_code.interaction";
    LLM_REQUEST_SPAN = "claude_code.llm_request";
    HOOK_SPAN = "claude_code.hook";
    TOOL_SPAN = "claude_code.tool";
    BLOCKED_ON_USER_SPAN = "claude_code.tool.blocked_on_user";
    EXECUTION_SPAN = "claude_code.tool.execution";
}

/// Names of events inside spans.
pub(crate) const REQUEST_ATTEMPT: &str = "gen_ai.request.attempt";
pub(crate) const TOOL_OUTPUT: &str = "tool.output";

pub(crate) const SCOPE: &str = "com.anthropic.claude_code";
pub(crate) const SERVICE: &str = "claude-code";
/// The prefix that `event.name` omits.
pub(crate) const PREFIX: &str = "claude_code.";
/// The version of the semantic conventions that `gen_ai.*` follows.
pub(crate) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";
