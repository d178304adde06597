//! The types of the lines on standard output, which clients of the headless protocol rely on.
//!
//! JSON Schemas of them lie in `docs/wire`; a test holds the two equal, and every line that other tests
//! read is held against them. When a frame is sent and
//! what stands in it is decided elsewhere.

mod control;
mod incoming;
mod message;
mod result;
mod system;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub(crate) use control::{ClientControlRequest, ControlReply};
pub(crate) use incoming::{IncomingFrame, PromptFrame};
pub(crate) use message::{
    AssistantFrame, AssistantMessage, FrameContent, FrameUsage, UserFrame, UserMessage,
    tool_input_to_json, tool_result_to_json,
};
pub(crate) use result::{
    DeferredToolUse, FrameModelUsage, PermissionDenial, ResultCost, ResultDurations, ResultEnding,
    ResultFrame, ResultPrompt,
};
pub(crate) use system::{
    ChangedFileFrame, CompactMetadata, InitFrame, SystemFrame, SystemSubtype, TaskUsage,
};

/// One line of standard output.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OutgoingFrame {
    /// About the session.
    System(SystemFrame),
    /// One finished block of an answer.
    Assistant(AssistantFrame),
    /// What was said to the model: results of tools, prompts that are replayed.
    User(UserFrame),
    /// A piece of an answer under way, in the words of the messages wire.
    StreamEvent {
        /// The event.
        event: Value,
        /// The call that started the session this belongs to.
        parent_tool_use_id: Option<String>,
    },
    /// The end of a prompt: exactly one each.
    Result(Box<ResultFrame>),
    /// A tool is still running.
    ToolProgress {
        /// The call.
        tool_use_id: String,
        /// The tool.
        tool_name: String,
        /// The call that started the session this belongs to.
        parent_tool_use_id: Option<String>,
        /// Since it began.
        elapsed_time_seconds: u64,
    },
    /// What was said before is forgotten. Carries the old session's id; later frames a new one.
    ConversationReset {
        /// The new session.
        new_conversation_id: String,
    },
    /// Lines of the session's transcript, as they are written.
    TranscriptMirror {
        /// The transcript.
        #[serde(rename = "filePath")]
        file_path: String,
        /// Its new lines.
        entries: Vec<Value>,
    },
    /// What the user may want to say next.
    PromptSuggestion {
        /// In their words.
        suggestion: String,
    },
    /// We are alive.
    KeepAlive,
    /// We ask the client something.
    ControlRequest {
        /// Its id; the answer carries it.
        request_id: String,
        /// What is asked.
        request: ClientControlRequest,
    },
    /// We answer the client.
    ControlResponse {
        /// The answer.
        response: ControlReply,
    },
    /// We no longer want to know.
    ControlCancelRequest {
        /// The request.
        request_id: String,
    },
}

/// A frame of the conversation with the keys that all of them have.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConversationFrame {
    /// What it says.
    #[serde(flatten)]
    pub frame: OutgoingFrame,
    /// Its own id.
    pub uuid: String,
    /// The session.
    pub session_id: String,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::generate::SchemaSettings;
    use serde_json::json;

    use super::*;

    /// Frames of the conversation carry two more keys than frames beside it.
    fn outgoing_schema() -> Value {
        let generator = SchemaSettings::default().for_serialize().into_generator();
        let mut schema = generator.into_root_schema_for::<OutgoingFrame>();
        schema.insert("title".to_owned(), "Lines of standard output".into());
        let mut schema = schema.to_value();
        let beside =
            ["keep_alive", "control_request", "control_response", "control_cancel_request"];
        schema["properties"]["uuid"] = json!({ "type": "string", "description": "Its own id." });
        schema["properties"]["session_id"] =
            json!({ "type": "string", "description": "The session." });
        schema["if"] = json!({ "properties": { "type": { "enum": beside } } });
        schema["else"] = json!({ "required": ["uuid", "session_id"] });
        schema
    }

    fn incoming_schema() -> Value {
        let mut schema = schemars::schema_for!(IncomingFrame);
        schema.insert("title".to_owned(), "Lines of standard input".into());
        schema.to_value()
    }

    #[test]
    fn the_schemas_in_docs_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire");
        for (name, schema) in [("output", outgoing_schema()), ("input", incoming_schema())] {
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            let path = folder.join(format!("stream_json.{name}.schema.json"));
            if std::env::var_os("WINDLASS_WRITE_SCHEMA").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            assert!(
                std::fs::read_to_string(&path).unwrap_or_default() == text,
                "{} is not that of the types; write it anew: WINDLASS_WRITE_SCHEMA=1 cargo test -p \
                 windlass schemas_in_docs",
                path.display()
            );
        }
    }
}
