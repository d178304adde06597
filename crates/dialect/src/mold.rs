//! Pieces of text come by the thousand and look alike. The last one read the long way leaves its
//! mold here: everything around the text, byte for byte. The next one that fits needs no parsing;
//! it differs only in what fills the holes.
//!
//! A mold is taken only of an event whose whole effect was one piece of text (and usage), and holes
//! are cut only where that effect does not depend on them, so an event that fits means exactly what
//! the long way would have read. What does not fit is read the long way; nothing is refused here.

use alloc::vec::Vec;

use crate::quoted;

/// Where things stand in the events of one wire. Paths are the keys from the root; lists do not
/// count.
#[derive(Debug)]
pub(crate) struct Places {
    /// The text itself.
    pub(crate) text: &'static [&'static str],
    /// Keys whose values mean nothing: padding, running numbers.
    pub(crate) noise: &'static [&'static str],
    /// Numbers that are wanted.
    pub(crate) counts: &'static [&'static [&'static str]],
}

/// The most numbers one wire wants.
pub(crate) const COUNTS_MAX: usize = 5;

/// What filled the holes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<'a> {
    /// The text as it stands between its quotes.
    pub(crate) text: &'a [u8],
    /// Has it escapes?
    pub(crate) is_escaped: bool,
    /// The wanted numbers, in the order of [`Places::counts`]; zero where the mold has none.
    pub(crate) counts: [u64; COUNTS_MAX],
}

/// The shape of the last piece.
#[derive(Debug, Default)]
pub(crate) struct Mold {
    literals: Vec<u8>,
    /// Empty when there is no mold.
    parts: Vec<Part>,
    /// Bytes of framing before and behind the event, if it was seen with its framing.
    framing: Option<(usize, usize)>,
}

/// So many bytes as they are, and the hole behind them.
#[derive(Clone, Copy, Debug)]
struct Part {
    literal_bytes: usize,
    hole: Hole,
}

#[derive(Clone, Copy, Debug)]
enum Hole {
    Text,
    Word,
    Digits,
    Count(usize),
    Spaces,
}

impl Mold {
    /// Nothing fits any more.
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    /// Is it known what stands around such an event?
    pub(crate) fn has_framing(&self) -> bool {
        self.framing.is_some()
    }

    /// What fills the holes, if this event fits.
    pub(crate) fn fill<'a>(&self, event: &'a [u8]) -> Option<Filling<'a>> {
        let (before, behind) = self.framing.unwrap_or_default();
        let literals = self.literals.get(before..self.literals.len() - behind)?;
        let (filling, rest, tail) = self.compare(event, literals, before)?;
        (rest == tail).then_some(filling)
    }

    /// The same for an event at the front of a stream, still in its framing. Also tells the bytes
    /// of the event by itself, and of all of it.
    pub(crate) fn fill_framed<'a>(&self, stream: &'a [u8]) -> Option<(Filling<'a>, usize, usize)> {
        let (before, behind) = self.framing?;
        let (filling, rest, tail) = self.compare(stream, &self.literals, 0)?;
        let all = stream.len() - rest.strip_prefix(tail)?.len();
        Some((filling, all - before - behind, all))
    }

    fn compare<'a, 'm>(
        &self,
        event: &'a [u8],
        mut literals: &'m [u8],
        mut skipped: usize,
    ) -> Option<(Filling<'a>, &'a [u8], &'m [u8])> {
        if self.parts.is_empty() {
            return None;
        }
        let mut filling = Filling { text: &[], is_escaped: false, counts: [0; COUNTS_MAX] };
        let mut rest = event;
        for part in &self.parts {
            let literal;
            (literal, literals) = literals.split_at_checked(part.literal_bytes - skipped)?;
            skipped = 0;
            rest = rest.strip_prefix(literal)?;
            let end = match part.hole {
                Hole::Text => {
                    let (end, is_escaped) = quoted::end(rest)?;
                    filling.text = rest.get(..end)?;
                    filling.is_escaped = is_escaped;
                    end
                }
                Hole::Word => quoted::ascii_end(rest),
                Hole::Digits => number(rest)?.0,
                Hole::Count(place) => {
                    let (end, value) = number(rest)?;
                    *filling.counts.get_mut(place)? = value;
                    end
                }
                Hole::Spaces => rest.iter().take_while(|byte| **byte == b' ').count(),
            };
            rest = rest.get(end..)?;
        }
        Some((filling, rest, literals))
    }

    /// Takes the mold of an event that has just been read as one JSON object, and of what stood
    /// around it in the stream if that is known.
    pub(crate) fn take(&mut self, event: &str, framing: Option<(&[u8], &[u8])>, places: &Places) {
        let (before, behind) = framing.unwrap_or_default();
        self.clear();
        self.framing = framing.map(|_| (before.len(), behind.len()));
        self.literals.clear();
        self.literals.extend_from_slice(before);
        let cutter = Cutter {
            uncounted: before.len(),
            mold: self,
            event,
            places,
            levels: Vec::new(),
            copied: 0,
            texts: 0,
        };
        if cutter.cut() != Some(1) {
            self.clear();
        }
        self.literals.extend_from_slice(behind);
    }
}

