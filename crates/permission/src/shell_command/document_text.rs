//! Removes here-documents from lines that the grammar cannot parse with them.
//!
//! `cmd <<'X' 2>&1 | head` is common, but the grammar does not support it. Where bash's reading is
//! certain, the document is removed and its redirect becomes an empty input, which changes nothing
//! about the commands. The texts are kept, because a shell that reads them would run them.

/// A line without its here-documents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineWithoutDocuments {
    pub(super) text: String,
    pub(super) documents: Vec<String>,
}

/// A here-document that starts at the end of its line.
struct PendingDocument {
    mark: String,
    strips_tabs: bool,
    is_quoted: bool,
}

/// Removes all here-documents. `None` if there is none, or anything about them is uncertain: one
/// inside of a substitution, an expanded text, a missing end.
pub(super) fn take_documents_out(text: &str) -> Option<LineWithoutDocuments> {
    let mut out = LineWithoutDocuments { text: String::new(), documents: Vec::new() };
    let mut pending: Vec<PendingDocument> = Vec::new();
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        let begins_word = out.text.chars().next_back().is_none_or(|c| " \t\n;&|()".contains(c));
        match c {
            '\'' => {
                let end = after.find('\'')?;
                rest = copy(rest, end + 2, &mut out.text)?;
            }
            '"' => {
                let end = find_closing_quote(after)?;
                rest = copy(rest, end + 2, &mut out.text)?;
            }
            '\\' => {
                let next = after.chars().next()?;
                // A line continuation would hide the end of the line after which a document starts.
                (next != '\n' || pending.is_empty()).then_some(())?;
                rest = copy(rest, 1 + next.len_utf8(), &mut out.text)?;
            }
            '`' => return None,
            '#' if begins_word => {
                let end = rest.find('\n').unwrap_or(rest.len());
                rest = copy(rest, end, &mut out.text)?;
            }
            '(' => {
                depth += 1;
                rest = copy(rest, 1, &mut out.text)?;
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                rest = copy(rest, 1, &mut out.text)?;
            }
            '<' if rest.starts_with("<<<") => rest = copy(rest, 3, &mut out.text)?,
            '<' if rest.starts_with("<<") => {
                (depth == 0).then_some(())?;
                let (document, behind) = read_mark(rest.get(2..)?)?;
                out.text.push_str("</dev/null");
                pending.push(document);
                rest = behind;
            }
            '\n' if !pending.is_empty() => {
                (depth == 0).then_some(())?;
                out.text.push('\n');
                rest = after;
                for document in std::mem::take(&mut pending) {
                    let (body, behind) = read_body(&document, rest)?;
                    out.documents.push(body);
                    rest = behind;
                }
            }
            _ => rest = copy(rest, c.len_utf8(), &mut out.text)?,
        }
    }
    (pending.is_empty() && !out.documents.is_empty()).then_some(out)
}

fn copy<'t>(rest: &'t str, count: usize, out: &mut String) -> Option<&'t str> {
    out.push_str(rest.get(..count)?);
    rest.get(count..)
}

/// The end of a double-quoted text without substitutions.
fn find_closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at),
            '`' => return None,
            '$' if text.get(at + 1..).is_some_and(|rest| rest.starts_with(['(', '{'])) => {
                return None;
            }
            _ => {}
        }
    }
    None
}

/// Parses the text after `<<`.
fn read_mark(text: &str) -> Option<(PendingDocument, &str)> {
    let (strips_tabs, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let text = text.trim_start_matches([' ', '\t']);
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let body = if quote.is_some() { text.get(1..)? } else { text };
    let end = body.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(body.len());
    let mark = body.get(..end).filter(|mark| !mark.is_empty())?;
    let rest = match quote {
        Some(quote) => body.get(end..)?.strip_prefix(quote)?,
        None => body.get(end..)?,
    };
    // Text directly after the delimiter would be part of it.
    rest.chars().next().is_none_or(|c| " \t\n;&|<>)".contains(c)).then_some(())?;
    let is_quoted = quote.is_some();
    Some((PendingDocument { mark: mark.to_owned(), strips_tabs, is_quoted }, rest))
}

fn read_body<'t>(document: &PendingDocument, text: &'t str) -> Option<(String, &'t str)> {
    let mut rest = text;
    let mut body = String::new();
    while !rest.is_empty() {
        let (line, behind) = match rest.split_once('\n') {
            Some((line, behind)) => (line, behind),
            None => (rest, ""),
        };
        let own = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
        if own == document.mark {
            return Some((body, behind));
        }
        if !document.is_quoted && line.contains(['$', '`', '\\']) {
            return None;
        }
        body.push_str(own);
        body.push('\n');
        rest = behind;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::take_documents_out;

    #[test]
    fn documents_are_cut_out_where_bash_would_end_them() {
        let cases = [
            ("a <<'X' 2>&1 | b\none $(x)\nX\nc", Some("a </dev/null 2>&1 | b\nc")),
            ("a <<X; b\none\nX", Some("a </dev/null; b\n")),
            ("a <<-X\n\tone\n\tX\n", Some("a </dev/null\n")),
            ("a <<'X' <<'Y'\n1\nX\n2\nY\n", Some("a </dev/null </dev/null\n")),
            ("a '<<X' <<'Y'\n1\nY\n", Some("a '<<X' </dev/null\n")),
            ("a # <<X\nb <<'Y'\n1\nY\n", Some("a # <<X\nb </dev/null\n")),
            ("a <<X\n$(one)\nX\n", None),
            ("a <<'X'\none\n", None),
            ("$(a <<'X'\none\nX\n)", None),
            ("a <<<x", None),
            ("a <<X\\\nb\nX\n", None),
            ("a <<'X'y\none\nXy\n", None),
            ("echo \"$(a\" <<'X'\none\nX\n", None),
            ("echo $((1<<2))\n2\n", None),
        ];
        for (text, expected) in cases {
            let got = take_documents_out(text).map(|line| line.text);
            assert_eq!(got.as_deref(), expected, "{text}");
        }
    }
}
