//! Redacts keys in any text that is shared: known values, and everything that looks like a key.

use std::borrow::Cow;

use crate::assigned_secret::find_assigned_secrets;
use crate::encoded_secret::{encode_in_base64, find_encoded_secrets};
use crate::secret_finder::{SecretFinder, SecretKind, SecretLiteral, SecretMatch};
use crate::visible_text::VisibleText;

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
    /// Also searches these values, as they are and in base64; those under eight bytes are ignored,
    /// because they occur in ordinary words.
    #[must_use]
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> =
            known.into_iter().filter(|value| value.len() >= KNOWN_BYTES_MIN).collect();
        let encoded: Vec<String> = known.iter().flat_map(|value| encode_in_base64(value)).collect();
        known.extend(encoded);
        let literals = known.iter().map(|value| SecretLiteral {
            value: value.clone().into_bytes(),
            kind: SecretKind::Secret,
        });
        Self { finder: SecretFinder::new(literals.collect(), false), known }
    }

    /// The known values.
    pub fn known_secrets(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    /// The secrets in a text, as they are written.
    #[must_use]
    pub fn find_secrets<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let found = self.find_matches(text).into_iter();
        found.filter_map(|secret| text.get(secret.range)).collect()
    }

    /// The redacted text, and what was redacted.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<RedactedKind>) {
        let found = self.find_matches(text);
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

    /// All secrets: in the text as it is written, and as it is seen. In order, without overlaps.
    fn find_matches(&self, text: &str) -> Vec<SecretMatch> {
        let mut found = self.find_in(text.as_bytes());
        if let Some(visible) = VisibleText::read(text) {
            let seen = self.find_in(&visible.bytes).into_iter();
            found.extend(seen.filter_map(|secret| {
                Some(SecretMatch { range: visible.raw_range(&secret.range)?, kind: secret.kind })
            }));
        }
        found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
        let mut apart: Vec<SecretMatch> = Vec::with_capacity(found.len());
        for secret in found {
            match apart.last_mut() {
                Some(last) if secret.range.start < last.range.end => {
                    last.range.end = last.range.end.max(secret.range.end);
                }
                Some(_) | None => apart.push(secret),
            }
        }
        apart
    }

    fn find_in(&self, text: &[u8]) -> Vec<SecretMatch> {
        let mut found = self.finder.find(text);
        let has_secret = |decoded: &[u8]| {
            !self.finder.find(decoded).is_empty() || !find_assigned_secrets(decoded).is_empty()
        };
        let unknown = [find_assigned_secrets(text), find_encoded_secrets(text, has_secret)];
        let unknown = unknown.into_iter().flatten();
        found.extend(unknown.map(|range| SecretMatch { range, kind: SecretKind::Secret }));
        found
    }
}

/// Replaces a secret.
const REDACTED: &str = "[redacted]";
const KNOWN_BYTES_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

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

    #[test]
    fn colours_escapes_and_encodings_hide_no_key() {
        let key = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ");
        let (begin, end) = key.split_at(4);
        let redactor = TextRedactor::new(["hunter2-hunter2".to_owned()]);
        let encoded = STANDARD.encode(format!("key: {key}"));
        for text in [
            format!("x\x1b[32m{key}\x1b[0m"),
            format!("\x1b[01;31m\x1b[K{begin}\x1b[m\x1b[K{end}"),
            format!("\\u001b[31m{begin}\\u001b[0m{end}"),
            key.replace('_', "\\_"),
            key.replace('_', "&#95;"),
            key.replace('_', "%5F"),
            key.replace('_', "\\u005f"),
            key.replace('5', "\u{200b}5"),
            format!("token: {encoded}"),
            "hunter2\\u002dhunter2".to_owned(),
            STANDARD.encode("me:hunter2-hunter2"),
            r#"{\"aws_secret_access_key\":\"wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY\"}"#.to_owned(),
            r#"{\\\"password\\\": \\\"hunter3hunter3\\\"}"#.to_owned(),
        ] {
            let (clean, _) = redactor.redact(&text);
            assert!(clean.contains(REDACTED), "{text} {clean}");
            for part in [&end[..10], "hunter", "wJalr", &STANDARD.encode("hunter")[..6]] {
                assert!(!clean.contains(part), "{text}: {clean}");
            }
        }
    }
}
