//! Reads and parses one request. Anything unusual is refused with a status, and the connection is
//! closed.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BrowserRequest {
    pub(crate) method: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl BrowserRequest {
    /// The value of a header; `None` also if it occurs twice, since parsers disagree about which
    /// one counts.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(known, _)| known == name);
        match (all.next(), all.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }

    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    pub(crate) fn wants_close(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    pub(crate) fn accepts_gzip(&self) -> bool {
        self.header("accept-encoding").is_some_and(|value| value.contains("gzip"))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestReadError {
    /// The client disconnected, or was silent for too long.
    Gone,
    Refused(u16, &'static str),
}

/// Reads one request. `buffer` keeps surplus bytes for the next one.
pub(crate) async fn read_browser_request(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Result<BrowserRequest, RequestReadError> {
    if buffer.is_empty() {
        let more = timeout(IDLE_TIMEOUT, read_more(stream, buffer)).await;
        more.map_err(|_| RequestReadError::Gone)??;
    }
    // One time limit for head and body, so that sending single bytes slowly does not extend it.
    match timeout(ARRIVAL_TIMEOUT, read_whole(stream, buffer)).await {
        Ok(request) => request,
        Err(_) => Err(RequestReadError::Refused(408, "the request took too long to arrive")),
    }
}

async fn read_whole(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Result<BrowserRequest, RequestReadError> {
    let mut request = loop {
        match parse_request_head(buffer)? {
            Some((length, request)) if length <= HEAD_BYTES_MAX => {
                buffer.drain(..length);
                break request;
            }
            None if buffer.len() <= HEAD_BYTES_MAX => read_more(stream, buffer).await?,
            _ => return Err(RequestReadError::Refused(431, "the request head is too long")),
        }
    };
    if request.has_header("transfer-encoding") || request.has_header("upgrade") {
        return Err(RequestReadError::Refused(501, "only plain requests are served"));
    }
    let length = match request.has_header("content-length") {
        false => 0,
        true => request
            .header("content-length")
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse::<usize>().ok())
            .ok_or(RequestReadError::Refused(400, "content-length is not one number"))?,
    };
    if length > BODY_BYTES_MAX {
        return Err(RequestReadError::Refused(413, "the body is longer than 1 MiB"));
    }
    while buffer.len() < length {
        read_more(stream, buffer).await?;
    }
    let rest = buffer.split_off(length);
    request.body = std::mem::replace(buffer, rest);
    Ok(request)
}

/// The length of the head and the request without its body; `None` if the head is incomplete.
fn parse_request_head(buffer: &[u8]) -> Result<Option<(usize, BrowserRequest)>, RequestReadError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(RequestReadError::Refused(431, "too many headers"));
        }
        Err(_) => return Err(RequestReadError::Refused(400, "this is not an HTTP/1.1 request")),
    };
    if parsed.version != Some(1) {
        return Err(RequestReadError::Refused(505, "only HTTP/1.1 is served"));
    }
    let headers = parsed.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        (header.name.to_ascii_lowercase(), value)
    });
    let request = BrowserRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: Vec::new(),
    };
    Ok(Some((length, request)))
}

async fn read_more(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Result<(), RequestReadError> {
    buffer.reserve(READ_BYTES);
    match stream.read_buf(buffer).await {
        Ok(0) | Err(_) => Err(RequestReadError::Gone),
        Ok(_) => Ok(()),
    }
}

const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
const BODY_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 8 << 10;
/// Time limit for an idle connection between requests.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for a whole request after its first byte.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);
