//! Servers that speak the first transport over HTTP, on real sockets: one stream of events, and another
//! address for messages.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod http_request;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_request::{HttpTestRequest, reply};
use serde_json::{Map, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use windlass_mcp::{
    HttpServerConfig, McpCallOptions, McpChannel, McpConnection, McpFailure, McpHost, ProtocolEra,
};

const LONG: Duration = Duration::from_secs(240);

struct NoUser;

impl McpHost for NoUser {}

/// How a server is.
#[derive(Clone, Copy)]
struct Ways {
    /// Its first event.
    first: &'static str,
    /// Cut the events when this is called.
    cut_at: &'static str,
}

const GOOD: Ways = Ways { first: "event: endpoint\ndata: /messages?session=7\n\n", cut_at: "" };

type Heard = Arc<Mutex<Vec<HttpTestRequest>>>;

async fn serve(ways: Ways) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    let heard = Heard::default();
    let all = Arc::clone(&heard);
    tokio::spawn(async move {
        let (said, events) = mpsc::unbounded_channel();
        let mut events = Some(events);
        while let Ok((mut stream, _)) = listener.accept().await {
            let Ok(Some(request)) = HttpTestRequest::read(&mut stream).await else { continue };
            all.lock().unwrap().push(request.clone());
            if !request.head.starts_with("GET /sse ") {
                answer(stream, &request, ways, &said).await;
                continue;
            }
            let Some(events) = events.take() else { continue };
            tokio::spawn(tell(stream, ways.first, events));
        }
    });
    (url, heard)
}

/// The events, until there is an empty one.
async fn tell(
    mut stream: TcpStream,
    first: &str,
    mut events: mpsc::UnboundedReceiver<String>,
) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}: hello\n\n{first}").as_bytes()).await?;
    while let Some(event) = events.recv().await.filter(|event| !event.is_empty()) {
        stream.write_all(format!("event: message\ndata: {event}\n\n").as_bytes()).await?;
    }
    Ok(())
}

async fn answer(
    mut stream: TcpStream,
    request: &HttpTestRequest,
    ways: Ways,
    said: &mpsc::UnboundedSender<String>,
) {
    let is_there = request.head.starts_with("POST /messages?session=7 ");
    let status = if is_there { "202 Accepted" } else { "404 Not Found" };
    let _ = stream.write_all(reply(status, "", "Accepted").as_bytes()).await;
    let result = match request.method() {
        "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "old", "version": "1"}}),
        "tools/call" => json!({"content": [{"type": "text", "text": "from afar"}]}),
        _ => return,
    };
    let event = json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result});
    let is_cut = request.method() == ways.cut_at;
    let _ = said.send(if is_cut { String::new() } else { event.to_string() });
}

async fn open(url: &str) -> Result<McpConnection, McpFailure> {
    let headers = vec![("authorization".to_owned(), "Bearer secret".to_owned())];
    let order = HttpServerConfig {
        url: url.to_owned(),
        headers,
        is_legacy_sse: true,
        ..HttpServerConfig::default()
    };
    // Even where nothing is known of the server yet: it could only be old.
    McpConnection::open(
        "old",
        McpChannel::Http(&order),
        ProtocolEra::Unknown,
        Arc::new(NoUser),
        LONG,
    )
    .await
}

#[tokio::test]
async fn messages_go_where_the_first_event_says_and_answers_come_as_events() {
    let (url, heard) = serve(GOOD).await;
    let connection = open(&url).await.unwrap();
    assert_eq!(connection.description().name, "old");
    let called =
        connection.call_tool("any", Map::new(), &McpCallOptions::with_limit(LONG)).await.unwrap();
    assert_eq!(format!("{:?}", called.parts), r#"[Text("from afar")]"#);
    let heard = heard.lock().unwrap().clone();
    let methods: Vec<&str> = heard.iter().map(HttpTestRequest::method).collect();
    assert_eq!(methods, ["", "initialize", "notifications/initialized", "tools/call"]);
    assert!(heard.iter().all(|request| request.has("authorization: bearer secret")), "{heard:?}");
}

#[tokio::test]
async fn s7_messages_go_to_no_other_origin() {
    let (other, heard) = serve(GOOD).await;
    let first = format!("event: endpoint\ndata: {other}\n\n");
    let (url, _) = serve(Ways { first: first.leak(), ..GOOD }).await;
    let failure = open(&url).await.unwrap_err().to_string();
    assert!(failure.contains("at another place"), "{failure}");
    assert!(heard.lock().unwrap().is_empty(), "the other was asked");
}

#[tokio::test]
async fn a_server_that_never_says_where_messages_go_is_told_of() {
    let (url, _) = serve(Ways { first: "data: 1\n\n", ..GOOD }).await;
    // It goes on with nothing, and is not waited for longer than was said.
    let order = HttpServerConfig { url, is_legacy_sse: true, ..HttpServerConfig::default() };
    let limit = Duration::from_millis(200);
    let opening = McpConnection::open(
        "old",
        McpChannel::Http(&order),
        ProtocolEra::Unknown,
        Arc::new(NoUser),
        limit,
    );
    assert!(matches!(opening.await.unwrap_err(), McpFailure::TimedOut { .. }));
    let many: String = "data: 1\n\n".repeat(20);
    let (url, _) = serve(Ways { first: many.leak(), ..GOOD }).await;
    let failure = open(&url).await.unwrap_err().to_string();
    assert!(failure.contains("\"type\": \"http\""), "{failure}");
}

#[tokio::test]
async fn s7_events_that_are_cut_end_the_call() {
    let (url, _) = serve(Ways { cut_at: "tools/call", ..GOOD }).await;
    let connection = open(&url).await.unwrap();
    let failure = connection
        .call_tool("any", Map::new(), &McpCallOptions::with_limit(LONG))
        .await
        .unwrap_err();
    assert!(matches!(failure, McpFailure::Gone { .. }), "{failure:?}");
}

#[tokio::test]
async fn s7_a_refusal_asks_for_a_login() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        HttpTestRequest::read(&mut stream).await.unwrap();
        let refusal = "www-authenticate: Bearer scope=\"read\"\r\n";
        stream.write_all(reply("401 Unauthorized", refusal, "").as_bytes()).await.unwrap();
    });
    let failure = open(&url).await.unwrap_err();
    assert!(matches!(&failure, McpFailure::NeedsLogin { challenge } if challenge.contains("read")));
}
