//! What a prompt says, in our blocks. Links to files become mentions, which are read like the mentions
//! of a person at a terminal: through the same rules and tools.

use percent_encoding::percent_decode_str;
use windlass_driver::PromptSubmission;
use windlass_vocabulary::{ContentBlock, MediaContent};

use crate::schema::AcpContent;

/// One text, and the pictures behind it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PromptText {
    pub text: String,
    pub media: Vec<ContentBlock>,
}

pub(super) fn parse_prompt_blocks(blocks: Vec<AcpContent>) -> Result<PromptText, String> {
    let mut prompt = PromptText::default();
    let mut resources = String::new();
    for (block, place) in blocks.into_iter().zip(1..) {
        match block {
            AcpContent::Text { text } => prompt.text.push_str(&text),
            AcpContent::ResourceLink { uri, .. } => prompt.text.push_str(&mention(&uri)),
            AcpContent::Resource { resource } => match resource.text {
                Some(text) => {
                    prompt.text.push_str(&format!("[{}]", resource.uri));
                    let fence = "`".repeat(longest_fence(&text).max(2) + 1);
                    resources.push_str(&format!("\n\n{}:\n{fence}\n{text}\n{fence}", resource.uri));
                }
                None => match (resource.blob, resource.mime_type) {
                    (Some(data), Some(kind)) if kind.starts_with("image/") => {
                        prompt.media.push(to_media(&kind, &data, place));
                    }
                    _ => return Err(format!("block {place}: only text and images can be read")),
                },
            },
            AcpContent::Image { data, mime_type } => {
                prompt.media.push(to_media(&mime_type, &data, place));
            }
            AcpContent::Audio { .. } => {
                return Err(format!("block {place}: audio cannot be read; send text"));
            }
        }
    }
    prompt.text.push_str(&resources);
    match prompt.text.trim().is_empty() && prompt.media.is_empty() {
        true => Err("the prompt is empty".to_owned()),
        false => Ok(prompt),
    }
}

impl PromptText {
    /// Appends the images to the expanded text.
    pub(super) fn add_media_to(self, submission: &mut PromptSubmission) {
        submission.content.extend(self.media);
    }
}

/// `@path` for a file, the address itself for anything else.
fn mention(uri: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => format!("@{}", percent_decode_str(path).decode_utf8_lossy()),
        None => uri.to_owned(),
    }
}

fn to_media(kind: &str, data: &str, place: usize) -> ContentBlock {
    let name = format!("image {place}");
    ContentBlock::Media(MediaContent {
        media_type: kind.into(),
        data: data.into(),
        name: name.as_str().into(),
    })
}

fn longest_fence(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(blocks: serde_json::Value) -> Result<PromptText, String> {
        parse_prompt_blocks(serde_json::from_value(blocks).unwrap())
    }

    #[test]
    fn links_become_mentions_and_resources_stand_behind_the_text() {
        let prompt = parse(json!([
            {"type": "text", "text": "look at "},
            {"type": "resource_link", "name": "a b.rs", "uri": "file:///w/a%20b.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///w/c.md", "text": "has ``` inside"}},
            {"type": "image", "data": "QQ==", "mimeType": "image/png"},
        ]))
        .unwrap();
        assert!(prompt.text.starts_with("look at @/w/a b.rs and [file:///w/c.md]"));
        assert!(prompt.text.ends_with("````\nhas ``` inside\n````"), "{}", prompt.text);
        assert_eq!(prompt.media.len(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let audio = parse(json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]));
        assert!(audio.unwrap_err().contains("audio"));
        assert_eq!(parse(json!([])).unwrap_err(), "the prompt is empty");
    }
}
