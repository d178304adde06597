//! `--live`: how live text gets from workers to gateways.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

use windlass_nats::NatsServer;

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

impl LiveOption {
    /// With the certificates to trust for NATS, or an error of one line.
    pub fn with_authorities(self, path: Option<&Path>) -> Result<Self, String> {
        match (self, path) {
            (Self::Nats(server), Some(path)) => {
                let loaded = server.with_authorities(path);
                loaded.map(Self::Nats).map_err(|words| format!("{}: {words}", path.display()))
            }
            (live, None) => Ok(live),
            (Self::Owner | Self::Address(_) | Self::Off, Some(path)) => {
                Err(format!("{}: it is for --live tls://HOST or nats://HOST", path.display()))
            }
        }
    }
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
            "it must be `direct`, an address of this host such as 10.0.0.7, nats://HOST, \
             tls://HOST or `off`"
                .to_owned()
        })?;
        match address.ip().is_unspecified() {
            // Gateways are told this address.
            true => Err(format!("gateways cannot connect to {text}; name an address of this host")),
            false => Ok(Self::Address(address)),
        }
    }
}
