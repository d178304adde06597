//! What each provider says when it refuses, in its own words and shape.

use serde_json::{Value, json};
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::WireFormat;

/// A refusal in a provider's own words.
pub(crate) struct Words {
    pub(crate) status: u16,
    /// The provider's name for it, where it has one.
    pub(crate) kind: &'static str,
    pub(crate) message: &'static str,
}

impl Words {
    pub(crate) const fn new(status: u16, kind: &'static str, message: &'static str) -> Self {
        Self { status, kind, message }
    }

    /// The answer that refuses like this.
    pub(crate) fn says(&self, wire: WireFormat) -> Says {
        Says::from_fault(ScriptedFault::refuse_with(self.status, self.body(wire).to_string()))
    }

    fn body(&self, wire: WireFormat) -> Value {
        let Self { status, kind, message } = self;
        match wire {
            WireFormat::AnthropicMessages => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            WireFormat::OpenaiResponses | WireFormat::OpenaiChat => json!({"error": {
                "message": message, "type": "invalid_request_error", "param": null, "code": kind,
            }}),
            WireFormat::Gemini => {
                json!({"error": {"code": status, "message": message, "status": kind}})
            }
        }
    }
}

/// The prompt does not fit the window.
pub(crate) fn too_long(wire: WireFormat) -> Words {
    match wire {
        WireFormat::AnthropicMessages => Words::new(
            400,
            "invalid_request_error",
            "prompt is too long: 300000 tokens > 200000 maximum",
        ),
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat => Words::new(
            400,
            "context_length_exceeded",
            "Your input exceeds the context window of this model.",
        ),
        WireFormat::Gemini => Words::new(
            400,
            "INVALID_ARGUMENT",
            "The input token count (300000) exceeds the maximum number of tokens allowed (200000).",
        ),
    }
}

/// What overload is called inside a stream.
pub(crate) fn overload(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::AnthropicMessages => "overloaded_error",
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat => "server_is_overloaded",
        WireFormat::Gemini => "UNAVAILABLE",
    }
}

/// A refusal with headers of its own and the provider's usual body.
pub(crate) fn refuse(status: u16, headers: &[(&str, &str)]) -> Says {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers = headers.iter().map(own).collect();
    Says::from_fault(ScriptedFault::Refuse { status, headers, body: None })
}

/// So many refusals that ask for no more than a moment.
pub(crate) fn refusals(status: u16, count: u32) -> Says {
    refuse(status, &[("retry-after-ms", "1")]).repeat(count)
}
