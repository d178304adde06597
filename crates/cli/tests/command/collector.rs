//! A collector of telemetry for tests: keeps what it is sent, or misbehaves in one way.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// What the collector does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectorBehaviour {
    Accept,
    /// Takes the connection and says nothing.
    Silence,
    /// Answers after ten seconds.
    Slow,
    Fail,
    /// Asks to be left alone for a long time.
    Unavailable,
    /// An answer without an end.
    Endless,
    /// Breaks off in the middle of the request.
    Hangup,
}

#[derive(Clone, Debug)]
pub(crate) struct CollectedRequest {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl CollectedRequest {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

pub(crate) struct Collector {
    address: String,
    requests: Arc<Mutex<Vec<CollectedRequest>>>,
}

impl Collector {
    pub(crate) fn start(behaviour: CollectorBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, behaviour, &shared));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> &str {
        &self.address
    }

    pub(crate) fn requests(&self) -> Vec<CollectedRequest> {
        self.requests.lock().expect("requests").clone()
    }

    /// Everything in the lists of this name, in all requests to this path.
    fn collect(&self, path: &str, lists: [&str; 3]) -> Vec<Value> {
        let requests = self.requests();
        let requests = requests.iter().filter(|request| request.head.contains(path));
        let mut found: Vec<Value> = requests.map(CollectedRequest::json).collect();
        for list in lists {
            let inner = found.iter().filter_map(|value| value[list].as_array());
            found = inner.flatten().cloned().collect();
        }
        found
    }

    pub(crate) fn spans(&self) -> Vec<Value> {
        self.collect("/v1/traces", ["resourceSpans", "scopeSpans", "spans"])
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.collect("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"])
    }

    pub(crate) fn metrics(&self) -> Vec<Value> {
        self.collect("/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"])
    }
}

/// An attribute of a span, an event or a point, as text.
pub(crate) fn attribute(value: &Value, name: &str) -> Option<String> {
    let list = value["attributes"].as_array()?;
    let found = list.iter().find(|one| one["key"] == name)?;
    let value = found["value"].as_object()?.values().next()?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn serve(
    mut stream: TcpStream,
    behaviour: CollectorBehaviour,
    requests: &Mutex<Vec<CollectedRequest>>,
) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    while let Some(request) = read_request(&mut stream, behaviour) {
        requests.lock().expect("requests").push(request);
        let answer: &[u8] = match behaviour {
            CollectorBehaviour::Accept => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            CollectorBehaviour::Fail => {
                b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\n\r\noops"
            }
            CollectorBehaviour::Unavailable => {
                b"HTTP/1.1 503 Busy\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n"
            }
            CollectorBehaviour::Slow => {
                // The process under test is gone by then, which ends the wait.
                let wait = Some(Duration::from_secs(10));
                stream.set_read_timeout(wait).expect("a timeout");
                let _ = stream.read(&mut [0]);
                b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
            }
            CollectorBehaviour::Silence => {
                let _ = stream.read(&mut [0]);
                return;
            }
            CollectorBehaviour::Endless => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n");
                while stream.write_all(&[b'x'; 64 * 1024]).is_ok() {}
                return;
            }
            CollectorBehaviour::Hangup => return,
        };
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

fn read_request(stream: &mut TcpStream, behaviour: CollectorBehaviour) -> Option<CollectedRequest> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 64 * 1024];
    loop {
        let read = stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
        if behaviour == CollectorBehaviour::Hangup {
            return None;
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            line.to_lowercase().strip_prefix("content-length: ")?.trim().parse::<usize>().ok()
        });
        let body = &bytes[end + 4..];
        if body.len() >= length.unwrap_or(0) {
            return Some(CollectedRequest { head, body: body.to_vec() });
        }
    }
}
