//! Elicitations of MCP servers become requests to the client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::mcp::{
    ElicitationFuture, ElicitationPrompter, ElicitationReply, ElicitationRequest,
};

use crate::client_requests::ClientChannel;
use crate::frame::ClientControlRequest;

pub(crate) struct ElicitationClient(ClientChannel);

impl ElicitationClient {
    pub(crate) fn new(channel: ClientChannel) -> Arc<Self> {
        Arc::new(Self(channel))
    }
}

impl ElicitationPrompter for ElicitationClient {
    fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture {
        let channel = self.0.clone();
        let request = ClientControlRequest::Elicitation {
            mcp_server_name: question.server,
            message: question.message,
            mode: if question.url.is_some() { "url" } else { "form" },
            url: question.url,
            requested_schema: question.schema,
            elicitation_id: question.id,
        };
        Box::pin(async move {
            match channel.ask(request, ELICITATION_TIMEOUT).await {
                Ok(mut reply) => match reply.get("action").and_then(Value::as_str) {
                    Some("accept") => {
                        let content = reply.get_mut("content").map(Value::take);
                        ElicitationReply::Accept(content.filter(|content| !content.is_null()))
                    }
                    Some("decline") => ElicitationReply::Decline,
                    _ => ElicitationReply::Cancel,
                },
                // The client has disconnected.
                Err(_) => ElicitationReply::Cancel,
            }
        })
    }
}

const ELICITATION_TIMEOUT: Duration = Duration::from_secs(60 * 60);
