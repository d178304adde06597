//! Files that a prompt mentions: said to the model in blocks behind its words, and written as lines of
//! their own, by which other programs find them.
//!
//! A block is such a file if it begins with a name that the words before it mention. That is all there
//! is to go by: a journal knows blocks, and the same journal must give the same lines.

use std::path::Path;

use windlass_vocabulary::{Block, Message};

use super::block::quoted;
use super::{Transcribed, Transcriber};
use crate::digest::uuid;

impl Transcriber {
    /// One line for each file.
    pub(super) fn attached(&mut self, message: &Message, at: u64, done: &mut Transcribed) {
        let held = files(&message.content).filter(|(_, (_, held))| !is_missing(held));
        for (number, (name, held)) in held {
            let place = format!("{}/attached", self.place(message.id, number));
            let own = uuid(&self.about.session, &place);
            let link = self.link(own, None);
            if !self.is_writing {
                continue;
            }
            let path = Path::new(&self.about.cwd).join(name);
            let (head, shown) = (self.head("attachment", &link, at), quoted(name));
            let (path, held) = (quoted(&path.to_string_lossy()), quoted(held));
            done.lines.push(format!(
                r#"{head},"attachment":{{"type":"file","filename":{path},"displayPath":{shown},"content":{{"type":"text","file":{{"filePath":{path},"content":{held}}}}}}}}}"#
            ));
        }
    }
}

/// Was it not put there after all? What is said then stands in brackets.
fn is_missing(held: &str) -> bool {
    held.is_empty() || held.starts_with("(It was not attached")
}

/// Is everything behind the words a file they mention?
pub(super) fn is_all(blocks: &[Block]) -> bool {
    blocks.len() > 1 && files(blocks).count() == blocks.len() - 1
}

/// The words with everything behind them, as one text: readers recover prompts from plain strings.
pub(super) fn words(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Where each stands, what it is called, and what it holds.
fn files(blocks: &[Block]) -> impl Iterator<Item = (usize, (&str, &str))> {
    let words = match blocks.first() {
        Some(Block::Text(words)) => words.as_str(),
        _ => "",
    };
    blocks.iter().enumerate().skip(1).filter_map(move |(number, block)| {
        let Block::Text(text) = block else { return None };
        let (head, held) = text.split_once(":\n").unwrap_or((text, ""));
        // One that was not attached says so behind its name.
        let head = head.split_once(": (").map_or(head, |(name, _)| name);
        let name = head.strip_prefix('@')?;
        (!name.contains('\n') && words.contains(head)).then_some((number, (name, held)))
    })
}
