//! Parses `name=value,name=value` lists: headers, which may be secret, and resource attributes.

use std::fmt;

/// Names and values. `Debug` hides the values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HeaderList(Vec<(String, String)>);

impl HeaderList {
    /// Parses a list with percent-encoded values. `None` if a part has no `=`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parse = |part: &str| {
            let (name, value) = part.split_once('=')?;
            Some((name.trim().to_owned(), decode(value.trim())))
        };
        parts.map(parse).collect::<Option<_>>().map(Self)
    }

    /// Merges two lists; entries of `other` win, and names are compared without case.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.0.retain(|(name, _)| !other.0.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)));
        self.0.extend(other.0);
        self
    }

    #[must_use]
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    #[must_use]
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, value)| value.strip_prefix("Bearer ").unwrap_or(value))
    }
}

impl fmt::Debug for HeaderList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Percent-decodes; a `%` without two digits is left as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match decoded.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