/// Walks over one event and cuts the holes.
struct Cutter<'m, 'e> {
    mold: &'m mut Mold,
    event: &'e str,
    places: &'e Places,
    levels: Vec<Level<'e>>,
    /// Bytes of the event that are in the mold or in a hole.
    copied: usize,
    /// Bytes of literals that no part counts yet.
    uncounted: usize,
    texts: usize,
}

#[derive(Clone, Copy)]
enum Level<'e> {
    List,
    /// The key of the current value, or `None` while a key is expected.
    Object(Option<&'e str>),
}

impl<'e> Cutter<'_, 'e> {
    /// How many texts were found, or `None` if no mold can be taken.
    fn cut(mut self) -> Option<usize> {
        let bytes = self.event.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at = match byte {
                b'{' => self.enter(Level::Object(None), at)?,
                b'[' => self.enter(Level::List, at)?,
                b'}' | b']' => {
                    // Some servers pad there.
                    if self.levels.len() == 1 {
                        self.hole(at..at, Hole::Spaces)?;
                    }
                    self.levels.pop();
                    at + 1
                }
                b',' => {
                    if let Some(Level::Object(key)) = self.levels.last_mut() {
                        *key = None;
                    }
                    at + 1
                }
                b'"' => self.string(at + 1)?,
                b'-' | b'0'..=b'9' => self.number(at)?,
                _ => at + 1,
            };
        }
        self.copy(self.event.len())?;
        Some(self.texts)
    }

    fn enter(&mut self, level: Level<'e>, at: usize) -> Option<usize> {
        self.levels.push(level);
        (self.levels.len() <= LEVELS_MAX).then_some(at + 1)
    }

    fn string(&mut self, start: usize) -> Option<usize> {
        let (length, is_escaped) = quoted::end(self.event.as_bytes().get(start..)?)?;
        let end = start + length;
        let text = self.event.get(start..end)?;
        if let Some(Level::Object(key @ None)) = self.levels.last_mut() {
            *key = Some(text);
            return (!is_escaped).then_some(end + 1);
        }
        if self.is_at(self.places.text) {
            self.texts += 1;
            self.hole(start..end, Hole::Text)?;
        } else if self.is_noise() && quoted::ascii_end(text.as_bytes()) == length {
            self.hole(start..end, Hole::Word)?;
        }
        Some(end + 1)
    }

    fn number(&mut self, start: usize) -> Option<usize> {
        let rest = self.event.as_bytes().get(start..)?;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        let end = start + length;
        let count = self.places.counts.iter().position(|path| self.is_at(path));
        match (number(rest), count) {
            (Some((whole, _)), Some(place)) if whole == length => {
                self.hole(start..end, Hole::Count(place))?;
            }
            (Some((whole, _)), None) if whole == length && self.is_noise() => {
                self.hole(start..end, Hole::Digits)?;
            }
            _ => {}
        }
        Some(end)
    }

    fn hole(&mut self, place: core::ops::Range<usize>, hole: Hole) -> Option<()> {
        self.copy(place.start)?;
        self.copied = place.end;
        let literal_bytes = core::mem::take(&mut self.uncounted);
        self.mold.parts.push(Part { literal_bytes, hole });
        (self.mold.parts.len() <= HOLES_MAX).then_some(())
    }

    fn copy(&mut self, end: usize) -> Option<()> {
        let literal = self.event.get(self.copied..end)?;
        self.mold.literals.extend_from_slice(literal.as_bytes());
        self.uncounted += literal.len();
        Some(())
    }

    fn is_at(&self, path: &[&str]) -> bool {
        let keys = self.levels.iter().filter_map(|level| match level {
            Level::List => None,
            Level::Object(key) => Some(key.unwrap_or_default()),
        });
        keys.eq(path.iter().copied())
    }

    fn is_noise(&self) -> bool {
        matches!(self.levels.last(), Some(Level::Object(Some(key)))
            if self.places.noise.contains(key))
    }
}

/// A whole number without a sign, small enough for anything that is counted.
fn number(bytes: &[u8]) -> Option<(usize, u64)> {
    let (mut end, mut value) = (0, 0_u64);
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        value = value * 10 + u64::from(digit - b'0');
        end += 1;
        if end > DIGITS_MAX {
            return None;
        }
    }
    let is_padded = end > 1 && bytes.first() == Some(&b'0');
    (end > 0 && !is_padded).then_some((end, value))
}

const LEVELS_MAX: usize = 16;

const HOLES_MAX: usize = 32;

const DIGITS_MAX: usize = 15;
