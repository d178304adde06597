//! Small builders for requests.

use std::sync::Arc;

use windlass_vocabulary::{
    AgentId, AttemptId, ContentBlock, Json, MediaContent, Message, MessageId, MessageOrigin,
    ModelName, ModelRequest, ProviderBlock, RequestSource, Role, ThinkingBlock, ThinkingMode,
    Tokens, ToolCall, ToolCallId, ToolName, ToolResult, ToolResultPart, ToolSpec, WireFormat,
};

pub const MODEL: &str = "model-a";

pub fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        attempt: AttemptId(1),
        model: ModelName::from(MODEL),
        system: vec![Arc::from("You are a careful engineer."), Arc::from("cwd: /w/repo")],
        tools: Arc::from(vec![tool("Read"), tool("Bash")]),
        messages: messages.into_iter().map(Arc::new).collect(),
        output_max: Tokens(8192),
        thinking: ThinkingMode::Adaptive,
        effort: None,
        source: RequestSource::Main,
        agent: AgentId::from("main"),
        clear_results: None,
        without_reasoning: false,
    }
}

pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::from(name),
        description: Arc::from(format!("Use {name}.")),
        input_schema: Json::from_checked(
            r#"{"type":"object","properties":{"path":{"type":"string"}}}"#,
        ),
        result_bytes_max: 1000,
    }
}

pub fn message(role: Role, origin: MessageOrigin, content: Vec<ContentBlock>) -> Message {
    let model = (role == Role::Assistant).then(|| ModelName::from(MODEL));
    Message { id: MessageId(0), role, origin, content, model, pinned: false }
}

pub fn user(content: Vec<ContentBlock>) -> Message {
    message(Role::User, MessageOrigin::User, content)
}

pub fn answer(content: Vec<ContentBlock>) -> Message {
    message(Role::Assistant, MessageOrigin::Model, content)
}

pub fn results(content: Vec<ContentBlock>) -> Message {
    message(Role::User, MessageOrigin::ToolResults, content)
}

pub fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.into())
}

pub fn thinking(text: &str, seal: Option<&str>) -> ContentBlock {
    ContentBlock::Thinking(ThinkingBlock { text: text.into(), signature: seal.map(Arc::from) })
}

pub fn call(id: &str, name: &str, input: &str) -> ContentBlock {
    ContentBlock::ToolUse(ToolCall {
        id: ToolCallId::from(id),
        name: ToolName::from(name),
        input: Json::from_checked(input),
        signature: None,
    })
}

pub fn result(id: &str, text: &str) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult::from_text(ToolCallId::from(id), text, false))
}

pub fn failed_result(id: &str, content: Vec<ToolResultPart>) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult { call: ToolCallId::from(id), content, is_error: true })
}

pub fn provider(wire: WireFormat, kind: &str, json: &str) -> ContentBlock {
    ContentBlock::Provider(ProviderBlock {
        wire,
        kind: Arc::from(kind),
        is_reasoning: false,
        json: Json::from_checked(json),
    })
}

pub fn media(name: &str, media_type: &str, data: &str) -> MediaContent {
    MediaContent { media_type: Arc::from(media_type), data: Arc::from(data), name: Arc::from(name) }
}

/// A PNG's header with the given size, padded to some length.
pub fn png(width: u32, height: u32, padding: usize) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend_from_slice(&width.to_be_bytes());
    bytes.extend_from_slice(&height.to_be_bytes());
    bytes.extend(std::iter::repeat_n(0_u8, padding));
    base64(&bytes)
}

pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for position in 0..4 {
            if position <= chunk.len() {
                text.push(char::from(DIGITS[(word >> (18 - 6 * position) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
