//! What the environment says about the model server: its address, who asks, extra headers.
//!
//! Secrets are read here, trimmed, and handed on as a credential that never shows itself. No error
//! repeats a value. Which model to ask is looked up here too, because flags and environment share it.

use std::ffi::OsString;

use windlass_driver::{Credential, Endpoint};
use windlass_vocabulary::Wire;

use crate::refusal::Refusal;

/// Asked when no other address is given.
const BASE_URL: &str = "https://api.anthropic.com";

/// The environment, as a way to look names up: tests bring their own.
pub(crate) trait Lookup: Fn(&str) -> Option<OsString> {}
impl<F: Fn(&str) -> Option<OsString>> Lookup for F {}

/// The model named in the environment.
pub(crate) fn model(lookup: &impl Lookup) -> Result<Option<String>, Refusal> {
    text(lookup, "ANTHROPIC_MODEL")
}

/// The model server to ask.
pub(crate) fn endpoint(lookup: &impl Lookup) -> Result<Endpoint, Refusal> {
    let base_url = text(lookup, "ANTHROPIC_BASE_URL")?.unwrap_or_else(|| BASE_URL.to_owned());
    let token = text(lookup, "ANTHROPIC_AUTH_TOKEN")?.map(Credential::Bearer);
    let key = text(lookup, "ANTHROPIC_API_KEY")?.map(Credential::Key);
    let credential = match token.or(key) {
        Some(credential) => credential,
        None if local_place(&base_url).is_some() => Credential::None,
        None => {
            return Err(Refusal::failed(
                "no API key: set one with `export ANTHROPIC_API_KEY=...` (or ANTHROPIC_AUTH_TOKEN), \
                 or see the whole thing without a key: `windlass demo`",
            ));
        }
    };
    let mut endpoint = Endpoint::new(Wire::AnthropicMessages, base_url).credential(credential);
    endpoint.headers = headers(lookup)?;
    Ok(endpoint)
}

/// Host and port, if the address is one of this machine.
pub(crate) fn local_place(base_url: &str) -> Option<(String, u16)> {
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

fn headers(lookup: &impl Lookup) -> Result<Vec<(String, String)>, Refusal> {
    let Some(lines) = text(lookup, "ANTHROPIC_CUSTOM_HEADERS")? else {
        return Ok(Vec::new());
    };
    let mut headers = Vec::new();
    for (number, line) in (1..).zip(lines.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(Refusal::failed(format!(
                "line {number} of ANTHROPIC_CUSTOM_HEADERS has no colon; write `Name: value`, one \
                 header a line"
            )));
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(headers)
}

/// A variable's text, without the line end that a file often leaves at a secret; empty is not set.
fn text(lookup: &impl Lookup, name: &str) -> Result<Option<String>, Refusal> {
    let Some(value) = lookup(name) else {
        return Ok(None);
    };
    let value = value
        .into_string()
        .map_err(|_| Refusal::failed(format!("{name} is not text; set it again, in UTF-8")))?;
    let value = value.trim();
    Ok((!value.is_empty()).then(|| value.to_owned()))
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
            let found = local_place(url);
            let found = found.as_ref().map(|(host, port)| (host.as_str(), *port));
            assert_eq!(found, place, "{url}");
        }
    }

    #[test]
    fn a_token_goes_before_a_key_and_empty_is_not_set() {
        let with = |pairs: &'static [(&str, &str)]| {
            let lookup = move |name: &str| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(*value))
            };
            endpoint(&lookup).map(|endpoint| endpoint.credential)
        };
        let key = with(&[("ANTHROPIC_API_KEY", "a-key\n")]);
        assert_eq!(key.unwrap(), Credential::Key("a-key".to_owned()));
        let both = with(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t")]);
        assert_eq!(both.unwrap(), Credential::Bearer("t".to_owned()));
        assert!(with(&[("ANTHROPIC_API_KEY", " ")]).is_err());
        let local = with(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")]);
        assert_eq!(local.unwrap(), Credential::None);
    }
}
