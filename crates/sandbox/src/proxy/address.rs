//! Which addresses a name may turn out to have.
//!
//! A name that is allowed says nothing about where it points today. So the address is judged when
//! the connection is made, in every form in which one address can be wrapped in another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is to somebody who only meant to reach the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressReach {
    /// The internet.
    Public,
    /// This machine or the network around it: only by a rule that says so.
    Private,
    /// Never: the machine's own metadata, everybody at once, nobody at all.
    Never,
}

/// Judges an address.
#[must_use]
pub fn classify_address(address: IpAddr) -> AddressReach {
    match address {
        IpAddr::V4(address) => classify_ipv4(address),
        IpAddr::V6(address) => classify_ipv6(address),
    }
}

fn classify_ipv4(address: Ipv4Addr) -> AddressReach {
    let [a, b, c, _] = address.octets();
    let is_never = address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || a == 0
        || address == Ipv4Addr::new(100, 100, 100, 200)
        || address == Ipv4Addr::new(192, 0, 0, 192)
        || address == Ipv4Addr::new(168, 63, 129, 16);
    let is_private = address.is_private()
        || address.is_loopback()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240;
    match (is_never, is_private) {
        (true, _) => AddressReach::Never,
        (false, true) => AddressReach::Private,
        (false, false) => AddressReach::Public,
    }
}

fn classify_ipv6(address: Ipv6Addr) -> AddressReach {
    if let Some(inner) = extract_ipv4(address) {
        return classify_ipv4(inner);
    }
    let [first, ..] = address.segments();
    let is_metadata = address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let is_link_local = first & 0xffc0 == 0xfe80;
    if is_metadata || is_link_local || address.is_unspecified() || address.is_multicast() {
        return AddressReach::Never;
    }
    let is_unique_local = first & 0xfe00 == 0xfc00;
    let is_site_local = first & 0xffc0 == 0xfec0;
    if address.is_loopback() || is_unique_local || is_site_local {
        return AddressReach::Private;
    }
    AddressReach::Public
}

/// The old address inside a new one: mapped, compatible, translated or tunnelled.
fn extract_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let four = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, _, _, _, _, _] => Some(four(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(four(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrapping_is_seen_through() {
        for (text, expected) in [
            ("93.184.215.14", AddressReach::Public),
            ("127.0.0.1", AddressReach::Private),
            ("127.9.9.9", AddressReach::Private),
            ("10.0.0.1", AddressReach::Private),
            ("172.16.0.1", AddressReach::Private),
            ("172.32.0.1", AddressReach::Public),
            ("192.168.1.1", AddressReach::Private),
            ("100.64.0.1", AddressReach::Private),
            ("100.100.100.200", AddressReach::Never),
            ("169.254.169.254", AddressReach::Never),
            ("0.0.0.0", AddressReach::Never),
            ("0.1.2.3", AddressReach::Never),
            ("255.255.255.255", AddressReach::Never),
            ("224.0.0.1", AddressReach::Never),
            ("::", AddressReach::Never),
            ("::1", AddressReach::Private),
            ("fe80::1", AddressReach::Never),
            ("fd00:ec2::254", AddressReach::Never),
            ("fd12::1", AddressReach::Private),
            ("ff02::1", AddressReach::Never),
            ("2606:2800:220:1::1", AddressReach::Public),
            ("::ffff:169.254.169.254", AddressReach::Never),
            ("::ffff:10.0.0.1", AddressReach::Private),
            ("::ffff:93.184.215.14", AddressReach::Public),
            ("::169.254.169.254", AddressReach::Never),
            ("64:ff9b::169.254.169.254", AddressReach::Never),
            ("64:ff9b::7f00:1", AddressReach::Private),
            ("2002:a9fe:a9fe::1", AddressReach::Never),
            ("2002:7f00:1::", AddressReach::Private),
        ] {
            assert_eq!(classify_address(text.parse().unwrap()), expected, "{text}");
        }
    }
}
