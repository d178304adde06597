//! Reads and parses one request. What is unusual is refused with a status, and the connection should
//! be closed.

use std::borrow::Cow;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::request::HttpRequest;

/// What a client may use. Every server states all of it.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    pub head_bytes_max: usize,
    pub body_bytes_max: usize,
    /// The `0` of HTTP/1.0, or the `1` of HTTP/1.1.
    pub minor_version_min: u8,
    pub body: BodyForm,
    /// How long a connection may be idle between requests.
    pub idle_max: Duration,
    /// How long a whole request may take after its first byte: one limit for head and body, so that
    /// sending single bytes slowly does not extend it.
    pub arrival_max: Duration,
}

/// How the body may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    /// With its length before it. Everything else, upgrades included, is refused.
    LengthOnly,
    /// Also in chunks, and after a `100 Continue`.
    AnyForm,
}

#[derive(Debug, PartialEq, Eq)]
pub enum RequestReadError {
    /// The client disconnected, or was silent for too long.
    Gone,
    /// The request did not arrive in time.
    Late,
    /// Answer with this status and close.
    Refused(u16, Cow<'static, str>),
}

/// Reads one request. `buffer` keeps surplus bytes for the next one.
///
/// # Errors
/// If there is no valid request within the limits.
pub async fn read_request(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
    limits: &RequestLimits,
) -> Result<HttpRequest, RequestReadError> {
    if buffer.is_empty() {
        let more = timeout(limits.idle_max, read_more(stream, buffer)).await;
        more.map_err(|_| RequestReadError::Gone)??;
    }
    let request = timeout(limits.arrival_max, read_started_request(stream, buffer, limits)).await;
    request.map_err(|_| RequestReadError::Late)?
}

async fn read_started_request(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
    limits: &RequestLimits,
) -> Result<HttpRequest, RequestReadError> {
    let mut request = loop {
        match parse_request_head(buffer, limits)? {
            Some((length, request)) if length <= limits.head_bytes_max => {
                buffer.drain(..length);
                break request;
            }
            None if buffer.len() <= limits.head_bytes_max => read_more(stream, buffer).await?,
            _ => return Err(too_large(431, "the request head", limits.head_bytes_max)),
        }
    };
    let is_chunked = request.has_header("transfer-encoding");
    if limits.body == BodyForm::LengthOnly && (is_chunked || request.has_header("upgrade")) {
        return Err(to_refusal(501, "only plain requests are served"));
    }
    let length = read_content_length(&request)?;
    if length > limits.body_bytes_max {
        return Err(too_large(413, "the body", limits.body_bytes_max));
    }
    if limits.body == BodyForm::AnyForm && request.header_contains("expect", "100-continue") {
        let written = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
        written.map_err(|_| RequestReadError::Gone)?;
    }
    request.body = match request.header_contains("transfer-encoding", "chunked") {
        true => read_chunked_body(stream, buffer, limits).await?,
        false => read_exactly(stream, buffer, length).await?,
    };
    Ok(request)
}

fn read_content_length(request: &HttpRequest) -> Result<usize, RequestReadError> {
    if !request.has_header("content-length") {
        return Ok(0);
    }
    request
        .single_header("content-length")
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| to_refusal(400, "content-length is not one number"))
}

/// The length of the head and the request without its body; `None` if the head is incomplete.
fn parse_request_head(
    buffer: &[u8],
    limits: &RequestLimits,
) -> Result<Option<(usize, HttpRequest)>, RequestReadError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(to_refusal(431, "too many headers"));
        }
        Err(_) => return Err(to_refusal(400, "this is not an HTTP/1.1 request")),
    };
    if parsed.version.is_none_or(|minor| minor < limits.minor_version_min) {
        return Err(to_refusal(505, "only HTTP/1.1 is served"));
    }
    let headers = parsed.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        (header.name.to_ascii_lowercase(), value)
    });
    let request = HttpRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: Vec::new(),
    };
    Ok(Some((length, request)))
}

async fn read_exactly(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    bytes: usize,
) -> Result<Vec<u8>, RequestReadError> {
    while buffer.len() < bytes {
        read_more(stream, buffer).await?;
    }
    let rest = buffer.split_off(bytes);
    Ok(std::mem::replace(buffer, rest))
}

