//! Plays an exchange on a socket: the same bytes in the same pieces, and the same end.

use std::io;
use std::time::Duration;

use windlass_vocabulary::Wire;

use super::Booth;
use super::Pace;
use crate::cassette::exchange::{End, Exchange};
use crate::plan::Act;
use crate::serve::{After, Host, Line, Performer, Request, response_head};
use crate::wire::{self, Route};

impl Host for Booth {
    const NAME: &'static str = "replay";

    async fn answer(&self, request: Request, line: &mut Line) -> io::Result<After> {
        let wire = match wire::route(&request.method, request.path()) {
            Route::Answer { wire, .. } | Route::Count(wire) => wire,
            Route::WrongMethod | Route::Unknown => Wire::AnthropicMessages,
        };
        match self.rack.choose(request) {
            Ok(exchange) => {
                let (head, acts) = plan(&exchange, self.pace);
                Performer::new(line, head).perform(acts).await
            }
            Err(why) => {
                let bytes = refusal(wire, &why);
                Performer::new(line, bytes).perform(Vec::new()).await
            }
        }
    }
}

/// The head, and what to do after it.
fn plan(exchange: &Exchange, pace: Pace) -> (Vec<u8>, Vec<Act>) {
    let mut acts = Vec::new();
    let mut now = 0;
    let mut wait = |millis: u64, acts: &mut Vec<Act>| {
        let pause = Duration::from_millis(millis.saturating_sub(now)).min(PAUSE_MAX);
        now = now.max(millis);
        if pace == Pace::AsRecorded && !pause.is_zero() {
            acts.push(Act::Pause(pause));
        }
    };
    let mut bytes = Vec::new();
    let is_chunked = is_chunked(exchange);
    if let Some(head) = &exchange.head {
        wait(head.millis, &mut acts);
        let mut headers = head.headers.clone();
        headers.extend(framing(exchange, is_chunked));
        bytes = response_head(head.status, &headers);
    }
    // Nothing may be sent before the pause that comes before the head.
    if !acts.is_empty() {
        acts.push(Act::Bare(std::mem::take(&mut bytes)));
    }
    for chunk in exchange.chunks.iter().filter(|_| !exchange.is_bodiless()) {
        wait(chunk.millis, &mut acts);
        let bytes = chunk.bytes.clone();
        acts.push(if is_chunked { Act::Send(bytes) } else { Act::Bare(bytes) });
    }
    wait(exchange.end_millis, &mut acts);
    match exchange.end {
        End::Complete if is_chunked => acts.push(Act::End),
        End::Complete => {}
        End::Cut => acts.push(Act::Cut { reset: false }),
        End::Reset => acts.push(Act::Cut { reset: true }),
        End::Silent => acts.push(Act::Stall { ping: None }),
    }
    (bytes, acts)
}

fn is_chunked(exchange: &Exchange) -> bool {
    let length = exchange.head.as_ref().and_then(|head| head.length);
    length.is_none() && !exchange.is_bodiless()
}

/// The header that says where the body ends. An answer that was cut short owes at least a byte.
fn framing(exchange: &Exchange, is_chunked: bool) -> Option<(String, String)> {
    if is_chunked {
        return Some(("transfer-encoding".to_owned(), "chunked".to_owned()));
    }
    let announced = exchange.head.as_ref().and_then(|head| head.length)?;
    let sent: usize = exchange.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
    let sent = u64::try_from(sent).unwrap_or(u64::MAX);
    let length = match exchange.end {
        _ if exchange.is_bodiless() => announced,
        End::Complete => sent,
        End::Cut | End::Reset | End::Silent => announced.max(sent.saturating_add(1)),
    };
    Some(("content-length".to_owned(), length.to_string()))
}

/// A refusal that no client should try again.
fn refusal(wire: Wire, why: &str) -> Vec<u8> {
    let body = wire::error(wire, 400, None, &format!("replay: {why}")).to_string();
    let headers = [
        ("content-type".to_owned(), "application/json".to_owned()),
        ("x-should-retry".to_owned(), "false".to_owned()),
        ("content-length".to_owned(), body.len().to_string()),
    ];
    let mut bytes = response_head(400, &headers);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// The longest pause played.
const PAUSE_MAX: Duration = Duration::from_secs(600);
