//! Removes our own keys from whatever is stored or shown.
//!
//! A tool may print a key from a file or from the environment of a process. If it is one of ours,
//! it is replaced before it reaches a record, a model, a person or a file. Only our own keys are
//! known here, no other secrets.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use memchr::memmem;

/// The keys of a session. Clones share the list.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Vec<String>>>);

/// Shorter keys would match parts of ordinary words.
const CHARS_MIN: usize = 8;

const REPLACEMENT: &str = "[key removed]";

impl Secrets {
    pub fn add(&self, secret: &str) {
        let secret = secret.trim();
        let mut list = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= CHARS_MIN && !list.iter().any(|known| known == secret) {
            list.push(secret.to_owned());
            // A key that contains another one must be replaced first.
            list.sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    /// All keys, for a child process of ours that must redact too.
    #[must_use]
    pub fn list(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Do these bytes contain a key?
    #[must_use]
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        let list = self.0.read().unwrap_or_else(PoisonError::into_inner);
        list.iter().any(|secret| memmem::find(bytes, secret.as_bytes()).is_some())
    }

    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let list = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut clean = Cow::Borrowed(text);
        for secret in list.iter() {
            if memmem::find(clean.as_bytes(), secret.as_bytes()).is_some() {
                clean = Cow::Owned(clean.replace(secret.as_str(), REPLACEMENT));
            }
        }
        clean
    }

    pub(crate) fn redact_stream(&self) -> StreamRedactor {
        let list = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        StreamRedactor { secrets: list, pending: Vec::new() }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(hidden)")
    }
}

/// Redacts a stream, including keys that are split between chunks.
#[derive(Default)]
pub(crate) struct StreamRedactor {
    secrets: Vec<String>,
    /// Bytes that may be the beginning of a key.
    pending: Vec<u8>,
}

impl fmt::Debug for StreamRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redaction(hidden)")
    }
}

impl StreamRedactor {
    pub(crate) fn redact_chunk<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.secrets.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        for secret in &self.secrets {
            all = replace_secret(all, secret.as_bytes());
        }
        let open =
            self.secrets.iter().map(|secret| partial_match_len(&all, secret.as_bytes())).max();
        self.pending = all.split_off(all.len() - open.unwrap_or(0));
        Cow::Owned(all)
    }

    /// The remaining bytes at the end of the stream: not a key.
    pub(crate) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }
}

fn replace_secret(all: Vec<u8>, secret: &[u8]) -> Vec<u8> {
    if memmem::find(&all, secret).is_none() {
        return all;
    }
    let mut clean = Vec::with_capacity(all.len());
    let mut from = 0;
    for at in memmem::find_iter(&all, secret) {
        clean.extend_from_slice(all.get(from..at).unwrap_or_default());
        clean.extend_from_slice(REPLACEMENT.as_bytes());
        from = at + secret.len();
    }
    clean.extend_from_slice(all.get(from..).unwrap_or_default());
    clean
}

/// The length of the longest suffix that is a prefix of the secret.
fn partial_match_len(all: &[u8], secret: &[u8]) -> usize {
    let most = secret.len().saturating_sub(1).min(all.len());
    (1..=most)
        .rev()
        .find(|length| secret.get(..*length) == all.get(all.len() - length..))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_out_however_they_are_cut() {
        let secrets = Secrets::default();
        secrets.add("sk-canary-1234");
        secrets.add("sk-canary-1234-longer");
        secrets.add("short");
        let text = "a sk-canary-1234 b sk-canary-1234-longer c short sk-canary";
        let clean = "a [key removed] b [key removed] c short sk-canary";
        assert_eq!(secrets.redact(text), clean);
        assert_eq!(format!("{secrets:?}"), "Secrets(hidden)");
        for size in 1..text.len() {
            let mut stream = secrets.redact_stream();
            let mut got = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                got.extend_from_slice(&stream.redact_chunk(piece));
            }
            got.extend(stream.take_rest());
            // A longer key may overlap a shorter one; neither must remain.
            let got = String::from_utf8(got).unwrap();
            assert!(!got.contains("1234"), "{size}: {got}");
            assert!(got.ends_with("c short sk-canary"), "{size}: {got}");
        }
        assert_eq!(Secrets::default().redact(text), text);
    }
}
