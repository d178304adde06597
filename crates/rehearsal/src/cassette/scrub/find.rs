//! Finds what must not be written down, in a text. Values known from headers first, then whatever
//! is shaped like a key. What replaces it is not decided here.

use std::ops::Range;

use super::shape;

/// What something found is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Opens a door.
    Secret,
    /// Tells who somebody is.
    Identity,
    /// An e-mail address.
    Email,
    /// The value of a stand-in, by its place in the list.
    StandIn(usize),
}

/// A value to look for.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) value: Vec<u8>,
    pub(super) kind: Kind,
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

/// What is looked for.
pub(super) struct Sought {
    /// Longest first, so that a value inside of another does not hide it.
    literals: Vec<Literal>,
    emails: bool,
    /// Bytes with which something sought may begin.
    first: [bool; 256],
}

impl Sought {
    pub(super) fn new(mut literals: Vec<Literal>, emails: bool) -> Self {
        literals.retain(|literal| !literal.value.is_empty());
        literals.sort_by_key(|literal| std::cmp::Reverse(literal.value.len()));
        let mut first = [false; 256];
        let begins = literals.iter().filter_map(|literal| literal.value.first().copied());
        for byte in begins.chain(shape::first_bytes()).chain(emails.then_some(b'@')) {
            if let Some(may) = first.get_mut(usize::from(byte)) {
                *may = true;
            }
        }
        Self { literals, emails, first }
    }

    /// Everything found, in order and without overlaps.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        let mut at = 0;
        let mut taken = 0;
        while let Some(byte) = text.get(at) {
            let may = self.first.get(usize::from(*byte)).is_some_and(|may| *may);
            match may.then(|| self.at(text, at, taken)).flatten() {
                Some(found) => {
                    at = found.range.end.max(at + 1);
                    taken = found.range.end;
                    all.push(found);
                }
                None => at += 1,
            }
        }
        all
    }

    fn at(&self, text: &[u8], at: usize, taken: usize) -> Option<Found> {
        let rest = text.get(at..)?;
        for Literal { value, kind } in &self.literals {
            let range = at..at + value.len();
            let is_whole = !matches!(kind, Kind::StandIn(_)) || stands_alone(text, &range);
            if rest.starts_with(value) && is_whole {
                return Some(Found { range, kind: *kind });
            }
        }
        if let Some(range) = shape::secret(text, at) {
            return Some(Found { range, kind: Kind::Secret });
        }
        if let Some(range) = shape::identity(text, at) {
            return Some(Found { range, kind: Kind::Identity });
        }
        let range = self.emails.then(|| shape::email(text, at, taken)).flatten()?;
        Some(Found { range, kind: Kind::Email })
    }
}

/// `/home/me` is not part of `/home/merlin`.
fn stands_alone(text: &[u8], range: &Range<usize>) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    shape::begins_word(text, range.start) && !text.get(range.end).is_some_and(is_name)
}
