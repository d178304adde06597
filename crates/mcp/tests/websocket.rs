//! Servers behind a WebSocket, on real sockets.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod http_request;

use std::sync::Arc;
use std::time::Duration;

use http_request::{HttpTestRequest, reply};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use windlass_mcp::{
    HttpServerConfig, McpCallOptions, McpChannel, McpConnection, McpFailure, McpHost, ProtocolEra,
};

const LONG: Duration = Duration::from_secs(240);

struct NoUser;

impl McpHost for NoUser {}

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ways {
    Good,
    /// It answers the handshake with the accept header of another key.
    WrongAccept,
    /// It speaks HTTP alone.
    PlainHttp,
    /// It wants a key.
    Locked,
    /// It closes when a tool is called.
    Close,
    /// It announces a message that is too long.
    TooLong,
    /// It masks its frames.
    Masked,
}

/// The key that a client sends, by the accept header that it expects.
fn accept_of(head: &str) -> String {
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    let text = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key.unwrap());
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut encoded = String::new();
    for (place, byte) in digest.as_ref().iter().chain(&[0]).enumerate() {
        bits = (bits << 8) | u32::from(*byte);
        if place % 3 == 2 {
            for shift in [18, 12, 6, 0] {
                encoded.push(char::from(DIGITS[(bits >> shift & 63) as usize]));
            }
            bits = 0;
        }
    }
    // Twenty bytes and one of padding.
    encoded.truncate(27);
    encoded + "="
}

async fn serve(ways: Ways) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, ways));
        }
    });
    url
}

async fn talk(mut stream: TcpStream, ways: Ways) -> std::io::Result<()> {
    let Ok(Some(request)) = HttpTestRequest::read(&mut stream).await else { return Ok(()) };
    assert_eq!(request.method(), "");
    for line in [
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-protocol: mcp",
        "authorization: bearer secret",
    ] {
        assert!(request.has(line), "{line} in {request:?}");
    }
    let refusal = match ways {
        Ways::PlainHttp => Some("404 Not Found"),
        Ways::Locked => Some("401 Unauthorized"),
        Ways::Good | Ways::WrongAccept | Ways::Close | Ways::TooLong | Ways::Masked => None,
    };
    if let Some(status) = refusal {
        return stream.write_all(reply(status, "", "no").as_bytes()).await;
    }
    let accept = match ways == Ways::WrongAccept {
        true => "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_owned(),
        false => accept_of(&request.head),
    };
    let switched = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: mcp\r\n\r\n"
    );
    stream.write_all(switched.as_bytes()).await?;
    while let Some(message) = read_message(&mut stream).await? {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "socket", "version": "1"}}),
            "tools/call" => match ways {
                Ways::Close => return stream.write_all(&[0x88, 0]).await,
                Ways::TooLong => {
                    stream.write_all(&[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]).await?;
                    continue;
                }
                Ways::Masked => {
                    stream.write_all(&[0x81, 0x81, 0, 0, 0, 0, b'x']).await?;
                    continue;
                }
                Ways::Good | Ways::WrongAccept | Ways::PlainHttp | Ways::Locked => {
                    json!({"content": [{"type": "text", "text": "x".repeat(70_000)}]})
                }
            },
            _ if message.get("id").is_none() => continue,
            _ => {
                let error = json!({"code": -32601, "message": "no"});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
                write_in_pieces(&mut stream, &answer.to_string()).await?;
                continue;
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        write_in_pieces(&mut stream, &answer.to_string()).await?;
    }
    Ok(())
}

/// The next message of the client; `None` when it closes. A ping in between must be answered.
async fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<Value>> {
    loop {
        let [first, second] = [stream.read_u8().await?, stream.read_u8().await?];
        assert!(first & 0x80 != 0 && second & 0x80 != 0, "whole and masked");
        let length = match second & 0x7f {
            126 => u64::from(stream.read_u16().await?),
            127 => stream.read_u64().await?,
            short => u64::from(short),
        };
        let mut mask = [0; 4];
        stream.read_exact(&mut mask).await?;
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await?;
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        match first & 0x0f {
            1 => return Ok(Some(serde_json::from_slice(&payload)?)),
            8 => return Ok(None),
            10 => assert_eq!(payload, b"still there?"),
            other => assert_eq!(other, 1, "a frame of another kind"),
        }
    }
}

/// In two frames with a ping between them, as servers may.
async fn write_in_pieces(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    let (start, end) = text.split_at(text.len() / 2);
    let head = |kind: u8, text: &str| {
        let mut bytes = vec![kind, 127];
        bytes.extend((text.len() as u64).to_be_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    stream.write_all(&head(0x01, start)).await?;
    stream.write_all(&[&[0x89, 12][..], b"still there?"].concat()).await?;
    stream.write_all(&head(0x80, end)).await
}

async fn open(url: &str) -> Result<McpConnection, McpFailure> {
    let headers = vec![("authorization".to_owned(), "Bearer secret".to_owned())];
    let order = HttpServerConfig { url: url.to_owned(), headers, ..HttpServerConfig::default() };
    McpConnection::open(
        "socket",
        McpChannel::Http(&order),
        ProtocolEra::Handshake,
        Arc::new(NoUser),
        LONG,
    )
    .await
}

#[tokio::test]
async fn messages_go_both_ways_in_frames() {
    let connection = open(&serve(Ways::Good).await).await.unwrap();
    assert_eq!(connection.description().name, "socket");
    let options = McpCallOptions::with_limit(LONG);
    for _ in 0..3 {
        let called = connection.call_tool("any", Map::new(), &options);
        assert!(format!("{:?}", called.await.unwrap().parts).contains(&"x".repeat(70_000)));
    }
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_is_no_websocket_is_told_of() {
    for (ways, words) in [
        (Ways::PlainHttp, "HTTP 404 instead of opening a WebSocket"),
        (Ways::Locked, "put one into `headers`"),
        (Ways::WrongAccept, "not for this request"),
    ] {
        let failure = open(&serve(ways).await).await.unwrap_err().to_string();
        assert!(failure.contains(words), "{ways:?}: {failure}");
    }
    let failure = open("ws://127.0.0.1:9/").await.unwrap_err();
    assert!(matches!(failure, McpFailure::Unreachable { .. }), "{failure}");
}

#[tokio::test]
async fn a_connection_that_ends_ends_the_call_and_says_why() {
    for (ways, words) in [
        (Ways::Close, "it closed the connection"),
        (Ways::TooLong, "a message over 16 MiB"),
        (Ways::Masked, "its frames are masked"),
    ] {
        let connection = open(&serve(ways).await).await.unwrap();
        let options = McpCallOptions::with_limit(LONG);
        let called = connection.call_tool("any", Map::new(), &options);
        let failure = called.await.unwrap_err();
        assert!(matches!(failure, McpFailure::Gone { .. }), "{ways:?}: {failure}");
        assert!(connection.wait_until_gone().await.contains(words), "{ways:?}");
    }
}
