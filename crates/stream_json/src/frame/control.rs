//! Requests and answers beside the conversation.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What we ask the client.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
#[schemars(rename = "Request")]
pub(crate) enum ClientControlRequest {
    /// May this call run?
    CanUseTool {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        input: Value,
        /// The call.
        tool_use_id: String,
        /// What would let calls like it run from now on.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        permission_suggestions: Vec<Value>,
        /// Why it is asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_reason: Option<String>,
        /// `workingDir`, if it is because of the place.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_reason_type: Option<&'static str>,
        /// The place outside the working directories that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked_path: Option<String>,
        /// The call in one line.
        title: String,
        /// The tool, for people.
        display_name: String,
        /// What the model says it is for.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The agent that wants it, if it is not the session itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// A hook of the client's is to look at something.
    HookCallback {
        /// Which.
        callback_id: String,
        /// At what.
        input: Value,
        /// The call it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
    },
    /// An MCP server wants to know something of the user.
    Elicitation {
        /// Which.
        mcp_server_name: String,
        /// Its words.
        message: String,
        /// `form` or `url`.
        mode: &'static str,
        /// Where the user has to go.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The form to fill in, as JSON Schema.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_schema: Option<Value>,
        /// What the server calls the question.
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
    },
    /// A message for an MCP server inside the client.
    McpMessage {
        /// Which.
        server_name: String,
        /// The message.
        message: Value,
    },
}

/// What we answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "subtype", rename_all = "snake_case")]
#[schemars(rename = "Reply")]
pub(crate) enum ControlReply {
    /// It is done.
    Success {
        /// What was asked.
        request_id: String,
        /// The result.
        response: Value,
    },
    /// It could not be done.
    Error {
        /// What was asked.
        request_id: String,
        /// Why not, and what to do.
        error: String,
    },
}

impl ControlReply {
    /// Builds the response from the result of a request.
    pub(crate) fn from_outcome(request_id: String, outcome: Result<Value, String>) -> Self {
        match outcome {
            Ok(response) => Self::Success { request_id, response },
            Err(error) => Self::Error { request_id, error },
        }
    }
}
