//! Complaints inside a stream. Replies that are not a stream complain in the same words as on the
//! chat wire and are judged there.

use windlass_vocabulary::ModelFailure;

use crate::fault::{Complaint, complaint};
use crate::openai_chat::failure::in_stream;

/// A `response.failed` event, whose error lies inside the response.
pub(super) fn failed(response: &str) -> ModelFailure {
    in_stream(&complaint(response).unwrap_or_default())
}

/// A bare `error` event. Newer servers nest the error, older ones spread it over the event.
pub(super) fn bare(event: &str) -> ModelFailure {
    let nested = complaint(event).filter(|complaint| !complaint.json.is_empty());
    let spread = || {
        let fields = crate::object::fields(event).unwrap_or_default();
        let text = |name: &str| {
            let field = fields.iter().find(|(key, _)| key == name);
            field.and_then(|(_, value)| serde_json::from_str(value.get()).ok()).unwrap_or_default()
        };
        Complaint { code: text("code"), message: text("message"), ..Complaint::default() }
    };
    in_stream(&nested.unwrap_or_else(spread))
}
