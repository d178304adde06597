//! Finds the positions of keys and values in JSON text, to show the line of a mistake, and to add
//! or remove an entry without changing the rest.
//!
//! `serde_json` decides what is valid JSON, before and after an edit. `jsonc-parser` is used only
//! for byte ranges, with every extension of JSON switched off.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

#[derive(Clone, Debug)]
pub(crate) struct JsonSpanNode {
    pub(crate) span: Range<usize>,
    pub(crate) kind: JsonSpanKind,
}

#[derive(Clone, Debug)]
pub(crate) enum JsonSpanKind {
    Object(Vec<JsonSpanMember>),
    Array(Vec<JsonSpanNode>),
    Scalar,
}

#[derive(Clone, Debug)]
pub(crate) struct JsonSpanMember {
    pub(crate) key: String,
    /// The offset of the key.
    pub(crate) at: usize,
    pub(crate) value: JsonSpanNode,
}

impl JsonSpanNode {
    /// The tree of a text that `serde_json` has accepted.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT_JSON).ok()?;
        parsed.value.as_ref().map(Self::from_ast)
    }

    fn from_ast(value: &Value<'_>) -> Self {
        let kind = match value {
            Value::Object(object) => {
                let member = |property: &jsonc_parser::ast::ObjectProp<'_>| JsonSpanMember {
                    key: property.name.as_str().to_owned(),
                    at: property.name.start(),
                    value: Self::from_ast(&property.value),
                };
                JsonSpanKind::Object(object.properties.iter().map(member).collect())
            }
            Value::Array(array) => {
                JsonSpanKind::Array(array.elements.iter().map(Self::from_ast).collect())
            }
            Value::StringLit(_)
            | Value::NumberLit(_)
            | Value::BooleanLit(_)
            | Value::NullKeyword(_) => JsonSpanKind::Scalar,
        };
        Self { span: value.start()..value.end(), kind }
    }

    pub(crate) fn member(&self, key: &str) -> Option<&JsonSpanMember> {
        match &self.kind {
            JsonSpanKind::Object(members) => members.iter().find(|member| member.key == key),
            JsonSpanKind::Array(_) | JsonSpanKind::Scalar => None,
        }
    }

    /// The range of each member or item, keys included; empty for a scalar.
    fn entry_spans(&self) -> Vec<Range<usize>> {
        match &self.kind {
            JsonSpanKind::Object(members) => {
                members.iter().map(|member| member.at..member.value.span.end).collect()
            }
            JsonSpanKind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
            JsonSpanKind::Scalar => Vec::new(),
        }
    }

    /// The text with entries appended to this object or list, formatted like its last one.
    pub(crate) fn insert_entries(&self, text: &str, entries: &[String]) -> Option<String> {
        if matches!(self.kind, JsonSpanKind::Scalar) {
            return None;
        }
        let (at, inserted) = match self.entry_spans().last() {
            None => (self.span.start + 1, entries.join(", ")),
            Some(last) => {
                let before = text.get(..last.start)?;
                let space = before.get(before.trim_end().len()..)?;
                let space = if space.is_empty() { " " } else { space };
                (last.end, entries.iter().map(|entry| format!(",{space}{entry}")).collect())
            }
        };
        Some(format!("{}{inserted}{}", text.get(..at)?, text.get(at..)?))
    }

    /// The text without one entry of this object or list.
    pub(crate) fn remove_entry(&self, text: &str, index: usize) -> Option<String> {
        let spans = self.entry_spans();
        let entry = spans.get(index)?;
        let before = index.checked_sub(1).and_then(|index| spans.get(index));
        // Remove a comma too: the one after it, or for the last entry the one before.
        let removed = match (before, spans.get(index + 1)) {
            (_, Some(after)) => entry.start..after.start,
            (Some(before), None) => before.end..entry.end,
            (None, None) => entry.clone(),
        };
        Some(format!("{}{}", text.get(..removed.start)?, text.get(removed.end..)?))
    }

    /// The offset of the key or list entry that a JSON pointer names, or of its nearest existing
    /// parent.
    pub(crate) fn find_offset(&self, pointer: &str) -> usize {
        let mut node = self;
        let mut at = self.span.start;
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

    /// A key that occurs twice in one object: it is ambiguous which one applies.
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

pub(crate) fn push_pointer_key(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Strict JSON. Every option is listed, so that a new one stops the build.
const STRICT_JSON: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use windlass_config_text::TextPosition;

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
            let found = TextPosition::from_offset(TEXT, node.find_offset(pointer));
            assert_eq!((found.line, found.column), place, "{pointer}");
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

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let scalar = prop_oneof![
            any::<String>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            any::<f64>().prop_map(serde_json::Value::from),
            any::<Option<bool>>().prop_map(serde_json::Value::from),
        ];
        scalar.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| { serde_json::Value::Object(map.into_iter().collect()) }),
            ]
        })
    }

    fn assert_spans_hold(node: &JsonSpanNode, text: &str, value: &serde_json::Value) {
        let read: serde_json::Value = serde_json::from_str(&text[node.span.clone()]).unwrap();
        assert_eq!(&read, value);
        match &node.kind {
            JsonSpanKind::Scalar => assert!(!value.is_object() && !value.is_array()),
            JsonSpanKind::Array(items) => {
                assert_eq!(items.len(), value.as_array().unwrap().len());
                for (index, item) in items.iter().enumerate() {
                    assert_spans_hold(item, text, &value[index]);
                }
            }
            JsonSpanKind::Object(members) => {
                assert_eq!(members.len(), value.as_object().unwrap().len());
                for member in members {
                    assert!(text[member.at..].starts_with('"'));
                    assert_spans_hold(&member.value, text, &value[&member.key]);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_serde_json_reads_has_spans(value in any_json(), is_pretty in any::<bool>()) {
            let text = match is_pretty {
                true => serde_json::to_string_pretty(&value).unwrap(),
                false => value.to_string(),
            };
            let value = serde_json::from_str(&text).unwrap();
            assert_spans_hold(&JsonSpanNode::parse(&text).unwrap(), &text, &value);
        }
    }

    #[test]
    fn what_is_not_json_has_no_spans() {
        for text in
            ["", "{a: 1}", "[1,]", "[1 2]", "['a']", "[0x1]", "[+1]", "[.5]", "[NaN]", "{} // a"]
        {
            assert!(JsonSpanNode::parse(text).is_none(), "{text}");
        }
    }
}
