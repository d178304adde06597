//! The dialect of `POST /v1/messages`.
//!
//! Its peculiarities: tool results must come first in the very next user message; reasoning
//! is sealed by the model that wrote it; usage is cumulative; errors may come inside a stream that
//! began with success; the prompt cache is steered by markers in the request.

mod block_draft;
mod event;
mod failure;
mod provider_block_draft;
mod request;
mod stream;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, WireFormat};

use crate::credential::stream_headers;
use crate::json_writer::to_json_list;
use crate::provider_rules::{ANTHROPIC_MESSAGES, ProviderRules};
use crate::stream_decoder::StreamDecoder;
use crate::web_search::{USES_MAX, WebSearchDomains};
use crate::{
    Credential, Dialect, EncodedRequest, EncodedRequestCache, FailedResponse, HeaderLookup,
    ResponseDecoder,
};

/// The dialect of `POST /v1/messages`.
#[derive(Clone, Copy, Debug)]
pub struct AnthropicMessages;

impl Dialect for AnthropicMessages {
    fn wire(&self) -> WireFormat {
        WireFormat::AnthropicMessages
    }

    fn rules(&self) -> &'static ProviderRules {
        &ANTHROPIC_MESSAGES
    }

    fn path(&self, _model: &ModelName) -> String {
        String::from("/v1/messages")
    }

    fn extra_headers(&self, request: &ModelRequest) -> &'static [(&'static str, &'static str)] {
        match request.clear_results {
            Some(_) => &[("anthropic-beta", "context-management-2025-06-27")],
            None => &[],
        }
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        let mut headers = stream_headers();
        headers.push((String::from("anthropic-version"), String::from(API_VERSION)));
        headers.extend(credential.to_header(Some("x-api-key")));
        headers
    }

    fn encode_cached(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        cache: &mut EncodedRequestCache,
    ) -> EncodedRequest {
        cache.encode(&request::AnthropicRequestWriter, self.wire(), request, rules)
    }

    fn web_search_tool(&self, search: &WebSearchDomains) -> Option<String> {
        let mut tool = format!(
            "{{\"type\":\"web_search_20250305\",\"name\":\"web_search\",\"max_uses\":{USES_MAX}"
        );
        // Only one of the two is accepted, and a list of allowed hosts is stricter.
        match (search.allowed.as_slice(), search.blocked.as_slice()) {
            ([], []) => {}
            ([], blocked) => {
                tool.push_str(&format!(",\"blocked_domains\":{}", to_json_list(blocked)));
            }
            (allowed, _) => {
                tool.push_str(&format!(",\"allowed_domains\":{}", to_json_list(allowed)));
            }
        }
        tool.push('}');
        Some(tool)
    }

    fn new_decoder(&self) -> Box<dyn ResponseDecoder + Send> {
        Box::new(StreamDecoder::new(stream::AnthropicStreamReader::default()))
    }

    fn request_id(&self, headers: HeaderLookup<'_>) -> Option<String> {
        request_id(headers)
    }

    fn classify_failure(&self, response: &FailedResponse<'_>) -> ModelFailure {
        failure::classify_response(response)
    }
}

fn request_id(headers: HeaderLookup<'_>) -> Option<String> {
    headers("request-id").or_else(|| headers("x-request-id"))
}

const API_VERSION: &str = "2023-06-01";
