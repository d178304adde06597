//! Finds parts of secrets in texts cut to a length, or shown in pieces. Half a key matches no pattern,
//! so the secrets of a session are learned from its complete records before any text is redacted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Default)]
pub(super) struct CutSecrets {
    /// Secrets by their first bytes.
    learned: BTreeMap<[u8; HEAD_BYTES], BTreeSet<String>>,
    /// Secrets of which a part from the middle tells enough.
    long: Vec<String>,
    /// The bytes at each place of those: which one it is, and where.
    middles: HashMap<[u8; MIDDLE_BYTES], (usize, usize)>,
    count: usize,
}

impl CutSecrets {
    /// Learns each line on its own, because a secret of several lines may be cut after any of them.
    pub(super) fn learn(&mut self, secret: &str) {
        let lines = secret.split(['\n', '\r']).flat_map(|line| line.split("\\n"));
        for line in lines.map(str::trim) {
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
                self.learn_middle(line);
            }
        }
    }

    /// Learns a secret that must not appear in the session. A secret that starts like a word is ignored,
    /// because other texts end like its beginning.
    pub(super) fn learn_unseen(&mut self, secret: &str) {
        if secret.as_bytes().iter().take(TELLING_BYTES_MIN).any(u8::is_ascii_digit) {
            self.learn(secret);
        }
    }

    /// A piece may begin anywhere in a secret, if it was printed piece by piece.
    fn learn_middle(&mut self, secret: &str) {
        if secret.len() < LONG_BYTES_MIN {
            return;
        }
        for (at, window) in secret.as_bytes().windows(MIDDLE_BYTES).enumerate().skip(1) {
            let Ok(window) = <[u8; MIDDLE_BYTES]>::try_from(window) else { continue };
            if self.middles.len() >= MIDDLES_MAX {
                break;
            }
            if is_mixed(&window) && secret.is_char_boundary(at) {
                self.middles.entry(window).or_insert((self.long.len(), at));
            }
        }
        self.long.push(secret.to_owned());
    }

    /// The text with those parts replaced, and their number; `None` if there are none.
    pub(super) fn redact(&self, text: &str) -> Option<(String, u64)> {
        if self.learned.is_empty() {
            return None;
        }
        let (mut clean, mut count) = (String::new(), 0);
        let mut taken = 0;
        let mut at = 0;
        while let Some(rest) = text.as_bytes().get(at..).filter(|rest| rest.len() >= HEAD_BYTES) {
            match self.match_part(rest) {
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

    /// Length of the part of a secret at this position.
    fn match_part(&self, rest: &[u8]) -> Option<usize> {
        let middle = rest.first_chunk().and_then(|window| self.middles.get(window));
        let secret = middle.and_then(|(place, at)| self.long.get(*place)?.as_bytes().get(*at..));
        let middle = secret.map(|secret| count_shared(rest, secret));
        self.match_beginning(rest).max(middle)
    }

    /// Length of the beginning of a secret at this position: long enough to be one, or at the end
    /// of a text.
    fn match_beginning(&self, rest: &[u8]) -> Option<usize> {
        let secrets = self.learned.get(rest.first_chunk::<HEAD_BYTES>()?)?;
        let len = secrets.iter().map(|secret| count_shared(rest, secret.as_bytes())).max()?;
        let is_end =
            |rest: &[u8]| matches!(rest, b"" | b"..." | b"[TRUNCATED]") || rest == "…".as_bytes();
        let is_telling = len >= TELLING_BYTES_MIN && rest.get(..len).is_some_and(is_mixed);
        (is_telling || rest.get(len..).is_some_and(is_end)).then_some(len)
    }
}

/// Words, the beginning of an address, and the prefix that a kind of key has are not.
fn is_mixed(text: &[u8]) -> bool {
    text.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

fn count_shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(own, other)| own == other).count()
}

/// Shorter beginnings at the end of a text reveal too little to hide them.
const HEAD_BYTES: usize = 4;
/// A match of this length is not a coincidence.
const TELLING_BYTES_MIN: usize = 8;
const SECRETS_MAX: usize = 10_000;
const WORD_BYTES_MAX: usize = 20;
/// A match of this length in the middle of a secret is not a coincidence.
const MIDDLE_BYTES: usize = 12;
/// Shorter secrets may be made of words.
const LONG_BYTES_MIN: usize = 20;
const MIDDLES_MAX: usize = 500_000;

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

    #[test]
    fn a_word_is_not_taken_for_the_beginning_of_an_unseen_secret() {
        let mut cut = CutSecrets::default();
        cut.learn_unseen("test-key-of-mine-1");
        assert!(cut.redact("cargo test").is_none());
        cut.learn_unseen("a1b2c3d4e5f6g7h8");
        assert!(cut.redact("use a1b2c3d4e…").is_some());
    }

    #[test]
    fn a_piece_from_the_middle_is_found() {
        let mut cut = CutSecrets::default();
        let key = format!("{}-canary-a0b1c2d3e4f5g6h7i8j9k0l1m2", "sk");
        cut.learn(&key);
        for split in MIDDLE_BYTES..key.len() - MIDDLE_BYTES {
            let (clean, count) = cut.redact(&format!("ü {} and", &key[split..])).unwrap();
            assert_eq!((clean.as_str(), count), ("ü [redacted] and", 1), "{split}");
        }
        assert!(cut.redact("a0b1c2d3e4 7i8j9k0l1m2").is_none());
        cut.learn("https://hooks.example.com/services/T0123456789");
        assert!(cut.redact("see https://hooks.example.com/services of theirs").is_none());
        assert!(cut.redact("at services/T01234567").is_some());
    }
}
