//! The narrow reading of a shell line: one command with plain and quoted words.
//!
//! Returns `None` if the shell would treat any character specially, so the words are exactly the
//! arguments of the program. Deliberately supports no expansion.

/// Longer lines are not parsed for an allow.
const CHARS_MAX: usize = 10_000;

/// The words of a command that consists only of plain and quoted words.
///
/// `None` means "not understood": an operator, an expansion, a glob, an escape, a comment, a
/// reserved word, or a line that is too long.
#[must_use]
pub fn parse_plain_words(command: &str) -> Option<Vec<String>> {
    if command.len() > CHARS_MAX {
        return None;
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.trim_matches([' ', '\t', '\n']).chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => read_quoted(&mut chars, word.get_or_insert_default(), '\'', |_| true)?,
            '"' => read_quoted(&mut chars, word.get_or_insert_default(), '"', is_inert_in_double)?,
            c if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    let first = words.first()?;
    (!first.is_empty() && !RESERVED.contains(&first.as_str())).then_some(words)
}

fn read_quoted(
    chars: &mut std::str::Chars<'_>,
    word: &mut String,
    end: char,
    may: fn(char) -> bool,
) -> Option<()> {
    loop {
        match chars.next()? {
            c if c == end => return Some(()),
            '\0' => return None,
            c if may(c) => word.push(c),
            _ => return None,
        }
    }
}

fn is_inert_in_double(c: char) -> bool {
    !matches!(c, '$' | '`' | '\\' | '!') && !c.is_control()
}

fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || "_-./,:=+@%^".contains(c)
    } else {
        c.is_alphanumeric()
    }
}

/// Words that are keywords if they come first.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "function", "select", "coproc", "in",
];

#[cfg(test)]
mod tests {
    use super::parse_plain_words;

    #[test]
    fn words_are_what_the_program_gets() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("ls -la src", Some(&["ls", "-la", "src"])),
            ("  echo 'a b'\"c d\"e ", Some(&["echo", "a bc de"])),
            ("echo ''", Some(&["echo", ""])),
            ("echo 'x; rm $y `z`'", Some(&["echo", "x; rm $y `z`"])),
            ("grep \"a|b\" f", Some(&["grep", "a|b", "f"])),
            ("echo é", Some(&["echo", "é"])),
            ("a; b", None),
            ("a && b", None),
            ("a\nb", None),
            ("a $x", None),
            ("a \"$x\"", None),
            ("a `b`", None),
            ("a > f", None),
            ("a \\; b", None),
            ("ls *.rs", None),
            ("cat ~/x", None),
            ("ls # all", None),
            ("echo {a,b}", None),
            ("if x", None),
            ("echo 'open", None),
            ("\u{a0}ls", None),
            ("ls\r", None),
            ("''", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|words| words.iter().map(|w| (*w).to_owned()).collect());
            assert_eq!(parse_plain_words(text), expected, "{text:?}");
        }
    }
}
