//! The dialect of `POST /v1beta/models/…:streamGenerateContent`.
//!
//! Its peculiarities: every event is a fragment of one response and there is no end marker;
//! calls come whole; some parts carry a seal that must go back with them to the model that set it;
//! a refused prompt is a successful reply without an answer.

mod event;
mod failure;
mod request;
mod stream;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, WireFormat};

use crate::credential::stream_headers;
use crate::provider_rules::{GEMINI, ProviderRules};
use crate::stream_decoder::StreamDecoder;
use crate::web_search::WebSearchDomains;
use crate::{
    Credential, Dialect, EncodedRequest, EncodedRequestCache, FailedResponse, HeaderLookup,
    ResponseDecoder,
};

/// The dialect of `POST /v1beta/models/…:streamGenerateContent`.
#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Dialect for Gemini {
    fn wire(&self) -> WireFormat {
        WireFormat::Gemini
    }

    fn rules(&self) -> &'static ProviderRules {
        &GEMINI
    }

    fn path(&self, model: &ModelName) -> String {
        let name = model.as_str().strip_prefix("models/").unwrap_or(model.as_str());
        format!(
            "/v1beta/models/{}:streamGenerateContent?alt=sse",
            utf8_percent_encode(name, MODEL_NAME_ESCAPES)
        )
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        stream_headers().into_iter().chain(credential.to_header(Some("x-goog-api-key"))).collect()
    }

    fn encode_cached(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        cache: &mut EncodedRequestCache,
    ) -> EncodedRequest {
        cache.encode(&request::GeminiRequestWriter, self.wire(), request, rules)
    }

    /// The wire cannot restrict hosts; the caller has to ask for them in the prompt and check the links.
    fn web_search_tool(&self, _: &WebSearchDomains) -> Option<String> {
        Some(String::from("{\"google_search\":{}}"))
    }

    fn new_decoder(&self) -> Box<dyn ResponseDecoder + Send> {
        Box::new(StreamDecoder::new(stream::GeminiStreamReader::default()))
    }

    fn request_id(&self, headers: HeaderLookup<'_>) -> Option<String> {
        headers("x-request-id").or_else(|| headers("x-goog-request-id"))
    }

    fn classify_failure(&self, response: &FailedResponse<'_>) -> ModelFailure {
        failure::classify_response(response)
    }
}

/// A model's name comes from settings and must not change the address it is put into.
const MODEL_NAME_ESCAPES: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
