//! Interprets the content of a page and collects the text it shows, line by line.
//!
//! A vertical move starts a new line, and a horizontal one adds a space. Columns and tables come
//! out in the order in which they are drawn.

use std::collections::HashMap;

use crate::document::PdfDocument;
use crate::font::PdfFont;
use crate::object::{PdfObject, PdfObjectReader};

const STEPS_MAX: usize = 2_000_000;
const TEXT_BYTES_MAX: usize = 1_000_000;
const DEPTH_MAX: usize = 4;
const VALUES_MAX: usize = 10_000;
/// A gap wider than this, in thousandths of the font size, is a space.
const SPACE_GAP_MIN: f64 = 200.0;

pub(super) fn extract_text(
    document: &PdfDocument<'_>,
    content: &[u8],
    resources: &PdfObject,
) -> String {
    let mut page = PageTextExtractor {
        document,
        text: String::new(),
        steps: 0,
        pen_height: 0.0,
        font_size: 1.0,
    };
    page.run_operators(content, resources, 0);
    let lines: Vec<&str> = page.text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

struct PageTextExtractor<'d, 'a> {
    document: &'d PdfDocument<'a>,
    text: String,
    steps: usize,
    pen_height: f64,
    font_size: f64,
}

impl PageTextExtractor<'_, '_> {
    fn run_operators(&mut self, content: &[u8], resources: &PdfObject, depth: usize) {
        let fonts = self.document.load_fonts(resources);
        let mut font: Option<&PdfFont> = None;
        let mut reader = PdfObjectReader::new(content, 0);
        let mut values: Vec<PdfObject> = Vec::new();
        while let Some(value) = reader.read_next() {
            let PdfObject::Operator(operator) = value else {
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
                "Tf" => font = self.select_font(&fonts, &values),
                "Do" => self.run_form_object(resources, &values, depth),
                "BI" => skip_inline_image(content, &mut reader),
                operator => self.apply_operator(operator, &values, font),
            }
            values.clear();
        }
    }

    fn select_font<'f>(
        &mut self,
        fonts: &'f HashMap<String, PdfFont>,
        values: &[PdfObject],
    ) -> Option<&'f PdfFont> {
        self.font_size = values.last().and_then(PdfObject::as_number).unwrap_or(1.0).abs().max(0.1);
        fonts.get(values.first()?.as_name()?)
    }

    fn apply_operator(&mut self, operator: &str, values: &[PdfObject], font: Option<&PdfFont>) {
        let number = |at: usize| values.get(at).and_then(PdfObject::as_number).unwrap_or(0.0);
        match operator {
            "Tj" => self.show_text(values.last(), font),
            "TJ" => self.show_text_array(values.last(), font),
            "'" | "\"" => {
                self.start_line();
                self.show_text(values.last(), font);
            }
            "T*" => self.start_line(),
            "Td" | "TD" => {
                self.pen_height += number(1);
                if number(1).abs() > 0.01 { self.start_line() } else { self.push_space() }
            }
            "Tm" => {
                let has_moved =
                    (number(5) - self.pen_height).abs() > self.font_size.max(number(3).abs()) * 0.3;
                self.pen_height = number(5);
                if has_moved { self.start_line() } else { self.push_space() }
            }
            "ET" => self.push_space(),
            _ => {}
        }
    }

    fn show_text(&mut self, value: Option<&PdfObject>, font: Option<&PdfFont>) {
        if let Some(PdfObject::Text(text)) = value {
            let shown = match font {
                Some(font) => font.decode(text),
                None => String::from_utf8_lossy(text).into_owned(),
            };
            self.text.extend(shown.chars().filter(|letter| !letter.is_control()));
        }
    }

    fn show_text_array(&mut self, list: Option<&PdfObject>, font: Option<&PdfFont>) {
        for one in list.and_then(PdfObject::as_array).unwrap_or_default() {
            if matches!(one, PdfObject::Number(gap) if *gap < -SPACE_GAP_MIN) {
                self.push_space();
            } else {
                self.show_text(Some(one), font);
            }
        }
    }

    fn start_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn push_space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Runs a form object, a part of the page stored separately.
    fn run_form_object(&mut self, resources: &PdfObject, values: &[PdfObject], depth: usize) {
        let Some(name) = values.last().and_then(PdfObject::as_name).filter(|_| depth < DEPTH_MAX)
        else {
            return;
        };
        let parts = resources.as_dictionary().and_then(|it| it.get("XObject"));
        let parts = parts.map(|it| self.document.resolve(it).1);
        let Some(part) =
            parts.as_ref().and_then(PdfObject::as_dictionary).and_then(|it| it.get(name))
        else {
            return;
        };
        let (_, PdfObject::Dictionary(map)) = self.document.resolve(part) else { return };
        if map.get("Subtype").and_then(PdfObject::as_name) != Some("Form") {
            return;
        }
        let Some(content) = self.document.read_stream(part) else { return };
        let own = map.get("Resources").map(|it| self.document.resolve(it).1);
        self.run_operators(&content, own.as_ref().unwrap_or(resources), depth + 1);
    }
}

/// Skips the bytes of an inline image, which are not operators.
fn skip_inline_image(content: &[u8], reader: &mut PdfObjectReader<'_>) {
    let rest = content.get(reader.position..).unwrap_or_default();
    let end = memchr::memmem::find_iter(rest, b"EI").find(|at| {
        let after = rest.get(at + 2).copied().unwrap_or(b' ');
        let before = at.checked_sub(1).and_then(|at| rest.get(at)).copied().unwrap_or(b'x');
        after.is_ascii_whitespace() && before.is_ascii_whitespace()
    });
    reader.position += end.map_or(rest.len(), |at| at + 2);
}
