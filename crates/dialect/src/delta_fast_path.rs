//! Pieces of text come by the thousand and look alike. The last one read the long way leaves its
//! mold here: everything around the text, byte for byte. The next one that fits needs no parsing;
//! it differs only in what fills the holes.
//!
//! A mold is taken only of an event whose whole effect was one piece of text (and usage), and holes
//! are cut only where that effect does not depend on them, so an event that fits means exactly what
//! the long way would have read. What does not fit is read the long way; nothing is refused here.

use alloc::vec::Vec;

use crate::json_string;

/// Where things stand in the events of one wire. Paths are the keys from the root; lists do not
/// count.
#[derive(Debug)]
pub(crate) struct DeltaFieldPaths {
    /// The text itself.
    pub(crate) text_path: &'static [&'static str],
    /// Keys whose values mean nothing: padding, running numbers.
    pub(crate) ignored_keys: &'static [&'static str],
    /// Numbers that are wanted.
    pub(crate) count_paths: &'static [&'static [&'static str]],
}

/// The most numbers one wire wants.
pub(crate) const COUNTS_MAX: usize = 5;

/// What filled the holes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateMatch<'a> {
    /// The text as it stands between its quotes.
    pub(crate) text: &'a [u8],
    /// Has it escapes?
    pub(crate) is_escaped: bool,
    /// The wanted numbers, in the order of [`Places::counts`]; zero where the mold has none.
    pub(crate) counts: [u64; COUNTS_MAX],
}

/// The shape of the last piece.
#[derive(Debug, Default)]
pub(crate) struct DeltaTemplate {
    literals: Vec<u8>,
    /// Empty when there is no mold.
    segments: Vec<TemplateSegment>,
    /// Bytes of framing before and behind the event, if it was seen with its framing.
    framing: Option<(usize, usize)>,
}

/// So many bytes as they are, and the hole behind them.
#[derive(Clone, Copy, Debug)]
struct TemplateSegment {
    literal_bytes: usize,
    slot: TemplateSlot,
}

#[derive(Clone, Copy, Debug)]
enum TemplateSlot {
    Text,
    Word,
    Digits,
    Count(usize),
    Spaces,
}

impl DeltaTemplate {
    /// Nothing fits any more.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }

    /// Is it known what stands around such an event?
    pub(crate) fn has_framing(&self) -> bool {
        self.framing.is_some()
    }

    /// What fills the holes, if this event fits.
    pub(crate) fn match_event<'a>(&self, event: &'a [u8]) -> Option<TemplateMatch<'a>> {
        let (before, behind) = self.framing.unwrap_or_default();
        let literals = self.literals.get(before..self.literals.len() - behind)?;
        let (filling, rest, tail) = self.match_segments(event, literals, before)?;
        (rest == tail).then_some(filling)
    }

    /// The same for an event at the front of a stream, still in its framing. Also tells the bytes
    /// of the event by itself, and of all of it.
    pub(crate) fn match_framed_event<'a>(
        &self,
        stream: &'a [u8],
    ) -> Option<(TemplateMatch<'a>, usize, usize)> {
        let (before, behind) = self.framing?;
        let (filling, rest, tail) = self.match_segments(stream, &self.literals, 0)?;
        let all = stream.len() - rest.strip_prefix(tail)?.len();
        Some((filling, all - before - behind, all))
    }

    fn match_segments<'a, 'm>(
        &self,
        event: &'a [u8],
        mut literals: &'m [u8],
        mut skipped: usize,
    ) -> Option<(TemplateMatch<'a>, &'a [u8], &'m [u8])> {
        if self.segments.is_empty() {
            return None;
        }
        let mut filling = TemplateMatch { text: &[], is_escaped: false, counts: [0; COUNTS_MAX] };
        let mut rest = event;
        for part in &self.segments {
            let literal;
            (literal, literals) = literals.split_at_checked(part.literal_bytes - skipped)?;
            skipped = 0;
            rest = rest.strip_prefix(literal)?;
            let end = match part.slot {
                TemplateSlot::Text => {
                    let (end, is_escaped) = json_string::find_string_end(rest)?;
                    filling.text = rest.get(..end)?;
                    filling.is_escaped = is_escaped;
                    end
                }
                TemplateSlot::Word => json_string::find_ascii_end(rest),
                TemplateSlot::Digits => parse_unsigned(rest)?.0,
                TemplateSlot::Count(place) => {
                    let (end, value) = parse_unsigned(rest)?;
                    *filling.counts.get_mut(place)? = value;
                    end
                }
                TemplateSlot::Spaces => rest.iter().take_while(|byte| **byte == b' ').count(),
            };
            rest = rest.get(end..)?;
        }
        Some((filling, rest, literals))
    }

    /// Takes the mold of an event that has just been read as one JSON object, and of what stood
    /// around it in the stream if that is known.
    pub(crate) fn learn(
        &mut self,
        event: &str,
        framing: Option<(&[u8], &[u8])>,
        places: &DeltaFieldPaths,
    ) {
        let (before, behind) = framing.unwrap_or_default();
        self.clear();
        self.framing = framing.map(|_| (before.len(), behind.len()));
        self.literals.clear();
        self.literals.extend_from_slice(before);
        let cutter = TemplateBuilder {
            uncounted: before.len(),
            template: self,
            event,
            paths: places,
            levels: Vec::new(),
            copied: 0,
            text_slots: 0,
        };
        if cutter.build() != Some(1) {
            self.clear();
        }
        self.literals.extend_from_slice(behind);
    }
}

