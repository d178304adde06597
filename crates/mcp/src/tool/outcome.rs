//! Converts a server's result to a tool outcome: text, images that fit, and files for content that
//! is too long or not usable in a conversation.

use windlass_tool::{ImageFit, ImageLimits, ToolSessionContext, fit_image};
use windlass_vocabulary::{Json, MediaContent, ToolOutcome, ToolResultPart};

use crate::connection::{McpCallReply, McpContent};
use crate::spill::{next_spill_path, spill_to_file, write_spill_file};

/// Limits on what is shown of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct McpResultCaps {
    pub(crate) text_bytes: usize,
}

impl McpResultCaps {
    /// Assumes four bytes per token.
    pub(crate) fn from_tokens(tokens: usize) -> Self {
        Self { text_bytes: tokens.saturating_mul(4) }
    }
}

/// Limits the images of one result.
const PICTURES_MAX: usize = 10;

/// Builds the outcome. Uses the processor and the disk for some time, so do not call it on an async
/// thread.
pub(super) fn build_outcome(
    reply: McpCallReply,
    tool_context: &ToolSessionContext,
    caps: McpResultCaps,
) -> ToolOutcome {
    let McpCallReply { mut parts, structured, is_error } = reply;
    let data = structured.map(|value| value.to_string());
    if parts.is_empty()
        && let Some(data) = &data
    {
        parts.push(McpContent::Text(data.clone()));
    }
    let text_bytes: usize = parts.iter().map(McpContent::text_bytes).sum();
    let is_long = text_bytes > caps.text_bytes;
    let mut content = Vec::new();
    let mut long = String::new();
    let mut pictures = 0;
    for part in parts {
        match part {
            McpContent::Text(text) if is_long => {
                long.push_str(&text);
                long.push('\n');
            }
            McpContent::Text(text) => {
                content.push(ToolResultPart::Text(text.replace('\0', "\u{fffd}")));
            }
            McpContent::Link { uri, name } => content.push(ToolResultPart::Text(format!(
                "[{name}: {uri} can be read with ReadMcpResourceTool]"
            ))),
            McpContent::Media { media_type, data, name } => {
                pictures += 1;
                let media = MediaContent {
                    media_type: media_type.into(),
                    data: data.into(),
                    name: name.into(),
                };
                content.extend(render_media(media, tool_context, pictures <= PICTURES_MAX));
            }
        }
    }
    if is_long {
        content.insert(0, ToolResultPart::Text(spill_to_file(&long, tool_context)));
    }
    if content.is_empty() {
        content.push(ToolResultPart::Text("[no content]".to_owned()));
    }
    let structured = data.filter(|data| data.len() <= caps.text_bytes);
    ToolOutcome {
        content,
        is_error,
        structured: structured.map(|data| Json::from_checked(&data)),
        ..ToolOutcome::from_text(String::new())
    }
}

impl McpContent {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Media { .. } | Self::Link { .. } => 0,
        }
    }
}

/// The image if it fits, or else the path it was written to.
fn render_media(
    media: MediaContent,
    tool_context: &ToolSessionContext,
    has_room: bool,
) -> Vec<ToolResultPart> {
    if media.media_type.starts_with("image/") && has_room {
        match fit_image(&media, &ImageLimits::default()) {
            ImageFit::AsIs => return vec![ToolResultPart::Media(media)],
            ImageFit::Changed(media, note) => {
                return vec![ToolResultPart::Media(media), ToolResultPart::Text(note)];
            }
            ImageFit::Unusable(_) => {}
        }
    }
    let kind = media.media_type.split('/').next_back().unwrap_or("bin");
    let kind: String = kind.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let path = next_spill_path(tool_context, &format!("{kind}.base64"));
    let words = match write_spill_file(&path, media.data.as_bytes()) {
        Ok(()) => format!("in base64 in {}", path.display()),
        Err(problem) => format!("dropped: {problem}"),
    };
    let size = media.data.len();
    vec![ToolResultPart::Text(format!(
        "[{}: {size} bytes of {}, {words}]",
        media.name, media.media_type
    ))]
}
