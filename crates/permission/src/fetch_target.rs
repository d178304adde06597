//! URLs, as far as rules match them.
//!
//! Parsed strictly for an allow: anything unusual before the path is not understood. Parsed widely
//! for a deny. The caller must check the resolved address and every redirect when it connects; that
//! is not done here.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::address_class::{AddressClass, classify_address, unwrap_ipv4};
use crate::glob::{matches_text, overlaps_with_dots};

#[derive(Debug)]
pub(crate) struct FetchTarget {
    pub(crate) url: String,
    /// The host in lower case without a trailing dot, if the URL is plain.
    host: Option<String>,
    /// Every possible host, if the URL is not plain.
    hosts: Vec<String>,
    reach: HostReach,
}

/// The kind of host, from the least to the most dangerous reading of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostReach {
    Public,
    /// Reserved, unroutable, or an embedded private address: asks like a private host, but
    /// approving it opens no private network.
    Reserved,
    /// On this machine or in its network: needs a rule that names it.
    Private,
    /// Metadata services with credentials of cloud machines: denied.
    Metadata,
}

impl From<AddressClass> for HostReach {
    fn from(class: AddressClass) -> Self {
        match class {
            AddressClass::Public => Self::Public,
            AddressClass::Loopback | AddressClass::Private | AddressClass::Unspecified => {
                Self::Private
            }
            AddressClass::Reserved | AddressClass::Unroutable => Self::Reserved,
            AddressClass::Metadata => Self::Metadata,
        }
    }
}

impl FetchTarget {
    pub(crate) fn parse(url: &str) -> Self {
        let host = parse_plain_host(url);
        let hosts = find_possible_hosts(url);
        let reach = hosts.iter().map(|host| classify_host(host)).max();
        Self { url: url.to_owned(), host, hosts, reach: reach.unwrap_or(HostReach::Public) }
    }

    pub(crate) fn reach(&self) -> HostReach {
        self.reach
    }

    /// A rule for exactly this host.
    pub(crate) fn suggest_rule(&self) -> Option<String> {
        self.host.as_ref().map(|host| format!("WebFetch(domain:{host})"))
    }

    /// Does an allow rule with this content permit it?
    pub(crate) fn is_allowed_by(&self, content: &str) -> bool {
        let Some(pattern) = content.strip_prefix("domain:") else { return false };
        self.host.as_deref().is_some_and(|host| matches_host(pattern, host, matches_text))
    }

    /// Does a rule with this content name exactly this host?
    pub(crate) fn is_named_by(&self, content: &str) -> bool {
        self.is_allowed_by(content) && !content.contains('*')
    }

    /// May a deny rule with this content match it? A URL that is not plain may be any.
    pub(crate) fn may_match(&self, content: &str) -> bool {
        let Some(pattern) = content.strip_prefix("domain:") else { return true };
        let may_be = |host: &String| {
            matches_host(pattern, host, matches_text)
                || matches_host(&widen_host(pattern), &widen_host(host), overlaps_with_dots)
        };
        self.hosts.is_empty() || self.hosts.iter().any(may_be)
    }
}

/// Does a URL name this machine or its network directly? The permission decision has then treated
/// it as private.
#[must_use]
pub fn names_private_host(url: &str) -> bool {
    FetchTarget::parse(url).reach() == HostReach::Private
}

/// `*.example.com` matches subdomains; another star stays within one label.
fn matches_host(pattern: &str, host: &str, fits: fn(&str, &str) -> bool) -> bool {
    let pattern = pattern.trim().trim_end_matches('.').to_lowercase();
    if pattern == "*" {
        return true;
    }
    let below = pattern.strip_prefix("*.");
    let wanted: Vec<&str> = below.unwrap_or(&pattern).split('.').collect();
    let given: Vec<&str> = host.split('.').collect();
    let Some(above) = given.len().checked_sub(wanted.len()) else { return false };
    let is_as_deep = match below {
        Some(_) => above > 0 && !host.starts_with('.'),
        None => above == 0,
    };
    is_as_deep && wanted.iter().zip(given.iter().skip(above)).all(|(own, name)| fits(own, name))
}

