//! The binary driven line by line, as programs drive it. Every line that is read is held against the
//! promise to clients: it is short enough, and fits the schema in `docs/wire`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fixture::{PATIENCE, TestDirs};
use windlass_stream_json::json_schema::CheckedSchema;

/// Both ways over lines.
pub(crate) const LINES: [&str; 4] =
    ["--input-format", "stream-json", "--output-format", "stream-json"];

static FRAMES: LazyLock<CheckedSchema> = LazyLock::new(|| {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire");
    let text = std::fs::read_to_string(docs.join("stream_json.output.schema.json"));
    let value = serde_json::from_str(&text.expect("a file")).expect("JSON");
    CheckedSchema::new(value).expect("a schema")
});

/// The binary under way.
pub(crate) struct StreamJsonProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    /// Everything that was read so far.
    pub(crate) seen: Vec<Value>,
    count: u32,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct FinishedProcess {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// Everything that was said, from the start.
    pub(crate) frames: Vec<Value>,
}

impl FinishedProcess {
    pub(crate) fn results(&self) -> Vec<&Value> {
        self.frames.iter().filter(|frame| frame["type"] == "result").collect()
    }
}

impl StreamJsonProcess {
    /// Against a server, with these flags besides.
    pub(crate) fn start(dirs: &TestDirs, url: &str, flags: &[&str]) -> Self {
        let arguments: Vec<&str> = LINES.iter().chain(flags).copied().collect();
        Self::spawn(&mut dirs.asking(url, &arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut driven = Self::unread(command);
        driven.read();
        driven
    }

    /// With a reader that does not read yet.
    pub(crate) fn unread(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take();
        let mut pipe = child.stderr.take().expect("a pipe");
        let (said, stderr) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.read_to_string(&mut text);
            let _ = said.send(text);
        });
        let (_, lines) = channel();
        Self { child, stdin, lines, stderr, seen: Vec::new(), count: 0 }
    }

    /// Begins to read.
    pub(crate) fn read(&mut self) {
        let pipe = self.child.stdout.take().expect("a pipe");
        let (said, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                if said.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        self.lines = lines;
    }

    /// The most memory it has had, in bytes.
    pub(crate) fn memory_max(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it is there");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        let kilobytes = peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
        kilobytes * 1024
    }

    /// Nobody reads any more.
    pub(crate) fn close_output(&mut self) {
        drop(self.child.stdout.take());
    }

    pub(crate) fn say(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// Its input, for a writer that may be held up.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.stdin.take().expect("its input is open")
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.say(&json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Value, String> {
        self.count += 1;
        let id = format!("r{}", self.count);
        self.say(&json!({"type": "control_request", "request_id": id, "request": request}));
        let frame = self.until(|frame| {
            frame["type"] == "control_response" && frame["response"]["request_id"] == id
        });
        match frame["response"]["subtype"].as_str() {
            Some("success") => Ok(frame["response"]["response"].clone()),
            _ => Err(frame["response"]["error"].as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Answers what it asked.
    pub(crate) fn answer(&mut self, request: &Value, response: &Value) {
        let id = &request["request_id"];
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.say(&json!({"type": "control_response", "response": response}));
    }

    /// Waits for a frame like this.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    let frame = checked(&line);
                    self.seen.push(frame.clone());
                    if is_it(&frame) {
                        return frame;
                    }
                }
                Err(_) => {
                    let said = self.stderr.recv_timeout(PATIENCE).unwrap_or_default();
                    panic!("it never came; there was {:#?}, and {said}", self.seen);
                }
            }
        }
    }

    /// Waits for the next result.
    pub(crate) fn result(&mut self) -> Value {
        self.until(|frame| frame["type"] == "result")
    }

    /// Waits for a question of this kind.
    pub(crate) fn asked(&mut self, subtype: &str) -> Value {
        self.until(|frame| {
            frame["type"] == "control_request" && frame["request"]["subtype"] == subtype
        })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    /// Ends its input, reads everything, and waits for its end.
    pub(crate) fn end(mut self) -> FinishedProcess {
        drop(self.stdin.take());
        self.over()
    }

    /// Reads everything and waits for its end, with its input as it is.
    pub(crate) fn over(mut self) -> FinishedProcess {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(checked(&line));
        }
        let (done, over) = channel();
        let pid = Pid::from_child(&self.child);
        std::thread::spawn(move || done.send(self.child.wait()));
        let status = over.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            panic!("it does not end; it said {:#?}", self.seen);
        });
        let stderr = self.stderr.recv_timeout(PATIENCE).unwrap_or_default();
        FinishedProcess { code: status.expect("a status").code(), stderr, frames: self.seen }
    }
}

/// One line, held against what is promised.
fn checked(line: &str) -> Value {
    assert!(line.len() < 1 << 20, "a line of {} bytes", line.len());
    let frame: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let misfits = FRAMES.validate(&frame);
    assert!(misfits.is_empty(), "{misfits:?}: {frame:#}");
    frame
}
