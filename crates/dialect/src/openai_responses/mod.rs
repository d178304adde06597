//! The dialect of `POST /v1/responses`, used without the server's memory.
//!
//! What is peculiar to it: an answer is a list of items, each told once more whole when it is done,
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

use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, Wire};

use crate::decode::StreamDecoder;
use crate::fault::Reply;
use crate::law::{Law, OPENAI_RESPONSES};
use crate::search::{Search, list};
use crate::{Credential, Decode, Dialect, Encoded, Headers, Written, openai_chat};

/// The dialect of `POST /v1/responses`.
#[derive(Clone, Copy, Debug)]
pub struct OpenaiResponses;

impl Dialect for OpenaiResponses {
    fn wire(&self) -> Wire {
        Wire::OpenaiResponses
    }

    fn law(&self) -> &'static Law {
        &OPENAI_RESPONSES
    }

    fn path(&self, _model: &ModelName) -> String {
        String::from("/v1/responses")
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        openai_chat::headers(credential)
    }

    fn encode_with(&self, request: &ModelRequest, law: &Law, memory: &mut Written) -> Encoded {
        memory.encode(&request::Letter, self.wire(), request, law)
    }

    fn search_tool(&self, search: &Search) -> Option<String> {
        let filters = match (search.allowed.as_slice(), search.blocked.as_slice()) {
            ([], []) => String::new(),
            ([], blocked) => format!(",\"filters\":{{\"blocked_domains\":{}}}", list(blocked)),
            (allowed, _) => format!(",\"filters\":{{\"allowed_domains\":{}}}", list(allowed)),
        };
        Some(format!("{{\"type\":\"web_search\"{filters}}}"))
    }

    fn decoder(&self) -> Box<dyn Decode + Send> {
        Box::new(StreamDecoder::new(stream::Reader::default()))
    }

    fn request_id(&self, headers: Headers<'_>) -> Option<String> {
        headers("x-request-id")
    }

    fn classify(
        &self,
        status: u16,
        headers: Headers<'_>,
        body: &[u8],
        now_unix_seconds: u64,
    ) -> ModelFailure {
        openai_chat::failure::classify(&Reply { status, headers, body, now_unix_seconds })
    }
}
