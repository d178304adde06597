//! Imports: finds `@path` in a line of instructions, and resolves it.

use std::path::{Path, PathBuf};

/// The files mentioned in a line, as written; not those in code.
pub fn find_mentions(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let plain = blank_code_spans(line);
    let (quoted, plain) = split_quoted_names(&plain);
    found.extend(quoted);
    for word in plain.split_whitespace() {
        let Some(path) = word.strip_prefix('@') else { continue };
        let path = path.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '"', '\'']);
        if path.chars().any(char::is_alphanumeric) && path.len() <= PATH_MAX {
            found.push(path.to_owned());
        }
    }
    found
}

/// Quoted names, which may contain blanks, and the line without them.
fn split_quoted_names(line: &str) -> (Vec<String>, String) {
    let mut names = Vec::new();
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("@\"") {
        plain.push_str(before);
        let is_word = before.chars().next_back().is_none_or(char::is_whitespace);
        match behind.split_once('"') {
            Some((name, after)) if is_word && !name.is_empty() && name.len() <= PATH_MAX => {
                names.push(name.to_owned());
                plain.push(' ');
                rest = after;
            }
            _ => {
                plain.push_str("@\"");
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    (names, plain)
}

/// The canonical path of an imported file, if it exists. Words after an at sign that are not files
/// are plain text.
pub(super) fn resolve_import(
    import: &str,
    importer: &Path,
    home: Option<&Path>,
) -> Option<PathBuf> {
    let path = match import.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => importer.parent()?.join(import),
    };
    path.canonicalize().ok().filter(|path| path.is_file())
}

/// The line with code replaced by blanks.
fn blank_code_spans(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, code) = rest.split_at(at);
        plain.push_str(before);
        let inner = code.trim_start_matches('`');
        let signs = "`".repeat(code.len() - inner.len());
        match inner.split_once(&signs) {
            Some((_, after)) => {
                plain.push('`');
                rest = after;
            }
            None => {
                plain.push_str(&signs);
                rest = inner;
            }
        }
    }
    plain.push_str(rest);
    plain
}

const PATH_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_where_the_sentence_does() {
        let cases: &[(&str, &[&str])] = &[
            ("See @README.md, @docs/a.md.", &["README.md", "docs/a.md"]),
            ("@~/x.md", &["~/x.md"]),
            ("`@a` ``@b ` @c`` @d", &["d"]),
            ("an open ` @e", &["e"]),
            ("a@b @ @.", &[]),
            ("see @\"my notes.md\" and @b", &["my notes.md", "b"]),
            ("a@\"b c\" @\"\" x", &[]),
        ];
        for (line, names) in cases {
            assert_eq!(find_mentions(line), *names, "{line}");
        }
    }
}
