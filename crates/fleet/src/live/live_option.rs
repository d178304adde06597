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
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Address(address));
        }
        text.parse::<IpAddr>().map(|address| Self::Address(SocketAddr::new(address, 0))).map_err(
            |_| {
                "it must be `direct`, an address of this host such as 10.0.0.7, nats://HOST or `off`"
                    .to_owned()
            },
        )
    }
}
