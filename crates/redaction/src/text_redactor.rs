//! Redacts keys in any text that is shared: known values, and everything that looks like a key.

use std::borrow::Cow;

use crate::secret_finder::{SecretFinder, SecretKind, SecretLiteral};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RedactedKind {
    KnownSecret,
    /// Text that looks like a key.
    Key,
    /// The name of an organisation or a project at a provider.
    Identity,
}

impl RedactedKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KnownSecret => "known secret",
            Self::Key => "key",
            Self::Identity => "identity",
        }
    }
}

pub struct TextRedactor {
    finder: SecretFinder,
    known: Vec<String>,
}

impl TextRedactor {
    /// Also searches these values; those under eight bytes are ignored, because they occur in
    /// ordinary words.
    #[must_use]
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let known: Vec<String> =
            known.into_iter().filter(|value| value.len() >= KNOWN_BYTES_MIN).collect();
        let literals = known.iter().map(|value| SecretLiteral {
            value: value.clone().into_bytes(),
            kind: SecretKind::Secret,
        });
        Self { finder: SecretFinder::new(literals.collect(), false), known }
    }

    /// The secrets in a text.
    #[must_use]
    pub fn find_secrets<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let found = self.finder.find(text.as_bytes()).into_iter();
        found.filter_map(|secret| text.get(secret.range)).collect()
    }

    /// The redacted text, and what was redacted.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<RedactedKind>) {
        let found = self.finder.find(text.as_bytes());
        if found.is_empty() {
            return (Cow::Borrowed(text), Vec::new());
        }
        let mut clean = String::with_capacity(text.len());
        let mut kinds = Vec::new();
        let mut taken = 0;
        for secret in found {
            let Some(value) = text.get(secret.range.clone()) else { continue };
            let is_known = self.known.iter().any(|known| known == value);
            let kind = match secret.kind {
                SecretKind::Secret if is_known => RedactedKind::KnownSecret,
                SecretKind::Secret => RedactedKind::Key,
                SecretKind::Identity | SecretKind::Email | SecretKind::StandIn(_) => {
                    RedactedKind::Identity
                }
            };
            clean.push_str(text.get(taken..secret.range.start).unwrap_or_default());
            clean.push_str(REDACTED);
            taken = secret.range.end;
            kinds.push(kind);
        }
        clean.push_str(text.get(taken..).unwrap_or_default());
        (Cow::Owned(clean), kinds)
    }
}

/// Replaces a secret.
const REDACTED: &str = "[redacted]";
const KNOWN_BYTES_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_shapes_go_and_the_rest_stays() {
        let redactor = TextRedactor::new(["hunter2-hunter2".to_owned(), "short".to_owned()]);
        let text = format!("a short hunter2-hunter2, sk-{} and ü", "ant-A1b2C3d4E5f6G7h8I9");
        let (clean, kinds) = redactor.redact(&text);
        assert_eq!(clean, "a short [redacted], [redacted] and ü");
        assert_eq!(kinds, [RedactedKind::KnownSecret, RedactedKind::Key]);
        assert!(
            matches!(redactor.redact("nothing here"), (Cow::Borrowed(_), none) if none.is_empty())
        );
    }
}
