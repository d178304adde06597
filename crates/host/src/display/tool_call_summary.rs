//! A tool call in one line: its name and the argument that tells most. Nothing is judged here.

use windlass_vocabulary::ToolCall;

use super::escape_control_characters;

/// The call in one line of at most `width` characters.
pub fn summarize_tool_call(call: &ToolCall, width: usize) -> String {
    let input = serde_json::from_str::<serde_json::Value>(call.input.as_str());
    let argument = input.ok().and_then(|input| {
        SUMMARY_ARGUMENTS.iter().find_map(|name| input.get(name)?.as_str().map(str::to_owned))
    });
    let line = match argument {
        Some(argument) => format!("{} {}", call.name, collapse_whitespace(&argument)),
        None => call.name.to_string(),
    };
    truncate_with_ellipsis(&escape_control_characters(&line), width)
}

/// At most so many characters, with a sign where something is missing.
pub fn truncate_with_ellipsis(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Arguments worth showing, the most telling first.
const SUMMARY_ARGUMENTS: &[&str] =
    &["command", "file_path", "path", "pattern", "url", "query", "prompt"];

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_vocabulary::Json;

    #[test]
    fn calls_fit_a_line() {
        let cases = [
            (r#"{"description":"x","command":"ls\n  -l"}"#, "Bash ls -l"),
            (r#"{"file_path":"/a"}"#, "Bash /a"),
            (r#"{"other":1}"#, "Bash"),
            ("not json", "Bash"),
            (r#"{"command":"0123456789012345"}"#, "Bash 01234567890123…"),
            (r#"{"command":"\u001b[2J"}"#, "Bash ^[[2J"),
        ];
        for (input, line) in cases {
            let call = ToolCall {
                id: "c".into(),
                name: "Bash".into(),
                input: Json::from_checked(input),
                signature: None,
            };
            assert_eq!(summarize_tool_call(&call, 20), line);
        }
    }
}
