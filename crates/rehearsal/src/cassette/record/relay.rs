//! Passes a request on and the answer back, each piece when it comes, and listens.
//!
//! What the client sees is what the upstream did, cuts and resets included; recording never gets in
//! its way. Whether what was heard is written down is decided by `keep`, afterwards.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use windlass_vocabulary::Wire;

use super::Desk;
use super::keep::Open;
use super::summary::NotRecorded;
use super::tape::Tape;
use super::upstream::{NoAnswer, is_one_hop, is_reset};
use crate::cassette::exchange::{End, has_no_body};
use crate::serve::{After, Host, Line, Request, response_head, stop};
use crate::wire::{self, Route};

impl Host for Desk {
    const NAME: &'static str = "recorder";

    async fn answer(&self, request: Request, line: &mut Line) -> io::Result<After> {
        let open = self.keeper.open();
        // At once, so that exchanges that end before this one are scrubbed of its secrets too.
        self.keeper.scrubber.learn_headers(&request.headers);
        let mut tape = Tape::new(self.arrive(), &request, self.exchange_bytes_max);
        let after = self.relay(&request, line, &mut tape).await;
        tape.stop();
        self.keep(tape, open);
        after
    }

    async fn finish(&self) {
        let mut opened = self.keeper.opened();
        // Past the deadline the summary is told as it is: it counts what is on disk.
        let _ = timeout(WRITTEN_WITHIN, opened.wait_for(|open| *open == 0)).await;
    }
}

impl Desk {
    async fn relay(
        &self,
        request: &Request,
        line: &mut Line,
        tape: &mut Tape,
    ) -> io::Result<After> {
        let answer = tokio::select! {
            answer = self.upstream.ask(request) => answer,
            () = gone(line) => return Ok(After::Close),
        };
        let response = match answer {
            Ok(response) => response,
            Err(NoAnswer::NotAsked(status, why)) => {
                tape.refuse(NotRecorded::NotAsked(why.clone()));
                return say(line, request, status, &why).await;
            }
            Err(NoAnswer::Dropped { is_reset }) => return dropped(line, tape, is_reset),
            Err(NoAnswer::Silent) => return Ok(After::Close),
        };
        let status = response.status().as_u16();
        let headers = headers_of(&response);
        let length = length_of(&headers);
        tape.head(status, &headers, length);
        let framing = match length {
            _ if has_no_body(&request.method, status) => Framing::None,
            Some(length) => Framing::Length(length),
            None => Framing::Chunks,
        };
        send(line, &framing.head(status, headers)).await?;
        pass(response, framing, line, tape).await
    }

    /// Writes it down beside the connection, which need not wait for a disk.
    fn keep(&self, tape: Tape, open: Open) {
        let keeper = Arc::clone(&self.keeper);
        tokio::task::spawn_blocking(move || {
            keeper.keep(tape);
            drop(open);
        });
    }
}

/// Passes the body on, to its end or to that of either side.
async fn pass(
    mut response: reqwest::Response,
    framing: Framing,
    line: &mut Line,
    tape: &mut Tape,
) -> io::Result<After> {
    let mut passed = 0;
    // A client that has all of an answer may leave before we have seen that it was all.
    while !framing.is_complete(passed) {
        let chunk = tokio::select! {
            biased;
            chunk = timeout(SILENCE_MAX, response.chunk()) => chunk,
            () = gone(line) => return Ok(After::Close),
        };
        match chunk {
            Ok(Ok(Some(bytes))) if bytes.is_empty() => {}
            Ok(Ok(Some(bytes))) => {
                tape.chunk(&bytes);
                passed += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                send(line, &framing.chunk(&bytes)).await?;
            }
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return dropped(line, tape, is_reset(&error)),
            Err(_) => return Ok(After::Close),
        }
    }
    tape.end(End::Complete);
    send(line, framing.end()).await?;
    Ok(After::Keep)
}

/// The upstream ended the connection before the answer was complete; so do we.
fn dropped(line: &mut Line, tape: &mut Tape, is_reset: bool) -> io::Result<After> {
    tape.end(if is_reset { End::Reset } else { End::Cut });
    if is_reset {
        line.stream.set_zero_linger()?;
    }
    Ok(After::Close)
}

/// Returns when there is nobody left to answer: the client has left, or the server stops. What the
/// client sends meanwhile is kept for its next request.
async fn gone(line: &mut Line) {
    let Line { stream, buffer, stopped } = line;
    let left = async {
        while buffer.len() < AHEAD_MAX {
            match stream.read_buf(buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        // A client with so much to say is not gone.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = left => {}
        () = stop(stopped) => {}
    }
}

/// An answer of the recorder's own, in the words of the wire that was asked.
async fn say(line: &mut Line, request: &Request, status: u16, why: &str) -> io::Result<After> {
    let wire = match wire::route(&request.method, request.path()) {
        Route::Answer { wire, .. } | Route::Count(wire) => wire,
        Route::WrongMethod | Route::Unknown => Wire::AnthropicMessages,
    };
    let body = wire::error(wire, status, None, &format!("recorder: {why}")).to_string();
    let headers = [
        ("content-type".to_owned(), "application/json".to_owned()),
        ("content-length".to_owned(), body.len().to_string()),
    ];
    let mut bytes = response_head(status, &headers);
    bytes.extend_from_slice(body.as_bytes());
    send(line, &bytes).await?;
    Ok(After::Keep)
}

async fn send(line: &mut Line, bytes: &[u8]) -> io::Result<()> {
    let Line { stream, stopped, .. } = line;
    tokio::select! {
        biased;
        sent = timeout(WRITE_MAX, stream.write_all(bytes)) => {
            sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
        }
        // A client that does not read must not keep what was heard from being written down.
        () = stop(stopped) => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// How the client is told where the body ends: as the upstream told us.
#[derive(Clone, Copy)]
enum Framing {
    None,
    Length(u64),
    Chunks,
}

impl Framing {
    fn head(self, status: u16, mut headers: Vec<(String, String)>) -> Vec<u8> {
        headers.retain(|(name, _)| !is_one_hop(name));
        if matches!(self, Self::Chunks) {
            headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
        }
        response_head(status, &headers)
    }

    /// Is the body complete with this many bytes, as far as can be told from the head?
    fn is_complete(self, passed: u64) -> bool {
        match self {
            Self::None => true,
            Self::Length(length) => passed >= length,
            Self::Chunks => false,
        }
    }

    fn chunk(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Length(_) => bytes.to_vec(),
            Self::Chunks => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                chunk
            }
        }
    }

    fn end(self) -> &'static [u8] {
        match self {
            Self::None | Self::Length(_) => b"",
            Self::Chunks => b"0\r\n\r\n",
        }
    }
}

fn headers_of(response: &reqwest::Response) -> Vec<(String, String)> {
    let headers = response.headers().iter();
    headers
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect()
}

fn length_of(headers: &[(String, String)]) -> Option<u64> {
    let found = headers.iter().find(|(name, _)| name == "content-length")?;
    found.1.parse().ok()
}

/// A silence after which nothing more is to be expected. A client gives up long before.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// A client that reads nothing for this long is gone.
const WRITE_MAX: Duration = Duration::from_secs(60);
/// How long writing may take after the last answer.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);
/// Requests a client may send before it has the answer to the first.
const AHEAD_MAX: usize = 1024 * 1024;
