//! Servers over HTTP that misbehave, on real sockets: expired sessions, refusals, redirects, streams
//! that are cut.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod http_request;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_request::{HttpTestRequest, reply};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use windlass_mcp::server::McpServer;
use windlass_mcp::{
    HttpServerConfig, McpCallOptions, McpChannel, McpConnection, McpFailure, McpHost,
    McpServerConfig, McpServerContext, McpServerTransport, McpTimeouts, ProtocolEra,
};
use windlass_tool::{ToolSessionContext, TraceContext};

const LONG: Duration = Duration::from_secs(240);

struct NoUser;

impl McpHost for NoUser {}

type Answers = dyn Fn(&HttpTestRequest) -> String + Send + Sync;

/// A server: its address, and everything it was asked.
async fn serve(answers: Arc<Answers>) -> (String, Arc<Mutex<Vec<HttpTestRequest>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let requests: Arc<Mutex<Vec<HttpTestRequest>>> = Arc::default();
    let all = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answers, all) = (Arc::clone(&answers), Arc::clone(&all));
            tokio::spawn(async move {
                let _ = answer(stream, &*answers, &all).await;
            });
        }
    });
    (url, requests)
}

async fn answer(
    mut stream: TcpStream,
    answers: &Answers,
    all: &Mutex<Vec<HttpTestRequest>>,
) -> std::io::Result<()> {
    let Some(request) = HttpTestRequest::read(&mut stream).await? else { return Ok(()) };
    let reply = answers(&request);
    all.lock().unwrap().push(request);
    stream.write_all(reply.as_bytes()).await
}

fn said(request: &HttpTestRequest, result: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}).to_string();
    reply("200 OK", "content-type: application/json\r\n", &body)
}

/// What any good server says.
fn good(request: &HttpTestRequest, session: &str) -> String {
    let known = match request.method() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "http", "version": "1"}}),
        "tools/call" => json!({"content": [{"type": "text", "text": session}]}),
        "" => return reply("405 Method Not Allowed", "", ""),
        method if method.starts_with("notifications/") => return reply("202 Accepted", "", ""),
        _ => json!({}),
    };
    said(request, &known).replacen("\r\n", &format!("\r\nmcp-session-id: {session}\r\n"), 1)
}

async fn open(url: &str) -> Result<McpConnection, McpFailure> {
    let headers = vec![("authorization".to_owned(), "Bearer secret".to_owned())];
    let order = HttpServerConfig { url: url.to_owned(), headers, ..HttpServerConfig::default() };
    McpConnection::open(
        "web",
        McpChannel::Http(&order),
        ProtocolEra::Handshake,
        Arc::new(NoUser),
        LONG,
    )
    .await
}

#[tokio::test]
async fn s4_an_answer_over_the_cap_is_not_kept() {
    let (url, _) = serve(Arc::new(|request| {
        let is_huge = request.body["params"]["name"] == "huge";
        let text = if is_huge { "x".repeat(20 * 1024 * 1024) } else { "small".to_owned() };
        match request.body["params"]["arguments"]["as"].as_str() {
            Some("stream") => {
                let result = json!({"content": [{"type": "text", "text": text}]});
                let body = json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result});
                let event = format!("data: {body}\n\n");
                reply("200 OK", "content-type: text/event-stream\r\n", &event)
            }
            Some(_) => said(request, &json!({"content": [{"type": "text", "text": text}]})),
            None => good(request, "s"),
        }
    }))
    .await;
    let connection = open(&url).await.unwrap();
    for kind in ["json", "stream"] {
        let call = async |tool: &str, limit| {
            let arguments = Map::from_iter([("as".to_owned(), json!(kind))]);
            connection.call_tool(tool, arguments, &McpCallOptions::with_limit(limit)).await
        };
        // Nobody tells the end of an event that was dropped, so that call runs into its limit.
        let limit = if kind == "json" { LONG } else { Duration::from_secs(5) };
        let failure = call("huge", limit).await.unwrap_err().to_string();
        let is_told = failure.contains("over 16 MiB and was dropped");
        assert!(is_told || kind == "stream", "{kind}: {failure}");
        let small = call("small", LONG).await.unwrap();
        assert_eq!(format!("{:?}", small.parts), r#"[Text("small")]"#, "{kind}");
    }
}

