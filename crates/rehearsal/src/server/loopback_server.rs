//! Accepts connections, and waits for their end when the server stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection::LoopbackConnection;
use super::request_responder::RequestResponder;

/// A server that is about to run.
pub(super) struct LoopbackServer<H> {
    pub(super) listener: TcpListener,
    pub(super) responder: Arc<H>,
    pub(super) stopped: watch::Receiver<bool>,
    /// Dropped at the very end.
    pub(super) finished: watch::Sender<()>,
}

impl<H: RequestResponder> LoopbackServer<H> {
    /// Serves until it is stopped.
    pub(super) async fn run(self) {
        let Self { listener, responder, mut stopped, finished } = self;
        let mut connections = JoinSet::new();
        loop {
            let room = connections.len() < CONNECTIONS_MAX;
            tokio::select! {
                () = wait_for_stop(&mut stopped) => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept(), if room => match accepted {
                    Ok((stream, _)) => {
                        let connection = LoopbackConnection::new(stream, Arc::clone(&responder), stopped.clone());
                        connections.spawn(connection.serve());
                    }
                    // Out of file descriptors, or the client disconnected at once. Continue, with a
                    // pause so that the loop does not spin until descriptors are free again.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        drop(listener);
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(GRACE, all).await.is_err() {
            connections.shutdown().await;
        }
        responder.finish().await;
        drop(finished);
    }
}

/// Returns when the server was stopped or its handle was dropped.
pub(crate) async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

const CONNECTIONS_MAX: usize = 256;
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_secs(1);
