//! What a server says about itself and what it offers, in types of this crate.
//!
//! Everything here comes from the server. Names, descriptions and hints are claims; permission
//! decisions must not rely on them.

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceContents, Role, ServerPeerInfo, Tool,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServerDescription {
    pub name: String,
    pub version: String,
    /// The protocol revision in use.
    pub protocol: String,
    /// The server's instructions for the model.
    pub instructions: Option<String>,
    pub has_tools: bool,
    pub has_resources: bool,
    pub has_prompts: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolDescription {
    /// The name the server uses.
    pub name: String,
    pub description: String,
    /// JSON Schema of the input.
    pub schema: Value,
    /// The server claims that the tool only reads.
    pub is_reading: bool,
    /// The server claims that a second call has no further effect.
    pub is_idempotent: bool,
}

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpCallReply {
    pub parts: Vec<McpContent>,
    /// The same result as structured data, if the tool has an output schema.
    pub structured: Option<Value>,
    /// The tool reports a failure.
    pub is_error: bool,
}

/// One content block of a tool result, prompt or resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpContent {
    Text(String),
    /// Content other than text.
    Media {
        media_type: String,
        /// Base64.
        data: String,
        name: String,
    },
    /// A reference to a resource that can be read later.
    Link {
        uri: String,
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpResourceDescription {
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpPromptDescription {
    /// The name the server uses.
    pub name: String,
    pub description: String,
    /// Names of its arguments in order, and whether each is required.
    pub arguments: Vec<(String, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPromptMessage {
    /// The message has the role of the assistant, not of the user.
    pub is_answer: bool,
    pub part: McpContent,
}

impl From<&ServerPeerInfo> for McpServerDescription {
    fn from(peer: &ServerPeerInfo) -> Self {
        let identity = peer.server_info.as_ref();
        Self {
            name: identity.map(|identity| identity.name.clone()).unwrap_or_default(),
            version: identity.map(|identity| identity.version.clone()).unwrap_or_default(),
            protocol: peer.protocol_version.as_str().to_owned(),
            instructions: peer.instructions.clone(),
            has_tools: peer.capabilities.tools.is_some(),
            has_resources: peer.capabilities.resources.is_some(),
            has_prompts: peer.capabilities.prompts.is_some(),
        }
    }
}

impl From<Tool> for McpToolDescription {
    fn from(tool: Tool) -> Self {
        let hints = tool.annotations.unwrap_or_default();
        let described = tool.description.map(|words| words.into_owned());
        Self {
            name: tool.name.into_owned(),
            description: described.or(tool.title).or(hints.title).unwrap_or_default(),
            schema: Value::Object(tool.input_schema.as_ref().clone()),
            is_reading: hints.read_only_hint == Some(true),
            is_idempotent: hints.idempotent_hint == Some(true),
        }
    }
}

impl From<CallToolResult> for McpCallReply {
    fn from(result: CallToolResult) -> Self {
        Self {
            parts: result.content.into_iter().map(McpContent::from).collect(),
            structured: result.structured_content,
            is_error: result.is_error == Some(true),
        }
    }
}

impl From<ContentBlock> for McpContent {
    fn from(block: ContentBlock) -> Self {
        match block {
            ContentBlock::Text(text) => Self::Text(text.text),
            ContentBlock::Image(image) => {
                Self::Media { media_type: image.mime_type, data: image.data, name: "image".into() }
            }
            ContentBlock::Audio(audio) => {
                Self::Media { media_type: audio.mime_type, data: audio.data, name: "audio".into() }
            }
            ContentBlock::Resource(embedded) => embedded.resource.into(),
            ContentBlock::ResourceLink(link) => Self::Link { uri: link.uri, name: link.name },
            _ => Self::Text("[content of a kind that is not known]".to_owned()),
        }
    }
}

impl From<ResourceContents> for McpContent {
    fn from(contents: ResourceContents) -> Self {
        match contents {
            ResourceContents::TextResourceContents { text, .. } => Self::Text(text),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => Self::Media {
                media_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
                data: blob,
                name: uri,
            },
            _ => Self::Text("[content of a kind that is not known]".to_owned()),
        }
    }
}

impl From<Resource> for McpResourceDescription {
    fn from(resource: Resource) -> Self {
        let Resource { uri, name, description, mime_type, .. } = resource;
        Self { uri, name, description, media_type: mime_type }
    }
}

impl From<Prompt> for McpPromptDescription {
    fn from(prompt: Prompt) -> Self {
        let arguments = prompt.arguments.unwrap_or_default().into_iter();
        Self {
            name: prompt.name,
            description: prompt.description.or(prompt.title).unwrap_or_default(),
            arguments: arguments.map(|one| (one.name, one.required == Some(true))).collect(),
        }
    }
}

pub(super) fn into_contents(result: ReadResourceResult) -> Vec<McpContent> {
    result.contents.into_iter().map(McpContent::from).collect()
}

pub(super) fn into_messages(result: GetPromptResult) -> Vec<McpPromptMessage> {
    let message = |message: rmcp::model::PromptMessage| McpPromptMessage {
        is_answer: message.role == Role::Assistant,
        part: message.content.into(),
    };
    result.messages.into_iter().map(message).collect()
}
