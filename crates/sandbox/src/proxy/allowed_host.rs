//! The list of allowed hosts.

use std::fmt;
use std::str::FromStr;

/// Allowed ports of an entry without one.
const USUAL_PORTS: &[u16] = &[80, 443];

/// One entry: `example.org`, `*.example.org`, `example.org:8443`, `[::1]:8080`.
///
/// A star matches one or more whole labels; the domain itself needs its own entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    name: String,
    has_star: bool,
    port: Option<u16>,
    /// May it resolve to a private address?
    pub reaches_private: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is not a host, a host with a port, or `*.` and a host")]
pub struct InvalidAllowedHost {
    entry: String,
}

impl AllowedHost {
    pub(super) fn covers(&self, host: &str, port: u16) -> bool {
        self.matches_host(host) && self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// Does it match this host, on any port?
    pub(super) fn matches_host(&self, host: &str) -> bool {
        match self.has_star {
            false => host == self.name,
            true => {
                let front = host.strip_suffix(self.name.as_str()).unwrap_or_default();
                front.len() > 1 && front.ends_with('.')
            }
        }
    }
}

impl FromStr for AllowedHost {
    type Err = InvalidAllowedHost;

    fn from_str(entry: &str) -> Result<Self, Self::Err> {
        let wrong = || InvalidAllowedHost { entry: entry.to_owned() };
        let (host, port) = split_host_port(entry).ok_or_else(wrong)?;
        let (has_star, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        let name = normalize_host(name).ok_or_else(wrong)?;
        // A star before a single label would match everything.
        if has_star && !name.contains('.') {
            return Err(wrong());
        }
        Ok(Self { name, has_star, port, reaches_private: false })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.has_star { "*." } else { "" };
        write!(to, "{star}{}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(to, ":{port}"))
    }
}

/// Splits host and port, and removes the brackets of an IPv6 address.
pub(super) fn split_host_port(authority: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(parse_port(port)?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(parse_port(port)?))),
        None => Some((authority, None)),
    }
}

fn parse_port(port: &str) -> Option<u16> {
    let is_plain = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| port.parse().ok().filter(|port| *port != 0)).flatten()
}

/// The form for comparison: lower case, no trailing dot, no unusual characters.
pub(super) fn normalize_host(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let fits = !host.is_empty() && host.len() < 254 && host.bytes().all(is_plain);
    (fits && !host.starts_with('.') && !host.contains("..")).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_cover_what_they_say_and_nothing_else() {
        for (entry, host, port, expected) in [
            ("example.org", "example.org", 443, true),
            ("example.org", "example.org", 80, true),
            ("example.org", "example.org", 22, false),
            ("example.org", "www.example.org", 443, false),
            ("example.org", "badexample.org", 443, false),
            ("Example.org.", "example.org", 443, true),
            ("*.example.org", "a.b.example.org", 443, true),
            ("*.example.org", "example.org", 443, false),
            ("*.example.org", ".example.org", 443, false),
            ("*.example.org", "badexample.org", 443, false),
            ("example.org:8443", "example.org", 8443, true),
            ("example.org:8443", "example.org", 443, false),
            ("[::1]:8080", "::1", 8080, true),
            ("127.0.0.1:9", "127.0.0.1", 9, true),
        ] {
            let allowed: AllowedHost = entry.parse().unwrap();
            assert_eq!(allowed.covers(host, port), expected, "{entry} {host}:{port}");
        }
        for wrong in [
            "", "*", "*.", "*.org", "a b", "a/b", "a..b", ".a", "a:x", "a:0", "a:+1", "[::1", "u@a",
        ] {
            assert!(wrong.parse::<AllowedHost>().is_err(), "{wrong}");
        }
    }
}
