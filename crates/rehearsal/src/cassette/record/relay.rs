//! Forwards a request and streams the answer back, recording both.
//!
//! The client sees what the upstream did, including cuts and resets; recording never delays it.
//! `exchange_writer` decides afterwards whether the exchange is saved.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use windlass_http_request::HttpRequest;

use super::RecordingResponder;
use super::exchange_recording::ExchangeRecording;
use super::exchange_writer::OpenExchangeGuard;
use super::summary::UnrecordedReason;
use super::upstream::{UpstreamError, is_hop_by_hop, is_reset};
use crate::cassette::exchange::{ExchangeEnd, has_no_body};
use crate::server::{
    ClientSocket, ConnectionDisposition, RequestResponder, encode_response, encode_response_head,
    wait_for_stop,
};
use crate::wire;

impl RequestResponder for RecordingResponder {
    const NAME: &'static str = "recorder";

    // It forwards keys to a real server.
    const IS_GUARDED: bool = true;

    async fn answer_request(
        &self,
        request: HttpRequest,
        socket: &mut ClientSocket,
    ) -> io::Result<ConnectionDisposition> {
        let open = self.writer.begin_exchange();
        // Immediately, so that its secrets are also scrubbed from exchanges that end earlier.
        self.writer.scrubber.learn_headers(&request.headers);
        let mut recording =
            ExchangeRecording::new(self.next_request_number(), &request, self.exchange_bytes_max);
        let after = self.relay(&request, socket, &mut recording).await;
        recording.finish();
        self.save_in_background(recording, open);
        after
    }

    async fn finish(&self) {
        let mut opened = self.writer.watch_open_exchanges();
        // After the timeout the summary is returned anyway: it counts what is on disk.
        let _ = timeout(SAVE_TIMEOUT, opened.wait_for(|open| *open == 0)).await;
    }
}

impl RecordingResponder {
    async fn relay(
        &self,
        request: &HttpRequest,
        socket: &mut ClientSocket,
        recording: &mut ExchangeRecording,
    ) -> io::Result<ConnectionDisposition> {
        let answer = tokio::select! {
            answer = self.upstream.send_request(request) => answer,
            () = wait_until_gone(socket) => return Ok(ConnectionDisposition::Close),
        };
        let response = match answer {
            Ok(response) => response,
            Err(UpstreamError::NotSent(status, why)) => {
                recording.refuse(UnrecordedReason::NotForwarded(why.clone()));
                return send_error(socket, request, status, &why).await;
            }
            Err(UpstreamError::Dropped { is_reset }) => {
                return close_dropped(socket, recording, is_reset);
            }
            Err(UpstreamError::TimedOut) => return Ok(ConnectionDisposition::Close),
        };
        let status = response.status().as_u16();
        let headers = collect_headers(&response);
        let length = parse_content_length(&headers);
        recording.record_head(status, &headers, length);
        let framing = match length {
            _ if has_no_body(&request.method, status) => BodyFraming::NoBody,
            Some(length) => BodyFraming::Length(length),
            None => BodyFraming::Chunks,
        };
        send(socket, &framing.encode_head(status, headers)).await?;
        forward_body(response, framing, socket, recording).await
    }

    /// Saves in the background, so that the connection need not wait for the disk.
    fn save_in_background(&self, recording: ExchangeRecording, open: OpenExchangeGuard) {
        let writer = Arc::clone(&self.writer);
        tokio::task::spawn_blocking(move || {
            writer.save(recording);
            drop(open);
        });
    }
}

/// Forwards the body until either side ends.
async fn forward_body(
    mut response: reqwest::Response,
    framing: BodyFraming,
    socket: &mut ClientSocket,
    recording: &mut ExchangeRecording,
) -> io::Result<ConnectionDisposition> {
    let mut passed = 0;
    // A client that has received the complete answer may disconnect before we have seen its end.
    while !framing.is_complete(passed) {
        let chunk = tokio::select! {
            biased;
            chunk = timeout(SILENCE_MAX, response.chunk()) => chunk,
            () = wait_until_gone(socket) => return Ok(ConnectionDisposition::Close),
        };
        match chunk {
            Ok(Ok(Some(bytes))) if bytes.is_empty() => {}
            Ok(Ok(Some(bytes))) => {
                recording.record_chunk(&bytes);
                passed += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                send(socket, &framing.encode_chunk(&bytes)).await?;
            }
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return close_dropped(socket, recording, is_reset(&error)),
            Err(_) => return Ok(ConnectionDisposition::Close),
        }
    }
    recording.record_end(ExchangeEnd::Complete);
    send(socket, framing.encode_end()).await?;
    Ok(ConnectionDisposition::KeepOpen)
}

