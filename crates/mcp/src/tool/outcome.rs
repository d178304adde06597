//! What a server gave, as an outcome a model can be shown: text, pictures that fit, and files for
//! what is too long or of no use in a conversation.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_tool::{ImageFit, ImageLimits, ToolSessionContext, fit_image};
use windlass_vocabulary::{Json, MediaContent, ToolOutcome, ToolResultPart};

use crate::connection::{McpCallReply, McpContent};

/// How much of a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct McpResultCaps {
    /// Bytes of text.
    pub(crate) text_bytes: usize,
}

impl McpResultCaps {
    /// A token is about four bytes.
    pub(crate) fn from_tokens(tokens: usize) -> Self {
        Self { text_bytes: tokens.saturating_mul(4) }
    }
}

/// Of a text that is too long, this much is shown of either end.
const PREVIEW_BYTES: usize = 2_000;
/// Pictures shown of one result.
const PICTURES_MAX: usize = 10;

/// Makes an outcome of it. Takes the processor and the disk for a while, so not for a thread that
/// others wait on.
pub(super) fn build_outcome(
    reply: McpCallReply,
    surroundings: &ToolSessionContext,
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
                content.extend(render_media(media, surroundings, pictures <= PICTURES_MAX));
            }
        }
    }
    if is_long {
        content.insert(0, ToolResultPart::Text(spill_to_file(&long, surroundings)));
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

/// A picture that fits, or where it is now.
fn render_media(
    media: MediaContent,
    surroundings: &ToolSessionContext,
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
    let path = next_spill_path(surroundings, &format!("{kind}.base64"));
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

pub(crate) fn spill_to_file(text: &str, surroundings: &ToolSessionContext) -> String {
    let path = next_spill_path(surroundings, "txt");
    let place = match write_spill_file(&path, text.as_bytes()) {
        Ok(()) => format!("The whole of it is in {}; read it in parts.", path.display()),
        Err(problem) => format!("The rest is lost: {problem}."),
    };
    let head = text.get(..text.floor_char_boundary(PREVIEW_BYTES)).unwrap_or(text);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(PREVIEW_BYTES));
    let tail = text.get(tail_start..).unwrap_or_default();
    format!("The result has {} bytes. {place}\n{head}\n[…]\n{tail}", text.len())
}

fn next_spill_path(surroundings: &ToolSessionContext, kind: &str) -> PathBuf {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    surroundings
        .processes
        .spill_directory
        .join(format!("mcp-{}-{number}.{kind}", std::process::id()))
}

fn write_spill_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(told)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(told)
}
