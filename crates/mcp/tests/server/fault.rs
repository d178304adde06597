//! A server over standard streams that can be told to misbehave. Not shipped.
//!
//! The first argument says how it begins (`good`, `hang`, `banner`, `flood`, `endless`), the name of
//! the tool that is called says the rest. It knows only the revisions with a handshake.
#![allow(clippy::indexing_slicing, clippy::expect_used, reason = "only tests start it")]

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    match mode.as_str() {
        "hang" => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        "banner" => line("Welcome to the server!\n\n** ready **"),
        "flood" => drop(std::thread::spawn(flood)),
        _ => {}
    }
    let mut version = 1;
    let mut late = None;
    for text in std::io::stdin().lock().lines() {
        let Ok(text) = text else { return };
        let Ok(message) = serde_json::from_str::<Value>(&text) else { continue };
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            continue;
        };
        let reply = match method {
            "initialize" => json!({"result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "fault", "version": "1.0.0"},
            }}),
            "ping" => json!({"result": {}}),
            "tools/list" => json!({"result": tools(&mode, version, &message["params"]["cursor"])}),
            "tools/call" if message["params"]["name"] == "huge" => {
                huge(id);
                continue;
            }
            // Ignores that it was cancelled, and answers when something else is asked.
            "tools/call" if message["params"]["name"] == "late" => {
                late = Some(id.clone());
                continue;
            }
            "tools/call" => {
                if let Some(id) = late.take() {
                    answer(&id, said("too late"));
                }
                call(&message, &mut version)
            }
            "resources/list" => json!({"result": {"resources": [
                {"uri": "memo:one", "name": "one", "mimeType": "text/plain"}]}}),
            "resources/read" => json!({"result": {"contents": [
                {"uri": "memo:one", "text": "the first memo"}]}}),
            "prompts/list" => json!({"result": {"prompts": [{"name": "greet",
                "description": "Greets", "arguments": [{"name": "whom", "required": true}]}]}}),
            "prompts/get" => json!({"result": {"messages": [{"role": "user", "content":
                {"type": "text", "text": format!("Greet {}.", message["params"]["arguments"]["whom"])}}]}}),
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        answer(id, reply);
    }
}

