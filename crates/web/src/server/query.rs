//! The query string of a URL: percent-decoded names and values.

use std::str::FromStr;

#[derive(Clone, Debug, Default)]
pub(crate) struct QueryParameters(Vec<(String, String)>);

impl QueryParameters {
    /// Reads at most [`PARAMETERS_MAX`] parameters.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).take(PARAMETERS_MAX);
        let decode = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_percent(name), decode_percent(value))
        };
        Self(pairs.map(decode).collect())
    }

    /// The value of a parameter; an empty value counts as absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A numeric parameter, or an error message.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| format!("`{name}` is not a number"))
    }

    /// The parts of a comma-separated list, in lower case.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let words = self.text(name).unwrap_or_default().split(',').map(str::trim);
        words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    }
}

/// Decodes `%41` and `+` as in form encoding. Invalid UTF-8 is replaced.
pub(crate) fn decode_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (byte, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 3;
                continue;
            }
            (b'+', _) => decoded.push(b' '),
            (other, _) => decoded.push(*other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Encodes like a browser's `URLSearchParams`.
pub(crate) fn encode_percent(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

const PARAMETERS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_bad_ones_named() {
        let query =
            QueryParameters::parse("q=a%20b+c%C3%A9&from=x&empty=&kind=Call,%20result&x=%zz");
        assert_eq!(query.text("q"), Some("a b c\u{e9}"));
        assert_eq!(query.text("empty"), None);
        assert_eq!(query.text("x"), Some("%zz"));
        assert_eq!(query.list("kind"), ["call", "result"]);
        assert!(query.number::<u64>("from").is_err());
        assert_eq!(query.number::<u64>("to"), Ok(None));
    }
}
