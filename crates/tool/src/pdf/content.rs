//! Follows the content of a page and writes down the text it shows, line by line.
//!
//! Where the pen moves down a new line begins, where it jumps ahead a space. Columns and tables
//! come out in the order they were drawn.

use std::collections::HashMap;

use super::document::Document;
use super::font::Font;
use super::object::{Object, Reader};

/// Operators followed on one page.
const STEPS_MAX: usize = 2_000_000;
/// Bytes of text of one page.
const TEXT_BYTES_MAX: usize = 1_000_000;
/// Parts within parts.
const DEPTH_MAX: usize = 4;
/// Values before an operator that are kept.
const VALUES_MAX: usize = 10_000;
/// A gap wider than this, in thousandths of the font's size, is a space.
const GAP: f64 = 200.0;

/// The text of a content with these resources.
pub(super) fn text(document: &Document<'_>, content: &[u8], resources: &Object) -> String {
    let mut page = Page { document, text: String::new(), steps: 0, line: 0.0, size: 1.0 };
    page.follow(content, resources, 0);
    let lines: Vec<&str> = page.text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

struct Page<'d, 'a> {
    document: &'d Document<'a>,
    text: String,
    steps: usize,
    /// How high the pen is.
    line: f64,
    size: f64,
}

impl Page<'_, '_> {
    fn follow(&mut self, content: &[u8], resources: &Object, depth: usize) {
        let fonts = self.document.fonts(resources);
        let mut font: Option<&Font> = None;
        let mut reader = Reader::new(content, 0);
        let mut values: Vec<Object> = Vec::new();
        while let Some(value) = reader.next() {
            let Object::Operator(operator) = value else {
                if values.len() < VALUES_MAX {
                    values.push(value);
                }
                continue;
            };
            self.steps += 1;
            if self.steps > STEPS_MAX || self.text.len() > TEXT_BYTES_MAX {
                return;
            }
            match operator.as_str() {
                "Tf" => font = self.choose(&fonts, &values),
                "Do" => self.part(resources, &values, depth),
                "BI" => skip_picture(content, &mut reader),
                operator => self.step(operator, &values, font),
            }
            values.clear();
        }
    }

    fn choose<'f>(
        &mut self,
        fonts: &'f HashMap<String, Font>,
        values: &[Object],
    ) -> Option<&'f Font> {
        self.size = values.last().and_then(Object::number).unwrap_or(1.0).abs().max(0.1);
        fonts.get(values.first()?.name()?)
    }

    fn step(&mut self, operator: &str, values: &[Object], font: Option<&Font>) {
        let number = |at: usize| values.get(at).and_then(Object::number).unwrap_or(0.0);
        match operator {
            "Tj" => self.show(values.last(), font),
            "TJ" => self.show_list(values.last(), font),
            "'" | "\"" => {
                self.new_line();
                self.show(values.last(), font);
            }
            "T*" => self.new_line(),
            "Td" | "TD" => {
                self.line += number(1);
                if number(1).abs() > 0.01 { self.new_line() } else { self.space() }
            }
            "Tm" => {
                let has_moved =
                    (number(5) - self.line).abs() > self.size.max(number(3).abs()) * 0.3;
                self.line = number(5);
                if has_moved { self.new_line() } else { self.space() }
            }
            "ET" => self.space(),
            _ => {}
        }
    }

    fn show(&mut self, value: Option<&Object>, font: Option<&Font>) {
        if let Some(Object::Text(text)) = value {
            let shown = match font {
                Some(font) => font.decoded(text),
                None => String::from_utf8_lossy(text).into_owned(),
            };
            self.text.extend(shown.chars().filter(|letter| !letter.is_control()));
        }
    }

    fn show_list(&mut self, list: Option<&Object>, font: Option<&Font>) {
        for one in list.and_then(Object::list).unwrap_or_default() {
            match one {
                Object::Number(gap) if *gap < -GAP => self.space(),
                one => self.show(Some(one), font),
            }
        }
    }

    fn new_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// A part of the page that is kept elsewhere.
    fn part(&mut self, resources: &Object, values: &[Object], depth: usize) {
        let Some(name) = values.last().and_then(Object::name).filter(|_| depth < DEPTH_MAX) else {
            return;
        };
        let parts = resources.map().and_then(|it| it.get("XObject"));
        let parts = parts.map(|it| self.document.resolved(it).1);
        let Some(part) = parts.as_ref().and_then(Object::map).and_then(|it| it.get(name)) else {
            return;
        };
        let (_, Object::Map(map)) = self.document.resolved(part) else { return };
        if map.get("Subtype").and_then(Object::name) != Some("Form") {
            return;
        }
        let Some(content) = self.document.stream(part) else { return };
        let own = map.get("Resources").map(|it| self.document.resolved(it).1);
        self.follow(&content, own.as_ref().unwrap_or(resources), depth + 1);
    }
}

/// The bytes of a picture within the content are no operators.
fn skip_picture(content: &[u8], reader: &mut Reader<'_>) {
    let rest = content.get(reader.at..).unwrap_or_default();
    let end = memchr::memmem::find_iter(rest, b"EI").find(|at| {
        let after = rest.get(at + 2).copied().unwrap_or(b' ');
        let before = at.checked_sub(1).and_then(|at| rest.get(at)).copied().unwrap_or(b'x');
        after.is_ascii_whitespace() && before.is_ascii_whitespace()
    });
    reader.at += end.map_or(rest.len(), |at| at + 2);
}
