//! Classifies IP addresses: the one table for rules, the sandbox's proxy and the fetch tool.
//!
//! Callers must classify the address when they connect, because a name may resolve to any address,
//! and to another one next time. An address embedded in another is extracted first, since packets
//! go to the inner one.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// The internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network: at home, in a company, between containers, or behind carrier-grade NAT.
    Private,
    /// `0.0.0.0/8` and `::`, which many systems treat as this machine.
    Unspecified,
    /// Reserved for protocols, benchmarks and old site-local networks.
    Reserved,
    /// Link-local, or the metadata services from which cloud machines get credentials.
    Metadata,
    /// No server can have this address: multicast, broadcast, documentation, unassigned.
    Unroutable,
}

/// The class of an address, or of the address embedded in it.
#[must_use]
pub fn classify_address(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => classify_ipv4(address),
        IpAddr::V6(address) => classify_ipv6(address),
    }
}

fn classify_ipv4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        // Metadata services of clouds outside of the link-local range.
        [168, 63, 129, 16] | [100, 100, 100, 200] | [192, 0, 0, 192] => AddressClass::Metadata,
        [169, 254, ..] => AddressClass::Metadata,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            AddressClass::Private
        }
        [192, 0, 0, _] | [198, 18 | 19, ..] => AddressClass::Reserved,
        [0, ..] => AddressClass::Unspecified,
        [224..=255, ..] | [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            AddressClass::Unroutable
        }
        _ => AddressClass::Public,
    }
}

fn classify_ipv6(address: Ipv6Addr) -> AddressClass {
    if let Some(inner) = unwrap_ipv4(address) {
        return classify_ipv4(inner);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0xfd00, 0x0ec2, ..] | [0xfe80..=0xfebf, ..] => AddressClass::Metadata,
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        [0xfec0..=0xfeff, ..] => AddressClass::Reserved,
        [0x2001, 0x0db8, ..] => AddressClass::Unroutable,
        // Only this eighth of the address space is assigned.
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Unroutable,
    }
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, translated, or tunnelled by 6to4 or Teredo.
pub(crate) fn unwrap_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(join(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(join(high, low)),
        [0x0064, 0xff9b, _, _, _, _, high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        // Teredo stores the client's address inverted.
        [0x2001, 0, _, _, _, _, high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_address_is_known_in_every_wrapping() {
        let cases = [
            ("1.1.1.1 93.184.215.14 172.32.0.1 100.63.0.1 100.128.0.1", AddressClass::Public),
            ("2606:4700::1111 2606:2800:220:1::1 ::ffff:1.1.1.1", AddressClass::Public),
            ("64:ff9b::101:101 2002:101:101::1 2001:0:1:2:3:4:fefe:fefe", AddressClass::Public),
            ("127.0.0.1 127.255.1.2 ::1 ::ffff:127.0.0.1", AddressClass::Loopback),
            ("64:ff9b::7f00:1 64:ff9b:1::7f00:1 2002:7f00:1::", AddressClass::Loopback),
            ("2001:0:1:2:3:4:80ff:fffe", AddressClass::Loopback),
            ("10.0.0.1 172.16.0.1 172.31.9.9 192.168.1.1 100.64.0.1", AddressClass::Private),
            ("fc00::1 fd12:3456::1 ::ffff:10.0.0.1 ::10.0.0.1", AddressClass::Private),
            ("0.0.0.0 0.1.2.3 ::", AddressClass::Unspecified),
            ("192.0.0.1 198.18.0.1 198.19.9.9 fec0::1", AddressClass::Reserved),
            ("169.254.169.254 169.254.0.1 fe80::1 febf::1 fd00:ec2::254", AddressClass::Metadata),
            ("100.100.100.200 168.63.129.16 192.0.0.192", AddressClass::Metadata),
            ("::ffff:169.254.169.254 ::169.254.169.254", AddressClass::Metadata),
            ("64:ff9b::169.254.169.254 2002:a9fe:a9fe::1", AddressClass::Metadata),
            ("224.0.0.1 240.0.0.1 255.255.255.255 ff02::1", AddressClass::Unroutable),
            ("192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1", AddressClass::Unroutable),
            ("::2 4000::1 ::ffff:0:7f00:1", AddressClass::Unroutable),
        ];
        for (addresses, expected) in cases {
            for address in addresses.split(' ') {
                assert_eq!(classify_address(address.parse().unwrap()), expected, "{address}");
            }
        }
    }
}
