//! Works on JSON as text, without parsing it, so that the bytes and their order are shown as they
//! are sent.

/// Indents JSON over several lines. Invalid JSON comes out more or less unchanged.
pub(super) fn indent_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 4);
    let mut depth = 0_usize;
    let mut walk = JsonWalk::default();
    let mut characters = json.chars().peekable();
    while let Some(c) = characters.next() {
        let is_structure = walk.step(c);
        if !is_structure {
            text.push(c);
            continue;
        }
        match c {
            '{' | '[' => {
                text.push(c);
                let is_empty = characters.peek().is_some_and(|next| matches!(next, '}' | ']'));
                depth += 1;
                if !is_empty {
                    break_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !text.ends_with(['{', '[']) {
                    break_line(&mut text, depth);
                }
                text.push(c);
            }
            ',' => {
                text.push(c);
                break_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_whitespace() => {}
            c => text.push(c),
        }
    }
    text
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth.min(DEPTH_SHOWN_MAX)));
}

/// Tracks whether characters are inside a string.
#[derive(Default)]
struct JsonWalk {
    is_in_string: bool,
    is_escaped: bool,
}

impl JsonWalk {
    /// Takes the next character; true if it is outside of all strings.
    fn step(&mut self, c: char) -> bool {
        if !self.is_in_string {
            self.is_in_string = c == '"';
            return !self.is_in_string;
        }
        match c {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' => self.is_escaped = true,
            '"' => self.is_in_string = false,
            _ => {}
        }
        false
    }
}

/// The path of the value at a byte offset, such as `messages[3].content[0].text`.
pub(super) fn find_json_path(json: &str, at: usize) -> String {
    let mut steps: Vec<JsonStep> = Vec::new();
    let mut walk = JsonWalk::default();
    let mut last_string = None;
    let mut begun = 0;
    for (place, c) in json.char_indices().take_while(|(place, _)| *place <= at) {
        let was_in_string = walk.is_in_string;
        let is_structure = walk.step(c);
        match (was_in_string, walk.is_in_string) {
            (false, true) => begun = place + 1,
            (true, false) => last_string = json.get(begun..place),
            (true, true) | (false, false) => {}
        }
        if !is_structure {
            continue;
        }
        match c {
            '{' => steps.push(JsonStep::Field(None)),
            '[' => steps.push(JsonStep::Place(0)),
            '}' | ']' => _ = steps.pop(),
            ':' => {
                if let Some(JsonStep::Field(name)) = steps.last_mut() {
                    *name = last_string.map(str::to_owned);
                }
            }
            ',' => match steps.last_mut() {
                Some(JsonStep::Place(number)) => *number += 1,
                Some(JsonStep::Field(name)) => *name = None,
                None => {}
            },
            _ => {}
        }
    }
    let mut path = String::new();
    for step in &steps {
        match step {
            JsonStep::Field(Some(name)) if path.is_empty() => path.push_str(name),
            JsonStep::Field(Some(name)) => path.push_str(&format!(".{name}")),
            JsonStep::Field(None) => {}
            JsonStep::Place(number) => path.push_str(&format!("[{number}]")),
        }
    }
    path
}

enum JsonStep {
    /// The field's name, once it was read.
    Field(Option<String>),
    Place(usize),
}

/// The length of the common prefix in bytes, and the path of the first difference.
pub(super) fn compare_json(one: &str, two: &str) -> (usize, Option<String>) {
    let same = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
    if same == one.len() && same == two.len() {
        return (same, None);
    }
    // Where one list ends and the other continues, the difference is in the longer one.
    let goes_on = |text: &str| text.as_bytes().get(same) == Some(&b',');
    let longer = if goes_on(two) { two } else { one };
    (same, Some(find_json_path(longer, same)))
}

const DEPTH_SHOWN_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_broken_into_lines_without_being_taken_apart() {
        let json = r#"{"b":[1,{}],"a":"{[,:\"]}","c":[]}"#;
        let lines = "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"{[,:\\\"]}\",\n  \"c\": []\n}";
        assert_eq!(indent_json(json), lines);
        assert_eq!(indent_json(lines), lines);
    }

    #[test]
    fn the_first_difference_has_a_path() {
        let body = |messages: &str| format!(r#"{{"tools":[],"messages":[{messages}],"x":1}}"#);
        let one = body(r#"{"role":"user","text":"a, b"}"#);
        for (other, path) in [
            (r#"{"role":"user","text":"a, c"}"#, "messages[0].text"),
            (r#"{"role":"user","text":"a, b"},{"role":"user"}"#, "messages[1]"),
            (r#"{"role":"assistant","text":"a, b"}"#, "messages[0].role"),
        ] {
            let (same, found) = compare_json(&one, &body(other));
            assert_eq!(found.as_deref(), Some(path));
            assert_eq!(compare_json(&body(other), &one), (same, found));
        }
        assert_eq!(compare_json(&one, &one), (one.len(), None));
    }
}
