//! Our messages to a provider's bytes, and a provider's stream back to our events.
//!
//! The only door is [`dialect`]: it names the language spoken over one [`Wire`], and everything
//! else goes through the [`Dialect`] trait. A request is first made legal ([`normalize`], four
//! steps driven by the provider's [`Law`]), then written down, without writing again what is still
//! [`Written`]; an answer is framed ([`sse`]), read event by event, and yielded as [`Decoded`]
//! pieces; a refusal is sorted by what it demands, and its [`offender`](offender()) traced back to
//! the transcript.
//!
//! There is no network here, no clock, no randomness, and nothing that can fail with a panic:
//! time is an argument, a bad stream is one [`Decoded::Failed`], a bad history is repaired.
#![no_std]

extern crate alloc;

pub mod anthropic_messages;
pub mod gemini;
pub mod law;
pub mod normalize;
pub mod openai_chat;
pub mod openai_responses;
pub mod projection;
pub mod sse;

mod allowance;
mod calls;
mod credential;
mod decode;
mod fault;
mod loose;
mod mold;
mod object;
mod offender;
mod origins;
mod picture;
mod quoted;
mod retry_after;
mod script;
pub mod search;
mod tools;
mod write;
mod written;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use windlass_vocabulary::{
    AttemptId, Block, Json, ModelFailure, ModelName, ModelRequest, Stop, Tokens, ToolCall,
    ToolCallId, ToolName, Usage, Wire,
};

pub use allowance::Allowance;
pub use credential::Credential;
pub use law::Law;
pub use offender::{Offender, offender};
pub use origins::{Origins, Place};
pub use search::Search;
pub use written::Written;

/// The dialect spoken over a wire, or `None` for a wire nobody here speaks yet.
#[must_use]
pub fn dialect(wire: Wire) -> Option<&'static dyn Dialect> {
    match wire {
        Wire::AnthropicMessages => Some(&anthropic_messages::AnthropicMessages),
        Wire::OpenaiChat => Some(&openai_chat::OpenaiChat),
        Wire::OpenaiResponses => Some(&openai_responses::OpenaiResponses),
        Wire::Gemini => Some(&gemini::Gemini),
    }
}

/// One language spoken to model servers.
pub trait Dialect: Send + Sync {
    /// The wire it is spoken over.
    fn wire(&self) -> Wire;

    /// What the provider accepts, unless the caller knows better.
    fn law(&self) -> &'static Law;

    /// Path and query below the base address, beginning with a slash.
    fn path(&self, model: &ModelName) -> String;

    /// Every header the wire needs, names in lower case.
    fn headers(&self, credential: &Credential) -> Vec<(String, String)>;

    /// Headers that this request needs besides, names in lower case.
    fn headers_of(&self, _: &ModelRequest) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The request, made legal and written down.
    fn encode(&self, request: &ModelRequest, law: &Law) -> Encoded {
        self.encode_with(request, law, &mut Written::new())
    }

    /// The same, without writing again what was written for the request before. The memory belongs
    /// to one conversation; what comes out does not depend on it.
    fn encode_with(&self, request: &ModelRequest, law: &Law, memory: &mut Written) -> Encoded;

    /// The entry of a request's tools by which the provider searches the web for its model, as JSON;
    /// `None` where the wire has no word for that.
    fn search_tool(&self, _: &Search) -> Option<String> {
        None
    }

    /// A reader for the body of one successful reply.
    fn decoder(&self) -> Box<dyn Decode + Send>;

    /// May a reply with this content type be given to the decoder? If not, [`Dialect::classify`]
    /// says what it is, whatever its status.
    fn accepts(&self, content_type: &str) -> bool {
        fault::is_event_stream(content_type)
    }

    /// The provider's name for the request, read off the reply's headers.
    fn request_id(&self, headers: Headers<'_>) -> Option<String>;

    /// What a reply that is not a stream demands of the loop. The clock is an argument, because a
    /// server may say when to come back as a date.
    fn classify(
        &self,
        status: u16,
        headers: Headers<'_>,
        body: &[u8],
        now_unix_seconds: u64,
    ) -> ModelFailure;
}

/// How a caller lends its response headers: by lower-case name.
pub type Headers<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A request as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The body.
    pub body: Vec<u8>,
    /// What had to be left out or made up, for people. The same request gives the same notes.
    pub notes: Vec<String>,
    /// Set when nothing that may be left out would make the request legal. Report this instead of
    /// sending the body.
    pub refusal: Option<ModelFailure>,
    /// Where its messages came from, to find what a provider complains of.
    pub origins: Arc<Origins>,
}

/// Reads the body of one reply, in chunks of any size.
pub trait Decode {
    /// Takes the next bytes. After [`Decoded::Ended`] or [`Decoded::Failed`] nothing more comes.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Decoded>);

    /// The body is over, whether it ended or was cut. Yields the terminal item if it is still due.
    fn finish(&mut self, out: &mut Vec<Decoded>);

    /// Which attempt this is. Calls that a server does not name get ids derived from it, so that
    /// they differ from those of every other attempt; without it, two nameless answers could use
    /// the same ids.
    fn for_attempt(&mut self, attempt: AttemptId);

    /// How much the answer may bring before it is called nonsense, if not the usual. Call it before
    /// the first bytes.
    fn allow(&mut self, allowance: Allowance);

    /// From now on also yield every wire event as [`Decoded::Raw`], before what it means.
    fn keep_raw(&mut self);
}

/// One piece of a decoded answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The answer began.
    Started {
        /// The provider's name for the message.
        message_id: Option<String>,
        /// The model that answers, which need not be the one that was asked.
        model: Option<ModelName>,
    },
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A tool call began.
    CallStarted {
        /// The call.
        id: ToolCallId,
        /// The tool.
        name: ToolName,
    },
    /// A piece of the arguments of the call that began last.
    CallInput(String),
    /// A block that is not a tool call is complete, as it must be sent back.
    Block(Block),
    /// A tool call is complete.
    Call {
        /// The call.
        call: ToolCall,
        /// Why it cannot run, in words the model can act on.
        problem: Option<String>,
    },
    /// Usage so far; cumulative.
    Usage(Usage),
    /// The provider took old tool results out of the input on its side.
    Cleared {
        /// How many.
        results: u64,
        /// Input that saved.
        tokens: Tokens,
    },
    /// One wire event, verbatim.
    Raw(Json),
    /// The server is alive and has nothing to say.
    Ping,
    /// The answer is complete. Terminal.
    Ended {
        /// Why the model stopped.
        stop: Stop,
        /// All that was used.
        usage: Usage,
        /// The provider's own words about the stop, if it had any.
        detail: Option<String>,
    },
    /// The answer is void from here on. Terminal.
    Failed(ModelFailure),
}
