//! Passes messages as JSON inside this process, for servers that live in an SDK client.

use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{IncomingMessage, PeerDisconnect, parse_message};
use crate::connection::ConnectionHealth;

pub(crate) struct InProcessTransport {
    pub(crate) outgoing: mpsc::Sender<Value>,
    pub(crate) incoming: mpsc::Receiver<Value>,
    pub(crate) health: Arc<ConnectionHealth>,
}

impl Transport<RoleClient> for InProcessTransport {
    type Error = PeerDisconnect;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), PeerDisconnect>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let value = serde_json::to_value(message).map_err(|_| PeerDisconnect)?;
            outgoing.send(value).await.map_err(|_| PeerDisconnect)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match parse_message(self.incoming.recv().await?, &self.health) {
                IncomingMessage::Message(message) => return Some(*message),
                IncomingMessage::Skip => {}
                IncomingMessage::GiveUp => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), PeerDisconnect> {
        self.incoming.close();
        Ok(())
    }
}
