//! Targets of motions and ranges of text objects, in bytes. Pure.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VimMotion {
    Left,
    Right,
    Up,
    Down,
    Word { is_big: bool },
    Back { is_big: bool },
    End { is_big: bool },
    Home,
    FirstNonBlank,
    LineEnd,
    Top,
    Bottom,
    Find(LetterFind),
    MatchingBracket,
}

/// `f`, `F`, `t` and `T`: to a letter of the line, or next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LetterFind {
    pub(super) letter: char,
    pub(super) is_back: bool,
    pub(super) is_till: bool,
}

impl LetterFind {
    pub(super) fn reverse(self) -> Self {
        Self { is_back: !self.is_back, ..self }
    }
}

impl VimMotion {
    /// Does an operator include the letter under the target?
    pub(super) fn is_inclusive(self) -> bool {
        match self {
            Self::End { .. } | Self::MatchingBracket => true,
            Self::Find(find) => !find.is_back,
            Self::Left
            | Self::Right
            | Self::Up
            | Self::Down
            | Self::Word { .. }
            | Self::Back { .. }
            | Self::Home
            | Self::FirstNonBlank
            | Self::LineEnd
            | Self::Top
            | Self::Bottom => false,
        }
    }

    /// Does an operator take whole lines?
    pub(super) fn is_linewise(self) -> bool {
        matches!(self, Self::Up | Self::Down | Self::Top | Self::Bottom)
    }

    /// Where the motion ends when it is repeated `count` times; `None` if it is impossible here.
    pub(super) fn find_target(self, text: &str, at: usize, count: Option<usize>) -> Option<usize> {
        if matches!(self, Self::Top | Self::Bottom) {
            return Some(goto_line(text, self == Self::Top, count));
        }
        if let Self::Find(find) = self {
            return find_letter(text, at, find, count.unwrap_or(1));
        }
        let mut place = at;
        for _ in 0..count.unwrap_or(1).min(COUNT_MAX) {
            let next = self.apply_once(text, place)?;
            if next == place && !matches!(self, Self::Home | Self::FirstNonBlank | Self::LineEnd) {
                break;
            }
            place = next;
        }
        Some(place)
    }

    fn apply_once(self, text: &str, at: usize) -> Option<usize> {
        let line = line_range_at(text, at);
        Some(match self {
            Self::Left => previous_boundary(text, at).max(line.start),
            Self::Right => next_boundary(text, at).min(line.end),
            Self::Up | Self::Down => offset_in_adjacent_line(text, at, self == Self::Down),
            Self::Word { is_big } => next_word_start(text, at, is_big),
            Self::Back { is_big } => previous_word_start(text, at, is_big),
            Self::End { is_big } => word_end(text, at, is_big),
            Self::Home => line.start,
            Self::FirstNonBlank => {
                let words = text.get(line.clone())?;
                line.start + words.len() - words.trim_start().len()
            }
            Self::LineEnd => line.end,
            Self::MatchingBracket => find_matching_bracket(text, at)?,
            Self::Top | Self::Bottom | Self::Find(_) => at,
        })
    }
}

/// The line that holds an offset, without its line break.
pub(super) fn line_range_at(text: &str, at: usize) -> Range<usize> {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let rest = text.get(at..).unwrap_or_default();
    start..at + rest.find('\n').unwrap_or(rest.len())
}

pub(super) fn previous_boundary(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
}

pub(super) fn next_boundary(text: &str, at: usize) -> usize {
    at + text.get(at..).unwrap_or_default().graphemes(true).next().map_or(0, str::len)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Blank,
    Word,
    Punctuation,
}

fn classify_char(letter: char, is_big: bool) -> CharClass {
    match letter {
        letter if letter.is_whitespace() => CharClass::Blank,
        letter if is_big || letter.is_alphanumeric() || letter == '_' => CharClass::Word,
        _ => CharClass::Punctuation,
    }
}

fn char_class_at(text: &str, at: usize, is_big: bool) -> Option<CharClass> {
    text.get(at..)?.chars().next().map(|letter| classify_char(letter, is_big))
}

fn next_word_start(text: &str, from: usize, is_big: bool) -> usize {
    let mut at = from;
    let first = char_class_at(text, from, is_big);
    while char_class_at(text, at, is_big)
        .is_some_and(|kind| Some(kind) == first && kind != CharClass::Blank)
    {
        at = next_boundary(text, at);
    }
    while char_class_at(text, at, is_big) == Some(CharClass::Blank) {
        at = next_boundary(text, at);
    }
    at
}

fn previous_word_start(text: &str, from: usize, is_big: bool) -> usize {
    let mut at = from;
    let kind_before = |at: usize| match at {
        0 => None,
        at => char_class_at(text, previous_boundary(text, at), is_big),
    };
    while kind_before(at) == Some(CharClass::Blank) {
        at = previous_boundary(text, at);
    }
    let first = kind_before(at);
    while first.is_some() && kind_before(at) == first {
        at = previous_boundary(text, at);
    }
    at
}

fn word_end(text: &str, from: usize, is_big: bool) -> usize {
    let mut at = next_boundary(text, from);
    while char_class_at(text, at, is_big) == Some(CharClass::Blank) {
        at = next_boundary(text, at);
    }
    let first = char_class_at(text, at, is_big);
    while first.is_some() && char_class_at(text, next_boundary(text, at), is_big) == first {
        at = next_boundary(text, at);
    }
    if at >= text.len() { previous_boundary(text, text.len()).max(from) } else { at }
}

