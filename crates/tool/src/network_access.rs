//! Which addresses may be fetched. Checked for the IP address when connecting, because a name may
//! resolve to any address and to another one next time.

use std::net::IpAddr;

use windlass_permission::{AddressClass, classify_address};

/// Access to addresses that are not public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkAccess {
    pub loopback: bool,
    /// Private networks: at home, in a company, between containers.
    pub private: bool,
}

impl NetworkAccess {
    /// Checks an address before connecting; the error is why not.
    pub(crate) fn check(self, address: IpAddr) -> Result<(), String> {
        let why = match classify_address(address) {
            AddressClass::Public => return Ok(()),
            AddressClass::Loopback if self.loopback => return Ok(()),
            AddressClass::Private | AddressClass::Reserved if self.private => return Ok(()),
            AddressClass::Loopback => "is this machine itself, which needs a permission of its own",
            AddressClass::Private | AddressClass::Reserved => {
                "lies in a private network, which needs a permission of its own"
            }
            AddressClass::Metadata => "is link-local or serves metadata, which is never fetched",
            AddressClass::Unspecified | AddressClass::Unroutable => "is no address of a server",
        };
        Err(format!("{address} {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_permitted_is_connected_to() {
        let all = NetworkAccess { loopback: true, private: true };
        assert!(all.check("127.0.0.1".parse().unwrap()).is_ok());
        assert!(all.check("169.254.169.254".parse().unwrap()).is_err());
        assert!(NetworkAccess::default().check("10.0.0.1".parse().unwrap()).is_err());
    }
}
