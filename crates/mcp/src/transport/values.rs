//! Messages handed over inside this process as JSON, for servers that live in a client of ours.

use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Hangup, Read, read};
use crate::connection::Health;

/// Two ends of two channels.
pub(crate) struct Values {
    pub(crate) outgoing: mpsc::Sender<Value>,
    pub(crate) incoming: mpsc::Receiver<Value>,
    pub(crate) health: Arc<Health>,
}

impl Transport<RoleClient> for Values {
    type Error = Hangup;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Hangup>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let value = serde_json::to_value(message).map_err(|_| Hangup)?;
            outgoing.send(value).await.map_err(|_| Hangup)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match read(self.incoming.recv().await?, &self.health) {
                Read::Message(message) => return Some(*message),
                Read::Nothing => {}
                Read::Enough => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Hangup> {
        self.incoming.close();
        Ok(())
    }
}
