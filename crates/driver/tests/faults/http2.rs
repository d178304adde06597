//! A server that speaks just enough HTTP/2 to break it: frames by hand, one connection at a time.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;

use crate::fixture::tls;

/// What happens to one request.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// The stream is reset, after these events.
    Reset(Vec<Vec<u8>>),
    /// The connection is ended in good order, after these events.
    GoAway(Vec<Vec<u8>>),
    /// The request is answered with these events.
    Answer(Vec<Vec<u8>>),
}

/// Serves requests in order, on any connection.
pub(crate) async fn serve(directory: &Path, script: Vec<Does>) -> String {
    let acceptor = tls::acceptor(directory, "known", &["h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let script = Arc::new(Mutex::new(script.into_iter()));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, script) = (acceptor.clone(), Arc::clone(&script));
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                let next = || script.lock().unwrap().next();
                // A client that leaves is no fault here.
                let _ = connection(&mut stream, next).await;
            });
        }
    });
    url
}

async fn connection(
    stream: &mut TlsStream<TcpStream>,
    next: impl Fn() -> Option<Does>,
) -> std::io::Result<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap()];
        stream.read_exact(&mut payload).await?;
        let id = u32::from_be_bytes(id);
        match kind {
            SETTINGS if flags & ACK == 0 => {
                stream.write_all(&frame(SETTINGS, ACK, 0, &[])).await?;
            }
            DATA | HEADERS if flags & END_STREAM != 0 => {
                let Some(does) = next() else { return Ok(()) };
                if respond(stream, id, does).await? == After::Close {
                    // In good order: the client reads all of it before the end.
                    stream.shutdown().await?;
                    let mut rest = Vec::new();
                    stream.read_to_end(&mut rest).await?;
                    return Ok(());
                }
            }
            _ => {}
        }
    }
}

#[derive(PartialEq)]
enum After {
    Keep,
    Close,
}

async fn respond(stream: &mut TlsStream<TcpStream>, id: u32, does: Does) -> std::io::Result<After> {
    let (Does::Reset(events) | Does::GoAway(events) | Does::Answer(events)) = &does;
    if !events.is_empty() {
        // `:status: 200` and `content-type: text/event-stream`.
        let head = [&[0x88, 0x5f, 0x11][..], b"text/event-stream"].concat();
        stream.write_all(&frame(HEADERS, END_HEADERS, id, &head)).await?;
        stream.write_all(&frame(DATA, 0, id, &events.concat())).await?;
        stream.flush().await?;
    }
    match does {
        Does::Reset(_) => {
            stream.write_all(&frame(RST_STREAM, 0, id, &INTERNAL_ERROR.to_be_bytes())).await?;
            stream.flush().await?;
            Ok(After::Keep)
        }
        Does::GoAway(events) => {
            // Without events the request was never looked at, and the frame says so.
            let last = if events.is_empty() { 0_u32 } else { id };
            let payload = [last.to_be_bytes(), 0_u32.to_be_bytes()].concat();
            stream.write_all(&frame(GOAWAY, 0, 0, &payload)).await?;
            stream.flush().await?;
            Ok(After::Close)
        }
        Does::Answer(_) => {
            stream.write_all(&frame(DATA, END_STREAM, id, &[])).await?;
            stream.flush().await?;
            Ok(After::Keep)
        }
    }
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &id.to_be_bytes()].concat();
    [head.as_slice(), payload].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

const INTERNAL_ERROR: u32 = 2;
