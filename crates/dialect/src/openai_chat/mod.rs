//! The dialect of `POST /v1/chat/completions`, and of the many servers that imitate it.
//!
//! Its peculiarities: chunks have no types, only fields; calls grow by index and are complete
//! only when the answer is; the imitations differ in small ways, so reading is lenient and writing
//! sticks to what all of them understand. Reasoning never goes back.

mod event;
pub(crate) mod failure;
pub(crate) mod request;
mod stream;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, WireFormat};

use crate::credential::stream_headers;
use crate::provider_rules::{OPENAI_CHAT, ProviderRules};
use crate::stream_decoder::StreamDecoder;
use crate::{
    Credential, Dialect, EncodedRequest, EncodedRequestCache, FailedResponse, HeaderLookup,
    ResponseDecoder,
};

/// The dialect of `POST /v1/chat/completions`.
#[derive(Clone, Copy, Debug)]
pub struct OpenaiChat;

impl Dialect for OpenaiChat {
    fn wire(&self) -> WireFormat {
        WireFormat::OpenaiChat
    }

    fn rules(&self) -> &'static ProviderRules {
        &OPENAI_CHAT
    }

    fn path(&self, _model: &ModelName) -> String {
        String::from("/v1/chat/completions")
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        build_headers(credential)
    }

    fn encode_cached(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        cache: &mut EncodedRequestCache,
    ) -> EncodedRequest {
        cache.encode(&request::ChatRequestWriter, self.wire(), request, rules)
    }

    fn new_decoder(&self) -> Box<dyn ResponseDecoder + Send> {
        Box::new(StreamDecoder::new(stream::ChatStreamReader::default()))
    }

    fn request_id(&self, headers: HeaderLookup<'_>) -> Option<String> {
        headers("x-request-id")
    }

    fn classify_failure(&self, response: &FailedResponse<'_>) -> ModelFailure {
        failure::classify_response(response)
    }
}

/// Both kinds of credential are bearer tokens here.
pub(crate) fn build_headers(credential: &Credential) -> Vec<(String, String)> {
    stream_headers().into_iter().chain(credential.to_header(None)).collect()
}
