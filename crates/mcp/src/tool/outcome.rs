//! What a server gave, as an outcome a model can be shown: text, pictures that fit, and files for
//! what is too long or of no use in a conversation.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_tool::{Fitted, PictureLimits, Surroundings, fit};
use windlass_vocabulary::{Json, Media, ResultPart, ToolOutcome};

use crate::connection::{CallReply, ReplyPart};

/// How much of a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caps {
    /// Bytes of text.
    pub(crate) text_bytes: usize,
}

impl Caps {
    /// A token is about four bytes.
    pub(crate) fn of_tokens(tokens: usize) -> Self {
        Self { text_bytes: tokens.saturating_mul(4) }
    }
}

/// Of a text that is too long, this much is shown of either end.
const PREVIEW_BYTES: usize = 2_000;
/// Pictures shown of one result.
const PICTURES_MAX: usize = 10;

/// Makes an outcome of it. Takes the processor and the disk for a while, so not for a thread that
/// others wait on.
pub(super) fn outcome(reply: CallReply, surroundings: &Surroundings, caps: Caps) -> ToolOutcome {
    let CallReply { mut parts, structured, is_error } = reply;
    let data = structured.map(|value| value.to_string());
    if parts.is_empty()
        && let Some(data) = &data
    {
        parts.push(ReplyPart::Text(data.clone()));
    }
    let text_bytes: usize = parts.iter().map(ReplyPart::text_bytes).sum();
    let is_long = text_bytes > caps.text_bytes;
    let mut content = Vec::new();
    let mut long = String::new();
    let mut pictures = 0;
    for part in parts {
        match part {
            ReplyPart::Text(text) if is_long => {
                long.push_str(&text);
                long.push('\n');
            }
            ReplyPart::Text(text) => content.push(ResultPart::Text(text.replace('\0', "\u{fffd}"))),
            ReplyPart::Link { uri, name } => content.push(ResultPart::Text(format!(
                "[{name}: {uri} can be read with ReadMcpResourceTool]"
            ))),
            ReplyPart::Media { media_type, data, name } => {
                pictures += 1;
                let media =
                    Media { media_type: media_type.into(), data: data.into(), name: name.into() };
                content.extend(shown(media, surroundings, pictures <= PICTURES_MAX));
            }
        }
    }
    if is_long {
        content.insert(0, ResultPart::Text(spilled(&long, surroundings)));
    }
    if content.is_empty() {
        content.push(ResultPart::Text("[no content]".to_owned()));
    }
    let structured = data.filter(|data| data.len() <= caps.text_bytes);
    ToolOutcome {
        content,
        is_error,
        structured: structured.map(|data| Json::from_checked(&data)),
        ..ToolOutcome::text(String::new())
    }
}

impl ReplyPart {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Media { .. } | Self::Link { .. } => 0,
        }
    }
}

/// A picture that fits, or where it is now.
fn shown(media: Media, surroundings: &Surroundings, has_room: bool) -> Vec<ResultPart> {
    if media.media_type.starts_with("image/") && has_room {
        match fit(&media, &PictureLimits::default()) {
            Fitted::AsIs => return vec![ResultPart::Media(media)],
            Fitted::Changed(media, note) => {
                return vec![ResultPart::Media(media), ResultPart::Text(note)];
            }
            Fitted::Unusable(_) => {}
        }
    }
    let kind = media.media_type.split('/').next_back().unwrap_or("bin");
    let kind: String = kind.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let path = file(surroundings, &format!("{kind}.base64"));
    let words = match write(&path, media.data.as_bytes()) {
        Ok(()) => format!("in base64 in {}", path.display()),
        Err(problem) => format!("dropped: {problem}"),
    };
    let size = media.data.len();
    vec![ResultPart::Text(format!(
        "[{}: {size} bytes of {}, {words}]",
        media.name, media.media_type
    ))]
}

pub(crate) fn spilled(text: &str, surroundings: &Surroundings) -> String {
    let path = file(surroundings, "txt");
    let place = match write(&path, text.as_bytes()) {
        Ok(()) => format!("The whole of it is in {}; read it in parts.", path.display()),
        Err(problem) => format!("The rest is lost: {problem}."),
    };
    let head = text.get(..text.floor_char_boundary(PREVIEW_BYTES)).unwrap_or(text);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(PREVIEW_BYTES));
    let tail = text.get(tail_start..).unwrap_or_default();
    format!("The result has {} bytes. {place}\n{head}\n[…]\n{tail}", text.len())
}

fn file(surroundings: &Surroundings, kind: &str) -> PathBuf {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    surroundings.spill.join(format!("mcp-{}-{number}.{kind}", std::process::id()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(told)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(told)
}
