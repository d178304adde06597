//! What the loopback server needs from a responder: one method.
//!
//! Listening, reading requests and closing connections are the same for a script, a recorder and a
//! replay; only the answers differ. The server knows none of the three.

use std::io;

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::http::HttpRequest;

pub(crate) trait RequestResponder: Send + Sync + 'static {
    /// What it calls itself when it must refuse something that is no request.
    const NAME: &'static str;

    /// Does it act for every caller, with rights that a web page must not borrow? Then only requests
    /// for this machine by its own name are taken, and none from a page of another origin.
    const IS_GUARDED: bool = false;

    /// Answers one request on the socket. An error means that the client left.
    fn answer_request(
        &self,
        request: HttpRequest,
        socket: &mut ClientSocket,
    ) -> impl Future<Output = io::Result<ConnectionDisposition>> + Send;

    /// Called once when every connection is closed: the last chance to finish something. Must end
    /// in bounded time.
    fn finish(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The socket of one connection.
pub(crate) struct ClientSocket {
    pub(crate) stream: TcpStream,
    /// What the client sent too early; it belongs to its next request.
    pub(crate) buffer: Vec<u8>,
    /// Says when the server is to stop.
    pub(crate) stopped: watch::Receiver<bool>,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionDisposition {
    /// The answer is complete; the next request may come.
    KeepOpen,
    /// Nothing more can be said on it.
    Close,
}
