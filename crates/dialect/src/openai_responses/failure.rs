//! Errors inside a stream. Replies that are not a stream name their errors in the same words as on
//! the chat wire and are classified there.

use windlass_vocabulary::ModelFailure;

use crate::openai_chat::failure::classify_stream_error;
use crate::provider_error::{ProviderError, parse_provider_error};

/// A `response.failed` event, whose error lies inside the response.
pub(super) fn classify_failed_response(response: &str) -> ModelFailure {
    classify_stream_error(&parse_provider_error(response).unwrap_or_default())
}

/// A bare `error` event. Newer servers nest the error, older ones spread it over the event.
pub(super) fn classify_error_event(event: &str) -> ModelFailure {
    let nested = parse_provider_error(event).filter(|error| !error.json.is_empty());
    let spread = || {
        let fields = crate::json_object::parse_fields(event).unwrap_or_default();
        let text = |name: &str| {
            let field = fields.iter().find(|(key, _)| key == name);
            field.and_then(|(_, value)| serde_json::from_str(value.get()).ok()).unwrap_or_default()
        };
        ProviderError { code: text("code"), message: text("message"), ..ProviderError::default() }
    };
    classify_stream_error(&nested.unwrap_or_else(spread))
}