async fn read_chunked_body(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    limits: &RequestLimits,
) -> Result<Vec<u8>, RequestReadError> {
    let mut body = Vec::new();
    loop {
        let (line, size) = loop {
            match httparse::parse_chunk_size(buffer) {
                Ok(httparse::Status::Complete(header)) => break header,
                Ok(httparse::Status::Partial) if buffer.len() < CHUNK_LINE_MAX => {
                    read_more(stream, buffer).await?;
                }
                _ => return Err(to_refusal(400, "a chunk size is not a number")),
            }
        };
        let free = limits.body_bytes_max.saturating_sub(body.len());
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= free)
            .ok_or_else(|| too_large(413, "the body", limits.body_bytes_max))?;
        buffer.drain(..line);
        if size == 0 {
            skip_trailer(stream, buffer, limits).await?;
            return Ok(body);
        }
        body.append(&mut read_exactly(stream, buffer, size).await?);
        if read_exactly(stream, buffer, 2).await? != b"\r\n" {
            return Err(to_refusal(400, "a chunk is longer than it said"));
        }
    }
}

/// Skips the lines after the last chunk, up to an empty one.
async fn skip_trailer(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    limits: &RequestLimits,
) -> Result<(), RequestReadError> {
    loop {
        if let Some(end) = buffer.windows(2).position(|two| two == b"\r\n") {
            buffer.drain(..end + 2);
            if end == 0 {
                return Ok(());
            }
        } else if buffer.len() > limits.head_bytes_max {
            return Err(too_large(431, "the trailer", limits.head_bytes_max));
        } else {
            read_more(stream, buffer).await?;
        }
    }
}

fn to_refusal(status: u16, why: &'static str) -> RequestReadError {
    RequestReadError::Refused(status, Cow::Borrowed(why))
}

/// States the limit, so that the client knows what would fit.
fn too_large(status: u16, part: &str, bytes_max: usize) -> RequestReadError {
    let limit = match bytes_max {
        mib if mib.is_multiple_of(1 << 20) => format!("{} MiB", mib >> 20),
        kib if kib.is_multiple_of(1 << 10) => format!("{} KiB", kib >> 10),
        bytes => format!("{bytes} bytes"),
    };
    RequestReadError::Refused(status, Cow::Owned(format!("{part} is longer than {limit}")))
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

const HEADERS_MAX: usize = 100;
const READ_BYTES: usize = 16 << 10;
const CHUNK_LINE_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RequestLimits = RequestLimits {
        head_bytes_max: 256,
        body_bytes_max: 16,
        minor_version_min: 1,
        body: BodyForm::LengthOnly,
        idle_max: Duration::from_secs(10),
        arrival_max: Duration::from_secs(10),
    };

    async fn read(bytes: &str, limits: &RequestLimits) -> Result<HttpRequest, RequestReadError> {
        let (mut client, mut server) = tokio::io::duplex(1 << 16);
        client.write_all(bytes.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        read_request(&mut server, &mut Vec::new(), limits).await
    }

    #[tokio::test]
    async fn what_is_unusual_is_refused_with_its_status() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(300));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        for (bytes, status) in [
            ("\u{1}\u{2}\r\n\r\n", 400),
            ("GET / HTTP/1.0\r\n\r\n", 505),
            ("GET / HTTP/1.1\r\ncontent-length: +1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\ncontent-length: 17\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 501),
            ("GET / HTTP/1.1\r\nupgrade: h2c\r\n\r\n", 501),
            (&long, 431),
            (&many, 431),
        ] {
            let limits = RequestLimits { head_bytes_max: 256, ..LIMITS };
            match read(bytes, &limits).await {
                Err(RequestReadError::Refused(own, _)) => assert_eq!(own, status, "{bytes:?}"),
                other => panic!("{bytes:?}: {other:?}"),
            }
        }
        assert_eq!(read("GET / HTTP/1.1\r\n", &LIMITS).await, Err(RequestReadError::Gone));
    }

    #[tokio::test]
    async fn a_body_comes_with_its_length_or_in_chunks() {
        let plain = "POST /a?b HTTP/1.1\r\nX: y \r\ncontent-length: 4\r\n\r\nbody";
        let request = read(plain, &LIMITS).await.unwrap();
        assert_eq!((request.path(), request.query()), ("/a", "b"));
        assert_eq!((request.header("x"), request.body.as_slice()), (Some("y"), &b"body"[..]));
        let limits = RequestLimits { body: BodyForm::AnyForm, ..LIMITS };
        let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunked = format!("{head}3\r\nabc\r\n1\r\nd\r\n0\r\nx: y\r\n\r\n");
        assert_eq!(read(&chunked, &limits).await.unwrap().body, b"abcd");
        let long = format!("{head}9\r\n123456789\r\n9\r\n123456789\r\n0\r\n\r\n");
        let refusal = to_refusal(413, "the body is longer than 16 bytes");
        assert_eq!(read(&long, &limits).await, Err(refusal));
    }
}
