//! The dialect of `POST /v1/messages`.
//!
//! What is peculiar to it: tool results must come first in the very next user message; reasoning
//! is sealed by the model that wrote it; usage is cumulative; errors may come inside a stream that
//! began with success; the prompt cache is steered by markers in the request.

mod draft;
mod event;
mod failure;
mod foreign_block;
mod request;
mod stream;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, Wire};

use crate::decode::StreamDecoder;
use crate::fault::Reply;
use crate::law::{ANTHROPIC_MESSAGES, Law};
use crate::search::{Search, USES_MAX, list};
use crate::{Credential, Decode, Dialect, Encoded, Headers, Written};

/// The dialect of `POST /v1/messages`.
#[derive(Clone, Copy, Debug)]
pub struct AnthropicMessages;

impl Dialect for AnthropicMessages {
    fn wire(&self) -> Wire {
        Wire::AnthropicMessages
    }

    fn law(&self) -> &'static Law {
        &ANTHROPIC_MESSAGES
    }

    fn path(&self, _model: &ModelName) -> String {
        String::from("/v1/messages")
    }

    fn headers_of(&self, request: &ModelRequest) -> &'static [(&'static str, &'static str)] {
        match request.clear_results {
            Some(_) => &[("anthropic-beta", "context-management-2025-06-27")],
            None => &[],
        }
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        let mut headers = alloc::vec![
            (String::from("content-type"), String::from("application/json")),
            (String::from("accept"), String::from("text/event-stream")),
            (String::from("anthropic-version"), String::from(VERSION)),
        ];
        match credential {
            Credential::None => {}
            Credential::Key(key) => headers.push((String::from("x-api-key"), key.clone())),
            Credential::Bearer(token) => {
                headers.push((String::from("authorization"), format!("Bearer {token}")));
            }
        }
        headers
    }

    fn encode_with(&self, request: &ModelRequest, law: &Law, memory: &mut Written) -> Encoded {
        memory.encode(&request::Letter, self.wire(), request, law)
    }

    fn search_tool(&self, search: &Search) -> Option<String> {
        let mut tool = format!(
            "{{\"type\":\"web_search_20250305\",\"name\":\"web_search\",\"max_uses\":{USES_MAX}"
        );
        // It takes one of the two; what is allowed says more.
        match (search.allowed.as_slice(), search.blocked.as_slice()) {
            ([], []) => {}
            ([], blocked) => tool.push_str(&format!(",\"blocked_domains\":{}", list(blocked))),
            (allowed, _) => tool.push_str(&format!(",\"allowed_domains\":{}", list(allowed))),
        }
        tool.push('}');
        Some(tool)
    }

    fn decoder(&self) -> Box<dyn Decode + Send> {
        Box::new(StreamDecoder::new(stream::Reader::default()))
    }

    fn request_id(&self, headers: Headers<'_>) -> Option<String> {
        request_id(headers)
    }

    fn classify(
        &self,
        status: u16,
        headers: Headers<'_>,
        body: &[u8],
        now_unix_seconds: u64,
    ) -> ModelFailure {
        failure::classify(&Reply { status, headers, body, now_unix_seconds })
    }
}

fn request_id(headers: Headers<'_>) -> Option<String> {
    headers("request-id").or_else(|| headers("x-request-id"))
}

const VERSION: &str = "2023-06-01";
