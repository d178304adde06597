//! Events for what a prompt mentions: each mentioned file is a block of its own behind the prompt.

use windlass_vocabulary::ContentBlock;

use super::emission::Emission;
use crate::names;
use crate::record::Attributes;

pub(super) fn emit_mentions(content: &[ContentBlock], emission: &mut Emission<'_>) {
    for block in content.iter().skip(1) {
        let ContentBlock::Text(text) = block else { continue };
        let Some(mention) = Mention::read(text) else { continue };
        let attributes = Attributes::default()
            .text("mention_type", mention.kind)
            .text("success", mention.is_attached.to_string());
        emission.event(names::AT_MENTION, attributes);
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Mention {
    kind: &'static str,
    is_attached: bool,
}

impl Mention {
    /// Reads a block such as `@src/app.py:` with the file below it, or `@docs:file://guide: (It was
    /// not attached: …)`.
    fn read(block: &str) -> Option<Self> {
        let rest = block.strip_prefix('@')?;
        let line = rest.lines().next()?;
        let (name, content) = match rest.split_once(": (It was not attached:") {
            Some((name, _)) if name.len() < line.len() => (name, NOT_ATTACHED),
            _ => (line.strip_suffix(':')?, rest.get(line.len()..)?.trim_start()),
        };
        let kind = if name.contains("://") { "mcp_resource" } else { "file" };
        Some(Self { kind, is_attached: !content.starts_with(NOT_ATTACHED) })
    }
}

const NOT_ATTACHED: &str = "(It was not attached:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_read_from_its_block() {
        let read = |block| Mention::read(block).map(|mention| (mention.kind, mention.is_attached));
        assert_eq!(read("@src/a.py:\nimport os"), Some(("file", true)));
        assert_eq!(read("@src/a.py:\n(It was not attached: denied)"), Some(("file", false)));
        assert_eq!(read("@a b: (It was not attached: it is too long)"), Some(("file", false)));
        assert_eq!(read("@docs:file://guide:\ntext"), Some(("mcp_resource", true)));
        assert_eq!(read("@nothing here"), None);
        assert_eq!(read("a text"), None);
    }
}
