//! Parses front matter, the lines between the first two `---` of a Markdown file, as JSON. Supports
//! the common part of YAML: keys with texts, numbers, lists and nested keys, in block or flow
//! style.
//!
//! An invalid line is reported and the others are still parsed, because real files are often not
//! valid YAML (decision 0052). The caller interprets the keys.

use serde_json::{Map, Number, Value};

#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatter<'a> {
    fields: Map<String, Value>,
    problem: Option<String>,
    pub body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Parses it; `None` if the text does not start with `---`, or there is no second one.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let (first, rest) = text.split_once('\n')?;
        if first.trim_end() != "---" {
            return None;
        }
        let mut lines = Vec::new();
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            at += line.len();
            if line.trim_end() == "---" {
                let mut reader = YamlBlockParser { lines, line_index: 0, problem: None };
                let fields = match reader.parse_block(0, DEPTH_MAX) {
                    Value::Object(fields) => fields,
                    _ => Map::new(),
                };
                reader.check_leftovers();
                let body = rest.get(at..).unwrap_or_default();
                return Some(Self { fields, problem: reader.problem, body });
            }
            lines.push(line.trim_end());
        }
        None
    }

    /// The first line that could not be parsed, as a message.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// A text; a list is joined.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        let text = match self.fields.get(key)? {
            Value::Array(list) => list.iter().map(value_to_text).collect::<Vec<_>>().join(", "),
            value => value_to_text(value),
        };
        (!text.trim().is_empty()).then_some(text)
    }

    /// A list in block style, flow style, or separated by commas.
    #[must_use]
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        let texts: Vec<String> = match self.fields.get(key)? {
            Value::Array(list) => list.iter().map(value_to_text).collect(),
            value => vec![value_to_text(value)],
        };
        let values = texts.iter().flat_map(|text| split_at_commas(text)).map(strip_quotes);
        Some(values.filter(|value| !value.is_empty()).collect())
    }

    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        match value_to_text(self.fields.get(key)?).to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        }
    }
}

fn value_to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Splits at commas, except inside brackets.
fn split_at_commas(value: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    value.split(move |sign: char| {
        match sign {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    })
}

fn strip_quotes(value: &str) -> String {
    let value = value.trim();
    let quoted = |sign: char| value.strip_prefix(sign).and_then(|rest| rest.strip_suffix(sign));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned()
}

struct YamlBlockParser<'a> {
    lines: Vec<&'a str>,
    line_index: usize,
    problem: Option<String>,
}

impl<'a> YamlBlockParser<'a> {
    /// The next line that is not blank or a comment, with its indentation.
    fn peek(&mut self) -> Option<(usize, &'a str)> {
        loop {
            let line = *self.lines.get(self.line_index)?;
            let text = line.trim_start();
            if !text.is_empty() && !text.starts_with('#') {
                return Some((line.len() - text.len(), text));
            }
            self.line_index += 1;
        }
    }

    /// Parses lines with at least this indentation: a list, or keys.
    fn parse_block(&mut self, indent: usize, depth: u8) -> Value {
        match self.peek() {
            Some((found, text)) if found >= indent && depth > 0 => match strip_item_marker(text) {
                Some(_) => self.parse_items(found, depth),
                None => self.parse_keys(found, depth),
            },
            _ => Value::Null,
        }
    }

    fn parse_items(&mut self, indent: usize, depth: u8) -> Value {
        let mut list = Vec::new();
        while let Some((found, text)) = self.peek() {
            let Some(rest) = strip_item_marker(text).filter(|_| found == indent) else { break };
            // The position after the `-` is the indentation of the item's other lines.
            let inner = found + (text.len() - rest.len());
            if rest.is_empty() {
                self.line_index += 1;
                list.push(self.parse_block(indent + 1, depth - 1));
            } else if split_key(rest).is_some() && !rest.starts_with(['{', '[', '"', '\'']) {
                list.push(self.parse_keys_after_item(inner, rest, depth - 1));
            } else {
                list.push(self.parse_inline(rest));
                self.line_index += 1;
            }
        }
        Value::Array(list)
    }

    fn parse_keys(&mut self, indent: usize, depth: u8) -> Value {
        let mut fields = Map::new();
        while let Some((found, text)) = self.peek() {
            if found != indent || strip_item_marker(text).is_some() {
                break;
            }
            self.parse_entry(text, indent, depth, &mut fields);
        }
        Value::Object(fields)
    }

    /// Parses keys, the first of which is on the line of a list item's `-`.
    fn parse_keys_after_item(&mut self, indent: usize, first: &'a str, depth: u8) -> Value {
        let mut fields = Map::new();
        self.parse_entry(first, indent, depth, &mut fields);
        if let Some((found, text)) = self.peek()
            && found == indent
            && strip_item_marker(text).is_none()
            && let Value::Object(more) = self.parse_keys(indent, depth)
        {
            fields.extend(more);
        }
        Value::Object(fields)
    }

