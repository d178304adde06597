//! A TCP proxy to the database that a test can stall: connections stay open and new ones are
//! accepted, but nothing is forwarded, as with a host that hangs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) struct TestLink {
    address: SocketAddr,
    state: Arc<LinkState>,
}

#[derive(Default)]
struct LinkState {
    is_held: AtomicBool,
    /// Traffic with these words stalls the link.
    words: Mutex<String>,
    open: Mutex<Vec<TcpStream>>,
}

impl TestLink {
    /// A link to this port of loopback. Its threads end with the test's process.
    pub(crate) fn start(target: u16) -> Self {
        Self::start_at("127.0.0.1", target)
    }

    /// The same on another address of this host.
    pub(crate) fn start_at(host: &str, target: u16) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<LinkState>::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                shared.open.lock().unwrap().push(near.try_clone().unwrap());
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let state = Arc::clone(&shared);
                    std::thread::spawn(move || pass_on(from, to, &state));
                }
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.state.words.lock().unwrap().clear();
        self.state.is_held.store(is_held, Ordering::SeqCst);
    }

    /// Shuts down all connections, possibly in the middle of a message.
    pub(crate) fn cut(&self) {
        for stream in self.state.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Forwards everything until one side sends these words, then stalls.
    pub(crate) fn hold_at(&self, words: &str) {
        self.hold(false);
        words.clone_into(&mut self.state.words.lock().unwrap());
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, state: &LinkState) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let words = state.words.lock().unwrap().clone();
        if !words.is_empty() && String::from_utf8_lossy(&buffer[..count]).contains(&words) {
            state.is_held.store(true, Ordering::SeqCst);
        }
        while state.is_held.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
