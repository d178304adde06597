//! A body as its reader sees it: its texts, with the position of each byte.
//!
//! A secret may contain escapes, or be split: a streaming model sends it over several events. So
//! JSON strings are unescaped, and strings at the same path of successive events are joined to one
//! text. Every byte of a body is in exactly one view (short pieces that cannot contain anything are
//! left out). Nothing here decides what is a secret, and nothing can fail: whatever is not JSON is
//! plain text.

use std::collections::BTreeMap;
use std::ops::Range;

use super::json_tokenizer::{JsonString, JsonToken, JsonTokenizer};

/// One text in a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextView {
    pub(super) text: Vec<u8>,
    pub(super) form: TextForm,
    /// Its path as a JSON pointer, if it is the value of a string.
    pub(super) path: String,
    parts: Vec<TextViewPart>,
}

/// How a text is written in the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TextForm {
    #[default]
    Plain,
    /// The text between JSON strings: numbers and punctuation.
    BetweenStrings,
    String,
}

/// A piece of a view that is contiguous in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextViewPart {
    /// The offset in the text.
    pub(super) start: usize,
    /// The offset in the body.
    pub(super) raw: usize,
    pub(super) escapes: Vec<EscapedRange>,
}

/// Bytes of a text that are escaped in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EscapedRange {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) raw: usize,
    pub(super) raw_len: usize,
}

impl TextView {
    fn from_plain(body: &[u8], raw: Range<usize>, form: TextForm) -> Self {
        let part = TextViewPart { start: 0, raw: raw.start, escapes: Vec::new() };
        Self {
            text: body.get(raw).unwrap_or_default().to_vec(),
            parts: vec![part],
            form,
            ..Self::default()
        }
    }

    /// The ranges of the body for a range of the text: one per part.
    pub(super) fn raw_ranges(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let ends = self.parts.iter().skip(1).map(|part| part.start).chain([self.text.len()]);
        let bounded = self.parts.iter().zip(ends);
        bounded
            .filter_map(|(part, end)| {
                let inside = range.start.max(part.start)..range.end.min(end);
                (!inside.is_empty()).then(|| part.raw_start(inside.start)..part.raw_end(inside.end))
            })
            .collect()
    }

    fn add(&mut self, text: &[u8], mut part: TextViewPart) {
        let shift = self.text.len();
        part.start += shift;
        for escape in &mut part.escapes {
            escape.start += shift;
        }
        self.text.extend_from_slice(text);
        self.parts.push(part);
    }
}

impl TextViewPart {
    fn raw_start(&self, at: usize) -> usize {
        match self.escape_before(at) {
            Some(escape) if at < escape.start + escape.len => escape.raw,
            Some(escape) => escape.raw + escape.raw_len + (at - escape.start - escape.len),
            None => self.raw + (at - self.start),
        }
    }

    fn raw_end(&self, end: usize) -> usize {
        let last = end.saturating_sub(1);
        match self.escape_before(last) {
            // Half an escape sequence must not remain.
            Some(escape) if last < escape.start + escape.len => escape.raw + escape.raw_len,
            _ => self.raw_start(last) + 1,
        }
    }

    fn escape_before(&self, at: usize) -> Option<&EscapedRange> {
        let after = self.escapes.partition_point(|escape| escape.start <= at);
        after.checked_sub(1).and_then(|index| self.escapes.get(index))
    }
}

/// Every text of a body.
pub(super) fn collect_views(body: &[u8]) -> Vec<TextView> {
    let mut views = TextViewCollector { body, all: Vec::new(), stream_views: BTreeMap::new() };
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[' | b'"') => views.collect_json(0..body.len()),
        _ => views.collect_lines(),
    }
    views.all.retain(|view| view.text.len() >= TEXT_MIN);
    views.all
}

struct TextViewCollector<'a> {
    body: &'a [u8],
    all: Vec<TextView>,
    /// The view of each path in a stream of events.
    stream_views: BTreeMap<String, usize>,
}

