//! The dialect of `POST /v1/responses`, used without the server's memory.
//!
//! Its peculiarities: an answer is a list of items, each told once more whole when it is done,
//! and only that copy counts; reasoning is an item sealed by encryption and goes back verbatim to
//! the model that wrote it; a stream ends with one of three events and is void without one.

mod event;
mod failure;
mod request;
mod stream;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, WireFormat};

use crate::json_writer::to_json_list;
use crate::provider_rules::{OPENAI_RESPONSES, ProviderRules};
use crate::stream_decoder::StreamDecoder;
use crate::web_search::WebSearchDomains;
use crate::{
    Credential, Dialect, EncodedRequest, EncodedRequestCache, FailedResponse, HeaderLookup,
    ResponseDecoder, openai_chat,
};

/// The dialect of `POST /v1/responses`.
#[derive(Clone, Copy, Debug)]
pub struct OpenaiResponses;

impl Dialect for OpenaiResponses {
    fn wire(&self) -> WireFormat {
        WireFormat::OpenaiResponses
    }

    fn rules(&self) -> &'static ProviderRules {
        &OPENAI_RESPONSES
    }

    fn path(&self, _model: &ModelName) -> String {
        String::from("/v1/responses")
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        openai_chat::build_headers(credential)
    }

    fn encode_cached(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        cache: &mut EncodedRequestCache,
    ) -> EncodedRequest {
        cache.encode(&request::ResponsesRequestWriter, self.wire(), request, rules)
    }

    fn web_search_tool(&self, search: &WebSearchDomains) -> Option<String> {
        let filters = match (search.allowed.as_slice(), search.blocked.as_slice()) {
            ([], []) => String::new(),
            ([], blocked) => {
                format!(",\"filters\":{{\"blocked_domains\":{}}}", to_json_list(blocked))
            }
            (allowed, _) => {
                format!(",\"filters\":{{\"allowed_domains\":{}}}", to_json_list(allowed))
            }
        };
        Some(format!("{{\"type\":\"web_search\"{filters}}}"))
    }

    fn new_decoder(&self) -> Box<dyn ResponseDecoder + Send> {
        Box::new(StreamDecoder::new(stream::ResponsesStreamReader::default()))
    }

    fn request_id(&self, headers: HeaderLookup<'_>) -> Option<String> {
        headers("x-request-id")
    }

    fn classify_failure(&self, response: &FailedResponse<'_>) -> ModelFailure {
        openai_chat::failure::classify_response(response)
    }
}
