//! When to stop trying a server on this machine that is not there.
//!
//! The engine tries again for minutes, which is right for a network that comes and goes. If nothing
//! listens on a port of this very machine, and nothing ever did during this run, waiting heals
//! nothing: somebody forgot to start it or mistyped the port, and should be told now.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use windlass_vocabulary::{FailureKind, Notice};

/// Watches for a server that never was there.
#[derive(Debug)]
pub(crate) struct Patience {
    place: Option<(String, u16)>,
    failures: u8,
}

impl Patience {
    /// For a server at this host and port of this machine, or for one elsewhere, which gets all the
    /// patience the engine has.
    pub(crate) fn new(place: Option<(String, u16)>) -> Self {
        Self { place, failures: 0 }
    }

    /// Says what is wrong once it is time to give up.
    pub(crate) fn is_over(&mut self, notice: &Notice) -> Option<io::Error> {
        let (host, port) = self.place.as_ref()?;
        match notice {
            Notice::Waiting { failure, .. }
                if failure.kind == FailureKind::Transport && failure.status.is_none() =>
            {
                self.failures = self.failures.saturating_add(1);
                if self.failures < FAILURES_MAX {
                    return None;
                }
                knock(host, *port).err()
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
