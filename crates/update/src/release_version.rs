//! A version as a release has it: three numbers and perhaps a name behind a hyphen. It becomes a part of
//! paths and addresses, so nothing else is taken.

use std::cmp::Ordering;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReleaseVersion {
    numbers: [u32; 3],
    /// A candidate such as `rc.1`; it comes before the version itself.
    candidate: String,
}

impl ReleaseVersion {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let text: String = text.chars().take(40).collect();
            format!("`{text}` is not a version; it looks like 1.2.3")
        };
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, candidate) = text.split_once('-').unwrap_or((text, ""));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let is_dotted = candidate.contains("..") || candidate.starts_with('.');
        if candidate.len() > 20 || is_dotted || !candidate.chars().all(is_plain) {
            return Err(wrong());
        }
        let parsed: Result<Vec<u32>, _> = numbers.split('.').map(str::parse).collect();
        let is_numeric = numbers.chars().all(|c| c.is_ascii_digit() || c == '.');
        match parsed.as_deref() {
            Ok([major, minor, patch]) if is_numeric => {
                Ok(Self { numbers: [*major, *minor, *patch], candidate: candidate.to_owned() })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        match self.candidate.as_str() {
            "" => Ok(()),
            candidate => write!(f, "-{candidate}"),
        }
    }
}

impl Ord for ReleaseVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let is_final = |version: &Self| version.candidate.is_empty();
        let candidates = || is_final(self).cmp(&is_final(other));
        self.numbers
            .cmp(&other.numbers)
            .then_with(candidates)
            .then_with(|| self.candidate.cmp(&other.candidate))
    }
}

impl PartialOrd for ReleaseVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_and_nothing_else_is_one() {
        let ordered = ["0.9.10", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0", "1.10.0", "v2.0.0"];
        let parsed: Vec<_> =
            ordered.iter().map(|text| ReleaseVersion::parse(text).unwrap()).collect();
        assert!(parsed.is_sorted_by(|a, b| a < b), "{parsed:?}");
        for wrong in
            ["", "1", "1.2", "1.2.3.4", "../1.2.3", "1.2.3/..", "1.2.3-../x", "+1.2.3", "1.2.3-"]
        {
            let parsed = ReleaseVersion::parse(wrong);
            let is_harmless =
                parsed.as_ref().is_ok_and(|version| !version.to_string().contains('/'));
            assert!(parsed.is_err() || (wrong == "1.2.3-" && is_harmless), "{wrong}");
        }
    }
}
