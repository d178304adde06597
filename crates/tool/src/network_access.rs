//! Which addresses may be fetched from. Decided on the address itself, at the moment of
//! connecting, because a name may lead anywhere and elsewhere the next time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What of the network besides the public part may be fetched from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkAccess {
    pub loopback: bool,
    /// Private networks: at home, in a company, between containers.
    pub private: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressScope {
    Public,
    Loopback,
    Private,
    /// Where machines in clouds find their own credentials, and other neighbours on the same wire.
    LinkLocal,
    Unroutable,
}

impl NetworkAccess {
    /// May this address be connected to? If not, why.
    pub(crate) fn check(self, address: IpAddr) -> Result<(), String> {
        let why = match classify(address) {
            AddressScope::Public => return Ok(()),
            AddressScope::Loopback if self.loopback => return Ok(()),
            AddressScope::Private if self.private => return Ok(()),
            AddressScope::Loopback => "is this machine itself, which needs a permission of its own",
            AddressScope::Private => {
                "lies in a private network, which needs a permission of its own"
            }
            AddressScope::LinkLocal => "is link-local or serves metadata, which is never fetched",
            AddressScope::Unroutable => "is no address of a server",
        };
        Err(format!("{address} {why}"))
    }
}

fn classify(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressScope {
    match address.octets() {
        // Servers of clouds that answer outside the link-local range.
        [168, 63, 129, 16] | [100, 100, 100, 200] | [169, 254, ..] => AddressScope::LinkLocal,
        [127, ..] => AddressScope::Loopback,
        [10, ..] | [192, 168, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] => AddressScope::Private,
        [172, second, ..] if (16..32).contains(&second) => AddressScope::Private,
        [100, second, ..] if (64..128).contains(&second) => AddressScope::Private,
        [0 | 224.., ..] | [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            AddressScope::Unroutable
        }
        _ => AddressScope::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressScope {
    if let Some(inner) = extract_embedded_v4(address) {
        return classify_v4(inner);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressScope::Loopback,
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressScope::Unroutable,
        [0xfd00, 0x0ec2, ..] => AddressScope::LinkLocal,
        [first, ..] if first & 0xffc0 == 0xfe80 => AddressScope::LinkLocal,
        [first, ..] if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => {
            AddressScope::Private
        }
        [first, ..] if first & 0xff00 == 0xff00 => AddressScope::Unroutable,
        [0x2001, 0x0db8, ..] => AddressScope::Unroutable,
        // Only this eighth of all addresses is given out.
        [first, ..] if first & 0xe000 == 0x2000 => AddressScope::Public,
        _ => AddressScope::Unroutable,
    }
}

/// The older address inside a newer one: packets go there.
fn extract_embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let four = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(four(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(four(high, low)),
        [0x0064, 0xff9b, _, _, _, _, high, low] => Some(four(high, low)),
        [0x2002, high, low, ..] => Some(four(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(four(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_address_is_known() {
        let cases = [
            ("1.1.1.1 8.8.8.8 172.32.0.1 100.63.0.1 2606:4700::1111", AddressScope::Public),
            ("::ffff:1.1.1.1 64:ff9b::101:101 2002:0101:0101::1", AddressScope::Public),
            ("127.0.0.1 127.255.1.2 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1", AddressScope::Loopback),
            ("2002:7f00:1::", AddressScope::Loopback),
            (
                "10.0.0.1 172.16.0.1 172.31.9.9 192.168.1.1 100.64.0.1 198.18.0.1",
                AddressScope::Private,
            ),
            ("fc00::1 fd12:3456::1 fec0::1 ::ffff:10.0.0.1 ::10.0.0.1", AddressScope::Private),
            ("169.254.169.254 169.254.0.1 fe80::1 fd00:ec2::254", AddressScope::LinkLocal),
            ("::ffff:169.254.169.254 100.100.100.200 168.63.129.16", AddressScope::LinkLocal),
            (
                "0.0.0.0 0.1.2.3 255.255.255.255 224.0.0.1 240.0.0.1 :: ff02::1",
                AddressScope::Unroutable,
            ),
            ("192.0.2.1 2001:db8::1 4000::1", AddressScope::Unroutable),
        ];
        for (addresses, expected) in cases {
            for address in addresses.split(' ') {
                assert_eq!(classify(address.parse().unwrap()), expected, "{address}");
            }
        }
        let all = NetworkAccess { loopback: true, private: true };
        assert!(all.check("127.0.0.1".parse().unwrap()).is_ok());
        assert!(all.check("169.254.169.254".parse().unwrap()).is_err());
        assert!(NetworkAccess::default().check("10.0.0.1".parse().unwrap()).is_err());
    }
}