/// With stars for what is spelled in more than one way: letters outside of ASCII, some of which
/// mean others, and names encoded for them.
fn widen_host(host: &str) -> String {
    let widen = |label: &str| match label.strip_prefix("xn--") {
        Some(_) => "*".to_owned(),
        None => label.chars().map(|c| if c.is_ascii() { c } else { '*' }).collect(),
    };
    host.to_lowercase().split('.').map(widen).collect::<Vec<String>>().join(".")
}

/// The host of a URL that cannot be read in another way.
fn parse_plain_host(url: &str) -> Option<String> {
    let lower = url.get(..8).unwrap_or(url).to_lowercase();
    let at = if lower.starts_with("https://") {
        8
    } else if lower.starts_with("http://") {
        7
    } else {
        return None;
    };
    let rest = url.get(at..)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_plain = !host.is_empty()
        && host.bytes().all(is_name)
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && !url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\');
    is_plain.then(|| host.trim_end_matches('.').to_lowercase())
}

/// Every host that some parser could find in this text.
fn find_possible_hosts(url: &str) -> Vec<String> {
    let cleaned: String = url.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let cleaned = cleaned.replace('\\', "/");
    let rest = cleaned.split_once(':').map_or(cleaned.as_str(), |(_, rest)| rest);
    let rest = rest.trim_start_matches('/');
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let mut hosts = Vec::new();
    let authority = decode_host(authority);
    for piece in authority.split('@') {
        let host = match piece.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or_default(),
            None => piece.split(':').next().unwrap_or_default(),
        };
        let host = host.trim_end_matches('.').to_lowercase();
        if !host.is_empty() {
            hosts.push(host);
        }
    }
    hosts
}

/// The host as the client will parse it: percent-decoded, and with wide forms of letters, digits
/// and dots replaced. Other scripts are compared as they are.
fn decode_host(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
        match (first, after) {
            (b'%', [high, low, behind @ ..]) if digit(high).zip(digit(low)).is_some() => {
                let value = digit(high).zip(digit(low)).map(|(high, low)| high * 16 + low);
                bytes.extend(value);
                rest = behind;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let narrow = |c: char| match c {
        '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => '.',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => '\0',
        c => c,
    };
    String::from_utf8_lossy(&bytes).chars().map(narrow).filter(|c| *c != '\0').collect()
}

fn classify_host(host: &str) -> HostReach {
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return classify_ipv6_host(address);
    }
    if let Some(address) = parse_loose_ipv4(host) {
        return HostReach::from(classify_address(IpAddr::V4(address)));
    }
    let is_near = host == "localhost"
        || [".localhost", ".local", ".internal", ".lan", ".home.arpa"]
            .iter()
            .any(|end| host.ends_with(end))
        || !host.contains('.');
    match host {
        "metadata.google.internal" | "metadata" | "instance-data" => HostReach::Metadata,
        _ if is_near => HostReach::Private,
        _ => HostReach::Public,
    }
}

/// A translated or tunnelled address does not show the user where it leads, so approving it opens
/// no private network. The mapped form shows the inner address and is treated like it.
fn classify_ipv6_host(address: Ipv6Addr) -> HostReach {
    let is_disguised = address.to_ipv4_mapped().is_none() && unwrap_ipv4(address).is_some();
    match HostReach::from(classify_address(IpAddr::V6(address))) {
        HostReach::Private if is_disguised => HostReach::Reserved,
        reach @ (HostReach::Public
        | HostReach::Reserved
        | HostReach::Private
        | HostReach::Metadata) => reach,
    }
}

/// An address in any notation that resolvers accept: fewer than four numbers, octal, hexadecimal.
fn parse_loose_ipv4(host: &str) -> Option<Ipv4Addr> {
    let numbers: Option<Vec<u64>> = host.split('.').map(parse_loose_number).collect();
    let numbers = numbers?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 255) {
        return None;
    }
    let room = 8 * (4 - first.len() as u32);
    if room < 64 && *last >= 1_u64 << room {
        return None;
    }
    let head = first.iter().enumerate().map(|(at, number)| number << (24 - 8 * at)).sum::<u64>();
    u32::try_from(head + last).ok().map(Ipv4Addr::from)
}