    /// Parses one key and its value, and consumes its line.
    fn parse_entry(
        &mut self,
        text: &'a str,
        indent: usize,
        depth: u8,
        fields: &mut Map<String, Value>,
    ) {
        let Some((name, rest)) = split_key(text) else {
            self.record_problem();
            self.line_index += 1;
            return;
        };
        self.line_index += 1;
        let value = match rest {
            "" => match self.peek() {
                // A list may have the same indentation as its key.
                Some((found, text)) if found == indent && strip_item_marker(text).is_some() => {
                    self.parse_items(found, depth)
                }
                Some((found, text)) if found > indent && is_plain_text(text) => {
                    self.parse_folded_text(indent, " ")
                }
                _ => self.parse_block(indent + 1, depth.saturating_sub(1)),
            },
            "|" | "|-" | "|+" => self.parse_folded_text(indent, "\n"),
            ">" | ">-" | ">+" => self.parse_folded_text(indent, " "),
            rest if rest.starts_with(['[', '{']) => {
                self.line_index -= 1;
                let value = self.parse_inline(rest);
                self.line_index += 1;
                value
            }
            rest => {
                let value = parse_scalar(rest);
                // A text may continue on the following lines.
                match (self.peek(), value) {
                    (Some((found, _)), Value::String(text)) if found > indent => {
                        let more = self.parse_folded_text(indent, " ");
                        Value::String(format!("{text} {}", value_to_text(&more)))
                    }
                    (_, value) => value,
                }
            }
        };
        fields.insert(name, value);
    }

    fn parse_inline(&mut self, text: &str) -> Value {
        if !text.starts_with(['[', '{']) {
            return parse_scalar(text);
        }
        YamlFlowParser::parse(text).unwrap_or_else(|| {
            self.record_problem();
            Value::String(text.to_owned())
        })
    }

    fn parse_folded_text(&mut self, indent: usize, between: &str) -> Value {
        let mut texts: Vec<&str> = Vec::new();
        while let Some(line) = self.lines.get(self.line_index) {
            let text = line.trim_start();
            if !text.is_empty() && line.len() - text.len() <= indent {
                break;
            }
            texts.push(text);
            self.line_index += 1;
        }
        while texts.last().is_some_and(|text| text.is_empty()) {
            texts.pop();
        }
        Value::String(texts.join(between))
    }

    fn record_problem(&mut self) {
        let number = self.line_index + 2;
        let line = self.lines.get(self.line_index).copied().unwrap_or_default();
        let line: String = line.trim().chars().take(60).collect();
        self.problem.get_or_insert_with(|| format!("line {number} cannot be read: `{line}`"));
    }

    fn check_leftovers(&mut self) {
        if self.peek().is_some() {
            self.record_problem();
        }
    }
}

fn strip_item_marker(text: &str) -> Option<&str> {
    if text == "-" { Some("") } else { text.strip_prefix("- ").map(str::trim_start) }
}

fn split_key(text: &str) -> Option<(String, &str)> {
    let (name, rest) = match text.split_once(": ") {
        Some(pair) => pair,
        None => (text.strip_suffix(':')?, ""),
    };
    let name = strip_quotes(name);
    (!name.is_empty() && !name.contains(['{', '}', '[', ']'])).then(|| (name, rest.trim()))
}

fn is_plain_text(text: &str) -> bool {
    strip_item_marker(text).is_none() && split_key(text).is_none()
}

fn parse_scalar(text: &str) -> Value {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let read = serde_json::from_str::<String>(text);
        return Value::String(read.unwrap_or_else(|_| inner.to_owned()));
    }
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Value::String(inner.replace("''", "'"));
    }
    let text = text.split(" #").next().unwrap_or(text).trim_end();
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" | "~" => Value::Null,
        _ => match text.parse::<Number>() {
            // Only a number that is printed the same way counts as one: a version like `1.10` must
            // stay a text.
            Ok(number) if number.to_string() == text => Value::Number(number),
            _ => Value::String(text.to_owned()),
        },
    }
}

/// Parses values in brackets on one line.
struct YamlFlowParser<'a> {
    rest: &'a str,
}

impl<'a> YamlFlowParser<'a> {
    fn parse(text: &'a str) -> Option<Value> {
        let mut flow = Self { rest: text };
        let value = flow.parse_value(DEPTH_MAX)?;
        let rest = flow.rest.trim();
        (rest.is_empty() || rest.starts_with('#')).then_some(value)
    }

