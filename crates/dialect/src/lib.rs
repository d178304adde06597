//! Encodes our messages for a provider, and decodes a provider's stream to our events.
//!
//! The entry point is [`dialect`]: it returns the dialect of one [`WireFormat`], and everything else
//! goes through the [`Dialect`] trait. A request is first made legal ([`normalize`], four steps driven
//! by the provider's [`ProviderRules`]), then encoded, reusing what the [`EncodedRequestCache`] holds; an
//! answer is framed ([`sse`]), read event by event, and yielded as [`DecodedEvent`]s; a refusal is
//! classified by what it demands, and the [refused item](find_refused_item()) traced back to the
//! transcript.
//!
//! There is no network here, no clock, no randomness, and nothing that can fail with a panic:
//! time is an argument, a bad stream is one [`DecodedEvent::Failed`], a bad history is repaired.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

pub mod anthropic_messages;
pub mod gemini;
pub mod normalize;
pub mod normalized_conversation;
pub mod openai_chat;
pub mod openai_responses;
pub mod provider_rules;
pub mod sse;

mod accepted_tools;
mod answer_calls;
mod credential;
mod json_object;
mod json_writer;
mod lenient_json;
mod media_probe;
mod provider_error;
mod refused_item;
mod request_cache;
mod request_origins;
mod request_writer;
mod response_limits;
mod retry_after;
mod stream_decoder;
mod stream_failure;
mod stream_progress;
pub mod web_search;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use windlass_vocabulary::{
    AttemptId, ContentBlock, Json, ModelFailure, ModelName, ModelRequest, ModelStopReason, Tokens,
    ToolCall, ToolCallId, ToolName, Usage, WireFormat,
};

pub use credential::Credential;
pub use provider_error::FailedResponse;
pub use provider_rules::ProviderRules;
pub use refused_item::{RefusedItem, find_refused_item};
pub use request_cache::EncodedRequestCache;
pub use request_origins::{BlockLocation, RequestOrigins};
pub use response_limits::ResponseLimits;
pub use web_search::WebSearchDomains;

/// The dialect of a wire, or `None` for a wire without a dialect.
#[must_use]
pub fn dialect(wire: WireFormat) -> Option<&'static dyn Dialect> {
    match wire {
        WireFormat::AnthropicMessages => Some(&anthropic_messages::AnthropicMessages),
        WireFormat::OpenaiChat => Some(&openai_chat::OpenaiChat),
        WireFormat::OpenaiResponses => Some(&openai_responses::OpenaiResponses),
        WireFormat::Gemini => Some(&gemini::Gemini),
    }
}

/// One wire format: how requests are encoded and responses decoded.
pub trait Dialect: Send + Sync {
    /// The wire format of this dialect.
    fn wire(&self) -> WireFormat;

    /// What the provider accepts, unless the caller knows better.
    fn rules(&self) -> &'static ProviderRules;

    /// Path and query below the base address, beginning with a slash.
    fn path(&self, model: &ModelName) -> String;

    /// Every header the wire needs, names in lower case.
    fn headers(&self, credential: &Credential) -> Vec<(String, String)>;

    /// Additional headers of this request, with names in lower case.
    fn extra_headers(&self, _: &ModelRequest) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Makes the request legal and encodes it.
    fn encode(&self, request: &ModelRequest, rules: &ProviderRules) -> EncodedRequest {
        self.encode_cached(request, rules, &mut EncodedRequestCache::new())
    }

    /// The same, reusing what was encoded for the request before. A cache belongs to one conversation;
    /// the result does not depend on it.
    fn encode_cached(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        cache: &mut EncodedRequestCache,
    ) -> EncodedRequest;

    /// The entry of a request's tools by which the provider searches the web for its model, as JSON;
    /// `None` where the wire cannot do that.
    fn web_search_tool(&self, _: &WebSearchDomains) -> Option<String> {
        None
    }

    /// A decoder for the body of one successful response.
    fn new_decoder(&self) -> Box<dyn ResponseDecoder + Send>;

    /// Can the decoder read a response with this content type? If not,
    /// [`Dialect::classify_failure`] classifies it, whatever its status.
    fn accepts_content_type(&self, content_type: &str) -> bool {
        provider_error::is_event_stream(content_type)
    }

    /// The provider's name for the request, read off the reply's headers.
    fn request_id(&self, headers: HeaderLookup<'_>) -> Option<String>;

    /// What a reply that is not a stream demands of the loop.
    fn classify_failure(&self, response: &FailedResponse<'_>) -> ModelFailure;
}

/// Looks a response header up by its lower-case name.
pub type HeaderLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A request as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRequest {
    /// The JSON body.
    pub body: Vec<u8>,
    /// What had to be left out or made up, to show the user. The same request gives the same notes.
    pub notes: Vec<String>,
    /// Set when nothing that may be left out would make the request legal. Report this instead of
    /// sending the body.
    pub refusal: Option<ModelFailure>,
    /// Where its messages came from, to find what a provider complains of.
    pub origins: Arc<RequestOrigins>,
}

/// Reads the body of one reply, in chunks of any size.
pub trait ResponseDecoder {
    /// Takes the next bytes. After [`DecodedEvent::Ended`] or [`DecodedEvent::Failed`] nothing more comes.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<DecodedEvent>);

    /// The body is over, whether it ended or was cut. Yields the terminal item if it is still due.
    fn finish(&mut self, out: &mut Vec<DecodedEvent>);

    /// Which attempt this is. Calls that a server does not name get ids derived from it, so that
    /// they differ from those of every other attempt; without it, two nameless answers could use
    /// the same ids.
    fn set_attempt(&mut self, attempt: AttemptId);

    /// Limits on the answer, if not the default. Call it before the first bytes.
    fn set_limits(&mut self, limits: ResponseLimits);

    /// From now on also yield every wire event as [`DecodedEvent::Raw`], before what it means.
    fn emit_raw_events(&mut self);
}

/// One piece of a decoded answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodedEvent {
    /// The answer began.
    Started {
        /// The provider's name for the message.
        message_id: Option<String>,
        /// The model that answers, which may differ from the requested one.
        model: Option<ModelName>,
    },
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A tool call began.
    CallStarted {
        /// The id that the tool result must name.
        id: ToolCallId,
        /// The tool to run.
        name: ToolName,
    },
    /// A piece of the arguments of the call that began last.
    CallInput(String),
    /// A block that is not a tool call is complete, as it must be sent back.
    Block(ContentBlock),
    /// A tool call is complete.
    Call {
        /// The call with all of its arguments.
        call: ToolCall,
        /// Why it cannot run, as a message for the model.
        problem: Option<String>,
    },
    /// Usage so far; cumulative.
    Usage(Usage),
    /// The provider took old tool results out of the input on its side.
    ToolResultsCleared {
        /// Tool results removed.
        results: u64,
        /// Input tokens saved by that.
        tokens: Tokens,
    },
    /// One wire event, verbatim.
    Raw(Json),
    /// A keep-alive without content.
    Ping,
    /// The answer is complete. Terminal.
    Ended {
        /// Why the model stopped.
        stop: ModelStopReason,
        /// Usage of the whole answer.
        usage: Usage,
        /// The provider's own words about the stop, if it had any.
        detail: Option<String>,
    },
    /// The answer is void from here on. Terminal.
    Failed(ModelFailure),
}
