//! The substitution itself, on bytes, and why it cannot be done.
//!
//! Both texts are written in the encoding and with the line ends of the file; then bytes are
//! compared and spliced, so that nothing outside the replaced places can change.

use std::borrow::Cow;
use std::path::Path;

use memchr::memmem;

use super::near;
use crate::file::Encoding;

/// Places listed when there are too many.
const PLACES_SHOWN: usize = 10;
/// Characters shown of each.
const PLACE_CHARS_MAX: usize = 80;

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
    Unwritable(char),
}

/// Puts `new` where `old` stands: once, or wherever it stands.
pub(super) fn substitute(
    content: &[u8],
    encoding: Encoding,
    (old, new): (&str, &str),
    replace_all: bool,
) -> Result<Substituted, Problem> {
    let crlf = has_only_crlf(&encoding.decode(content));
    let (old, new) = (line_ends(old, crlf), line_ends(new, crlf));
    let found = encoding.encode(&old).ok().map(|wanted| places(content, encoding, &wanted));
    let (places, length, encoding) = match (found, encoding) {
        (Some(places), _) if !places.is_empty() => {
            (places, encoding.encode(&old).map_or(0, |wanted| wanted.len()), encoding)
        }
        // A file of mixed encodings, or a wrong guess.
        (_, Encoding::Older(_)) => {
            (places(content, Encoding::Utf8, old.as_bytes()), old.len(), Encoding::Utf8)
        }
        _ => return Err(Problem::Missing),
    };
    let lines = lines_of(content, encoding, &places);
    match places.len() {
        0 => return Err(Problem::Missing),
        1 => {}
        _ if replace_all => {}
        _ => return Err(Problem::Ambiguous(lines)),
    }
    let new = encoding.encode(&new).map_err(Problem::Unwritable)?;
    let mut changed = Vec::with_capacity(content.len());
    let mut from = 0;
    for place in places {
        changed.extend_from_slice(content.get(from..place).unwrap_or_default());
        changed.extend_from_slice(&new);
        from = place + length;
    }
    changed.extend_from_slice(content.get(from..).unwrap_or_default());
    Ok(Substituted { content: changed, lines })
}

/// Where the wanted bytes stand, from left to right without overlap, each at the beginning of a
/// character.
fn places(content: &[u8], encoding: Encoding, wanted: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(wanted);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| finder.find(rest)) {
        let place = from + at;
        if encoding.is_boundary(content, place) {
            places.push(place);
            from = place + wanted.len().max(1);
        } else {
            from = place + 1;
        }
    }
    places
}

impl Problem {
    /// In words the model can act on.
    pub(super) fn explain(
        &self,
        path: &Path,
        content: &[u8],
        encoding: Encoding,
        old: &str,
    ) -> String {
        let shown = path.display();
        match self {
            Self::Missing => {
                let near = near::explain(&encoding.decode(content), old);
                format!("`old_string` is not in `{shown}`. {near}")
            }
            Self::Ambiguous(lines) => format!(
                "`old_string` stands in `{shown}` {} times, at lines {}. Add lines around it \
                 until it is unique, or set `replace_all`.{}",
                lines.len(),
                listed(lines),
                candidates(&encoding.decode(content), lines),
            ),
            Self::Unwritable(letter) => format!(
                "`{shown}` is written in {}, which has no `{letter}` (U+{:04X}). Leave it out, or \
                 convert the file first, for example with `iconv`.",
                encoding.name(),
                u32::from(*letter),
            ),
        }
    }
}

fn listed(lines: &[usize]) -> String {
    let listed: Vec<_> = lines.iter().take(PLACES_SHOWN).map(usize::to_string).collect();
    let more = if lines.len() > PLACES_SHOWN { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}

fn candidates(text: &str, lines: &[usize]) -> String {
    let mut wanted = lines.iter().take(PLACES_SHOWN).copied().peekable();
    let mut shown = String::new();
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(next) = wanted.peek().copied() else { break };
        if number != next {
            continue;
        }
        while wanted.peek() == Some(&number) {
            wanted.next();
        }
        if number != last {
            let line: String = line.chars().take(PLACE_CHARS_MAX).collect();
            shown.push_str(&format!("\n{number:>6}\t{line}"));
            last = number;
        }
    }
    shown
}

/// Does every line end in CR LF, and is there one?
pub(crate) fn has_only_crlf(text: &str) -> bool {
    let content = text.as_bytes();
    let mut newlines = memchr::memchr_iter(b'\n', content).peekable();
    newlines.peek().is_some()
        && newlines.all(|at| at.checked_sub(1).and_then(|at| content.get(at)) == Some(&b'\r'))
}

/// The text with the line ends of a file that has CR LF, if that is so.
pub(crate) fn line_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    if crlf && text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The line of each place; the places are in order.
fn lines_of(content: &[u8], encoding: Encoding, places: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut from = 0;
    places
        .iter()
        .map(|place| {
            let between = content.get(from..*place).unwrap_or_default();
            line += match encoding {
                Encoding::Utf16Little | Encoding::Utf16Big => {
                    encoding.decode(between).matches('\n').count()
                }
                _ => memchr::memchr_iter(b'\n', between).count(),
            };
            from = *place;
            line
        })
        .collect()
}
