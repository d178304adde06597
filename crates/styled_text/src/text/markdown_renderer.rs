//! Renders Markdown block by block.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::code_highlight;
use super::markdown_table::MarkdownTable;
use crate::styled_line::{StyledLine, TextStyle};

pub(super) fn render_blocks(text: &str, width: usize) -> Vec<StyledLine> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = MarkdownRenderer::new(width.max(1));
    for event in Parser::new_ext(text, options) {
        renderer.handle_event(event);
    }
    renderer.end_line();
    while renderer.lines.last().is_some_and(|line| line.spans.is_empty()) {
        renderer.lines.pop();
    }
    renderer.lines
}

struct MarkdownRenderer {
    width: usize,
    lines: Vec<StyledLine>,
    line: StyledLine,
    /// Put before each line: quote marks, and the marks of list items.
    prefix: Vec<LinePrefix>,
    styles: Vec<TextStyle>,
    lists: Vec<Option<u64>>,
    code: Option<OpenCodeBlock>,
    link: Option<OpenLink>,
    table: Option<MarkdownTable>,
}

struct OpenCodeBlock {
    language: String,
    text: String,
}

struct OpenLink {
    address: String,
    /// What is shown for it.
    text: String,
}

#[derive(Clone, Debug)]
struct LinePrefix {
    first: String,
    rest: String,
    is_used: bool,
}

impl MarkdownRenderer {
    fn new(width: usize) -> Self {
        Self {
            width,
            lines: Vec::new(),
            line: StyledLine::new(),
            prefix: Vec::new(),
            styles: Vec::new(),
            lists: Vec::new(),
            code: None,
            link: None,
            table: None,
        }
    }

    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) => self.push_text(&text),
            Event::Code(text) => self.push_styled(&text, TextStyle::Code),
            Event::InlineHtml(text) if is_line_break(&text) => self.break_line(),
            Event::Html(text) | Event::InlineHtml(text) => self.push_text(&text),
            Event::SoftBreak => self.push_styled(" ", TextStyle::Plain),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.add_gap();
                self.push_styled(&"─".repeat(self.width.min(40)), TextStyle::Dim);
                self.end_line();
            }
            Event::TaskListMarker(done) => {
                self.push_styled(if done { "[x] " } else { "[ ] " }, TextStyle::Dim);
            }
            Event::FootnoteReference(name) => {
                self.push_styled(&format!("[{name}]"), TextStyle::Dim);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push_styled(&text, TextStyle::Code);
            }
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.add_gap(),
            Tag::Heading { level, .. } => {
                self.add_gap();
                self.styles.push(match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => TextStyle::Heading,
                    _ => TextStyle::Bold,
                });
            }
            Tag::BlockQuote(_) => {
                self.add_gap();
                self.push_prefix("▌ ", "▌ ");
            }
            Tag::CodeBlock(kind) => {
                self.add_gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(OpenCodeBlock { language, text: String::new() });
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.add_gap();
                }
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                let sign = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let blank = " ".repeat(sign.chars().count());
                self.push_prefix(&sign, &blank);
            }
            Tag::Emphasis => self.styles.push(TextStyle::Italic),
            Tag::Strong => self.styles.push(TextStyle::Bold),
            Tag::Strikethrough => {
                self.styles.push(TextStyle::Dim);
                self.push_styled(STRIKE_SIGN, TextStyle::Dim);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(OpenLink { address: dest_url.to_string(), text: String::new() });
                self.styles.push(TextStyle::Link);
            }
            Tag::Table(alignments) => {
                self.add_gap();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.start_row();
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.start_cell();
                }
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_line(),
            TagEnd::Heading(_) => {
                self.end_line();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.end_line();
                self.prefix.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                if let Some(OpenCodeBlock { language, text }) = self.code.take() {
                    for line in code_highlight::highlight_code(&language, &text) {
                        let indent = count_blanks(&line).min(self.width / 2) + CODE_INDENT;
                        self.line = line;
                        self.end_line_with_indent(indent);
                    }
                }
            }
            TagEnd::Emphasis | TagEnd::Strong => {
                self.styles.pop();
            }
            TagEnd::Strikethrough => {
                self.push_styled(STRIKE_SIGN, TextStyle::Dim);
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(OpenLink { address, text }) = self.link.take()
                    && address.strip_prefix("mailto:").unwrap_or(&address) != text
                {
                    self.push_styled(&format!(" ({address})"), TextStyle::Dim);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    for line in table.render(self.width.saturating_sub(self.prefix_width())) {
                        self.line = line;
                        self.end_line();
                    }
                }
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.text.push_str(text);
            return;
        }
        let style = self.styles.last().copied().unwrap_or_default();
        let mut parts = text.split('\n');
        if let Some(first) = parts.next() {
            self.push_styled(first, style);
        }
        for part in parts {
            self.end_line();
            self.push_styled(part, style);
        }
    }

    fn push_styled(&mut self, text: &str, style: TextStyle) {
        let style = if style == TextStyle::Plain {
            self.styles.last().copied().unwrap_or_default()
        } else {
            style
        };
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        match &mut self.table {
            Some(table) => table.push_text(text, style),
            None => self.line.push(text, style),
        }
    }

    fn break_line(&mut self) {
        match &mut self.table {
            Some(table) => table.break_line(),
            None => self.end_line(),
        }
    }

    fn push_prefix(&mut self, first: &str, rest: &str) {
        self.prefix.push(LinePrefix {
            first: first.to_owned(),
            rest: rest.to_owned(),
            is_used: false,
        });
    }

    /// Adds a blank line between blocks, except at the start and inside a list.
    fn add_gap(&mut self) {
        self.end_line();
        let follows_words = self.lines.last().is_some_and(|line| !line.spans.is_empty());
        let opens_item = self.prefix.last().is_some_and(|prefix| !prefix.is_used);
        if follows_words && !opens_item && self.lists.is_empty() {
            self.lines.push(StyledLine::new());
        }
    }

    fn prefix_width(&self) -> usize {
        self.prefix.iter().map(|prefix| prefix.rest.chars().count()).sum()
    }

    fn end_line(&mut self) {
        self.end_line_with_indent(0);
    }

    /// Lines after the first are indented, so that a wrapped line of code is known as one.
    fn end_line_with_indent(&mut self, indent: usize) {
        let line = std::mem::take(&mut self.line);
        if line.spans.is_empty() {
            return;
        }
        let width = self.width.saturating_sub(self.prefix_width()).max(8);
        for broken in line.wrap(width, indent) {
            let mut whole = StyledLine::new();
            for prefix in &mut self.prefix {
                let sign = if prefix.is_used { &prefix.rest } else { &prefix.first };
                whole.push(sign.as_str(), TextStyle::Dim);
                prefix.is_used = true;
            }
            for span in broken.spans {
                whole.push(span.text, span.style);
            }
            self.lines.push(whole);
        }
    }
}

