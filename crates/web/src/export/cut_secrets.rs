//! Finds beginnings of secrets in texts cut to a length. Half a key matches no pattern, so the
//! secrets of a session are learned from its complete records before any cut text is redacted.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct CutSecrets {
    /// Secrets by their first bytes.
    learned: BTreeMap<[u8; HEAD_BYTES], BTreeSet<String>>,
    count: usize,
}

impl CutSecrets {
    /// Learns each line on its own, because a secret of several lines may be cut after any of them.
    pub(super) fn learn(&mut self, secret: &str) {
        for line in secret.split(['\n', '\r']).map(str::trim) {
            let head = line.as_bytes().first_chunk::<HEAD_BYTES>();
            // PEM header lines are not secret, and a password that is a plain word also occurs in
            // other text.
            let is_word =
                line.len() < WORD_BYTES_MAX && line.bytes().all(|b| b.is_ascii_lowercase());
            let Some(head) = head.filter(|_| !is_word && !line.starts_with("-----")) else {
                continue;
            };
            if self.count < SECRETS_MAX
                && self.learned.entry(*head).or_default().insert(line.to_owned())
            {
                self.count += 1;
            }
        }
    }

    /// The text with those beginnings replaced, and their number; `None` if there are none.
    pub(super) fn redact(&self, text: &str) -> Option<(String, u64)> {
        if self.learned.is_empty() {
            return None;
        }
        let (mut clean, mut count) = (String::new(), 0);
        let mut taken = 0;
        let mut at = 0;
        while let Some(rest) = text.as_bytes().get(at..).filter(|rest| rest.len() >= HEAD_BYTES) {
            match self.match_beginning(rest) {
                Some(len) => {
                    clean.push_str(text.get(taken..at)?);
                    clean.push_str("[redacted]");
                    at = text.ceil_char_boundary(at + len);
                    taken = at;
                    count += 1;
                }
                None => at += 1,
            }
        }
        clean.push_str(text.get(taken..)?);
        (count > 0).then_some((clean, count))
    }

    /// Length of the beginning of a secret at this position: long enough to be one, or at the end
    /// of a text.
    fn match_beginning(&self, rest: &[u8]) -> Option<usize> {
        let secrets = self.learned.get(rest.first_chunk::<HEAD_BYTES>()?)?;
        let shared = |secret: &String| {
            rest.iter().zip(secret.as_bytes()).take_while(|(own, other)| own == other).count()
        };
        let len = secrets.iter().map(shared).max()?;
        let is_end =
            |rest: &[u8]| matches!(rest, b"" | b"..." | b"[TRUNCATED]") || rest == "…".as_bytes();
        (len >= TELLING_BYTES_MIN || rest.get(len..).is_some_and(is_end)).then_some(len)
    }
}

/// Shorter beginnings at the end of a text reveal too little to hide them.
const HEAD_BYTES: usize = 4;
/// A match of this length is not a coincidence.
const TELLING_BYTES_MIN: usize = 8;
const SECRETS_MAX: usize = 10_000;
const WORD_BYTES_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_found_wherever_the_limit_was() {
        let mut cut = CutSecrets::default();
        let key = "canary-0123456789";
        cut.learn(key);
        for length in HEAD_BYTES..key.len() {
            for mark in ["", "…", "..."] {
                let text = format!("use {}{mark}", &key[..length]);
                let (clean, count) = cut.redact(&text).expect(&text);
                assert_eq!((clean, count), (format!("use [redacted]{mark}"), 1));
            }
        }
        let (clean, _) = cut.redact("ü canary-01 in the middle, ü").unwrap();
        assert_eq!(clean, "ü [redacted] in the middle, ü");
        assert!(cut.redact("a canary in a coal mine").is_none());
        assert!(cut.redact("can").is_none());
        cut.learn("postgres");
        assert!(cut.redact("the postgres server").is_none());
    }
}
