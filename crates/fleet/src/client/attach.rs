//! Follows a session: for a terminal, for stream-json clients, or only for its result.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;

use super::gateway_client::GatewayClient;
use super::{json_of, text_of, to_terminal_text, to_unchecked_spec};
use crate::args::{AttachArgs, LogsArgs};

/// Which frames of a session to read.
#[derive(Clone, Copy, Debug, Default)]
struct FollowOptions {
    /// Go on until the session ends.
    follows: bool,
    /// Also pieces of answers while they are written.
    is_live: bool,
}

/// Reads frames after `position` from a gateway until the session ends, reconnecting after a break.
/// Returns the session's final state; the position is then that of the last frame.
async fn follow_frames(
    client: &GatewayClient,
    session: &str,
    position: &mut String,
    options: FollowOptions,
    mut on_frame: impl FnMut(&str),
) -> Result<Value, CommandError> {
    let FollowOptions { follows, is_live } = options;
    let mut failures = 0;
    loop {
        let mut response = match client.follow(session, position, follows, is_live).await {
            Ok(response) => response,
            Err(error)
                if position == FIRST || failures >= RECONNECTS_MAX || !error.is_transient() =>
            {
                return Err(error.into_command_error());
            }
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
                if let Some(id) = event.id {
                    *position = id;
                }
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
    id: Option<String>,
    is_end: bool,
    content: String,
}

impl StreamedEvent {
    fn parse(text: &str) -> Self {
        let mut event = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                // It becomes part of a URL.
                Some(("id", id)) if id.bytes().all(|it| it == b'-' || it.is_ascii_digit()) => {
                    event.id = Some(id.to_owned());
                }
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
    let options = FollowOptions { follows: true, is_live: false };
    let mut position = FIRST.to_owned();
    let end = follow_frames(client, session, &mut position, options, |frame| {
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        if text_of(&frame, "type") == "result" {
            result = frame;
        }
    })
    .await?;
    println!("{}", to_terminal_text(&text_of(&result, "result")));
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
    let options = FollowOptions { follows: args.follow, is_live: args.follow && !args.json };
    let mut position = FIRST.to_owned();
    let mut printer = FramePrinter::default();
    let end =
        follow_frames(&client, &args.session, &mut position, options, |frame| match args.json {
            true => println!("{frame}"),
            false => printer.print(frame),
        })
        .await?;
    if !args.json {
        printer.end_line();
        println!("({} {})", text_of(&end, "state"), to_terminal_text(&text_of(&end, "reason")));
    }
    Ok(Exit::SUCCESS)
}

/// Follows a session and forwards stdin: lines of text, or stream-json in both directions.
pub(crate) async fn run(args: AttachArgs) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let mut input = SessionInput::new(&args)?;
    if args.session.is_none() {
        input.start_session().await?;
    }
    let session = input.session.clone();
    let mut position = FIRST.to_owned();
    if args.new {
        let options = FollowOptions::default();
        follow_frames(&client, &session, &mut position, options, |_| {}).await?;
    }
    let is_stream = args.stream_json;
    let options =
        FollowOptions { follows: true, is_live: !is_stream || args.include_partial_messages };
    let mut printer = FramePrinter::default();
    let mut is_open = true;
    loop {
        // A message that was sent just when the session ended is answered in what follows.
        let mut has_sent = false;
        let end = {
            let following =
                follow_frames(&client, &session, &mut position, options, |frame| match is_stream {
                    true => println!("{frame}"),
                    false => printer.print(frame),
                });
            tokio::pin!(following);
            loop {
                tokio::select! {
                    end = &mut following => break end?,
                    forwarded = input.forward_next(), if is_open => {
                        let forwarded = forwarded?;
                        is_open = forwarded.is_some();
                        has_sent |= forwarded == Some(ForwardedInput::Message);
                    }
                }
            }
        };
        // A client of stream-json says the next thing when it has the answer to the last; what a pipe
        // brings may not have been read yet.
        while is_open && !has_sent && (is_stream || !std::io::stdin().is_terminal()) {
            let next = input.forward_next();
            let limit = if is_stream { Duration::MAX } else { INPUT_WAIT };
            let Ok(forwarded) = tokio::time::timeout(limit, next).await else { break };
            let forwarded = forwarded?;
            is_open = forwarded.is_some();
            has_sent = forwarded == Some(ForwardedInput::Message);
        }
        if !has_sent {
            printer.end_line();
            return match text_of(&end, "state").as_str() {
                "done" => Ok(Exit::SUCCESS),
                _ => Ok(Exit::FAILURE),
            };
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForwardedInput {
    Message,
    Other,
}

/// What is typed or sent for a session.
struct SessionInput<'a> {
    client: GatewayClient,
    args: &'a AttachArgs,
    session: String,
    lines: Lines<BufReader<Stdin>>,
}

impl<'a> SessionInput<'a> {
    fn new(args: &'a AttachArgs) -> Result<Self, CommandError> {
        Ok(Self {
            client: GatewayClient::new(&args.server)?,
            args,
            session: args.session.clone().unwrap_or_default(),
            lines: BufReader::new(tokio::io::stdin()).lines(),
        })
    }

    async fn next_frame(&mut self) -> Result<Option<Value>, CommandError> {
        // Cancel safe: what was read of a line stays in `lines`.
        while let Ok(Some(line)) = self.lines.next_line().await {
            if line.trim().is_empty() {
                continue;
            }
            return Ok(Some(match self.args.stream_json {
                true => serde_json::from_str(&line)
                    .map_err(|error| CommandError::usage(format!("standard input: {error}")))?,
                false => json!({ "type": "user", "message": { "content": line } }),
            }));
        }
        Ok(None)
    }

    /// Starts a session with the first message.
    async fn start_session(&mut self) -> Result<(), CommandError> {
        let spec = to_unchecked_spec(&self.args.spec);
        spec.check().map_err(CommandError::usage)?;
        while let Some(frame) = self.next_frame().await? {
            if text_of(&frame, "type") != "user" {
                answer_request(&frame);
                continue;
            }
            let prompt = read_content(frame.pointer("/message/content"));
            let priority = self.args.spec.priority;
            let body = json!({ "prompt": prompt, "spec": spec, "priority": priority });
            let created = self.client.post("/v1/sessions", &body).await?;
            self.session = text_of(&created, "id");
            eprintln!("session {}", self.session);
            return Ok(());
        }
        Err(CommandError::usage("standard input has no message to start a session with"))
    }

    /// Forwards the next line; `None` at the end of the input.
    async fn forward_next(&mut self) -> Result<Option<ForwardedInput>, CommandError> {
        let Some(frame) = self.next_frame().await? else { return Ok(None) };
        let path = format!("/v1/sessions/{}", self.session);
        match text_of(&frame, "type").as_str() {
            "user" => {
                let content = read_content(frame.pointer("/message/content"));
                let mut body = json!({ "content": content });
                if let (Some(uuid), Some(fields)) = (frame.get("uuid"), body.as_object_mut()) {
                    fields.insert("id".to_owned(), uuid.clone());
                }
                self.client.post(&format!("{path}/messages"), &body).await?;
                return Ok(Some(ForwardedInput::Message));
            }
            "control_response" => {
                let response = frame.get("response").cloned().unwrap_or_default();
                let given = response.get("response").cloned().unwrap_or_default();
                let body = json!({ "question": response.get("request_id"),
                    "behavior": given.get("behavior"), "message": given.get("message") });
                self.client.post(&format!("{path}/answers"), &body).await?;
            }
            "control_request" => {
                let request = frame.pointer("/request/subtype").and_then(Value::as_str);
                if request == Some("interrupt") {
                    self.client.post(&format!("{path}/cancel"), &json!({})).await?;
                }
                answer_request(&frame);
            }
            _ => {}
        }
        Ok(Some(ForwardedInput::Other))
    }
}

/// A client waits for the response to each of its control requests.
fn answer_request(frame: &Value) {
    if text_of(frame, "type") != "control_request" {
        return;
    }
    let id = frame.get("request_id");
    let request = frame.pointer("/request/subtype").and_then(Value::as_str).unwrap_or_default();
    let response = match request {
        "initialize" | "interrupt" => {
            json!({ "subtype": "success", "request_id": id, "response": {} })
        }
        other => json!({ "subtype": "error", "request_id": id,
            "error": format!("a session of a fleet does not take `{other}`") }),
    };
    println!("{}", json!({ "type": "control_response", "response": response }));
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

/// Prints one line per message, tool call, result or question, and answers while they are written.
#[derive(Default)]
struct FramePrinter {
    /// What of the answer is on the line that is being written.
    written: String,
}

impl FramePrinter {
    fn print(&mut self, frame: &str) {
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        let kind = text_of(&frame, "type");
        match kind.as_str() {
            "stream_event" => self.print_piece(&frame),
            "assistant" | "user" => {
                let content = frame.pointer("/message/content").cloned().unwrap_or_default();
                if let Value::String(text) = &content {
                    self.print_text(&kind, text);
                }
                for block in content.as_array().into_iter().flatten() {
                    match text_of(block, "type").as_str() {
                        "text" => self.print_text(&kind, &text_of(block, "text")),
                        "tool_use" => self.print_line(&format!(
                            "call: {} {}",
                            text_of(block, "name"),
                            json_of(block, "input")
                        )),
                        "tool_result" => {
                            self.print_line(&format!("result: {}", json_of(block, "content")));
                        }
                        _ => {}
                    }
                }
            }
            "control_request" => {
                self.print_line(&format!("question: {}", json_of(&frame, "request")));
            }
            "system" if text_of(&frame, "subtype") == "permission_answered" => {
                let [behavior, tool, by] =
                    ["behavior", "tool_name", "answered_by"].map(|name| text_of(&frame, name));
                self.print_line(&format!("{behavior}: {tool}, says {by}"));
            }
            "result" => {
                self.print_line(&format!("ended: {}", text_of(&frame, "terminal_reason")));
            }
            _ => {}
        }
    }

    fn print_piece(&mut self, frame: &Value) {
        let piece = frame.pointer("/event/delta/text").and_then(Value::as_str).unwrap_or_default();
        let is_own = frame.get("parent_tool_use_id").is_none_or(Value::is_null);
        if !is_own || piece.is_empty() {
            return;
        }
        if self.written.is_empty() {
            print!("assistant: ");
        }
        print!("{}", to_terminal_text(piece));
        self.written.push_str(piece);
        let _ = std::io::stdout().flush();
    }

    /// Prints a whole text, or the end of it if its beginning is there.
    fn print_text(&mut self, kind: &str, text: &str) {
        match text.strip_prefix(self.written.as_str()) {
            Some(rest) if kind == "assistant" && !self.written.is_empty() => {
                self.written.clear();
                println!("{}", to_terminal_text(rest));
            }
            _ => self.print_line(&format!("{kind}: {text}")),
        }
    }

    fn print_line(&mut self, line: &str) {
        self.end_line();
        println!("{}", to_terminal_text(line));
    }

    fn end_line(&mut self) {
        if !self.written.is_empty() {
            self.written.clear();
            println!();
        }
    }
}

/// The position before the first frame.
const FIRST: &str = "0";
const RECONNECTS_MAX: u32 = 60;
/// How long a pipe is waited for when the session has ended.
const INPUT_WAIT: Duration = Duration::from_secs(1);
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const EVENT_BYTES_MAX: usize = 128 << 20;
