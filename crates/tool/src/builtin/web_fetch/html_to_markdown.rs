//! Converts a page to Markdown, without the parts that only a browser needs.
//!
//! A single pass with a few counters and no tree. Headings, paragraphs, lists, links, code,
//! quotations and tables are kept; layout is not.

use reqwest::Url;

use super::html_tokens::{HtmlToken, HtmlTokens, decode_entities, find_attribute};
use super::markdown_writer::{DEPTH_MAX, HtmlMarkdownWriter, HtmlTableRow, collapse_whitespace};

pub(super) fn html_to_markdown(page: &str, base: &Url) -> (String, Option<String>) {
    let mut writer = HtmlMarkdownWriter::new(base);
    let mut pieces = HtmlTokens::new(page);
    while let Some(piece) = pieces.next() {
        match piece {
            HtmlToken::Text(text) => writer.push_text(text),
            HtmlToken::Open(name, attributes) => {
                let name = name.to_ascii_lowercase();
                if RAW_TEXT_ELEMENTS.contains(&name.as_str()) {
                    let content = pieces.skip_raw(&name);
                    if name == "title" {
                        writer
                            .title
                            .get_or_insert_with(|| collapse_whitespace(&decode_entities(content)));
                    }
                } else {
                    writer.open_element(&name, attributes);
                }
            }
            HtmlToken::Close(name) => writer.close_element(&name.to_ascii_lowercase()),
        }
    }
    let title = writer.title.take().filter(|title| !title.is_empty());
    (writer.output.trim().to_owned(), title)
}

/// Elements whose content is not markup.
const RAW_TEXT_ELEMENTS: &[&str] =
    &["script", "style", "title", "textarea", "noscript", "template", "svg", "iframe"];
/// Elements that are left out with their content.
const SKIPPED_ELEMENTS: &[&str] = &["nav", "button", "select", "dialog"];

impl HtmlMarkdownWriter<'_> {
    fn open_element(&mut self, name: &str, attributes: &str) {
        if let Some((left_out, depth)) = &mut self.skipped_element {
            *depth += usize::from(left_out == name);
            return;
        }
        match name {
            _ if SKIPPED_ELEMENTS.contains(&name) => {
                self.skipped_element = Some((name.to_owned(), 1));
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_lines(2);
                let level = name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.push_mark(&format!("{} ", "#".repeat(level)));
            }
            "br" => self.break_lines(1),
            "hr" => {
                self.break_lines(2);
                self.push_mark("---");
                self.break_lines(2);
            }
            "pre" => {
                self.break_lines(2);
                self.push_mark("```");
                self.output.push('\n');
                self.pre_depth += 1;
            }
            "code" | "kbd" | "samp" if self.pre_depth == 0 => self.push_mark("`"),
            "strong" | "b" => self.push_mark("**"),
            "em" | "i" => self.push_mark("*"),
            "blockquote" => {
                self.break_lines(2);
                self.quote_depth = (self.quote_depth + 1).min(DEPTH_MAX);
            }
            "ul" | "ol" => {
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
                if self.lists.len() < DEPTH_MAX {
                    let first = find_attribute(attributes, "start").and_then(|it| it.parse().ok());
                    self.lists.push((name == "ol").then_some(first.unwrap_or(1)));
                }
            }
            "li" => self.start_item(),
            "a" => self.start_link(attributes),
            "img" => self.push_image(attributes),
            "tr" => {
                self.end_row();
                self.row = Some(HtmlTableRow::default());
            }
            "td" | "th" => self.start_cell(name == "th"),
            _ if BLOCK_ELEMENTS.contains(&name) => self.break_lines(2),
            _ => {}
        }
    }

    fn close_element(&mut self, name: &str) {
        if let Some((left_out, depth)) = &mut self.skipped_element {
            *depth -= usize::from(left_out == name);
            if *depth == 0 {
                self.skipped_element = None;
            }
            return;
        }
        match name {
            "pre" => {
                if self.pre_depth > 0 {
                    self.pre_depth -= 1;
                    if !self.output.ends_with('\n') {
                        self.output.push('\n');
                    }
                    self.output.push_str("```");
                }
                self.break_lines(2);
            }
            "code" | "kbd" | "samp" if self.pre_depth == 0 => self.end_mark("`"),
            "strong" | "b" => self.end_mark("**"),
            "em" | "i" => self.end_mark("*"),
            "blockquote" => {
                self.quote_depth = self.quote_depth.saturating_sub(1);
                self.break_lines(2);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
            }
            "a" => self.end_link(),
            "tr" => self.end_row(),
            "table" | "thead" | "tbody" => {
                self.end_row();
                self.break_lines(2);
            }
            "td" | "th" => {}
            _ if BLOCK_ELEMENTS.contains(&name) || name.starts_with('h') => self.break_lines(2),
            _ => {}
        }
    }
}

const BLOCK_ELEMENTS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "table",
    "thead",
    "tbody",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "details",
    "summary",
    "address",
    "head",
    "body",
    "html",
    "caption",
];
