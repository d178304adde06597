//! Which path is served, and what it means. Queries are ignored.

use windlass_vocabulary::WireFormat;

/// What a request line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestRoute {
    /// An answer from the script.
    Answer {
        wire: WireFormat,
        /// The model, where the wire has it in the path.
        model: Option<String>,
        /// Streaming or not, where the wire has it in the path.
        streaming: Option<bool>,
    },
    Count(WireFormat),
    /// A path that is served, but not with this method.
    WrongMethod,
    Unknown,
}

pub(crate) const SERVED: &str = "POST /v1/messages, POST /v1/messages/count_tokens, \
     POST /v1/responses, POST /v1/chat/completions, \
     POST /v1beta/models/{model}:streamGenerateContent, \
     POST /v1beta/models/{model}:generateContent, POST /v1beta/models/{model}:countTokens";

/// What this method and path (without its query) ask for.
pub(crate) fn route_request(method: &str, path: &str) -> RequestRoute {
    let route = match path {
        "/v1/messages" => answer_route(WireFormat::AnthropicMessages),
        "/v1/messages/count_tokens" => RequestRoute::Count(WireFormat::AnthropicMessages),
        "/v1/responses" => answer_route(WireFormat::OpenaiResponses),
        "/v1/chat/completions" => answer_route(WireFormat::OpenaiChat),
        _ => route_gemini(path),
    };
    if method != "POST" && route != RequestRoute::Unknown {
        RequestRoute::WrongMethod
    } else {
        route
    }
}

/// The wire whose error format to use for a request, also where its path is not served.
pub(crate) fn error_wire(method: &str, path: &str) -> WireFormat {
    match route_request(method, path) {
        RequestRoute::Answer { wire, .. } | RequestRoute::Count(wire) => wire,
        RequestRoute::WrongMethod | RequestRoute::Unknown => WireFormat::AnthropicMessages,
    }
}

fn answer_route(wire: WireFormat) -> RequestRoute {
    RequestRoute::Answer { wire, model: None, streaming: None }
}

fn route_gemini(path: &str) -> RequestRoute {
    let route = path.strip_prefix("/v1beta/models/").and_then(|rest| rest.rsplit_once(':'));
    let Some((model, verb)) = route else {
        return RequestRoute::Unknown;
    };
    let streaming = match verb {
        "streamGenerateContent" => true,
        "generateContent" => false,
        "countTokens" => return RequestRoute::Count(WireFormat::Gemini),
        _ => return RequestRoute::Unknown,
    };
    let model = Some(model.to_owned());
    RequestRoute::Answer { wire: WireFormat::Gemini, model, streaming: Some(streaming) }
}
