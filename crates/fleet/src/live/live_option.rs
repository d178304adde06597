//! `--live`: how live text gets from workers to gateways.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use super::nats_client::NatsServer;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LiveOption {
    /// From the worker, at the address the database sees it at.
    #[default]
    Owner,
    /// From the worker, at this address.
    Address(SocketAddr),
    Nats(NatsServer),
    Off,
}

impl FromStr for LiveOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "direct" => return Ok(Self::Owner),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        if text.contains("://") {
            return NatsServer::parse(text).map(Self::Nats);
        }
        let whole = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 0));
        let address = text.parse::<SocketAddr>().or(whole).map_err(|_| {
            "it must be `direct`, an address of this host such as 10.0.0.7, nats://HOST or `off`"
                .to_owned()
        })?;
        match address.ip().is_unspecified() {
            // Gateways are told this address.
            true => Err(format!("{text} is no address that gateways can connect to")),
            false => Ok(Self::Address(address)),
        }
    }
}
