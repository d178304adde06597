//! The part of HTTP/1.1 that model clients use: reads requests with a body, encodes response heads.
//!
//! Written by hand because a rehearsal must be able to violate every rule at a chosen byte, which a
//! server library prevents.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why there is no valid request.
#[derive(Debug)]
pub(crate) enum HttpRequestError {
    /// The client disconnected or was silent for too long.
    Gone,
    /// An invalid request: answer with this status and close.
    Refused(u16, &'static str),
}

impl From<io::Error> for HttpRequestError {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl HttpRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }

    fn header_contains(&self, name: &str, word: &str) -> bool {
        self.header(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
    }

    /// Is the request for this machine by name, and not from a web page of another origin? Browsers
    /// always send both headers; a foreign domain that resolves to this machine still has another
    /// name.
    pub(crate) fn is_from_this_machine(&self) -> bool {
        let is_here = |authority: &str| {
            let host = match authority.strip_prefix('[') {
                Some(rest) => rest.split(']').next().unwrap_or_default(),
                None => authority.split(':').next().unwrap_or_default(),
            };
            host.eq_ignore_ascii_case("localhost")
                || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        };
        let origin_is_here =
            |origin: &str| origin.split_once("://").is_some_and(|(_, at)| is_here(at));
        self.header("host").is_some_and(is_here) && self.header("origin").is_none_or(origin_is_here)
    }

    pub(crate) fn wants_close(&self) -> bool {
        self.header_contains("connection", "close")
    }
}

/// Reads one request. `buffer` keeps early bytes of the next one.
pub(crate) async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Result<HttpRequest, HttpRequestError> {
    if buffer.is_empty() {
        timeout(IDLE_TIMEOUT, read_more(stream, buffer))
            .await
            .map_err(|_| HttpRequestError::Gone)??;
    }
    timeout(ARRIVAL_TIMEOUT, read_started_request(stream, buffer))
        .await
        .map_err(|_| HttpRequestError::Gone)?
}

async fn read_started_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Result<HttpRequest, HttpRequestError> {
    let mut request = loop {
        match parse_head(buffer)? {
            Some((head_bytes, request)) if head_bytes <= HEAD_MAX => {
                buffer.drain(..head_bytes);
                break request;
            }
            None if buffer.len() <= HEAD_MAX => read_more(stream, buffer).await?,
            _ => return Err(HEAD_TOO_LARGE),
        }
    };
    let chunked = request.header_contains("transfer-encoding", "chunked");
    let announced = match request.header("content-length") {
        Some(text) => text
            .parse::<usize>()
            .map_err(|_| HttpRequestError::Refused(400, "content-length is not a number"))?,
        None => 0,
    };
    if announced > BODY_MAX {
        return Err(BODY_TOO_LARGE);
    }
    if request.header_contains("expect", "100-continue") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    request.body = if chunked {
        read_chunked_body(stream, buffer).await?
    } else {
        read_exactly(stream, buffer, announced).await?
    };
    Ok(request)
}

/// The head, if it is complete: its length and the request without its body.
fn parse_head(buffer: &[u8]) -> Result<Option<(usize, HttpRequest)>, HttpRequestError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let bytes = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(HttpRequestError::Refused(400, "this is not an HTTP/1.1 request")),
    };
    if parsed.version != Some(1) {
        return Err(HttpRequestError::Refused(505, "only HTTP/1.1 is served"));
    }
    let headers = parsed.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_ascii_lowercase(), value)
    });
    let request = HttpRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: Vec::new(),
    };
    Ok(Some((bytes, request)))
}

async fn read_exactly(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    bytes: usize,
) -> Result<Vec<u8>, HttpRequestError> {
    while buffer.len() < bytes {
        read_more(stream, buffer).await?;
    }
    let rest = buffer.split_off(bytes);
    Ok(std::mem::replace(buffer, rest))
}

async fn read_chunked_body(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Result<Vec<u8>, HttpRequestError> {
    let mut body = Vec::new();
    loop {
        let (line, size) = loop {
            match httparse::parse_chunk_size(buffer) {
                Ok(httparse::Status::Complete(header)) => break header,
                Ok(httparse::Status::Partial) if buffer.len() < CHUNK_LINE_MAX => {
                    read_more(stream, buffer).await?;
                }
                _ => return Err(HttpRequestError::Refused(400, "a chunk size is not a number")),
            }
        };
        let size = usize::try_from(size).map_err(|_| BODY_TOO_LARGE)?;
        if size > BODY_MAX.saturating_sub(body.len()) {
            return Err(BODY_TOO_LARGE);
        }
        buffer.drain(..line);
        if size == 0 {
            skip_trailer(stream, buffer).await?;
            return Ok(body);
        }
        body.append(&mut read_exactly(stream, buffer, size).await?);
        if read_exactly(stream, buffer, 2).await? != b"\r\n" {
            return Err(HttpRequestError::Refused(400, "a chunk is longer than it said"));
        }
    }
}

/// Skips the lines after the last chunk, up to an empty one.
async fn skip_trailer(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Result<(), HttpRequestError> {
    loop {
        if let Some(end) = buffer.windows(2).position(|two| two == b"\r\n") {
            buffer.drain(..end + 2);
            if end == 0 {
                return Ok(());
            }
        } else if buffer.len() > HEAD_MAX {
            return Err(HttpRequestError::Refused(431, "the trailer is longer than 64 KiB"));
        } else {
            read_more(stream, buffer).await?;
        }
    }
}

async fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(), HttpRequestError> {
    buffer.reserve(READ_AT_ONCE);
    match stream.read_buf(buffer).await? {
        0 => Err(HttpRequestError::Gone),
        _ => Ok(()),
    }
}

/// The head of a response. Characters that would break a header line are removed.
pub(crate) fn encode_response_head(status: u16, headers: &[(String, String)]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Rehearsed",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
    for (name, value) in headers {
        let line: String =
            format!("{name}: {value}").chars().filter(|char| !char.is_control()).collect();
        head.push_str(&line);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A complete response with its length, so that the connection can stay open.
pub(crate) fn encode_response(
    status: u16,
    mut headers: Vec<(String, String)>,
    body: &[u8],
) -> Vec<u8> {
    headers.push(("content-length".to_owned(), body.len().to_string()));
    let mut bytes = encode_response_head(status, &headers);
    bytes.extend_from_slice(body);
    bytes
}

const HEAD_TOO_LARGE: HttpRequestError =
    HttpRequestError::Refused(431, "the request head is longer than 64 KiB");
const BODY_TOO_LARGE: HttpRequestError =
    HttpRequestError::Refused(413, "the body is longer than 64 MiB");
const BODY_MAX: usize = 64 * 1024 * 1024;
const HEAD_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 100;
const READ_AT_ONCE: usize = 16 * 1024;
const CHUNK_LINE_MAX: usize = 1024;
/// How long a kept connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// A request must arrive completely within this time after its first byte.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(60);
