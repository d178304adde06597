//! Sends one message over HTTP, with a limit on the size of the answer.
//!
//! The official library limits each event of a stream, but reads a plain JSON answer whole,
//! whatever its size. So messages are sent here; everything else is left to the library.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestParamsMeta,
    ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse as Posted,
};
use sse_stream::{Sse, SseStream};

use super::MESSAGE_BYTES_MAX;
use crate::connection::clean_excerpt;

type HttpTransportError = StreamableHttpError<reqwest::Error>;

/// A client that rejects answers over the limit.
#[derive(Clone)]
pub(crate) struct CappedHttpClient(pub(super) reqwest::Client);

impl StreamableHttpClient for CappedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Posted, HttpTransportError> {
        let max = MESSAGE_BYTES_MAX;
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, max).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        bytes_max: usize,
    ) -> Result<Posted, HttpTransportError> {
        let mut request = self.0.post(uri.as_ref()).header(ACCEPT, ACCEPT_TYPES);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            if RESERVED_HEADERS.iter().any(|reserved| name.as_str().eq_ignore_ascii_case(reserved))
            {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        let is_in_session = session.is_some();
        if let Some(session) = session {
            request = request.header(SESSION_HEADER, session.as_ref());
        }
        if let Some(parent) = find_traceparent(&message) {
            request = request.header(TRACEPARENT_HEADER, parent);
        }
        let response = request.json(&message).send().await?;
        read_response(response, &message, is_in_session, bytes_max).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpTransportError> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, sse_stream::Error>>, HttpTransportError> {
        let max = MESSAGE_BYTES_MAX;
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, max).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max: usize,
    ) -> Result<BoxStream<'static, Result<Sse, sse_stream::Error>>, HttpTransportError> {
        let inner = &self.0;
        inner.get_stream_with_max_sse_event_size(uri, session, last, token, headers, max).await
    }
}

async fn read_response(
    response: Response,
    message: &ClientJsonRpcMessage,
    is_in_session: bool,
    bytes_max: usize,
) -> Result<Posted, HttpTransportError> {
    check_auth_challenge(response.status(), response.headers())?;
    let status = response.status();
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(Posted::Accepted);
    }
    if status == StatusCode::NOT_FOUND && is_in_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let text = |name: HeaderName| {
        response
            .headers()
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let kind = text(CONTENT_TYPE);
    let session = text(HeaderName::from_static("mcp-session-id"));
    let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
    let is_json = is(JSON_TYPE);
    let is_stream = is(EVENT_STREAM_TYPE);
    let trouble =
        (status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()).then(|| {
            HttpStatusError::new(
                status.as_u16(),
                text(RETRY_AFTER).filter(|after| after.len() <= 128),
            )
        });
    if let Some(trouble) = trouble {
        if !is_json || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(trouble.into());
        }
        return read_error_response(response, message, is_in_session, session, Some(trouble)).await;
    }
    if !status.is_success() {
        return read_error_response(response, message, is_in_session, session, None).await;
    }
    let awaits = matches!(message, JsonRpcMessage::Request(_));
    if !awaits && response.content_length() == Some(0) {
        return Ok(Posted::Accepted);
    }
    if is_stream {
        return Ok(Posted::Sse(stream_events(response, bytes_max), session));
    }
    if !is_json {
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    let Some(body) = read_body(response).await? else {
        return Ok(too_long_response(message, session));
    };
    match serde_json::from_slice(&body) {
        Ok(parsed) => Ok(Posted::Json(parsed, session)),
        // A notification: no caller waits for an answer.
        Err(_) if !awaits => Ok(Posted::Accepted),
        Err(error) => {
            let start = String::from_utf8_lossy(body.get(..256).unwrap_or(&body)).into_owned();
            let words =
                format!("not a message of the protocol ({error}): {}", clean_excerpt(&start, 256));
            Err(StreamableHttpError::UnexpectedServerResponse(words.into()))
        }
    }
}

/// The trace context of a call. Gateways look for it in a header.
fn find_traceparent(message: &ClientJsonRpcMessage) -> Option<&str> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    call.params.traceparent()
}

const TRACEPARENT_HEADER: &str = "traceparent";