/// As people write it in tables, where Markdown has no other.
fn is_line_break(html: &str) -> bool {
    let name = html.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/').trim_end();
    name.eq_ignore_ascii_case("br")
}

/// The start of a line.
fn count_blanks(line: &StyledLine) -> usize {
    line.plain_text().chars().take_while(|letter| *letter == ' ').count()
}

/// The additional indentation of a wrapped line of code.
const CODE_INDENT: usize = 2;
/// Stays readable without colours.
const STRIKE_SIGN: &str = "~~";

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(text: &str, width: usize) -> Vec<String> {
        render_blocks(text, width).iter().map(StyledLine::plain_text).collect()
    }

    /// A continued line is never mistaken for a new one, however deep its indentation.
    #[test]
    fn wrapped_code_stands_behind_its_own_indentation() {
        let code = "```py\nif x:\n        print('one two three', four)\n```\n";
        assert_eq!(
            draw(code, 30),
            ["  if x:", "          print('one two ", "            three', four)"]
        );
        for width in 4..40 {
            let lines = draw(code, width);
            assert!(lines.concat().replace(' ', "").ends_with("four)"), "{width}: {lines:?}");
        }
    }

    /// Without colours, too.
    #[test]
    fn what_is_struck_out_can_be_seen() {
        assert_eq!(draw("use ~~two~~ three", 40), ["use ~~two~~ three"]);
    }

    #[test]
    fn an_address_is_shown_behind_other_words_only() {
        assert_eq!(
            draw("[a page](https://a.example/b), <https://a.example/c>, <me@a.example>", 90),
            ["a page (https://a.example/b), https://a.example/c, me@a.example"]
        );
    }

    #[test]
    fn a_break_begins_a_line() {
        assert_eq!(draw("one<br>two<BR />three <b>x</b>", 40), ["one", "two", "three <b>x</b>"]);
    }
}