fn tools(mode: &str, version: u32, cursor: &Value) -> Value {
    let tool = |name: &str, hints: Value| {
        json!({"name": name, "description": format!("Does {name}."), "annotations": hints,
               "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}})
    };
    if mode == "endless" {
        let page: u64 = cursor.as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
        let names =
            (0..100).map(|server_fixture| tool(&format!("t{page}_{server_fixture}"), json!({})));
        return json!({"tools": names.collect::<Vec<_>>(), "nextCursor": (page + 1).to_string()});
    }
    if mode == "wide" {
        let names =
            (0..25).map(|server_fixture| tool(&format!("tool_number_{server_fixture}"), json!({})));
        return json!({"tools": names.collect::<Vec<_>>()});
    }
    let reading = json!({"readOnlyHint": true});
    let echo = if version > 1 { "echo to somebody else" } else { "echo" };
    let mut all: Vec<Value> = ["echo", "environment", "picture", "structured", "progress", "link"]
        .map(|name| tool(name, reading.clone()))
        .to_vec();
    all.extend(
        [
            "fail", "refuse", "crash", "garbage", "huge", "long", "deaf", "family", "change",
            "stray", "roots", "ask", "late",
        ]
        .map(|name| tool(name, json!({}))),
    );
    if version > 1 {
        all.push(tool("newcomer", json!({})));
    }
    all[0]["description"] = json!(format!("Does {echo}."));
    json!({"tools": all})
}

fn call(message: &Value, version: &mut u32) -> Value {
    let params = &message["params"];
    let text = params["arguments"]["text"].as_str().unwrap_or_default();
    match params["name"].as_str().unwrap_or_default() {
        "echo" | "newcomer" => said(text),
        "environment" => {
            let all: Vec<String> = std::env::vars().map(|(k, v)| format!("{k}={v}")).collect();
            said(&all.join("\n"))
        }
        "picture" => json!({"result": {"content": [
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}}),
        "structured" => json!({"result": {"content": [], "structuredContent": {"sum": 3}}}),
        "link" => json!({"result": {"content": [
            {"type": "resource_link", "uri": "memo:one", "name": "one"},
            {"type": "resource", "resource": {"uri": "memo:one", "text": "inside"}}]}}),
        "progress" => {
            for step in 1..=3 {
                line(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": params["_meta"]["progressToken"], "progress": step, "total": 3,
                    "message": "working"}})
                    .to_string(),
                );
            }
            // A round trip, so that progress is heard before the call is over.
            said(&http_request("roots/list", &json!({})))
        }
        "fail" => {
            json!({"result": {"content": [{"type": "text", "text": "it broke"}], "isError": true}})
        }
        "visit" => {
            json!({"error": {"code": -32042, "message": "not yet", "data": {"elicitations": [
            {"mode": "url", "elicitationId": "e", "url": "https://x.test/go", "message": "Go."}]}}})
        }
        "refuse" => json!({"error": {"code": -32602, "message": "not like this"}}),
        "crash" => {
            eprintln!("out of memory at line 7");
            std::process::exit(3)
        }
        "garbage" => {
            let lines: usize = text.parse().unwrap_or(5);
            for number in 0..lines {
                line(&format!("debug: step {number}"));
            }
            said("after the garbage")
        }
        "stray" => {
            answer(&json!(987_654), said("to nobody"));
            answer(&message["id"], said("first"));
            said("second")
        }
        "long" => said(&"a line of text\n".repeat(40_000)),
        "deaf" => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        "family" => said(&family()),
        "change" => {
            *version += 1;
            line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            said("changed")
        }
        "roots" => said(&http_request("roots/list", &json!({}))),
        "ask" => said(&http_request(
            "elicitation/create",
            &json!({"message": "Which colour?",
            "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}),
        )),
        other => json!({"error": {"code": -32602, "message": format!("no tool {other}")}}),
    }
}

/// Asks the client something in mid call and reads until it answers.
fn http_request(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": "q1", "method": method, "params": params}).to_string());
    // The lock is held by the main loop's iterator, so this reads from the descriptor behind it.
    let mut bytes = Vec::new();
    let mut input = std::fs::File::open("/dev/stdin").expect("standard input");
    let mut byte = [0];
    while std::io::Read::read(&mut input, &mut byte).expect("readable") == 1 {
        if byte[0] == b'\n' {
            let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            if message["id"] == "q1" {
                return message["result"].to_string();
            }
            bytes.clear();
        } else {
            bytes.push(byte[0]);
        }
    }
    "nobody answered".to_owned()
}

/// Leaves two children behind, one of them in a session of its own.
fn family() -> String {
    let mut plain = Command::new("sleep");
    plain.arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut apart = Command::new("setsid");
    apart.args(["sleep", "3601"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ids = [plain, apart].map(|mut child| child.spawn().expect("a child").id().to_string());
    ids.join(" ")
}

fn flood() {
    let text = json!({"jsonrpc": "2.0", "method": "notifications/message",
                      "params": {"level": "info", "data": "tick"}})
    .to_string();
    loop {
        line(&text);
    }
}

fn said(text: &str) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}]}})
}

fn answer(id: &Value, mut reply: Value) {
    reply["jsonrpc"] = json!("2.0");
    reply["id"] = id.clone();
    line(&reply.to_string());
}

fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// An answer of a hundred megabytes.
fn huge(id: &Value) {
    let mut out = std::io::stdout().lock();
    let head = r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":""#;
    let _ = out.write_all(head.as_bytes());
    let chunk = vec![b'x'; 1024 * 1024];
    for _ in 0..100 {
        let _ = out.write_all(&chunk);
    }
    let _ = writeln!(out, r#""}}]}},"id":{id}}}"#);
    let _ = out.flush();
}
