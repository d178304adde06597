//! Simple highlighting: comments, strings, numbers, and keywords that many languages share. Knows no
//! grammar.

use crate::styled_line::{StyledLine, TextStyle};

pub(super) fn highlight_code(language: &str, text: &str) -> Vec<StyledLine> {
    if language == "diff" || language == "patch" {
        return text.lines().map(render_diff_line).collect();
    }
    let is_known = is_known_language(language);
    let draw = |line: &str| match is_known {
        true => highlight_line(line, comment_sign(language)).indent(2),
        false => StyledLine::from_text(format!("  {line}"), TextStyle::Code),
    };
    text.lines().map(|line| draw(&line.replace('\t', "    "))).collect()
}

/// One line of a file, in the colours of its language.
pub fn highlight_line_of_file(path: &str, line: &str) -> StyledLine {
    let name = path.rsplit('/').next().unwrap_or(path);
    let language = match name.rsplit_once('.') {
        Some((_, extension)) => extension,
        None if name == "Makefile" => "make",
        None => "",
    };
    match is_known_language(language) {
        true => highlight_line(line, comment_sign(language)),
        false => StyledLine::from_text(line, TextStyle::Plain),
    }
}

fn is_known_language(language: &str) -> bool {
    !matches!(language, "" | "text" | "txt" | "console" | "markdown" | "md" | "log" | "csv")
}

fn comment_sign(language: &str) -> &'static str {
    match language {
        "python" | "py" | "rb" | "sh" | "bash" | "shell" | "ruby" | "toml" | "yaml" | "yml"
        | "make" => "#",
        "sql" | "lua" | "haskell" => "--",
        "" | "text" | "txt" | "console" | "json" | "markdown" | "md" => "",
        _ => "//",
    }
}

pub(super) fn render_diff_line(line: &str) -> StyledLine {
    let style = match line.chars().next() {
        Some('+') => TextStyle::Success,
        Some('-') => TextStyle::Failure,
        Some('@') => TextStyle::Busy,
        _ => TextStyle::Plain,
    };
    StyledLine::from_text(format!("  {line}"), style)
}

fn highlight_line(text: &str, comment: &str) -> StyledLine {
    let mut line = StyledLine::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !comment.is_empty() && rest.starts_with(comment) {
            line.push(rest, TextStyle::Dim);
            break;
        }
        let (length, style) = match first {
            '"' | '\'' | '`' => (string_length(rest, first), TextStyle::Success),
            _ if first.is_ascii_digit() => (
                prefix_length(rest, |one| one.is_ascii_alphanumeric() || one == '.' || one == '_'),
                TextStyle::Busy,
            ),
            _ if first.is_alphabetic() || first == '_' => {
                let length = prefix_length(rest, |one| one.is_alphanumeric() || one == '_');
                let word = rest.get(..length).unwrap_or_default();
                (length, if KEYWORDS.contains(&word) { TextStyle::Code } else { TextStyle::Plain })
            }
            _ => (first.len_utf8(), TextStyle::Plain),
        };
        let (piece, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
        line.push(piece, style);
        rest = after;
    }
    line
}

fn prefix_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|one: char| !belongs(one)).unwrap_or(text.len())
}

/// The length of a string literal; of one that does not end on this line, only its quote.
fn string_length(text: &str, sign: char) -> usize {
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        match one {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if one == sign => return at + one.len_utf8(),
            _ => {}
        }
    }
    sign.len_utf8()
}

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "fn", "let", "mut", "pub", "use", "mod", "impl", "struct", "enum", "trait", "match", "if",
    "else", "for", "while", "loop", "return", "break", "continue", "async", "await", "move",
    "where", "self", "def", "class", "import", "from", "as", "with", "lambda", "pass", "raise",
    "try", "except", "finally", "yield", "not", "and", "or", "in", "is", "None", "True", "False",
    "function", "var", "const", "new", "this", "typeof", "export", "default", "extends",
    "interface", "type", "null", "undefined", "true", "false", "static", "void", "int", "float",
    "double", "bool", "char", "public", "private", "protected", "package", "go", "defer", "chan",
    "map", "range", "switch", "case", "do", "then", "fi", "done", "esac", "local", "echo",
    "select", "insert", "update", "delete", "SELECT", "FROM", "WHERE", "INSERT", "UPDATE",
    "DELETE", "JOIN", "throw", "catch", "nil", "end",
];
