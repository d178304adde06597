//! Finds secrets in a text: known values first, then everything that looks like a key. Replaces
//! nothing.

use std::ops::Range;

use crate::secret_pattern;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    Secret,
    Identity,
    Email,
    /// The value of a stand-in, by index.
    StandIn(usize),
}

/// A value to search for.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretLiteral {
    pub value: Vec<u8>,
    pub kind: SecretKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    pub range: Range<usize>,
    pub kind: SecretKind,
}

pub struct SecretFinder {
    /// Longest first, so that a value does not hide a longer one that contains it.
    literals: Vec<SecretLiteral>,
    emails: bool,
    /// Bytes with which a match may start.
    first_bytes: [bool; 256],
}

impl SecretFinder {
    pub fn new(mut literals: Vec<SecretLiteral>, emails: bool) -> Self {
        literals.retain(|literal| !literal.value.is_empty());
        literals.sort_by_key(|literal| std::cmp::Reverse(literal.value.len()));
        let mut first_bytes = [false; 256];
        let begins = literals.iter().filter_map(|literal| literal.value.first().copied());
        for byte in begins.chain(secret_pattern::first_bytes()).chain(emails.then_some(b'@')) {
            if let Some(may) = first_bytes.get_mut(usize::from(byte)) {
                *may = true;
            }
        }
        Self { literals, emails, first_bytes }
    }

    /// All matches, in order and without overlaps.
    pub fn find(&self, text: &[u8]) -> Vec<SecretMatch> {
        let mut all: Vec<SecretMatch> = Vec::new();
        let mut at = 0;
        let mut taken = 0;
        while let Some(byte) = text.get(at) {
            let may = self.first_bytes.get(usize::from(*byte)).is_some_and(|may| *may);
            match may.then(|| self.match_at(text, at, taken)).flatten() {
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

    fn match_at(&self, text: &[u8], at: usize, taken: usize) -> Option<SecretMatch> {
        let rest = text.get(at..)?;
        for SecretLiteral { value, kind } in &self.literals {
            let range = at..at + value.len();
            let is_whole = !matches!(kind, SecretKind::StandIn(_)) || is_whole_word(text, &range);
            if rest.starts_with(value) && is_whole {
                return Some(SecretMatch { range, kind: *kind });
            }
        }
        let secret = secret_pattern::match_secret(text, at)
            .or_else(|| secret_pattern::match_private_key_end(text, at, taken));
        if let Some(range) = secret {
            return Some(SecretMatch { range, kind: SecretKind::Secret });
        }
        if let Some(range) = secret_pattern::match_identity(text, at) {
            return Some(SecretMatch { range, kind: SecretKind::Identity });
        }
        let range = self.emails.then(|| secret_pattern::match_email(text, at, taken)).flatten()?;
        Some(SecretMatch { range, kind: SecretKind::Email })
    }
}

/// `/home/me` is not part of `/home/merlin`.
fn is_whole_word(text: &[u8], range: &Range<usize>) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    secret_pattern::is_word_start(text, range.start) && !text.get(range.end).is_some_and(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        let mut clean = text.to_owned();
        for secret in SecretFinder::new(Vec::new(), false).find(text.as_bytes()).iter().rev() {
            clean.replace_range(secret.range.clone(), "X");
        }
        clean
    }

    #[test]
    fn no_part_of_a_private_key_is_left_however_it_is_shown() {
        let lines =
            ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "c2hvcnQ="];
        let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} PRIVATE KEY-----"));
        let numbered = |first: usize, lines: &[&str], mark: &str| {
            let lines = lines.iter().enumerate();
            lines.map(|(n, line)| format!("{:>6}{mark}{line}\n", first + n)).collect::<String>()
        };
        let all = [&[begin.as_str()][..], &lines, &[end.as_str()]].concat();
        for mark in ["\t", "→", ": ", " | "] {
            for shown in [&all[..], &all[..3], &all[2..]] {
                let text = format!("{}after\n", numbered(9, shown, mark));
                let clean = clean(&text);
                assert!(lines.iter().all(|line| !clean.contains(line)), "{text}{clean}");
                assert!(clean.contains("after"), "{clean}");
            }
        }
        for text in [
            format!("> {begin}\n> {}\n> {}\n", lines[0], lines[1]),
            format!("x\n{}\n{}\n{}\n{end}\ny", lines[0], lines[1], lines[2]),
            format!("x\\n{}\\n{}\\n{end}\\ny", lines[0], lines[1]),
        ] {
            let clean = clean(&text);
            assert!(lines.iter().all(|line| !clean.contains(line)), "{text} {clean}");
        }
        let other = format!("words before\n{}\n{end}", lines[0]);
        assert_eq!(clean(&other), "words before\nX");
        assert_eq!(clean(&format!("nothing before\n{end}")), format!("nothing before\n{end}"));
    }

    #[test]
    fn a_colour_does_not_hide_the_beginning_of_a_word() {
        let key = format!("ghp_{}", "0123456789abcdefghij");
        for before in ["\x1b[31m", "\x1b[01;31m\x1b[K", "\\u001b[0m", "\\033[1;2m"] {
            assert_eq!(clean(&format!("a{before}{key}")), format!("a{before}X"));
        }
        assert_eq!(clean(&format!("farm{key}")), format!("farm{key}"));
    }
}
