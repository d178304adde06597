//! Follows a session: for a terminal, for stream-json clients, or only for its result.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;

use super::gateway_client::GatewayClient;
use super::{json_of, text_of};
use crate::args::{AttachArgs, LogsArgs};

/// Reads frames from a gateway until the session ends, reconnecting after a break. Returns the
/// session's final state.
async fn follow_frames(
    client: &GatewayClient,
    session: &str,
    follows: bool,
    mut on_frame: impl FnMut(&str),
) -> Result<Value, CommandError> {
    let mut after = 0;
    let mut failures = 0;
    loop {
        let mut response = match client.follow(session, after, follows).await {
            Ok(response) => response,
            Err(error) if after == 0 || failures >= RECONNECTS_MAX => return Err(error),
            Err(_) => {
                failures += 1;
                tokio::time::sleep(RECONNECT_PAUSE).await;
                continue;
            }
        };
        let mut buffer = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            buffer.extend_from_slice(&piece);
            while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = buffer.drain(..end + 2).collect();
                let event = StreamedEvent::parse(&String::from_utf8_lossy(&event));
                failures = 0;
                after = event.id.unwrap_or(after);
                match event.is_end {
                    true => return Ok(serde_json::from_str(&event.content).unwrap_or_default()),
                    false if event.content.is_empty() => {}
                    false => on_frame(&event.content),
                }
            }
            if buffer.len() > EVENT_BYTES_MAX {
                return Err(CommandError::failure("the gateway sends an event that is too long"));
            }
        }
        failures += 1;
        if failures > RECONNECTS_MAX {
            return Err(CommandError::failure("the gateway breaks off again and again"));
        }
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

#[derive(Default)]
struct StreamedEvent {
    id: Option<u64>,
    is_end: bool,
    content: String,
}

impl StreamedEvent {
    fn parse(text: &str) -> Self {
        let mut event = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("event", name)) => event.is_end = name == "end",
                Some(("data", content)) => event.content.push_str(content),
                _ => {}
            }
        }
        event
    }
}

/// Waits for the session to end and prints its result.
pub(crate) async fn wait_for_result(
    client: &GatewayClient,
    session: &str,
) -> Result<Exit, CommandError> {
    let mut result = Value::Null;
    let end = follow_frames(client, session, true, |frame| {
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        if text_of(&frame, "type") == "result" {
            result = frame;
        }
    })
    .await?;
    println!("{}", text_of(&result, "result"));
    match text_of(&end, "state").as_str() {
        "done" => Ok(Exit::SUCCESS),
        state => {
            let reason = text_of(&end, "reason");
            Err(CommandError::failure(format!("the session is {state}: {reason}")))
        }
    }
}

pub(crate) async fn logs(args: LogsArgs) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let end = follow_frames(&client, &args.session, args.follow, |frame| match args.json {
        true => println!("{frame}"),
        false => print_frame(frame),
    })
    .await?;
    if !args.json {
        println!("({} {})", text_of(&end, "state"), text_of(&end, "reason"));
    }
    Ok(Exit::SUCCESS)
}

/// Follows a session and forwards stdin: lines of text, or stream-json in both directions.
pub(crate) async fn run(args: AttachArgs) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let is_stream = args.stream_json;
    let following = follow_frames(&client, &args.session, true, |frame| match is_stream {
        true => println!("{frame}"),
        false => print_frame(frame),
    });
    let sending = send_input(&args);
    tokio::pin!(following);
    let end = tokio::select! {
        end = &mut following => end?,
        sent = sending => {
            sent?;
            following.await?
        }
    };
    match text_of(&end, "state").as_str() {
        "done" => Ok(Exit::SUCCESS),
        _ => Ok(Exit::FAILURE),
    }
}

async fn send_input(args: &AttachArgs) -> Result<(), CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let path = format!("/v1/sessions/{}", args.session);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.trim().is_empty() {
            continue;
        }
        let frame: Value = match args.stream_json {
            true => serde_json::from_str(&line)
                .map_err(|error| CommandError::usage(format!("standard input: {error}")))?,
            false => json!({ "type": "user", "message": { "content": line } }),
        };
        match text_of(&frame, "type").as_str() {
            "user" => {
                let content = read_content(frame.pointer("/message/content"));
                let mut body = json!({ "content": content });
                if let (Some(uuid), Some(fields)) = (frame.get("uuid"), body.as_object_mut()) {
                    fields.insert("id".to_owned(), uuid.clone());
                }
                client.post(&format!("{path}/messages"), &body).await?;
            }
            "control_response" => {
                let response = frame.get("response").cloned().unwrap_or_default();
                let given = response.get("response").cloned().unwrap_or_default();
                let body = json!({ "question": response.get("request_id"),
                    "behavior": given.get("behavior"), "message": given.get("message") });
                client.post(&format!("{path}/answers"), &body).await?;
            }
            "control_request" => {
                let request = frame.pointer("/request/subtype").and_then(Value::as_str);
                if request == Some("interrupt") {
                    client.post(&format!("{path}/cancel"), &json!({})).await?;
                }
                // An SDK client waits for the response to its first control request.
                let answer = json!({ "type": "control_response", "response": { "subtype": "success",
                    "request_id": frame.get("request_id"), "response": {} } });
                println!("{answer}");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The text of a message: a string, or the text blocks joined.
fn read_content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Prints one line per message, tool call, result or question.
fn print_frame(frame: &str) {
    let frame: Value = serde_json::from_str(frame).unwrap_or_default();
    let kind = text_of(&frame, "type");
    match kind.as_str() {
        "user" | "assistant" => {
            let content = frame.pointer("/message/content").cloned().unwrap_or_default();
            if let Value::String(text) = &content {
                println!("{kind}: {text}");
            }
            for block in content.as_array().into_iter().flatten() {
                match text_of(block, "type").as_str() {
                    "text" => println!("{kind}: {}", text_of(block, "text")),
                    "tool_use" => {
                        println!("call: {} {}", text_of(block, "name"), json_of(block, "input"));
                    }
                    "tool_result" => println!("result: {}", json_of(block, "content")),
                    _ => {}
                }
            }
        }
        "control_request" => println!("question: {}", json_of(&frame, "request")),
        "system" if text_of(&frame, "subtype") == "permission_answered" => {
            let [behavior, tool, by] =
                ["behavior", "tool_name", "answered_by"].map(|name| text_of(&frame, name));
            println!("{behavior}: {tool}, says {by}");
        }
        "result" => println!("ended: {}", text_of(&frame, "terminal_reason")),
        _ => {}
    }
}

const RECONNECTS_MAX: u32 = 60;
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const EVENT_BYTES_MAX: usize = 128 << 20;
