//! Files mentioned in a prompt: they follow its text as blocks, and get lines of their own, in
//! which other programs look for them.
//!
//! A block is such a file if it begins with a name that the text before it mentions. There is no
//! other mark, because a journal only stores blocks, and the same journal must always give the same
//! lines.

use std::path::Path;

use windlass_vocabulary::{ContentBlock, Message};

use super::api_block::to_json_string;
use super::{TranscribedMessage, Transcriber};
use crate::digest::derive_uuid;

impl Transcriber {
    /// One line per file.
    pub(super) fn transcribe_attached_files(
        &mut self,
        message: &Message,
        at: u64,
        done: &mut TranscribedMessage,
    ) {
        let content = find_attached_files(&message.content)
            .filter(|(_, (_, content))| !is_not_attached(content));
        for (number, (name, content)) in content {
            let place = format!("{}/attached", self.derive_line_name(message.id, number));
            let own = derive_uuid(&self.about.session, &place);
            let link = self.link_line(own, None);
            if !self.is_writing {
                continue;
            }
            let path = Path::new(&self.about.cwd).join(name);
            let head = self.render_line_head("attachment", &link, at);
            let shown = to_json_string(name);
            let path = to_json_string(&path.to_string_lossy());
            let content = to_json_string(content);
            done.lines.push(format!(
                r#"{head},"attachment":{{"type":"file","filename":{path},"displayPath":{shown},"content":{{"type":"text","file":{{"filePath":{path},"content":{content}}}}}}}}}"#
            ));
        }
    }
}

/// Was the file not attached after all? The block then has a reason in brackets.
fn is_not_attached(content: &str) -> bool {
    content.is_empty() || content.starts_with("(It was not attached")
}

/// Are all blocks after the text files that it mentions?
pub(super) fn has_only_attached_files(blocks: &[ContentBlock]) -> bool {
    blocks.len() > 1 && find_attached_files(blocks).count() == blocks.len() - 1
}

/// The text and everything after it as one string, because readers recover prompts from plain
/// strings.
pub(super) fn join_texts(blocks: &[ContentBlock]) -> String {
    blocks.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n\n")
}

/// The index, the name and the content of each file.
fn find_attached_files(blocks: &[ContentBlock]) -> impl Iterator<Item = (usize, (&str, &str))> {
    let words = match blocks.first() {
        Some(ContentBlock::Text(words)) => words.as_str(),
        _ => "",
    };
    blocks.iter().enumerate().skip(1).filter_map(move |(number, block)| {
        let ContentBlock::Text(text) = block else { return None };
        let (head, content) = text.split_once(":\n").unwrap_or((text, ""));
        // A file that was not attached has the reason after its name.
        let head = head.split_once(": (").map_or(head, |(name, _)| name);
        let name = head.strip_prefix('@')?;
        (!name.contains('\n') && words.contains(head)).then_some((number, (name, content)))
    })
}
