//! What MCP servers want to know of the user is a question to the client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::mcp::{
    ElicitationFuture, ElicitationPrompter, ElicitationReply, ElicitationRequest,
};

use crate::client_requests::ClientChannel;
use crate::frame::ClientControlRequest;

/// The client, who is asked over this port.
pub(crate) struct ElicitationClient(ClientChannel);

impl ElicitationClient {
    /// Somebody servers may ask.
    pub(crate) fn new(port: ClientChannel) -> Arc<Self> {
        Arc::new(Self(port))
    }
}

impl ElicitationPrompter for ElicitationClient {
    fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture {
        let port = self.0.clone();
        let request = ClientControlRequest::Elicitation {
            mcp_server_name: question.server,
            message: question.message,
            mode: if question.url.is_some() { "url" } else { "form" },
            url: question.url,
            requested_schema: question.schema,
            elicitation_id: question.id,
        };
        Box::pin(async move {
            match port.ask(request, ELICITATION_TIMEOUT).await {
                Ok(mut said) => match said.get("action").and_then(Value::as_str) {
                    Some("accept") => {
                        let content = said.get_mut("content").map(Value::take);
                        ElicitationReply::Accept(content.filter(|content| !content.is_null()))
                    }
                    Some("decline") => ElicitationReply::Decline,
                    _ => ElicitationReply::Cancel,
                },
                // Nobody who could say anything.
                Err(_) => ElicitationReply::Cancel,
            }
        })
    }
}

const ELICITATION_TIMEOUT: Duration = Duration::from_secs(60 * 60);
