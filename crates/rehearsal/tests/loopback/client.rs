//! A client that shows what came over the socket, and how it ended. Does not mend anything.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script};

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As HTTP demands.
    Complete,
    /// The connection was closed before that.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing more came for as long as the client cared to wait, and the connection is open.
    Silent,
}

/// One response.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `None` if not even a head came.
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    /// Without the framing of chunks.
    pub(crate) body: Vec<u8>,
    /// The sizes of the chunks it came in, if it came in chunks.
    pub(crate) chunks: Vec<usize>,
    pub(crate) end: End,
    /// The connection ended inside a chunk that had been announced.
    pub(crate) in_chunk: bool,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// The payloads of the whole events, those that are JSON.
    pub(crate) fn payloads(&self) -> Vec<Value> {
        let text = self.text();
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let lines = whole.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The text of an answer over the messages wire.
    pub(crate) fn said(&self) -> String {
        let payloads = self.payloads();
        let deltas = payloads.iter().filter_map(|payload| payload.pointer("/delta/text"));
        deltas.filter_map(Value::as_str).collect()
    }
}

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
    /// Why there is no more to read, once that is so.
    ended: Option<End>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("set a deadline");
        stream.set_nodelay(true).expect("send at once");
        Self { stream, unread: Vec::new(), ended: None }
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("send");
    }

    /// Sends a request with a body and reads its response.
    pub(crate) fn post(&mut self, path: &str, extra: &[(&str, &str)], body: &str) -> Seen {
        let mut head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in extra {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        self.send(head.as_bytes());
        self.send(body.as_bytes());
        self.read()
    }

    /// Asks over the messages wire, and leaves the response to be read.
    pub(crate) fn put(&mut self, body: &Value) {
        let body = body.to_string();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send(head.as_bytes());
        self.send(body.as_bytes());
    }

    /// Asks over the messages wire.
    pub(crate) fn ask(&mut self, body: &Value) -> Seen {
        self.post("/v1/messages", &[], &body.to_string())
    }

    /// Reads one response.
    pub(crate) fn read(&mut self) -> Seen {
        let mut seen = Seen {
            status: None,
            headers: Vec::new(),
            body: Vec::new(),
            chunks: Vec::new(),
            end: End::Complete,
            in_chunk: false,
        };
        let Some(head) = self.until(b"\r\n\r\n") else {
            seen.end = self.ended.unwrap_or(End::Closed);
            return seen;
        };
        let head = String::from_utf8(head).expect("a head in ASCII");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        seen.status = status.parse().ok();
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").expect("a header");
            seen.headers.push((name.to_owned(), value.to_owned()));
        }
        if seen.header("transfer-encoding") == Some("chunked") {
            self.chunks(&mut seen);
        } else {
            let bytes = seen.header("content-length").and_then(|text| text.parse().ok());
            let (body, whole) = self.up_to(bytes.unwrap_or(0));
            seen.body = body;
            if !whole {
                seen.end = self.ended.unwrap_or(End::Closed);
            }
        }
        seen
    }

    /// Reads up to and with these bytes, whatever stands before them.
    pub(crate) fn wait_for(&mut self, bytes: &[u8]) -> bool {
        self.until(bytes).is_some()
    }

    /// What comes within a short while: more bytes, or an end. Silence is the end of patience.
    pub(crate) fn listen(&mut self) -> Result<Vec<u8>, End> {
        let while_silent = Duration::from_millis(100);
        self.stream.set_read_timeout(Some(while_silent)).expect("set a deadline");
        let more = if self.unread.is_empty() { self.more() } else { Some(()) };
        self.stream.set_read_timeout(Some(PATIENCE)).expect("set a deadline");
        more.map(|()| std::mem::take(&mut self.unread)).ok_or(self.ended.unwrap_or(End::Closed))
    }

    fn chunks(&mut self, seen: &mut Seen) {
        while let Some(line) = self.until(b"\r\n") {
            let line = String::from_utf8(line).expect("a chunk size");
            let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk size");
            let (part, whole) = self.up_to(size);
            seen.body.extend_from_slice(&part);
            seen.chunks.extend((size > 0).then_some(size));
            if !whole {
                seen.in_chunk = true;
                break;
            }
            let (end, whole) = self.up_to(2);
            if !whole {
                break;
            }
            assert_eq!(end, b"\r\n", "a chunk must end where it said");
            if size == 0 {
                return;
            }
        }
        seen.end = self.ended.unwrap_or(End::Closed);
    }

    fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|part| part == mark) {
                return Some(self.unread.drain(..at + mark.len()).collect());
            }
            self.more()?;
        }
    }

    fn up_to(&mut self, bytes: usize) -> (Vec<u8>, bool) {
        while self.unread.len() < bytes {
            if self.more().is_none() {
                return (std::mem::take(&mut self.unread), false);
            }
        }
        (self.unread.drain(..bytes).collect(), true)
    }

    fn more(&mut self) -> Option<()> {
        let mut part = [0; 16 * 1024];
        let end = match self.stream.read(&mut part) {
            Ok(0) => End::Closed,
            Ok(bytes) => {
                self.unread.extend_from_slice(&part[..bytes]);
                return Some(());
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => End::Silent,
                ErrorKind::ConnectionReset => End::Reset,
                other => panic!("reading failed: {other}"),
            },
        };
        self.ended = Some(end);
        None
    }
}

/// A server on a thread of its own.
pub(crate) fn play(script: Script) -> Rehearsal {
    Rehearsal::start_blocking(script, RehearsalOptions::default()).expect("start")
}

/// A server that plays one answer, and what comes of asking it.
pub(crate) fn ask_once(script: Script) -> Seen {
    let rehearsal = play(script);
    Client::connect(rehearsal.address()).ask(&prompt("hello"))
}

/// A legal request that wants a stream.
pub(crate) fn prompt(text: &str) -> Value {
    json!({
        "model": "some-model",
        "max_tokens": 100,
        "stream": true,
        "messages": [{"role": "user", "content": text}],
    })
}

/// A legal request after one tool call.
pub(crate) fn prompt_with_result(result: &str, text: &str) -> Value {
    let mut body = prompt("begin");
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
    ]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": result}]},
        {"type": "text", "text": text},
    ]}));
    body
}

/// Longer than any answer here takes; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(240);
