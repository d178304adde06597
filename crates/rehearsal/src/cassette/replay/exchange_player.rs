//! Sends an exchange on a socket: the same bytes in the same chunks, and the same end.

use std::io;
use std::time::Duration;

use windlass_http_request::HttpRequest;
use windlass_vocabulary::WireFormat;

use super::ReplayPace;
use super::ReplayResponder;
use crate::cassette::exchange::{ExchangeEnd, RecordedExchange};
use crate::server::{
    ClientSocket, ConnectionDisposition, RequestResponder, SocketPlanRunner, encode_response,
    encode_response_head,
};
use crate::socket_plan::SocketAction;
use crate::wire;

impl RequestResponder for ReplayResponder {
    const NAME: &'static str = "replay";

    async fn answer_request(
        &self,
        request: HttpRequest,
        socket: &mut ClientSocket,
    ) -> io::Result<ConnectionDisposition> {
        let wire = wire::error_wire(&request.method, request.path());
        match self.selector.select(request) {
            Ok(exchange) => {
                let (head, acts) = plan_exchange(&exchange, self.pace);
                SocketPlanRunner::new(socket, head).run(acts).await
            }
            Err(why) => {
                let bytes = encode_refusal(wire, &why);
                SocketPlanRunner::new(socket, bytes).run(Vec::new()).await
            }
        }
    }
}

/// The head, and what to do after it.
fn plan_exchange(exchange: &RecordedExchange, pace: ReplayPace) -> (Vec<u8>, Vec<SocketAction>) {
    let mut acts = Vec::new();
    let mut now = 0;
    let mut wait = |millis: u64, acts: &mut Vec<SocketAction>| {
        let pause = Duration::from_millis(millis.saturating_sub(now)).min(PAUSE_MAX);
        now = now.max(millis);
        if pace == ReplayPace::AsRecorded && !pause.is_zero() {
            acts.push(SocketAction::Pause(pause));
        }
    };
    let mut bytes = Vec::new();
    let is_chunked = is_chunked(exchange);
    if let Some(head) = &exchange.head {
        wait(head.millis, &mut acts);
        let mut headers = head.headers.clone();
        headers.extend(framing_header(exchange, is_chunked));
        bytes = encode_response_head(head.status, &headers);
    }
    // The pause before the head must come before anything is sent.
    if !acts.is_empty() {
        acts.push(SocketAction::SendUnframed(std::mem::take(&mut bytes)));
    }
    for chunk in exchange.chunks.iter().filter(|_| !exchange.is_bodiless()) {
        wait(chunk.millis, &mut acts);
        let bytes = chunk.bytes.clone();
        acts.push(if is_chunked {
            SocketAction::Send(bytes)
        } else {
            SocketAction::SendUnframed(bytes)
        });
    }
    wait(exchange.end_millis, &mut acts);
    match exchange.end {
        ExchangeEnd::Complete if is_chunked => acts.push(SocketAction::End),
        ExchangeEnd::Complete => {}
        ExchangeEnd::Cut => acts.push(SocketAction::Cut { reset: false }),
        ExchangeEnd::Reset => acts.push(SocketAction::Cut { reset: true }),
        ExchangeEnd::Unfinished => acts.push(SocketAction::Stall { ping: None }),
    }
    (bytes, acts)
}

fn is_chunked(exchange: &RecordedExchange) -> bool {
    let length = exchange.head.as_ref().and_then(|head| head.length);
    length.is_none() && !exchange.is_bodiless()
}

/// The header that frames the body. An answer that was cut off must announce more than it sends.
fn framing_header(exchange: &RecordedExchange, is_chunked: bool) -> Option<(String, String)> {
    if is_chunked {
        return Some(("transfer-encoding".to_owned(), "chunked".to_owned()));
    }
    let announced = exchange.head.as_ref().and_then(|head| head.length)?;
    let sent: usize = exchange.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
    let sent = u64::try_from(sent).unwrap_or(u64::MAX);
    if exchange.is_bodiless() {
        return Some(("content-length".to_owned(), announced.to_string()));
    }
    let length = match exchange.end {
        ExchangeEnd::Complete => sent,
        ExchangeEnd::Cut | ExchangeEnd::Reset | ExchangeEnd::Unfinished => {
            announced.max(sent.saturating_add(1))
        }
    };
    Some(("content-length".to_owned(), length.to_string()))
}

/// An error that clients should not retry.
fn encode_refusal(wire: WireFormat, why: &str) -> Vec<u8> {
    let body = wire::encode_error(wire, 400, None, &format!("replay: {why}")).to_string();
    let headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("x-should-retry".to_owned(), "false".to_owned()),
    ];
    encode_response(400, headers, body.as_bytes())
}

const PAUSE_MAX: Duration = Duration::from_secs(600);