fn parse_loose_number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(digits) => u64::from_str_radix(digits, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FetchTarget, HostReach, names_private_host};

    #[test]
    fn near_places_are_seen_in_any_spelling() {
        for url in [
            "http://localhost/",
            "http://127.0.0.1:8080/x",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://10.1.2.3/",
            "http://a@192.168.0.1/",
            "http://0/",
            "http://router.lan/",
        ] {
            assert_eq!(FetchTarget::parse(url).reach(), HostReach::Private, "{url}");
        }
        for url in [
            "http://169.254.169.254/latest",
            "http://2852039166/",
            "http://metadata.google.internal/",
        ] {
            assert_eq!(FetchTarget::parse(url).reach(), HostReach::Metadata, "{url}");
        }
        for url in ["http://[2002:a9fe:a9fe::]/", "http://168.63.129.16/", "http://[fe80::1]/"] {
            assert_eq!(FetchTarget::parse(url).reach(), HostReach::Metadata, "{url}");
        }
        for url in ["http://198.18.0.1/", "http://224.0.0.1/", "http://[4000::1]/"] {
            assert_eq!(FetchTarget::parse(url).reach(), HostReach::Reserved, "{url}");
            assert!(!names_private_host(url), "{url}");
        }
        // NAT64, 6to4, Teredo and IPv4-compatible forms of private addresses.
        for address in [
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2001:0:1:2:3:4:80ff:fffe",
            "::10.0.0.1",
        ] {
            let url = format!("http://[{address}]/");
            assert_eq!(FetchTarget::parse(&url).reach(), HostReach::Reserved, "{url}");
            assert!(!names_private_host(&url), "{url}");
        }
        for url in ["https://example.com/", "https://8.8.8.8/", "http://[64:ff9b::808:808]/"] {
            assert_eq!(FetchTarget::parse(url).reach(), HostReach::Public, "{url}");
        }
    }

    #[test]
    fn hosts_are_compared_after_reading() {
        for (content, url, expected) in [
            ("domain:example.com", "https://example.com/x", true),
            ("domain:example.com", "https://EXAMPLE.com./x", true),
            ("domain:example.com", "https://example.com.evil.org/", false),
            ("domain:example.com", "https://evil.org/example.com", false),
            ("domain:example.com", "https://example.com@evil.org/", false),
            ("domain:example.com", "https://evil.org\\@example.com/", false),
            ("domain:example.com", "https://sub.example.com/", false),
            ("domain:*.example.com", "https://sub.example.com/", true),
            ("domain:*.example.com", "https://example.com/", false),
            ("domain:*.example.com", "https://notexample.com/", false),
            ("domain:example.com", "ftp://example.com/", false),
            ("domain:example.com", "https://exa\u{6d}ple.com/", true),
            ("example.com", "https://example.com/", false),
        ] {
            assert_eq!(FetchTarget::parse(url).is_allowed_by(content), expected, "{content} {url}");
        }
        for url in [
            "https://ok.org@evil.org/",
            "https://%65vil.org/",
            "https://ok.org%40evil.org/",
            "https://evil%2eorg/",
            "https://\u{ff45}vil\u{3002}org/",
            "https://ev\u{ad}il.org/",
        ] {
            assert!(FetchTarget::parse(url).may_match("domain:evil.org"), "{url}");
            assert!(!FetchTarget::parse(url).is_allowed_by("domain:evil.org"), "{url}");
        }
        for (content, url, expected) in [
            ("domain:evil.org", "https://\u{24d4}vil.org/", true),
            ("domain:evil.org", "https://b\u{fc}cher.org/", false),
            ("domain:b\u{fc}cher.de", "https://xn--bcher-kva.de/", true),
            ("domain:B\u{dc}CHER.de", "https://b\u{fc}cher.de/", true),
            ("domain:xn--bcher-kva.de", "https://b\u{fc}cher.de/", true),
            ("domain:*.evil.org", "https://a.\u{24d4}vil.org/", true),
            ("domain:xn--bcher-kva.de", "https://example.com/", false),
        ] {
            assert_eq!(FetchTarget::parse(url).may_match(content), expected, "{content} {url}");
        }
        for url in ["http://127.0.0.%31/", "http://%6cocalhost/", "http://\u{ff11}27.0.0.1/"] {
            assert_eq!(FetchTarget::parse(url).reach(), HostReach::Private, "{url}");
        }
    }
}
