//! Where things stand in JSON text: spans of values and keys, so that a mistake can be shown and an
//! entry added without touching the rest. The text must be JSON already; nothing is checked here but
//! keys that are written twice.

use std::ops::Range;

/// A value in the text.
#[derive(Clone, Debug)]
pub(crate) struct JsonSpanNode {
    /// The bytes it takes.
    pub(crate) span: Range<usize>,
    pub(crate) kind: JsonSpanKind,
}

/// What is inside.
#[derive(Clone, Debug)]
pub(crate) enum JsonSpanKind {
    Object(Vec<JsonSpanMember>),
    Array(Vec<JsonSpanNode>),
    Scalar,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct JsonSpanMember {
    pub(crate) key: String,
    /// Where the key begins.
    pub(crate) at: usize,
    pub(crate) value: JsonSpanNode,
}

impl JsonSpanNode {
    /// The tree of a text that `serde_json` has accepted.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        JsonSpanScanner { text, at: 0 }.scan_node()
    }

    /// The member of an object.
    pub(crate) fn member(&self, key: &str) -> Option<&JsonSpanMember> {
        match &self.kind {
            JsonSpanKind::Object(members) => members.iter().find(|member| member.key == key),
            _ => None,
        }
    }

    /// Where what a JSON pointer names begins: a key, or an entry of a list. As far as it leads.
    pub(crate) fn find_offset(&self, pointer: &str) -> usize {
        let (mut node, mut at) = (self, self.span.start);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                JsonSpanKind::Object(_) => {
                    node.member(&step).map(|member| (&member.value, member.at))
                }
                JsonSpanKind::Array(items) => {
                    let item = step.parse().ok().and_then(|index: usize| items.get(index));
                    item.map(|item| (item, item.span.start))
                }
                JsonSpanKind::Scalar => None,
            };
            match next {
                Some(next) => (node, at) = next,
                None => break,
            }
        }
        at
    }

    /// A key that is written twice in one object: which of the two is meant nobody can say.
    pub(crate) fn find_duplicate_key(&self) -> Option<(&str, usize)> {
        match &self.kind {
            JsonSpanKind::Scalar => None,
            JsonSpanKind::Array(items) => items.iter().find_map(Self::find_duplicate_key),
            JsonSpanKind::Object(members) => {
                let mut keys: Vec<&JsonSpanMember> = members.iter().collect();
                keys.sort_by(|a, b| a.key.cmp(&b.key).then(a.at.cmp(&b.at)));
                let pair = keys.array_windows().find(|[one, next]| one.key == next.key);
                pair.map(|[_, second]| (second.key.as_str(), second.at))
                    .or_else(|| members.iter().find_map(|member| member.value.find_duplicate_key()))
            }
        }
    }
}

/// Line and column of a byte, from 1.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// One more step of a JSON pointer.
pub(crate) fn push_pointer_key(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

struct JsonSpanScanner<'a> {
    text: &'a str,
    at: usize,
}

impl JsonSpanScanner<'_> {
    fn scan_node(&mut self) -> Option<JsonSpanNode> {
        let start = self.skip_whitespace()?;
        let kind = match self.peek()? {
            b'{' => JsonSpanKind::Object(self.scan_members()?),
            b'[' => JsonSpanKind::Array(self.scan_items()?),
            b'"' => {
                self.scan_string()?;
                JsonSpanKind::Scalar
            }
            _ => {
                while self.peek().is_some_and(|byte| !b",]} \t\r\n".contains(&byte)) {
                    self.at += 1;
                }
                JsonSpanKind::Scalar
            }
        };
        Some(JsonSpanNode { span: start..self.at, kind })
    }

    fn scan_members(&mut self) -> Option<Vec<JsonSpanMember>> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            let at = self.skip_whitespace()?;
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(members);
                }
                b',' => self.at += 1,
                _ => {
                    let key = serde_json::from_str(self.scan_string()?).ok()?;
                    self.skip_whitespace()?;
                    // The colon.
                    self.at += 1;
                    members.push(JsonSpanMember { key, at, value: self.scan_node()? });
                }
            }
        }
    }

    fn scan_items(&mut self) -> Option<Vec<JsonSpanNode>> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip_whitespace()?;
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(items);
                }
                b',' => self.at += 1,
                _ => items.push(self.scan_node()?),
            }
        }
    }

    /// A string with its quotes.
    fn scan_string(&mut self) -> Option<&str> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..self.at);
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_whitespace(&mut self) -> Option<usize> {
        while self.peek()?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"a\\u0062\": [1, {\"c\": \"]}\\\"\"}],\n  \"d/e\": {\"f\": null}\n}";

    #[test]
    fn things_are_found_where_they_stand() {
        let node = JsonSpanNode::parse(TEXT).unwrap();
        let cases = [
            ("", (1, 1)),
            ("/ab", (2, 3)),
            ("/ab/1", (2, 18)),
            ("/ab/1/c", (2, 19)),
            ("/ab/7", (2, 3)),
            ("/d~1e/f", (3, 11)),
            ("/nowhere", (1, 1)),
        ];
        for (pointer, place) in cases {
            assert_eq!(line_and_column(TEXT, node.find_offset(pointer)), place, "{pointer}");
        }
        assert!(node.find_duplicate_key().is_none());
    }

    #[test]
    fn a_key_written_twice_is_seen_however_it_is_spelt() {
        for text in [r#"{"a":1,"a":2}"#, r#"{"x":[{"a":1,"b":0,"\u0061":2}]}"#] {
            assert_eq!(
                JsonSpanNode::parse(text).unwrap().find_duplicate_key().map(|(key, _)| key),
                Some("a"),
                "{text}"
            );
        }
    }
}
