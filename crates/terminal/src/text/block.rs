//! Walks through Markdown and writes it down block by block.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::code;
use super::table::Table;
use crate::line::{Line, Role};

/// The lines of a text.
pub(super) fn lines(text: &str, width: usize) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut scribe = Scribe::new(width.max(1));
    for event in Parser::new_ext(text, options) {
        scribe.event(event);
    }
    scribe.end_line();
    while scribe.lines.last().is_some_and(|line| line.spans.is_empty()) {
        scribe.lines.pop();
    }
    scribe.lines
}

struct Scribe {
    width: usize,
    lines: Vec<Line>,
    line: Line,
    /// What stands before each line: quote signs, and the sign of a list on its first line.
    prefix: Vec<Prefix>,
    roles: Vec<Role>,
    lists: Vec<Option<u64>>,
    code: Option<(String, String)>,
    link: Option<String>,
    table: Option<Table>,
}

#[derive(Clone, Debug)]
struct Prefix {
    first: String,
    rest: String,
    is_used: bool,
}

impl Scribe {
    fn new(width: usize) -> Self {
        Self {
            width,
            lines: Vec::new(),
            line: Line::new(),
            prefix: Vec::new(),
            roles: Vec::new(),
            lists: Vec::new(),
            code: None,
            link: None,
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.say(&text, Role::Code),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak => self.say(" ", Role::Plain),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.gap();
                self.say(&"─".repeat(self.width.min(40)), Role::Quiet);
                self.end_line();
            }
            Event::TaskListMarker(done) => {
                self.say(if done { "[x] " } else { "[ ] " }, Role::Quiet);
            }
            Event::FootnoteReference(name) => self.say(&format!("[{name}]"), Role::Quiet),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.say(&text, Role::Code),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.roles.push(match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => Role::Heading,
                    _ => Role::Strong,
                });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.indent("▌ ", "▌ ");
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
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
                self.indent(&sign, &blank);
            }
            Tag::Emphasis => self.roles.push(Role::Slanted),
            Tag::Strong => self.roles.push(Role::Strong),
            Tag::Strikethrough => self.roles.push(Role::Quiet),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.roles.push(Role::Link);
            }
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table::default());
            }
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.cell();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_line(),
            TagEnd::Heading(_) => {
                self.end_line();
                self.roles.pop();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.end_line();
                self.prefix.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    for line in code::lines(&language, &text) {
                        self.line = line;
                        self.end_line();
                    }
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.roles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.roles.pop();
                if let Some(link) = self.link.take()
                    && !self.line.words().ends_with(&link)
                {
                    self.say(&format!(" ({link})"), Role::Quiet);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    for line in table.lines(self.width.saturating_sub(self.prefix_width())) {
                        self.line = line;
                        self.end_line();
                    }
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        let role = self.roles.last().copied().unwrap_or_default();
        let mut parts = text.split('\n');
        if let Some(first) = parts.next() {
            self.say(first, role);
        }
        for part in parts {
            self.end_line();
            self.say(part, role);
        }
    }

    fn say(&mut self, text: &str, role: Role) {
        let role =
            if role == Role::Plain { self.roles.last().copied().unwrap_or_default() } else { role };
        match &mut self.table {
            Some(table) => table.say(text, role),
            None => self.line.push(text, role),
        }
    }

    fn indent(&mut self, first: &str, rest: &str) {
        self.prefix.push(Prefix { first: first.to_owned(), rest: rest.to_owned(), is_used: false });
    }

    /// An empty line between blocks, but not at the beginning and not inside a tight list.
    fn gap(&mut self) {
        self.end_line();
        let follows_words = self.lines.last().is_some_and(|line| !line.spans.is_empty());
        let opens_item = self.prefix.last().is_some_and(|prefix| !prefix.is_used);
        if follows_words && !opens_item && self.lists.is_empty() {
            self.lines.push(Line::new());
        }
    }

    fn prefix_width(&self) -> usize {
        self.prefix.iter().map(|prefix| prefix.rest.chars().count()).sum()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.spans.is_empty() {
            return;
        }
        let width = self.width.saturating_sub(self.prefix_width()).max(8);
        for broken in line.wrapped(width, 0) {
            let mut whole = Line::new();
            for prefix in &mut self.prefix {
                let sign = if prefix.is_used { &prefix.rest } else { &prefix.first };
                whole.push(sign.as_str(), Role::Quiet);
                prefix.is_used = true;
            }
            for span in broken.spans {
                whole.push(span.text, span.role);
            }
            self.lines.push(whole);
        }
    }
}
