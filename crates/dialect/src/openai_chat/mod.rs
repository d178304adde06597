//! The dialect of `POST /v1/chat/completions`, and of the many servers that imitate it.
//!
//! What is peculiar to it: chunks have no types, only fields; calls grow by index and are complete
//! only when the answer is; the imitations differ in small ways, so reading is lenient and writing
//! sticks to what all of them understand. Reasoning never goes back.

mod event;
pub(crate) mod failure;
pub(crate) mod request;
mod stream;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelName, ModelRequest, Wire};

use crate::decode::StreamDecoder;
use crate::fault::Reply;
use crate::law::{Law, OPENAI_CHAT};
use crate::{Credential, Decode, Dialect, Encoded, Headers, Written};

/// The dialect of `POST /v1/chat/completions`.
#[derive(Clone, Copy, Debug)]
pub struct OpenaiChat;

impl Dialect for OpenaiChat {
    fn wire(&self) -> Wire {
        Wire::OpenaiChat
    }

    fn law(&self) -> &'static Law {
        &OPENAI_CHAT
    }

    fn path(&self, _model: &ModelName) -> String {
        String::from("/v1/chat/completions")
    }

    fn headers(&self, credential: &Credential) -> Vec<(String, String)> {
        headers(credential)
    }

    fn encode_with(&self, request: &ModelRequest, law: &Law, memory: &mut Written) -> Encoded {
        memory.encode(&request::Letter, self.wire(), request, law)
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
        failure::classify(&Reply { status, headers, body, now_unix_seconds })
    }
}

/// Both kinds of credential are bearer tokens here.
pub(crate) fn headers(credential: &Credential) -> Vec<(String, String)> {
    let mut headers = alloc::vec![
        (String::from("content-type"), String::from("application/json")),
        (String::from("accept"), String::from("text/event-stream")),
    ];
    if let Credential::Key(token) | Credential::Bearer(token) = credential {
        headers.push((String::from("authorization"), format!("Bearer {token}")));
    }
    headers
}
