//! A request that was read: its line, its headers, its body.

use std::net::IpAddr;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers_named(name).next()
    }

    /// The value of a header; `None` also if it occurs twice, since parsers disagree about which
    /// one counts.
    pub fn single_header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers_named(name);
        match (all.next(), all.next()) {
            (Some(value), None) => Some(value),
            _ => None,
        }
    }

    pub fn has_header(&self, name: &str) -> bool {
        self.headers_named(name).next().is_some()
    }

    /// Whether the first header of this name contains a word, which is in lower case.
    pub fn header_contains(&self, name: &str, word: &str) -> bool {
        self.header(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
    }

    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }

    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    pub fn wants_close(&self) -> bool {
        self.header_contains("connection", "close")
    }

    fn headers_named(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Whether an authority such as `127.0.0.1:9464`, `localhost` or `[::1]:9464` names this machine. A
/// foreign domain that resolves to this machine still has another name.
pub fn is_loopback_authority(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_occurs_twice_has_no_single_value() {
        let header = |value: &str| ("host".to_owned(), value.to_owned());
        let request = HttpRequest {
            headers: vec![header("127.0.0.1:1"), header("evil.test")],
            ..HttpRequest::default()
        };
        assert_eq!(request.header("host"), Some("127.0.0.1:1"));
        assert_eq!(request.single_header("host"), None);
        assert!(request.has_header("host") && !request.has_header("origin"));
    }

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for own in ["127.0.0.1", "127.0.0.1:9464", "LOCALHOST:1", "[::1]:80", "[::1]", "127.9.9.9"]
        {
            assert!(is_loopback_authority(own), "{own}");
        }
        for other in ["", "evil.test", "127.0.0.1.evil.test", "10.0.0.1:1", "localhost.evil.test"] {
            assert!(!is_loopback_authority(other), "{other}");
        }
    }
}
