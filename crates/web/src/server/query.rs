//! The query string of a URL: percent-decoded names and values.

use std::str::FromStr;

#[derive(Clone, Debug, Default)]
pub(crate) struct QueryParameters(Vec<(String, String)>);

impl QueryParameters {
    /// Reads at most [`PARAMETERS_MAX`] parameters.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        Self(pairs.take(PARAMETERS_MAX).collect())
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

/// Encodes as [`QueryParameters::parse`] reads it.
pub(crate) fn encode_percent(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
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