fn goto_line(text: &str, is_top: bool, count: Option<usize>) -> usize {
    let last = text.matches('\n').count();
    let wanted = match count {
        Some(count) => count.saturating_sub(1).min(last),
        None if is_top => 0,
        None => last,
    };
    let start = |number: usize| match number.checked_sub(1) {
        None => 0,
        Some(ends) => text.match_indices('\n').nth(ends).map_or(text.len(), |(at, _)| at + 1),
    };
    start(wanted)
}

fn offset_in_adjacent_line(text: &str, at: usize, is_below: bool) -> usize {
    let here = line_range_at(text, at);
    let column = text.get(here.start..at).unwrap_or_default().graphemes(true).count();
    let there = match is_below {
        true if here.end < text.len() => line_range_at(text, here.end + 1),
        false if here.start > 0 => line_range_at(text, here.start - 1),
        _ => return at,
    };
    let words = text.get(there.clone()).unwrap_or_default();
    words.grapheme_indices(true).nth(column).map_or(there.end, |(at, _)| there.start + at)
}

fn find_letter(text: &str, at: usize, find: LetterFind, count: usize) -> Option<usize> {
    let line = line_range_at(text, at);
    let nth = count.max(1) - 1;
    match find.is_back {
        true => {
            let here = text.get(line.start..at)?;
            let (found, _) = here.rmatch_indices(find.letter).nth(nth)?;
            let found = line.start + found;
            Some(if find.is_till { next_boundary(text, found) } else { found })
        }
        false => {
            let from = next_boundary(text, at).min(line.end);
            let (found, _) = text.get(from..line.end)?.match_indices(find.letter).nth(nth)?;
            let found = from + found;
            Some(if find.is_till { previous_boundary(text, found) } else { found })
        }
    }
}

/// The partner of the bracket under the cursor, or of the next bracket in the line.
fn find_matching_bracket(text: &str, at: usize) -> Option<usize> {
    let line = line_range_at(text, at);
    let rest = text.get(at..line.end)?;
    let (offset, letter) = rest.char_indices().find(|(_, one)| "()[]{}".contains(*one))?;
    let from = at + offset;
    match "([{".contains(letter) {
        true => find_closing_bracket(text, from, letter),
        false => find_opening_bracket(text, from, opening_bracket(letter)),
    }
}

fn opening_bracket(sign: char) -> char {
    match sign {
        ')' | '(' | 'b' => '(',
        ']' | '[' => '[',
        '>' | '<' => '<',
        _ => '{',
    }
}

fn closing_bracket(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '<' => '>',
        _ => '}',
    }
}

fn find_closing_bracket(text: &str, from: usize, open: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, letter) in text.get(from..)?.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == closing_bracket(open) {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(from + offset);
            }
        }
    }
    None
}

fn find_opening_bracket(text: &str, at: usize, open: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, letter) in text.get(..at)?.char_indices().rev() {
        if letter == closing_bracket(open) {
            depth += 1;
        } else if letter == open {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(offset),
            }
        }
    }
    None
}

/// The range of a text object such as `iw`, `a"` or `i(`.
pub(super) fn find_text_object(
    text: &str,
    at: usize,
    is_around: bool,
    sign: char,
) -> Option<Range<usize>> {
    match sign {
        'w' | 'W' => Some(find_word_object(text, at, is_around, sign == 'W')),
        '"' | '\'' | '`' => find_quoted_object(text, at, is_around, sign),
        '(' | ')' | 'b' | '[' | ']' | '{' | '}' | 'B' | '<' | '>' => {
            let open = opening_bracket(sign);
            let here = text.get(at..)?.chars().next();
            let from = if here == Some(open) { at } else { find_opening_bracket(text, at, open)? };
            let end = find_closing_bracket(text, from, open)?;
            Some(if is_around { from..end + 1 } else { from + 1..end })
        }
        'p' => Some(find_paragraph_object(text, at, is_around)),
        _ => None,
    }
}

fn find_word_object(text: &str, at: usize, is_around: bool, is_big: bool) -> Range<usize> {
    let line = line_range_at(text, at);
    let same = char_class_at(text, at, is_big);
    let mut start = at;
    let mut end = at;
    while start > line.start && char_class_at(text, previous_boundary(text, start), is_big) == same
    {
        start = previous_boundary(text, start);
    }
    while end < line.end && char_class_at(text, end, is_big) == same {
        end = next_boundary(text, end);
    }
    let is_blank = |at: usize| char_class_at(text, at, is_big) == Some(CharClass::Blank);
    let had = end;
    while is_around && end < line.end && is_blank(end) {
        end = next_boundary(text, end);
    }
    // As in vim: without a blank behind the word, the one before it is included.
    while is_around && end == had && start > line.start && is_blank(previous_boundary(text, start))
    {
        start = previous_boundary(text, start);
    }
    start..end
}

fn find_quoted_object(text: &str, at: usize, is_around: bool, sign: char) -> Option<Range<usize>> {
    let line = line_range_at(text, at);
    let signs: Vec<usize> =
        text.get(line.clone())?.match_indices(sign).map(|(at, _)| line.start + at).collect();
    let pairs = signs.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    let (open, close) = pairs.into_iter().find(|(_, close)| at <= *close)?;
    Some(if is_around { open..close + 1 } else { open + 1..close })
}

fn find_paragraph_object(text: &str, at: usize, is_around: bool) -> Range<usize> {
    let start = text.get(..at).and_then(|before| before.rfind("\n\n")).map_or(0, |at| at + 2);
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.find("\n\n").map_or(text.len(), |found| at + found + 1);
    let more = if is_around && end < text.len() { 1 } else { 0 };
    start..end + more
}

const COUNT_MAX: usize = 10_000;
