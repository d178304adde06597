//! Looks up environment variables, and parses their values: texts, headers, local addresses.
//!
//! Errors never contain a value, because it may be a secret. The caller knows what a variable
//! means.

use std::ffi::OsString;

use crate::command_error::CommandError;
use crate::words;

/// A lookup of environment variables, which tests replace.
pub trait EnvLookup: Fn(&str) -> Option<OsString> {}
impl<F: Fn(&str) -> Option<OsString>> EnvLookup for F {}

/// The environment of this process. A function instead of closures, because everything generic over
/// a lookup is compiled once per type.
pub fn process_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Host and port, if the address is on this machine.
pub fn parse_local_address(base_url: &str) -> Option<(String, u16)> {
    let (rest, port) = match base_url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (rest, 80),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (rest, 443),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return None;
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, number)) if !number.contains(']') => (host, number.parse().ok()?),
        _ => (authority, port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_local.then(|| (host.to_owned(), port))
}

/// Parses headers, one `Name: value` per line.
pub fn read_headers(
    lookup: &impl EnvLookup,
    variable: &str,
) -> Result<Vec<(String, String)>, CommandError> {
    let Some(lines) = read_variable(lookup, variable)? else {
        return Ok(Vec::new());
    };
    let mut headers = Vec::new();
    for (number, line) in (1..).zip(lines.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((name, value)) = line.split_once(':') else {
            let problem = words::describe_header_without_colon(number, variable);
            return Err(CommandError::failure(problem));
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(headers)
}

/// A variable's text, without trailing line ends, which secrets from files often have; an empty one
/// counts as unset.
pub fn read_variable(lookup: &impl EnvLookup, name: &str) -> Result<Option<String>, CommandError> {
    let Some(value) = lookup(name) else {
        return Ok(None);
    };
    let value = value
        .into_string()
        .map_err(|_| CommandError::failure(words::describe_variable_without_text(name)))?;
    let value = value.trim();
    Ok((!value.is_empty()).then(|| value.to_owned()))
}

/// The first of these variables that is set.
pub fn read_first_variable(
    lookup: &impl EnvLookup,
    names: &[&str],
) -> Result<Option<String>, CommandError> {
    for name in names {
        if let Some(value) = read_variable(lookup, name)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

pub fn is_set(lookup: &impl EnvLookup, name: &str) -> bool {
    lookup(name).is_some_and(|value| !value.as_encoded_bytes().trim_ascii().is_empty())
}

/// Is it set to a word for yes?
pub fn is_switched_on(lookup: &impl EnvLookup, name: &str) -> bool {
    let value = lookup(name).unwrap_or_default();
    let value = value.to_string_lossy().trim().to_ascii_lowercase();
    ["1", "true", "yes", "on"].contains(&value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        let cases = [
            ("http://127.0.0.1:4242", Some(("127.0.0.1", 4242))),
            ("http://localhost/anthropic", Some(("localhost", 80))),
            ("https://[::1]:8443/x", Some(("::1", 8443))),
            ("http://[::1]", Some(("::1", 80))),
            ("http://127.9.9.9", Some(("127.9.9.9", 80))),
            ("https://api.anthropic.com", None),
            ("http://127.0.0.1.example.org", None),
            ("http://localhost@example.org", None),
            ("http://192.168.0.1:80", None),
            ("ftp://127.0.0.1", None),
            ("127.0.0.1:80", None),
        ];
        for (url, place) in cases {
            let found = parse_local_address(url);
            let found = found.as_ref().map(|(host, port)| (host.as_str(), *port));
            assert_eq!(found, place, "{url}");
        }
    }
}
