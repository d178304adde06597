//! Markdown as a tree of known tags, from which the page builds elements without parsing HTML. Raw
//! HTML stays text, links are limited to http, https and mailto, images become their alt text, and
//! nesting is bounded.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value, json};

/// Parses a text into the node format of `API.md`.
pub(crate) fn parse_markdown_nodes(text: &str) -> Vec<Value> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = NodeBuilder::default();
    for event in Parser::new_ext(text, options) {
        builder.take_event(event);
    }
    builder.finish()
}

#[derive(Default)]
struct NodeBuilder {
    done: Vec<Value>,
    open: Vec<OpenNode>,
    /// Open tags below the maximum depth.
    too_deep: usize,
    /// Column alignments of the current table.
    alignments: Vec<Alignment>,
    column: usize,
    is_table_head: bool,
}

struct OpenNode {
    tag: &'static str,
    attributes: Map<String, Value>,
    children: Vec<Value>,
}

impl NodeBuilder {
    fn take_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.push_text(&text);
            }
            Event::Code(text) => self.push(json!(["code", text.as_ref()])),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push_text(&text),
            Event::FootnoteReference(text) => self.push_text(&text),
            Event::SoftBreak => self.push_text("\n"),
            Event::HardBreak => self.push(json!(["br"])),
            Event::Rule => self.push(json!(["hr"])),
            Event::TaskListMarker(done) => self.push(json!(["task", {"done": done}])),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if self.open.len() >= DEPTH_MAX || self.too_deep > 0 {
            self.too_deep += 1;
            return;
        }
        let mut attributes = Map::new();
        let tag = match tag {
            Tag::Paragraph => "p",
            Tag::Heading { level, .. } => match level as usize {
                1 => "h1",
                2 => "h2",
                3 => "h3",
                4 => "h4",
                5 => "h5",
                _ => "h6",
            },
            Tag::BlockQuote(_) => "blockquote",
            Tag::CodeBlock(kind) => {
                if let CodeBlockKind::Fenced(info) = kind
                    && let Some(lang) = info.split_whitespace().next()
                {
                    attributes.insert("lang".to_owned(), Value::from(lang));
                }
                "pre"
            }
            Tag::List(Some(start)) => {
                attributes.insert("start".to_owned(), Value::from(start));
                "ol"
            }
            Tag::List(None) => "ul",
            Tag::Item => "li",
            Tag::Table(alignments) => {
                self.alignments = alignments;
                "table"
            }
            Tag::TableHead => {
                (self.is_table_head, self.column) = (true, 0);
                "tr"
            }
            Tag::TableRow => {
                self.column = 0;
                "tr"
            }
            Tag::TableCell => {
                if let Some(align) = self.next_alignment() {
                    attributes.insert("align".to_owned(), Value::from(align));
                }
                if self.is_table_head { "th" } else { "td" }
            }
            Tag::Emphasis => "em",
            Tag::Strong => "strong",
            Tag::Strikethrough => "del",
            Tag::Link { dest_url, .. } => {
                if is_safe_link(&dest_url) {
                    attributes.insert("href".to_owned(), Value::from(dest_url.as_ref()));
                }
                "a"
            }
            // Only their text is kept, in place.
            Tag::Image { .. }
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => PLAIN,
        };
        self.open.push(OpenNode { tag, attributes, children: Vec::new() });
    }

    fn end(&mut self, end: TagEnd) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(OpenNode { tag, attributes, children }) = self.open.pop() else { return };
        if end == TagEnd::TableHead {
            self.is_table_head = false;
        }
        if tag == PLAIN {
            children.into_iter().for_each(|child| self.push(child));
            return;
        }
        let mut node = vec![Value::from(tag)];
        if !attributes.is_empty() {
            node.push(Value::Object(attributes));
        }
        node.extend(children);
        self.push(Value::Array(node));
    }

    fn next_alignment(&mut self) -> Option<&'static str> {
        let alignment = self.alignments.get(self.column).copied();
        self.column += 1;
        match alignment? {
            Alignment::None => None,
            Alignment::Left => Some("left"),
            Alignment::Center => Some("center"),
            Alignment::Right => Some("right"),
        }
    }

    fn push_text(&mut self, text: &str) {
        let children = self.children();
        if let Some(Value::String(last)) = children.last_mut() {
            last.push_str(text);
        } else {
            children.push(Value::from(text));
        }
    }

    fn push(&mut self, node: Value) {
        match node {
            Value::String(text) => self.push_text(&text),
            node => self.children().push(node),
        }
    }

    fn children(&mut self) -> &mut Vec<Value> {
        match self.open.last_mut() {
            Some(open) => &mut open.children,
            None => &mut self.done,
        }
    }

    fn finish(mut self) -> Vec<Value> {
        while !self.open.is_empty() {
            self.end(TagEnd::Paragraph);
        }
        self.done
    }
}

fn is_safe_link(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

/// A tag of which only the children are kept.
const PLAIN: &str = "";
const DEPTH_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_tags_and_safe_links_come_out() {
        let text = "# A *b*\n\nx <script>x</script> [l](javascript:alert(1)) [m](https://e.example) ![i](http://x/y.png)\n\n```rs\nfn\n```\n\n| a |\n|--:|\n| 1 |";
        let nodes = Value::from(parse_markdown_nodes(text)).to_string();
        for expected in [
            r#"["h1","A ",["em","b"]]"#,
            r#"<script>x</script>"#,
            r#"["a","l"]"#,
            r#"["a",{"href":"https://e.example"},"m"]"#,
            r#"["pre",{"lang":"rs"},"fn\n"]"#,
            r#"["th",{"align":"right"},"a"]"#,
        ] {
            assert!(nodes.contains(expected), "{expected} in {nodes}");
        }
        assert!(!nodes.contains("y.png") && !nodes.contains("javascript"), "{nodes}");
    }

    #[test]
    fn nesting_has_an_end_and_loses_no_words() {
        let nodes = Value::from(parse_markdown_nodes(&format!("{} deep", ">".repeat(500))));
        let text = nodes.to_string();
        assert!(text.matches("blockquote").count() <= DEPTH_MAX && text.contains("deep"), "{text}");
    }
}
