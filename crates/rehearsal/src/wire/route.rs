//! Which path is served, and what it means. Queries are ignored.

use windlass_vocabulary::Wire;

/// What a request line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An answer from the script.
    Answer {
        wire: Wire,
        /// The model, where the wire has it in the path.
        model: Option<String>,
        /// Streaming or not, where the wire has it in the path.
        streaming: Option<bool>,
    },
    /// A token count.
    Count(Wire),
    /// A path that is served, but not with this method.
    WrongMethod,
    /// Anything else.
    Unknown,
}

/// Everything served, for people.
pub(crate) const SERVED: &str = "POST /v1/messages, POST /v1/messages/count_tokens, \
     POST /v1/responses, POST /v1/chat/completions, \
     POST /v1beta/models/{model}:streamGenerateContent, \
     POST /v1beta/models/{model}:generateContent, POST /v1beta/models/{model}:countTokens";

/// What this method and path (without its query) ask for.
pub(crate) fn route(method: &str, path: &str) -> Route {
    let found = match path {
        "/v1/messages" => by_body(Wire::AnthropicMessages),
        "/v1/messages/count_tokens" => Route::Count(Wire::AnthropicMessages),
        "/v1/responses" => by_body(Wire::OpenaiResponses),
        "/v1/chat/completions" => by_body(Wire::OpenaiChat),
        _ => gemini(path),
    };
    if method != "POST" && found != Route::Unknown { Route::WrongMethod } else { found }
}

fn by_body(wire: Wire) -> Route {
    Route::Answer { wire, model: None, streaming: None }
}

fn gemini(path: &str) -> Route {
    let asked = path.strip_prefix("/v1beta/models/").and_then(|rest| rest.rsplit_once(':'));
    let Some((model, verb)) = asked else {
        return Route::Unknown;
    };
    let streaming = match verb {
        "streamGenerateContent" => true,
        "generateContent" => false,
        "countTokens" => return Route::Count(Wire::Gemini),
        _ => return Route::Unknown,
    };
    let model = Some(model.to_owned());
    Route::Answer { wire: Wire::Gemini, model, streaming: Some(streaming) }
}
