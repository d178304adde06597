//! What each provider says when it refuses, in its own words and shape.

use serde_json::{Value, json};
use windlass_rehearsal::{Answer as Says, Fault};
use windlass_vocabulary::Wire;

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
    pub(crate) fn says(&self, wire: Wire) -> Says {
        Says::failing(Fault::refuse_with(self.status, self.body(wire).to_string()))
    }

    fn body(&self, wire: Wire) -> Value {
        let Self { status, kind, message } = self;
        match wire {
            Wire::AnthropicMessages => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Wire::OpenaiResponses | Wire::OpenaiChat => json!({"error": {
                "message": message, "type": "invalid_request_error", "param": null, "code": kind,
            }}),
            Wire::Gemini => {
                json!({"error": {"code": status, "message": message, "status": kind}})
            }
        }
    }
}

/// The prompt does not fit the window.
pub(crate) fn too_long(wire: Wire) -> Words {
    match wire {
        Wire::AnthropicMessages => Words::new(
            400,
            "invalid_request_error",
            "prompt is too long: 300000 tokens > 200000 maximum",
        ),
        Wire::OpenaiResponses | Wire::OpenaiChat => Words::new(
            400,
            "context_length_exceeded",
            "Your input exceeds the context window of this model.",
        ),
        Wire::Gemini => Words::new(
            400,
            "INVALID_ARGUMENT",
            "The input token count (300000) exceeds the maximum number of tokens allowed (200000).",
        ),
    }
}

/// What overload is called inside a stream.
pub(crate) fn overload(wire: Wire) -> &'static str {
    match wire {
        Wire::AnthropicMessages => "overloaded_error",
        Wire::OpenaiResponses | Wire::OpenaiChat => "server_is_overloaded",
        Wire::Gemini => "UNAVAILABLE",
    }
}

/// A refusal with headers of its own and the provider's usual body.
pub(crate) fn refuse(status: u16, headers: &[(&str, &str)]) -> Says {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers = headers.iter().map(own).collect();
    Says::failing(Fault::Refuse { status, headers, body: None })
}

/// So many refusals that ask for no more than a moment.
pub(crate) fn refusals(status: u16, count: u32) -> Says {
    refuse(status, &[("retry-after-ms", "1")]).repeat(count)
}
