//! What a prompt says, in our blocks. Links to files become mentions, which are read like the mentions
//! of a person at a terminal: through the same rules and tools. Embedded files are words of others: nothing
//! in them is a mention, or an argument of a command.

use percent_encoding::percent_decode_str;
use windlass_vocabulary::{ContentBlock, MediaContent};

use crate::schema::AcpContent;

/// What the person wrote, and what stands behind it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PromptText {
    pub text: String,
    /// Embedded files, then pictures.
    pub attachments: Vec<ContentBlock>,
}

pub(super) fn parse_prompt_blocks(blocks: Vec<AcpContent>) -> Result<PromptText, String> {
    let mut prompt = PromptText::default();
    let mut media = Vec::new();
    for (block, place) in blocks.into_iter().zip(1..) {
        match block {
            AcpContent::Text { text } => push_separated(&mut prompt.text, &text),
            AcpContent::ResourceLink { uri, .. } => {
                push_separated(&mut prompt.text, &mention(&uri));
            }
            AcpContent::Resource { resource } => match resource.text {
                Some(text) => {
                    let address = quote_address(&resource.uri);
                    push_separated(&mut prompt.text, &format!("[{address}]"));
                    let fence = "`".repeat(longest_fence(&text).max(2) + 1);
                    let text = format!("\n\n{}:\n{fence}\n{text}\n{fence}", resource.uri);
                    prompt.attachments.push(ContentBlock::Text(text));
                }
                None => match (resource.blob, resource.mime_type) {
                    (Some(data), Some(kind)) if kind.starts_with("image/") => {
                        media.push(to_media(&kind, &data, place));
                    }
                    _ => return Err(format!("block {place}: only text and images can be read")),
                },
            },
            AcpContent::Image { data, mime_type } => {
                media.push(to_media(&mime_type, &data, place));
            }
            AcpContent::Audio { .. } => {
                return Err(format!("block {place}: audio cannot be read; send text"));
            }
        }
    }
    prompt.attachments.extend(media);
    match prompt.text.trim().is_empty() && prompt.attachments.is_empty() {
        true => Err("the prompt is empty".to_owned()),
        false => Ok(prompt),
    }
}

/// Blocks are not words of one another: a mention counts only where a word begins, and ends where
/// the next one begins. Blanks and punctuation that the client sent stay as they are.
fn push_separated(text: &mut String, block: &str) {
    let ends_in_word = text.chars().next_back().is_some_and(|last| !last.is_whitespace());
    let begins_word = |first: char| first.is_alphanumeric() || "@[/\"'`".contains(first);
    if ends_in_word && block.starts_with(begins_word) {
        text.push(' ');
    }
    text.push_str(block);
}

/// `@path` for a file, the address itself for anything else. A place in the file stays behind it.
fn mention(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return quote_address(uri) };
    let (path, place) = path.split_once('#').map_or((path, None), |(path, at)| (path, Some(at)));
    let path = percent_decode_str(path).decode_utf8_lossy();
    // These end a mention, and what follows could be another one.
    if path.contains(|letter: char| letter == '"' || letter.is_control()) {
        return quote_address(uri);
    }
    let is_plain = |letter: char| letter.is_alphanumeric() || "/_-.+".contains(letter);
    let mention = match path.chars().all(is_plain) && !path.ends_with('.') {
        true => format!("@{path}"),
        false => format!("@\"{path}\""),
    };
    match place {
        Some(place) => format!("{mention} (#{})", join_words(place)),
        None => mention,
    }
}

/// An address as one word that neither mentions a file nor calls a command, whatever stands in it:
/// names of files and pages are written by others.
fn quote_address(uri: &str) -> String {
    let word = join_words(uri);
    match word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => word,
        false => format!("<{word}>"),
    }
}

fn join_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("%20")
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
        assert!(prompt.text.starts_with("look at @\"/w/a b.rs\" and [file:///w/c.md]"));
        assert!(!prompt.text.contains("inside"), "{}", prompt.text);
        let embedded = "\n\nfile:///w/c.md:\n````\nhas ``` inside\n````";
        assert_eq!(prompt.attachments[0], ContentBlock::Text(embedded.to_owned()));
        assert!(matches!(prompt.attachments[1], ContentBlock::Media(_)));
        assert_eq!(prompt.attachments.len(), 2);
    }

    #[test]
    fn a_link_is_a_mention_whatever_stands_around_it() {
        let link = |uri: &str| json!({"type": "resource_link", "name": "x", "uri": uri});
        let text = |text: &str| json!({"type": "text", "text": text});
        let around = |before: &str, uri: &str, behind: &str| {
            parse(json!([text(before), link(uri), text(behind)])).unwrap().text
        };
        assert_eq!(around("read", "file:///w/a.rs", "now"), "read @/w/a.rs now");
        assert_eq!(around("read\n", "file:///w/a.rs", ", now"), "read\n@/w/a.rs, now");
        assert_eq!(around("read", "file:///w/a.rs#L3-9", ""), "read @/w/a.rs (#L3-9)");
        assert_eq!(around("", "file:///w/a%23b).md", "!"), "@\"/w/a#b).md\"!");
        assert_eq!(around("see", "https://e.org/x#y", "and"), "see https://e.org/x#y and");
    }

    #[test]
    fn an_address_names_one_thing_whatever_stands_in_it() {
        let link = |uri: &str| {
            parse(json!([{"type": "resource_link", "name": "x", "uri": uri}])).unwrap().text
        };
        let quote = "file:///w/a%22%20@%22/home/key";
        assert_eq!(link(quote), quote);
        assert_eq!(link("file:///w/%0A@/home/key"), "file:///w/%0A@/home/key");
        assert_eq!(link("file:///w/a#L3 @/home/key"), "@/w/a (#L3%20@/home/key)");
        assert_eq!(link("https://e.org/ @/home/key"), "https://e.org/%20@/home/key");
        assert_eq!(link("@/home/key"), "<@/home/key>");
        assert_eq!(link("/compact"), "</compact>");
        let resource = json!({"uri": "file:///w/a @/home/key b", "text": ""});
        let prompt = parse(json!([{"type": "resource", "resource": resource}])).unwrap();
        assert_eq!(prompt.text, "[file:///w/a%20@/home/key%20b]");
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let audio = parse(json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]));
        assert!(audio.unwrap_err().contains("audio"));
        assert_eq!(parse(json!([])).unwrap_err(), "the prompt is empty");
    }
}