#[tokio::test]
async fn a_call_carries_its_place_in_a_trace() {
    let (url, requests) = serve(Arc::new(|request| good(request, "one"))).await;
    let connection = open(&url).await.unwrap();
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned();
    let trace = TraceContext {
        traceparent: traceparent.clone(),
        tracestate: Some("vendor=1".to_owned()),
        goes_to_servers: true,
    };
    let terms = McpCallOptions { trace_context: Some(trace), ..McpCallOptions::with_limit(LONG) };
    connection.call_tool("look", Map::new(), &terms).await.unwrap();
    let requests = requests.lock().unwrap();
    let call = requests.iter().find(|request| request.method() == "tools/call").unwrap();
    assert!(call.head.contains(&format!("traceparent: {traceparent}")), "{}", call.head);
    let meta = &call.body["params"]["_meta"];
    assert_eq!(
        (&meta["traceparent"], &meta["tracestate"]),
        (&json!(traceparent), &json!("vendor=1"))
    );
    let others = requests.iter().filter(|request| request.method() != "tools/call");
    assert!(others.into_iter().all(|request| !request.head.contains("traceparent")));
}

#[tokio::test]
async fn a_program_of_the_users_says_headers_for_every_connection() {
    // It answers everything, also what it does not know.
    let (url, requests) = serve(Arc::new(|request| match request.method() {
        "tools/list" => said(request, &json!({"tools": []})),
        _ => good(request, "s"),
    }))
    .await;
    let folder = tempfile::TempDir::new().unwrap();
    let tool_context = ToolSessionContext::new(folder.path(), folder.path().join("spill"));
    let common = McpServerContext::new(tool_context, McpTimeouts::default(), Arc::new(NoUser));
    let served = |helper: &str| {
        let headers = vec![("X-Team".to_owned(), "red".to_owned())];
        let helper = Some(helper.to_owned());
        let order = HttpServerConfig {
            url: url.clone(),
            headers,
            headers_command: helper,
            ..HttpServerConfig::default()
        };
        McpServer::start(McpServerConfig::new("web", McpServerTransport::Http(order)), &common)
    };
    let server = served(r#"echo '{"x-team": "blue", "Authorization": "Bearer fresh"}'"#);
    server.connect().await.unwrap();
    let all = requests.lock().unwrap().clone();
    let first = all.first().unwrap();
    assert!(first.has("x-team: blue") && first.has("authorization: bearer fresh"), "{first:?}");
    assert!(!first.has("red"), "{first:?}");
    for (helper, why) in [
        ("echo nonsense", "does not print a JSON object of strings"),
        ("echo broken >&2; exit 3", "failed: broken"),
    ] {
        let failure = served(helper).connect().await.unwrap_err().to_string();
        assert!(failure.contains(why), "{failure}");
    }
}

#[tokio::test]
async fn s7_a_refusal_asks_for_a_login() {
    let refusal = "www-authenticate: Bearer scope=\"read\"\r\n";
    let (url, _) = serve(Arc::new(move |_| reply("401 Unauthorized", refusal, ""))).await;
    let failure = open(&url).await.unwrap_err();
    assert!(matches!(&failure, McpFailure::NeedsLogin { challenge } if challenge.contains("read")));
}

#[tokio::test]
async fn s7_no_credentials_go_to_another_origin() {
    let (other, requests) = serve(Arc::new(|request| good(request, "other"))).await;
    let location = format!("location: {other}\r\n");
    let (url, _) = serve(Arc::new(move |_| reply("307 Temporary Redirect", &location, ""))).await;
    assert!(open(&url).await.is_err());
    assert!(requests.lock().unwrap().is_empty(), "the other was asked");
}

#[tokio::test]
async fn s7_an_expired_session_is_begun_again_once() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sessions);
    let (url, _) = serve(Arc::new(move |request| {
        if request.method() == "initialize" {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        let session = format!("s{}", counted.load(Ordering::SeqCst));
        // The first session is forgotten as soon as it is used.
        match request.method() == "tools/call" && request.has("mcp-session-id: s1") {
            true => reply("404 Not Found", "", ""),
            false => good(request, &session),
        }
    }))
    .await;
    let connection = open(&url).await.unwrap();
    let called =
        connection.call_tool("any", Map::new(), &McpCallOptions::with_limit(LONG)).await.unwrap();
    assert_eq!(format!("{:?}", called.parts), r#"[Text("s2")]"#);
    assert_eq!(sessions.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn s7_a_stream_that_is_cut_ends_the_call() {
    let (url, _) = serve(Arc::new(|request| match request.method() {
        "tools/call" => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
             connection: close\r\n\r\n: nothing comes\n\n"
            .to_owned(),
        _ => good(request, "s"),
    }))
    .await;
    let connection = open(&url).await.unwrap();
    let limit = Duration::from_secs(2);
    let failure = connection.call_tool("any", Map::new(), &McpCallOptions::with_limit(limit)).await;
    assert!(failure.is_err(), "{failure:?}");
}
