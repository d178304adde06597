//! Code with a little colour: comments, strings, numbers and the words most languages share. Knows no
//! grammar; what it does not know stays as it is.

use crate::line::{Line, Role};

/// The lines of a block of code.
pub(super) fn lines(language: &str, text: &str) -> Vec<Line> {
    if language == "diff" || language == "patch" {
        return text.lines().map(changed).collect();
    }
    let comment = match language {
        "python" | "py" | "sh" | "bash" | "shell" | "ruby" | "toml" | "yaml" | "yml" | "make" => {
            "#"
        }
        "sql" | "lua" | "haskell" => "--",
        "" | "text" | "txt" | "console" | "json" | "markdown" | "md" => "",
        _ => "//",
    };
    let is_known = !matches!(language, "" | "text" | "txt" | "console" | "markdown" | "md");
    let draw = |line: &str| match is_known {
        true => coloured(line, comment),
        false => Line::of(format!("  {line}"), Role::Code),
    };
    text.lines().map(|line| draw(&line.replace('\t', "    "))).collect()
}

/// A line of a change.
pub(super) fn changed(line: &str) -> Line {
    let role = match line.chars().next() {
        Some('+') => Role::Good,
        Some('-') => Role::Bad,
        Some('@') => Role::Busy,
        _ => Role::Plain,
    };
    Line::of(format!("  {line}"), role)
}

fn coloured(text: &str, comment: &str) -> Line {
    let mut line = Line::of("  ", Role::Plain);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !comment.is_empty() && rest.starts_with(comment) {
            line.push(rest, Role::Quiet);
            break;
        }
        let (length, role) = match first {
            '"' | '\'' | '`' => (string(rest, first), Role::Good),
            _ if first.is_ascii_digit() => (
                run(rest, |one| one.is_ascii_alphanumeric() || one == '.' || one == '_'),
                Role::Busy,
            ),
            _ if first.is_alphabetic() || first == '_' => {
                let length = run(rest, |one| one.is_alphanumeric() || one == '_');
                let word = rest.get(..length).unwrap_or_default();
                (length, if WORDS.contains(&word) { Role::Code } else { Role::Plain })
            }
            _ => (first.len_utf8(), Role::Plain),
        };
        let (piece, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
        line.push(piece, role);
        rest = after;
    }
    line
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|one: char| !belongs(one)).unwrap_or(text.len())
}

/// How long a string is; one that does not end on its line is a quote and no more.
fn string(text: &str, sign: char) -> usize {
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

/// Words that mean the same in many languages.
const WORDS: &[&str] = &[
    "fn",
    "let",
    "mut",
    "pub",
    "use",
    "mod",
    "impl",
    "struct",
    "enum",
    "trait",
    "match",
    "if",
    "else",
    "for",
    "while",
    "loop",
    "return",
    "break",
    "continue",
    "async",
    "await",
    "move",
    "where",
    "self",
    "def",
    "class",
    "import",
    "from",
    "as",
    "with",
    "lambda",
    "pass",
    "raise",
    "try",
    "except",
    "finally",
    "yield",
    "not",
    "and",
    "or",
    "in",
    "is",
    "None",
    "True",
    "False",
    "function",
    "var",
    "const",
    "new",
    "this",
    "typeof",
    "export",
    "default",
    "extends",
    "interface",
    "type",
    "null",
    "undefined",
    "true",
    "false",
    "static",
    "void",
    "int",
    "float",
    "double",
    "bool",
    "char",
    "public",
    "private",
    "protected",
    "package",
    "go",
    "defer",
    "chan",
    "map",
    "range",
    "switch",
    "case",
    "do",
    "then",
    "fi",
    "done",
    "esac",
    "local",
    "echo",
    "select",
    "insert",
    "update",
    "delete",
    "SELECT",
    "FROM",
    "WHERE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "JOIN",
    "throw",
    "catch",
    "nil",
    "end",
];