/// The server requires a login, or more scopes.
fn check_auth_challenge(status: StatusCode, headers: &HeaderMap) -> Result<(), HttpTransportError> {
    let challenge = headers.get(WWW_AUTHENTICATE).map(|value| value.to_str());
    let challenge = match challenge {
        None => return Ok(()),
        Some(Ok(text)) => text.to_owned(),
        Some(Err(_)) => {
            let words = "its challenge is not text";
            return Err(StreamableHttpError::UnexpectedServerResponse(words.into()));
        }
    };
    match status {
        StatusCode::UNAUTHORIZED => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::FORBIDDEN => {
            let scope = challenge.split("scope=").nth(1).map(|rest| match rest.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
                None => rest.split([',', ' ']).next().unwrap_or_default().to_owned(),
            });
            let wanted = InsufficientScopeError::new(challenge, scope);
            Err(StreamableHttpError::InsufficientScope(wanted))
        }
        _ => Ok(()),
    }
}

/// Reads an error response. Its body may hold a JSON-RPC error, which is more specific.
async fn read_error_response(
    response: Response,
    message: &ClientJsonRpcMessage,
    is_in_session: bool,
    session: Option<String>,
    trouble: Option<HttpStatusError>,
) -> Result<Posted, HttpTransportError> {
    let status = response.status();
    let body = read_body(response).await.ok().flatten().unwrap_or_default();
    let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok();
    let error_reply = match parsed {
        Some(JsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let start = String::from_utf8_lossy(body.get(..400).unwrap_or(&body)).into_owned();
    let words = format!("HTTP {status}: {}", clean_excerpt(&start, 400));
    // A proxy in front of an older server may answer an unknown request with a wrong id.
    if let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && !is_in_session
        && status.is_client_error()
        && !is_login
    {
        let unknown = || ErrorData::invalid_request(words.clone(), None);
        let error = error_reply.map_or_else(unknown, |error_reply| error_reply.error);
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(Posted::Json(answer, None));
    }
    match (error_reply.filter(|_| !is_login), trouble) {
        (Some(error_reply), _) => Ok(Posted::Json(JsonRpcMessage::Error(error_reply), session)),
        (None, Some(trouble)) => Err(trouble.into()),
        (None, None) => Err(StreamableHttpError::UnexpectedServerResponse(words.into())),
    }
}

/// The whole body, or `None` if it exceeds the limit; the rest is then not read.
async fn read_body(mut response: Response) -> Result<Option<Vec<u8>>, HttpTransportError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MESSAGE_BYTES_MAX {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// The waiting caller gets an error that the answer was too long.
fn too_long_response(message: &ClientJsonRpcMessage, session: Option<String>) -> Posted {
    let JsonRpcMessage::Request(request) = message else { return Posted::Accepted };
    let megabytes = MESSAGE_BYTES_MAX / (1024 * 1024);
    let words = format!("the answer was over {megabytes} MiB and was dropped");
    let error = ErrorData::new(ErrorCode(-32_000), words, None);
    Posted::Json(ServerJsonRpcMessage::error(error, Some(request.id.clone())), session)
}

/// The events of a stream, each up to the limit.
pub(super) fn stream_events(
    response: Response,
    bytes_max: usize,
) -> BoxStream<'static, Result<Sse, sse_stream::Error>> {
    let meter = EventSizeMeter { bytes_max, event: 0, line: 0 };
    let chunks = stream::unfold(Some((response, meter)), |state| async move {
        let (mut response, mut meter) = state?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if meter.admits(&chunk) => Some((Ok(chunk), Some((response, meter)))),
            Ok(Some(_)) => Some((Err(std::io::Error::other("an event is too long")), None)),
            Err(error) => Some((Err(std::io::Error::other(error)), None)),
        }
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

/// The size of the current event. An empty line ends it.
struct EventSizeMeter {
    bytes_max: usize,
    event: usize,
    line: usize,
}

impl EventSizeMeter {
    fn admits(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            self.event += 1;
            if self.event > self.bytes_max {
                return false;
            }
        }
        true
    }
}

const SESSION_HEADER: &str = "Mcp-Session-Id";
const JSON_TYPE: &str = "application/json";
pub(super) const EVENT_STREAM_TYPE: &str = "text/event-stream";
const ACCEPT_TYPES: &str = "text/event-stream, application/json";
/// Headers that the configuration cannot override.
const RESERVED_HEADERS: &[&str] = &["accept", SESSION_HEADER, "last-event-id"];