/// Walks over one event and cuts the holes.
struct TemplateBuilder<'m, 'e> {
    template: &'m mut DeltaTemplate,
    event: &'e str,
    paths: &'e DeltaFieldPaths,
    levels: Vec<TemplateNesting<'e>>,
    /// Bytes of the event that are in the mold or in a hole.
    copied: usize,
    /// Bytes of literals that no part counts yet.
    uncounted: usize,
    text_slots: usize,
}

#[derive(Clone, Copy)]
enum TemplateNesting<'e> {
    List,
    /// The key of the current value, or `None` while a key is expected.
    Object(Option<&'e str>),
}

impl<'e> TemplateBuilder<'_, 'e> {
    /// How many texts were found, or `None` if no mold can be taken.
    fn build(mut self) -> Option<usize> {
        let bytes = self.event.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at = match byte {
                b'{' => self.enter_level(TemplateNesting::Object(None), at)?,
                b'[' => self.enter_level(TemplateNesting::List, at)?,
                b'}' | b']' => {
                    // Some servers pad there.
                    if self.levels.len() == 1 {
                        self.add_slot(at..at, TemplateSlot::Spaces)?;
                    }
                    self.levels.pop();
                    at + 1
                }
                b',' => {
                    if let Some(TemplateNesting::Object(key)) = self.levels.last_mut() {
                        *key = None;
                    }
                    at + 1
                }
                b'"' => self.scan_string(at + 1)?,
                b'-' | b'0'..=b'9' => self.scan_number(at)?,
                _ => at + 1,
            };
        }
        self.copy_literal(self.event.len())?;
        Some(self.text_slots)
    }

    fn enter_level(&mut self, level: TemplateNesting<'e>, at: usize) -> Option<usize> {
        self.levels.push(level);
        (self.levels.len() <= LEVELS_MAX).then_some(at + 1)
    }

    fn scan_string(&mut self, start: usize) -> Option<usize> {
        let (length, is_escaped) =
            json_string::find_string_end(self.event.as_bytes().get(start..)?)?;
        let end = start + length;
        let text = self.event.get(start..end)?;
        if let Some(TemplateNesting::Object(key @ None)) = self.levels.last_mut() {
            *key = Some(text);
            return (!is_escaped).then_some(end + 1);
        }
        if self.is_at_path(self.paths.text_path) {
            self.text_slots += 1;
            self.add_slot(start..end, TemplateSlot::Text)?;
        } else if self.is_ignored() && json_string::find_ascii_end(text.as_bytes()) == length {
            self.add_slot(start..end, TemplateSlot::Word)?;
        }
        Some(end + 1)
    }

    fn scan_number(&mut self, start: usize) -> Option<usize> {
        let rest = self.event.as_bytes().get(start..)?;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        let end = start + length;
        let count = self.paths.count_paths.iter().position(|path| self.is_at_path(path));
        match (parse_unsigned(rest), count) {
            (Some((whole, _)), Some(place)) if whole == length => {
                self.add_slot(start..end, TemplateSlot::Count(place))?;
            }
            (Some((whole, _)), None) if whole == length && self.is_ignored() => {
                self.add_slot(start..end, TemplateSlot::Digits)?;
            }
            _ => {}
        }
        Some(end)
    }

    fn add_slot(&mut self, place: core::ops::Range<usize>, hole: TemplateSlot) -> Option<()> {
        self.copy_literal(place.start)?;
        self.copied = place.end;
        let literal_bytes = core::mem::take(&mut self.uncounted);
        self.template.segments.push(TemplateSegment { literal_bytes, slot: hole });
        (self.template.segments.len() <= SLOTS_MAX).then_some(())
    }

    fn copy_literal(&mut self, end: usize) -> Option<()> {
        let literal = self.event.get(self.copied..end)?;
        self.template.literals.extend_from_slice(literal.as_bytes());
        self.uncounted += literal.len();
        Some(())
    }

    fn is_at_path(&self, path: &[&str]) -> bool {
        let keys = self.levels.iter().filter_map(|level| match level {
            TemplateNesting::List => None,
            TemplateNesting::Object(key) => Some(key.unwrap_or_default()),
        });
        keys.eq(path.iter().copied())
    }

    fn is_ignored(&self) -> bool {
        matches!(self.levels.last(), Some(TemplateNesting::Object(Some(key)))
            if self.paths.ignored_keys.contains(key))
    }
}

/// A whole number without a sign, small enough for anything that is counted.
fn parse_unsigned(bytes: &[u8]) -> Option<(usize, u64)> {
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

const SLOTS_MAX: usize = 32;

const DIGITS_MAX: usize = 15;
