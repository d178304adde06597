//! Substitutes bytes, or returns why that is not possible.
//!
//! Both texts are converted to the encoding and line endings of the file before they are compared,
//! so that nothing outside the replaced places can change.

use std::borrow::Cow;
use std::path::Path;

use memchr::memmem;

use super::near_match;
use crate::file::{TextEncoding, convert_line_ends, has_only_crlf};

const OCCURRENCES_SHOWN: usize = 10;
const OCCURRENCE_CHARS_MAX: usize = 80;

#[derive(Debug)]
pub(super) struct Substitution {
    pub(super) content: Vec<u8>,
    /// The lines of the replaced places in the old content, counted from 1.
    pub(super) line_numbers: Vec<usize>,
}

#[derive(Debug)]
pub(super) enum SubstitutionError {
    NotPresent,
    Ambiguous(Vec<usize>),
    Unencodable(char),
}

pub(super) struct Replacement<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) replace_all: bool,
}

/// Replaces the only occurrence of `old`, or all of them.
pub(super) fn substitute(
    content: &[u8],
    encoding: TextEncoding,
    replacement: &Replacement<'_>,
) -> Result<Substitution, SubstitutionError> {
    let crlf = has_only_crlf(&encoding.decode(content));
    let old = convert_line_ends(replacement.old, crlf);
    let new = convert_line_ends(replacement.new, crlf);
    let mut encoding = encoding;
    let mut wanted = encoding.encode(&old).unwrap_or_default();
    let mut places = match wanted.is_empty() {
        true => Vec::new(),
        false => find_occurrences(content, encoding, &wanted),
    };
    // The file has mixed encodings, or the detection was wrong.
    if places.is_empty() && matches!(encoding, TextEncoding::Legacy(_)) {
        encoding = TextEncoding::Utf8;
        wanted = Cow::Borrowed(old.as_bytes());
        places = find_occurrences(content, encoding, &wanted);
    }
    let lines = find_line_numbers(content, encoding, &places);
    match places.len() {
        0 => return Err(SubstitutionError::NotPresent),
        1 => {}
        _ if replacement.replace_all => {}
        _ => return Err(SubstitutionError::Ambiguous(lines)),
    }
    let new = encoding.encode(&new).map_err(SubstitutionError::Unencodable)?;
    let mut changed = Vec::with_capacity(content.len());
    let mut from = 0;
    for place in places {
        changed.extend_from_slice(content.get(from..place).unwrap_or_default());
        changed.extend_from_slice(&new);
        from = place + wanted.len();
    }
    changed.extend_from_slice(content.get(from..).unwrap_or_default());
    Ok(Substitution { content: changed, line_numbers: lines })
}

/// Non-overlapping occurrences from left to right, each at the start of a character.
fn find_occurrences(content: &[u8], encoding: TextEncoding, wanted: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(wanted);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| finder.find(rest)) {
        let place = from + at;
        if encoding.is_char_start(content, place) {
            places.push(place);
            from = place + wanted.len().max(1);
        } else {
            from = place + 1;
        }
    }
    places
}

impl SubstitutionError {
    pub(super) fn explain(
        &self,
        path: &Path,
        content: &[u8],
        encoding: TextEncoding,
        old: &str,
    ) -> String {
        let shown = path.display();
        match self {
            Self::NotPresent => {
                let near = near_match::explain_missing_text(&encoding.decode(content), old);
                format!("`old_string` is not in `{shown}`. {near}")
            }
            Self::Ambiguous(lines) => format!(
                "`old_string` stands in `{shown}` {} times, at lines {}. Add lines around it \
                 until it is unique, or set `replace_all`.{}",
                lines.len(),
                join_line_numbers(lines),
                render_candidates(&encoding.decode(content), lines),
            ),
            Self::Unencodable(letter) => format!(
                "`{shown}` is written in {}, which has no `{letter}` (U+{:04X}). Leave it out, or \
                 convert the file first, for example with `iconv`.",
                encoding.name(),
                u32::from(*letter),
            ),
        }
    }
}

fn join_line_numbers(lines: &[usize]) -> String {
    let listed: Vec<_> = lines.iter().take(OCCURRENCES_SHOWN).map(usize::to_string).collect();
    let more = if lines.len() > OCCURRENCES_SHOWN { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}

fn render_candidates(text: &str, lines: &[usize]) -> String {
    let mut wanted = lines.iter().take(OCCURRENCES_SHOWN).copied().peekable();
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
            let line: String = line.chars().take(OCCURRENCE_CHARS_MAX).collect();
            shown.push_str(&format!("\n{number:>6}\t{line}"));
            last = number;
        }
    }
    shown
}

fn find_line_numbers(content: &[u8], encoding: TextEncoding, places: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut from = 0;
    places
        .iter()
        .map(|place| {
            let between = content.get(from..*place).unwrap_or_default();
            line += match encoding {
                TextEncoding::Utf16Le | TextEncoding::Utf16Be => {
                    encoding.decode(between).matches('\n').count()
                }
                TextEncoding::Utf8 | TextEncoding::Legacy(_) => {
                    memchr::memchr_iter(b'\n', between).count()
                }
            };
            from = *place;
            line
        })
        .collect()
}