    fn parse_value(&mut self, depth: u8) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '[' => {
                let mut list = Vec::new();
                self.skip_char('[');
                while !self.skip_char(']') {
                    list.push(self.parse_value(depth)?);
                    if !self.skip_char(',') && !self.rest.starts_with(']') {
                        return None;
                    }
                }
                Some(Value::Array(list))
            }
            '{' => {
                let mut fields = Map::new();
                self.skip_char('{');
                while !self.skip_char('}') {
                    let name = value_to_text(&self.parse_word(&[':'])?);
                    if !self.skip_char(':') {
                        return None;
                    }
                    fields.insert(name, self.parse_value(depth)?);
                    if !self.skip_char(',') && !self.rest.starts_with('}') {
                        return None;
                    }
                }
                Some(Value::Object(fields))
            }
            _ => self.parse_word(&[',', ']', '}']),
        }
    }

    /// A quoted text, or the text up to one of these characters outside of brackets.
    fn parse_word(&mut self, ends: &[char]) -> Option<Value> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        if first == '"' || first == '\'' {
            let inner = self.rest.get(1..)?;
            let mut is_escaped = false;
            let end = inner.find(|sign: char| {
                let is_end = sign == first && !is_escaped;
                is_escaped = sign == '\\' && !is_escaped && first == '"';
                is_end
            })?;
            let text = self.rest.get(..end + 2)?;
            self.rest = self.rest.get(end + 2..)?.trim_start();
            return Some(parse_scalar(text));
        }
        let mut depth = 0_u32;
        let end = self.rest.find(|sign: char| {
            let is_end = depth == 0 && ends.contains(&sign);
            match sign {
                '(' | '{' => depth += 1,
                ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_end
        })?;
        let (text, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!text.trim().is_empty()).then(|| parse_scalar(text))
    }

    fn skip_char(&mut self, sign: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }
}

const DEPTH_MAX: u8 = 12;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_forms_people_write_are_read() {
        let text = "---\nname: \"reviewer\"\n# a comment\ndescription: >\n  Looks at\n  changes: all\n\
                    tools: Read, Grep\nglobs: a.{b,c}, 'Bash(x, y)'\nmore:\n  - one\n  - 'two'\nflow: [a, b]\n\
                    long: begins\n  and goes on\nversion: 1.10\nturns: 3 # few\non: yes\n---\nThe body.\n---\n";
        let page = FrontMatter::parse(text).unwrap();
        assert_eq!(page.problem(), None);
        for (key, said) in [
            ("name", "reviewer"),
            ("description", "Looks at changes: all"),
            ("long", "begins and goes on"),
            ("version", "1.10"),
            ("turns", "3"),
        ] {
            assert_eq!(page.text(key).as_deref(), Some(said), "{key}");
        }
        for (key, list) in [
            ("tools", ["Read", "Grep"]),
            ("globs", ["a.{b,c}", "Bash(x, y)"]),
            ("more", ["one", "two"]),
            ("flow", ["a", "b"]),
        ] {
            assert_eq!(page.list(key).unwrap(), list, "{key}");
        }
        assert_eq!(
            (page.flag("on"), page.flag("name"), page.flag("none")),
            (Some(true), None, None)
        );
        assert_eq!(page.body, "The body.\n---\n");
        for wrong in ["", "name: x\n", "---\nname: x\n"] {
            assert_eq!(FrontMatter::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn keys_may_lie_below_keys() {
        let text = "---\nhooks:\n  PreToolUse:\n    - matcher: \"Bash|Edit\"\n      hooks:\n        - type: command\n          command: \"./check.sh \\\"$1\\\"\"\n          timeout: 20\n          async: true\n  Stop:\n  - hooks: [{type: command, command: 'a, b: c'}]\nempty:\nlast: x\n---\n";
        let page = FrontMatter::parse(text).unwrap();
        assert_eq!(page.problem(), None);
        let expected = json!({
            "PreToolUse": [{ "matcher": "Bash|Edit", "hooks": [
                { "type": "command", "command": "./check.sh \"$1\"", "timeout": 20, "async": true },
            ] }],
            "Stop": [{ "hooks": [{ "type": "command", "command": "a, b: c" }] }],
        });
        assert_eq!(page.value("hooks"), Some(&expected));
        assert_eq!((page.text("empty"), page.text("last").as_deref()), (None, Some("x")));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_and_the_rest_is_read() {
        for (head, words) in [
            ("name: a\nthis is nothing\nlast: b", "line 3 cannot be read: `this is nothing`"),
            ("name: a\nflow: [x, {y\nlast: b", "line 3 cannot be read: `flow: [x, {y`"),
            ("name: a\n- stray\nlast: b", "line 3 cannot be read: `- stray`"),
            ("name: a\nlist:\n- {x: [}\n", "line 4 cannot be read: `- {x: [}`"),
        ] {
            let text = format!("---\n{head}\n---\nbody");
            let page = FrontMatter::parse(&text).unwrap();
            assert_eq!(page.problem(), Some(words), "{head}");
            assert_eq!(page.text("name").as_deref(), Some("a"), "{head}");
        }
    }

    #[test]
    fn nothing_anybody_writes_breaks_it() {
        let pieces =
            ["a: ", "- ", "[", "]", "{", "}", "\"", "'", ":", "#", "\n", "  ", ",", "x", "|"];
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            let mut head = String::new();
            for _ in 0..(seed % 24) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = usize::try_from(seed >> 33).unwrap() % pieces.len();
                head.push_str(pieces.get(at).unwrap());
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let text = format!("---\n{head}\n---\nbody");
            assert!(FrontMatter::parse(&text).is_some(), "{head:?}");
        }
    }
}
