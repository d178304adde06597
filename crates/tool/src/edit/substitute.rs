//! The substitution itself, on bytes, and why it cannot be done.

use std::borrow::Cow;
use std::path::Path;

use memchr::memmem;

use super::near;

/// Places listed when there are too many.
const PLACES_SHOWN: usize = 10;

/// The new content.
#[derive(Debug)]
pub(super) struct Substituted {
    pub(super) content: Vec<u8>,
    /// The line of each replaced place, counted in the old content from 1.
    pub(super) lines: Vec<usize>,
}

/// Why nothing was substituted.
#[derive(Debug)]
pub(super) enum Problem {
    Missing,
    Ambiguous(Vec<usize>),
}

/// Puts `new` where `old` stands: once, or wherever it stands.
pub(super) fn substitute(
    content: &[u8],
    old: &str,
    new: &str,
    replace_all: bool,
) -> Result<Substituted, Problem> {
    let crlf = has_only_crlf(content);
    let (old, new) = (line_ends(old, crlf), line_ends(new, crlf));
    let places: Vec<usize> = memmem::find_iter(content, old.as_bytes()).collect();
    let lines = lines_of(content, &places);
    match places.len() {
        0 => return Err(Problem::Missing),
        1 => {}
        _ if replace_all => {}
        _ => return Err(Problem::Ambiguous(lines)),
    }
    let mut changed = Vec::with_capacity(content.len());
    let mut from = 0;
    for place in places {
        changed.extend_from_slice(content.get(from..place).unwrap_or_default());
        changed.extend_from_slice(new.as_bytes());
        from = place + old.len();
    }
    changed.extend_from_slice(content.get(from..).unwrap_or_default());
    Ok(Substituted { content: changed, lines })
}

impl Problem {
    /// In words the model can act on.
    pub(super) fn explain(&self, path: &Path, content: &[u8], old: &str) -> String {
        let shown = path.display();
        match self {
            Self::Missing => {
                format!("`old_string` is not in `{shown}`. {}", near::explain(content, old))
            }
            Self::Ambiguous(lines) => {
                let listed: Vec<_> =
                    lines.iter().take(PLACES_SHOWN).map(usize::to_string).collect();
                let more = if lines.len() > PLACES_SHOWN { ", …" } else { "" };
                format!(
                    "`old_string` stands in `{shown}` {} times, at lines {}{more}. Add lines \
                     around it until it is unique, or set `replace_all`.",
                    lines.len(),
                    listed.join(", "),
                )
            }
        }
    }
}

fn has_only_crlf(content: &[u8]) -> bool {
    let mut newlines = memchr::memchr_iter(b'\n', content).peekable();
    newlines.peek().is_some()
        && newlines.all(|at| at.checked_sub(1).and_then(|at| content.get(at)) == Some(&b'\r'))
}

fn line_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    if crlf && text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The line of each place; the places are in order.
fn lines_of(content: &[u8], places: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut from = 0;
    places
        .iter()
        .map(|place| {
            let between = content.get(from..*place).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', between).count();
            from = *place;
            line
        })
        .collect()
}