/// The upstream closed the connection before the answer was complete; do the same.
fn close_dropped(
    socket: &mut ClientSocket,
    recording: &mut ExchangeRecording,
    is_reset: bool,
) -> io::Result<ConnectionDisposition> {
    recording.record_end(if is_reset { ExchangeEnd::Reset } else { ExchangeEnd::Cut });
    if is_reset {
        socket.stream.set_zero_linger()?;
    }
    Ok(ConnectionDisposition::Close)
}

/// Returns when the client has disconnected or the server stops. Data that the client sends
/// meanwhile is kept for its next request.
async fn wait_until_gone(socket: &mut ClientSocket) {
    let ClientSocket { stream, buffer, stopped } = socket;
    let left = async {
        while buffer.len() < PIPELINED_BYTES_MAX {
            match stream.read_buf(buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        // The buffer is full, so the client is still connected.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = left => {}
        () = wait_for_stop(stopped) => {}
    }
}

/// An error of the recorder itself, in the error format of the request's wire.
async fn send_error(
    socket: &mut ClientSocket,
    request: &HttpRequest,
    status: u16,
    why: &str,
) -> io::Result<ConnectionDisposition> {
    let wire = wire::error_wire(&request.method, request.path());
    let body = wire::encode_error(wire, status, None, &format!("recorder: {why}")).to_string();
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    send(socket, &encode_response(status, headers, body.as_bytes())).await?;
    Ok(ConnectionDisposition::KeepOpen)
}

async fn send(socket: &mut ClientSocket, bytes: &[u8]) -> io::Result<()> {
    let ClientSocket { stream, stopped, .. } = socket;
    tokio::select! {
        biased;
        sent = timeout(WRITE_MAX, stream.write_all(bytes)) => {
            sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
        }
        // A client that does not read must not prevent the exchange from being saved.
        () = wait_for_stop(stopped) => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// How the end of the body is announced to the client: the same way as by the upstream.
#[derive(Clone, Copy)]
enum BodyFraming {
    NoBody,
    Length(u64),
    Chunks,
}

impl BodyFraming {
    fn encode_head(self, status: u16, mut headers: Vec<(String, String)>) -> Vec<u8> {
        headers.retain(|(name, _)| !is_hop_by_hop(name));
        if matches!(self, Self::Chunks) {
            headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
        }
        encode_response_head(status, &headers)
    }

    /// Is the body complete with this many bytes, as far as the head tells?
    fn is_complete(self, passed: u64) -> bool {
        match self {
            Self::NoBody => true,
            Self::Length(length) => passed >= length,
            Self::Chunks => false,
        }
    }

    fn encode_chunk(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::NoBody => Vec::new(),
            Self::Length(_) => bytes.to_vec(),
            Self::Chunks => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                chunk
            }
        }
    }

    fn encode_end(self) -> &'static [u8] {
        match self {
            Self::NoBody | Self::Length(_) => b"",
            Self::Chunks => b"0\r\n\r\n",
        }
    }
}

fn collect_headers(response: &reqwest::Response) -> Vec<(String, String)> {
    let headers = response.headers().iter();
    headers
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect()
}

fn parse_content_length(headers: &[(String, String)]) -> Option<u64> {
    let header = headers.iter().find(|(name, _)| name == "content-length")?;
    header.1.parse().ok()
}

/// After this long a silence nothing more is expected. A client gives up earlier.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// A client that reads nothing for this long counts as disconnected.
const WRITE_MAX: Duration = Duration::from_secs(60);
/// How long writing may take after the last answer.
const SAVE_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit on requests that a client sends before the answer to the first one.
const PIPELINED_BYTES_MAX: usize = 1024 * 1024;
