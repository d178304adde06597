//! The interface between the loopback server and its responders.
//!
//! Listening, reading requests and closing connections are the same for a script, a recorder and a
//! replay; only the answers differ.

use std::io;

use tokio::net::TcpStream;
use tokio::sync::watch;
use windlass_http_request::HttpRequest;

pub(crate) trait RequestResponder: Send + Sync + 'static {
    /// The name in error messages for invalid requests.
    const NAME: &'static str;

    /// Does it act with rights that a web page must not use? Then only requests to this machine by
    /// name are accepted, and none from pages of another origin.
    const IS_GUARDED: bool = false;

    /// Answers one request on the socket. An error means that the client disconnected.
    fn answer_request(
        &self,
        request: HttpRequest,
        socket: &mut ClientSocket,
    ) -> impl Future<Output = io::Result<ConnectionDisposition>> + Send;

    /// Called once when every connection is closed, to finish pending work. Must end within a
    /// limited time.
    fn finish(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The socket of one connection.
pub(crate) struct ClientSocket {
    pub(crate) stream: TcpStream,
    /// Early bytes of the client's next request.
    pub(crate) buffer: Vec<u8>,
    /// Tells when the server must stop.
    pub(crate) stopped: watch::Receiver<bool>,
}

/// What happens to the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionDisposition {
    /// The answer is complete; the next request may follow.
    KeepOpen,
    /// It must be closed.
    Close,
}
