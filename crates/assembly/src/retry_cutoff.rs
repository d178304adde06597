//! When to stop trying a server that will never answer.
//!
//! The engine tries again for minutes, which is right for a network that comes and goes. If nothing
//! listens on a port of this very machine, and nothing ever did during this run, waiting heals
//! nothing: the user forgot to start it or mistyped the port, and should know now. The same holds
//! for a server that sends nothing but web pages, for one that does not speak TLS where it should,
//! and for a proxy that asks for a login. Once a model has answered, none of this holds any more.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use windlass_vocabulary::{FailureKind, ModelFailure, ModelName, Notice};

use crate::failure_advice::{
    explain_failure, is_html_page, is_plain_http_server, is_proxy_login_required,
};
use windlass_host::environment::parse_local_address;
use windlass_provider::endpoint::EndpointDescriptions;

/// Watches for a server that will never answer.
#[derive(Debug)]
pub struct RetryCutoff {
    local_address: Option<(String, u16)>,
    /// Web pages so far.
    pages: u8,
    has_answered: bool,
}

#[derive(Debug)]
pub enum RetryCutoffReason {
    NothingListening(io::Error),
    /// The address responds, but is not a model server.
    UnusableServer(ModelFailure),
}

impl RetryCutoffReason {
    /// Why no more is tried, and what to do about it, in one line.
    pub fn explain(&self, endpoints: &EndpointDescriptions, model: Option<&ModelName>) -> String {
        let endpoint = endpoints.for_model(model);
        match self {
            Self::NothingListening(error) => format!(
                "nothing answers at {}: {error}; start the server, or {}",
                endpoint.base_url, endpoint.address_advice
            ),
            Self::UnusableServer(failure) if is_plain_http_server(failure) => format!(
                "the server at {} does not speak TLS; write http:// instead of https://, or {}",
                endpoint.base_url, endpoint.address_advice
            ),
            Self::UnusableServer(failure) => explain_failure(failure, endpoints, model),
        }
    }
}

impl RetryCutoff {
    /// For a server at this address. One on another machine gets all the patience the engine has.
    pub fn new(base_url: &str) -> Self {
        Self { local_address: parse_local_address(base_url), pages: 0, has_answered: false }
    }

    /// Returns what is wrong when it is time to give up.
    pub fn check_notice(&mut self, notice: &Notice) -> Option<RetryCutoffReason> {
        if let Notice::Streamed { .. } | Notice::Billed { .. } = notice {
            self.has_answered = true;
        }
        let Notice::RetryScheduled { failure, .. } = notice else { return None };
        if self.has_answered {
            // It has responded as a model server before, so the error comes from a proxy.
            return None;
        }
        if is_html_page(failure) {
            self.pages = self.pages.saturating_add(1);
            return (self.pages >= PAGES_MAX)
                .then(|| RetryCutoffReason::UnusableServer(failure.clone()));
        }
        if is_plain_http_server(failure) || is_proxy_login_required(failure) {
            return Some(RetryCutoffReason::UnusableServer(failure.clone()));
        }
        if failure.kind != FailureKind::Transport || failure.status.is_some() {
            // Any word from the server proves that it is there.
            self.local_address = None;
        }
        // The model client has given it time to come up.
        let (host, port) = self.local_address.as_ref()?;
        probe_port(host, *port).err().map(RetryCutoffReason::NothingListening)
    }
}

/// Does anything listen there? On this machine the answer comes at once.
fn probe_port(host: &str, port: u16) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()?.take(ADDRESSES_MAX) {
        match TcpStream::connect_timeout(&address, PROBE_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Pages instead of answers before the address is called wrong.
const PAGES_MAX: u8 = 3;
/// How long to wait for a connection.
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);
/// Addresses a name of this machine may have.
const ADDRESSES_MAX: usize = 2;
