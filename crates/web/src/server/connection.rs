//! One keep-alive connection: reads requests and writes responses until either side closes it.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use windlass_http_request::{BodyForm, RequestLimits, RequestReadError, read_request};

use super::RequestRouter;
use super::http_response::{HttpReply, HttpResponse, encode_event_stream_head};
use super::request_guard::RequestGuard;

pub(crate) async fn serve_connection<R: RequestRouter>(
    mut stream: TcpStream,
    guard: Arc<RequestGuard>,
    router: Arc<R>,
) {
    // On failure, small responses are only slower.
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    loop {
        let request = match read_request(&mut stream, &mut buffer, &REQUEST_LIMITS).await {
            Ok(request) => request,
            Err(RequestReadError::Gone) => return,
            Err(RequestReadError::Late) => {
                refuse(&mut stream, &HttpResponse::error(408, "bad_request", ARRIVED_LATE)).await;
                return;
            }
            Err(RequestReadError::Refused(status, why)) => {
                refuse(&mut stream, &HttpResponse::error(status, "bad_request", &why)).await;
                return;
            }
        };
        if let Err(refusal) = guard.check(&request) {
            let answer = HttpResponse::error(refusal.status, refusal.code, refusal.message);
            refuse(&mut stream, &answer).await;
            return;
        }
        let is_head = request.method == "HEAD";
        let closes = request.wants_close();
        let reply = match timeout(ANSWER_TIMEOUT, Arc::clone(&router).route(request)).await {
            Ok(reply) => reply,
            Err(_) => HttpReply::Whole(HttpResponse::error(503, "busy", "it took too long")),
        };
        match reply {
            HttpReply::Whole(answer) => {
                let written = stream.write_all_within(&answer.encode(is_head, closes)).await;
                if !written || closes {
                    return;
                }
            }
            HttpReply::Events(pieces) => return write_events(&mut stream, pieces).await,
        }
    }
}

/// Writes events until the source ends or the client disconnects, which is noticed without a write
/// too.
async fn write_events(stream: &mut TcpStream, mut pieces: mpsc::Receiver<String>) {
    if !stream.write_all_within(&encode_event_stream_head()).await {
        return;
    }
    let mut ignored = [0; 64];
    loop {
        tokio::select! {
            piece = pieces.recv() => match piece {
                Some(piece) if stream.write_all_within(piece.as_bytes()).await => {}
                _ => return,
            },
            read = stream.read(&mut ignored) => {
                if !matches!(read, Ok(1..)) {
                    return;
                }
            }
        }
    }
}

/// Responds and closes. First drains the client's input for a moment, because closing with unread
/// input resets the connection and may destroy the response.
async fn refuse(stream: &mut TcpStream, answer: &HttpResponse) {
    let bytes = answer.encode(false, true);
    let refusal = async {
        stream.write_all(&bytes).await?;
        stream.shutdown().await?;
        let mut ignored = vec![0; 16 << 10];
        for _ in 0..LINGER_READS_MAX {
            if stream.read(&mut ignored).await? == 0 {
                break;
            }
        }
        std::io::Result::Ok(())
    };
    let _ = timeout(LINGER_TIMEOUT, refusal).await;
}

/// Writes with a time limit, so that a client that does not read is dropped.
trait WriteWithin {
    async fn write_all_within(&mut self, bytes: &[u8]) -> bool;
}

impl WriteWithin for TcpStream {
    async fn write_all_within(&mut self, bytes: &[u8]) -> bool {
        matches!(timeout(WRITE_TIMEOUT, self.write_all(bytes)).await, Ok(Ok(())))
    }
}

const REQUEST_LIMITS: RequestLimits = RequestLimits {
    head_bytes_max: 16 << 10,
    body_bytes_max: 1 << 20,
    minor_version_min: 1,
    body: BodyForm::LengthOnly,
    idle_max: Duration::from_secs(60),
    arrival_max: Duration::from_secs(10),
};
const ARRIVED_LATE: &str = "the request took too long to arrive";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
const LINGER_READS_MAX: usize = 128;
