//! The line ends of a file, kept when its text is changed.

use std::borrow::Cow;

/// Does every line end in CR LF, and is there one?
pub(crate) fn has_only_crlf(text: &str) -> bool {
    let content = text.as_bytes();
    let mut newlines = memchr::memchr_iter(b'\n', content).peekable();
    newlines.peek().is_some()
        && newlines.all(|at| at.checked_sub(1).and_then(|at| content.get(at)) == Some(&b'\r'))
}

/// The text with the line ends of a file that has CR LF, if that is so.
pub(crate) fn convert_line_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    if crlf && text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}
