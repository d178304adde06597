//! One connection to one server: in this process, over standard streams, over HTTP.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod server_fixture;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use server_fixture::{ServerFixture, text};
use tokio::sync::mpsc;
use windlass_mcp::connection::{
    ElicitationFuture, ElicitationReply, ElicitationRequest, McpContent,
};
use windlass_mcp::{McpCallOptions, McpChannel, McpConnection, McpFailure, McpHost, ProtocolEra};

const LONG: Duration = Duration::from_secs(240);

struct NoUser;

impl McpHost for NoUser {}

/// Answers one message as a server inside this process would.
fn reply(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "calculator", "version": "1"},
        }),
        "tools/list" => json!({"tools": [
            {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            let numbers = &message["params"]["arguments"];
            let sum = numbers["a"].as_i64()? + numbers["b"].as_i64()?;
            json!({"content": [{"type": "text", "text": sum.to_string()}]})
        }
        _ => json!({}),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

#[tokio::test]
async fn a_server_inside_this_process_is_spoken_to_over_values() {
    let (outgoing, mut requests) = mpsc::channel::<Value>(8);
    let (answers, incoming) = mpsc::channel(8);
    tokio::spawn(async move {
        while let Some(message) = requests.recv().await {
            if let Some(reply) = reply(&message) {
                answers.send(reply).await.unwrap();
            }
        }
    });
    let channel = McpChannel::InProcess { outgoing, incoming };
    let open = McpConnection::open("calc", channel, ProtocolEra::Handshake, Arc::new(NoUser), LONG);
    let connection = open.await.unwrap();
    assert_eq!(connection.description().name, "calculator");
    let tools = connection.list_tools(LONG).await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["add"]);
    let arguments = Map::from_iter([("a".to_owned(), json!(2)), ("b".to_owned(), json!(3))]);
    let reply =
        connection.call_tool("add", arguments, &McpCallOptions::with_limit(LONG)).await.unwrap();
    assert_eq!(reply.parts, [McpContent::Text("5".to_owned())]);
}

#[tokio::test]
async fn a_process_gets_the_base_environment_and_its_own_entries() {
    let fixture = ServerFixture::new();
    let mut order = fixture.order("good");
    order.environment = vec![("TOKEN".to_owned(), "own".to_owned())];
    let connection = fixture.connect(&order).await.unwrap();
    assert_eq!(
        (connection.description().name.as_str(), connection.era()),
        ("fault", ProtocolEra::Handshake)
    );
    let seen = text(&connection, "environment", "").await.unwrap();
    let value = |name: &str| {
        let line = seen.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.map(str::to_owned)
    };
    assert_eq!(value("TOKEN").as_deref(), Some("own"));
    assert_eq!(value("PATH"), std::env::var("PATH").ok());
    assert_eq!(value("CLAUDE_PROJECT_DIR").map(PathBuf::from), Some(fixture.folder()));
    // What cargo sets for tests does not concern this one.
    assert_eq!(value("CARGO_PKG_NAME"), None);
    connection.close().await;
}

#[tokio::test]
async fn progress_roots_and_questions_go_through() {
    struct Present(PathBuf);
    impl McpHost for Present {
        fn roots(&self) -> Vec<PathBuf> {
            vec![self.0.clone()]
        }
        fn can_elicit(&self) -> bool {
            true
        }
        fn elicit(&self, question: ElicitationRequest) -> ElicitationFuture {
            let reply = json!({"colour": format!("{} {}", question.server, question.message)});
            Box::pin(std::future::ready(ElicitationReply::Accept(Some(reply))))
        }
    }
    let fixture = ServerFixture::new();
    let host = Arc::new(Present(PathBuf::from("/a b")));
    let connection = fixture.connect_as(&fixture.order("good"), host).await.unwrap();
    let (said, mut heard) = mpsc::channel(8);
    let mut terms = McpCallOptions::with_limit(LONG);
    terms.progress = windlass_tool::ProgressSender::from_sender(said);
    connection.call_tool("progress", Map::new(), &terms).await.unwrap();
    drop(terms);
    assert!(heard.recv().await.is_some_and(|words| words.ends_with("/3 working")));
    let roots = text(&connection, "roots", "").await.unwrap();
    assert!(roots.contains("file:///a%20b"), "{roots}");
    let reply = text(&connection, "ask", "").await.unwrap();
    assert!(reply.contains("fault Which colour?"), "{reply}");
}

#[tokio::test]
async fn an_error_of_the_server_is_told_in_its_words() {
    let fixture = ServerFixture::new();
    let connection = fixture.connect(&fixture.order("good")).await.unwrap();
    let refused = text(&connection, "refuse", "").await.unwrap_err();
    assert_eq!(refused, McpFailure::Refused { code: -32602, message: "not like this".to_owned() });
    let visit = text(&connection, "visit", "").await.unwrap_err().to_string();
    assert!(visit.contains("not yet; the user has to visit https://x.test/go"), "{visit}");
    let missing = fixture.connect(&fixture.named("no-such-program-at-all")).await.unwrap_err();
    assert!(missing.to_string().contains("there is no program `no-such-program-at-all` in PATH"));
}
