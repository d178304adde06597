//! What MCP servers want to know of the user is a question to the client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::mcp::{Asking, Person, Question, Reply};

use super::asks::Port;
use super::frame::Request;

/// The client, who is asked over this port.
pub(crate) struct Client(Port);

impl Client {
    /// Somebody servers may ask.
    pub(crate) fn new(port: Port) -> Arc<Self> {
        Arc::new(Self(port))
    }
}

impl Person for Client {
    fn ask(&self, question: Question) -> Asking {
        let port = self.0.clone();
        let request = Request::Elicitation {
            mcp_server_name: question.server,
            message: question.message,
            mode: if question.url.is_some() { "url" } else { "form" },
            url: question.url,
            requested_schema: question.schema,
            elicitation_id: question.id,
        };
        Box::pin(async move {
            match port.ask(request, LIMIT).await {
                Ok(mut said) => match said.get("action").and_then(Value::as_str) {
                    Some("accept") => {
                        let content = said.get_mut("content").map(Value::take);
                        Reply::Accept(content.filter(|content| !content.is_null()))
                    }
                    Some("decline") => Reply::Decline,
                    _ => Reply::Cancel,
                },
                // Nobody who could say anything.
                Err(_) => Reply::Cancel,
            }
        })
    }
}

const LIMIT: Duration = Duration::from_secs(60 * 60);