impl TextViewCollector<'_> {
    /// Server-sent events, or other lines.
    fn collect_lines(&mut self) {
        let mut plain_from = 0;
        let mut at = 0;
        while at < self.body.len() {
            let rest = self.body.get(at..).unwrap_or_default();
            let len = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let end = at + len.unwrap_or(rest.len());
            let line = self.body.get(at..end).unwrap_or_default();
            if let Some(payload) = line.strip_prefix(b"data:") {
                let space = payload.iter().take_while(|byte| **byte == b' ').count();
                if matches!(payload.get(space), Some(b'{' | b'[')) {
                    let start = end - payload.len() + space;
                    self.collect_plain(plain_from..start, TextForm::Plain);
                    self.collect_json(start..end);
                    plain_from = end;
                }
            }
            at = end + 1;
        }
        self.collect_plain(plain_from..self.body.len(), TextForm::Plain);
    }

    fn collect_plain(&mut self, raw: Range<usize>, form: TextForm) {
        let part = self.body.get(raw.clone()).unwrap_or_default();
        // Punctuation between strings, the most frequent case, cannot contain a secret.
        if part.iter().filter(|byte| byte.is_ascii_alphanumeric()).count() >= TEXT_MIN {
            self.all.push(TextView::from_plain(self.body, raw, form));
        }
    }

    fn collect_json(&mut self, raw: Range<usize>) {
        let mut event = Vec::new();
        for token in JsonTokenizer::new(self.body, raw) {
            match token {
                JsonToken::Gap(raw) => self.collect_plain(raw, TextForm::BetweenStrings),
                JsonToken::EventEnd => self.collect_event(&mut event),
                JsonToken::Key(JsonString { text, part, path }) => {
                    self.all.push(TextView {
                        text,
                        form: TextForm::String,
                        path,
                        parts: vec![part],
                    });
                }
                JsonToken::Value(_) | JsonToken::Mark { .. } => event.push(token),
            }
        }
        self.collect_event(&mut event);
    }

    /// Appends the strings of one event to the texts of their streams. Fields that identify a
    /// stream (`index`, `type` and similar) count as part of the path.
    fn collect_event(&mut self, event: &mut Vec<JsonToken>) {
        let marks: Vec<(String, String)> = event
            .iter()
            .filter_map(|token| match token {
                JsonToken::Mark { parent, mark } => Some((format!("{parent}/"), mark.clone())),
                JsonToken::Value(string) => string.stream_mark(),
                JsonToken::Gap(_) | JsonToken::Key(_) | JsonToken::EventEnd => None,
            })
            .take(MARKS_MAX)
            .collect();
        for token in event.drain(..) {
            let JsonToken::Value(string) = token else { continue };
            let mut place = string.path.clone();
            for (parent, mark) in &marks {
                if string.path.starts_with(parent) {
                    place.push_str(mark);
                }
            }
            let next = self.all.len();
            let index = *self.stream_views.entry(place).or_insert(next);
            if index == next {
                self.all.push(TextView {
                    form: TextForm::String,
                    path: string.path,
                    ..TextView::default()
                });
            }
            if let Some(view) = self.all.get_mut(index) {
                view.add(&string.text, string.part);
            }
        }
    }
}

/// All patterns are at least this long.
const TEXT_MIN: usize = 4;
/// Limit on the marks of one event; normal ones have about five.
const MARKS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::collect_views;

    fn view_texts(body: &str) -> Vec<String> {
        let views = collect_views(body.as_bytes()).into_iter();
        views.map(|view| String::from_utf8_lossy(&view.text).into_owned()).collect()
    }

    #[test]
    fn the_pieces_of_a_stream_are_one_text() {
        let delta = |index: u32, text: &str| {
            format!(
                "data: {{\"type\":\"delta\",\"delta\":{{\"text\":\"{text}\"}},\"index\":{index}}}\n\n"
            )
        };
        let body = [delta(0, "one "), delta(1, "another"), delta(0, "t\\u0065xt")].concat();
        let seen = view_texts(&body);
        assert!(seen.contains(&"one text".to_owned()), "{seen:?}");
        assert!(seen.contains(&"another".to_owned()), "{seen:?}");
    }

    #[test]
    fn every_range_leads_back_to_its_bytes() {
        let body = br#"{"a":"x\n\u00e4\ud83d\ude00 \"quoted\" \/ end"}"#;
        let views = collect_views(body);
        let view = views.iter().find(|view| view.path == "/a").expect("a string");
        assert_eq!(view.text, "x\nä😀 \"quoted\" / end".as_bytes());
        let at = view.text.windows(8).position(|part| part == b"\"quoted\"").expect("a part");
        let raw = view.raw_ranges(&(at..at + 8));
        assert_eq!(&body[raw[0].clone()], br#"\"quoted\""#);
        let emoji = 4..6;
        assert_eq!(&body[view.raw_ranges(&emoji)[0].clone()], br"\ud83d\ude00");
    }

    #[test]
    fn what_is_no_json_is_read_all_the_same() {
        assert_eq!(view_texts("<html>\nhello</html>"), ["<html>\nhello</html>"]);
        assert_eq!(view_texts("{\"cut\":\"in the mid"), ["in the mid"]);
        let words = ["[WARN]", " hello ", " yours", "there"];
        assert_eq!(view_texts("[WARN] hello \"there\" yours"), words);
    }
}
