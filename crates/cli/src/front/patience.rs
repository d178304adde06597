//! When to stop trying a server that will never answer.
//!
//! The engine tries again for minutes, which is right for a network that comes and goes. If nothing
//! listens on a port of this very machine, and nothing ever did during this run, waiting heals
//! nothing: somebody forgot to start it or mistyped the port, and should be told now. The same holds
//! for a server that sends web pages, for one that does not speak TLS where it should, and for a
//! proxy that lets nobody through.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use windlass_vocabulary::{FailureKind, ModelFailure, Notice};

use super::advice::{is_page, is_plain, is_proxy_login};
use crate::environment::local_place;

/// Watches for a server that never was there.
#[derive(Debug)]
pub(crate) struct Patience {
    place: Option<(String, u16)>,
    failures: u8,
}

/// Why it is over.
#[derive(Debug)]
pub(crate) enum Hopeless {
    /// Nobody is there.
    Nobody(io::Error),
    /// What is there does not speak our language.
    Stranger(ModelFailure),
}

impl Patience {
    /// For a server at this address. One on another machine gets all the patience the engine has.
    pub(crate) fn new(base_url: &str) -> Self {
        Self { place: local_place(base_url), failures: 0 }
    }

    /// Says what is wrong once it is time to give up.
    pub(crate) fn is_over(&mut self, notice: &Notice) -> Option<Hopeless> {
        match notice {
            Notice::Waiting { failure, .. }
                if is_page(failure) || is_plain(failure) || is_proxy_login(failure) =>
            {
                Some(Hopeless::Stranger(failure.clone()))
            }
            Notice::Waiting { failure, .. }
                if failure.kind == FailureKind::Transport && failure.status.is_none() =>
            {
                let (host, port) = self.place.as_ref()?;
                self.failures = self.failures.saturating_add(1);
                if self.failures < FAILURES_MAX {
                    return None;
                }
                knock(host, *port).err().map(Hopeless::Nobody)
            }
            // Any word from the server proves that it is there.
            Notice::Waiting { .. } | Notice::Streamed { .. } | Notice::Billed { .. } => {
                self.place = None;
                None
            }
            _ => None,
        }
    }
}

/// Is anybody there? On this machine the answer comes at once.
fn knock(host: &str, port: u16) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()?.take(ADDRESSES_MAX) {
        match TcpStream::connect_timeout(&address, KNOCK_MAX) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Failures in a row before it is time to look.
const FAILURES_MAX: u8 = 3;
/// How long to wait at the door.
const KNOCK_MAX: Duration = Duration::from_millis(200);
/// Addresses a name of this machine may have.
const ADDRESSES_MAX: usize = 2;
