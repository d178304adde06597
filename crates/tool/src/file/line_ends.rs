//! Preserves the line endings of a file when its text is changed.

use std::borrow::Cow;

/// Does every line end in CR LF, and is there one?
pub(crate) fn has_only_crlf(text: &str) -> bool {
    let content = text.as_bytes();
    let mut newlines = memchr::memchr_iter(b'\n', content).peekable();
    newlines.peek().is_some()
        && newlines.all(|at| at.checked_sub(1).and_then(|at| content.get(at)) == Some(&b'\r'))
}

/// Converts line endings to CR LF if `crlf` is set.
pub(crate) fn convert_line_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    if crlf && text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}
