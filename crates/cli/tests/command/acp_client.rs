//! A client of the editors' protocol for tests: it offers what editors offer, and serves files as one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::fixture::{PATIENCE, TestDirs};

/// A client: sends requests, answers questions, and keeps everything it was told.
pub(crate) struct AcpClient {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    pub(crate) seen: Vec<Value>,
    count: u64,
    pub(crate) files: EditorBuffers,
}

/// Files as the editor has them.
#[derive(Default)]
pub(crate) struct EditorBuffers {
    /// Text that is not saved.
    pub(crate) unsaved: BTreeMap<PathBuf, String>,
    /// Writes are answered with this error.
    pub(crate) write_refusal: Option<String>,
    /// Nothing about files is answered.
    pub(crate) is_silent: bool,
    /// The methods that were called, with the path.
    pub(crate) calls: Vec<(String, PathBuf)>,
}

impl EditorBuffers {
    /// What to answer to a request about a file, as an editor would.
    fn serve(&mut self, method: &str, params: &Value) -> Option<Value> {
        let path = PathBuf::from(params["path"].as_str().expect("a path"));
        self.calls.push((method.to_owned(), path.clone()));
        if self.is_silent {
            return None;
        }
        let answer = match method {
            "fs/read_text_file" => match self.unsaved.get(&path) {
                Some(text) => Ok(json!({"content": text})),
                None => std::fs::read_to_string(&path)
                    .map(|content| json!({"content": content}))
                    .map_err(|error| error.to_string()),
            },
            "fs/write_text_file" => match &self.write_refusal {
                Some(why) => Err(why.clone()),
                None => {
                    self.unsaved.remove(&path);
                    let content = params["content"].as_str().expect("a text");
                    std::fs::write(&path, content).expect("it is written");
                    Ok(Value::Null)
                }
            },
            other => panic!("an unknown method: {other}"),
        };
        Some(match answer {
            Ok(result) => json!({"result": result}),
            Err(message) => json!({"error": {"code": -32603, "message": message}}),
        })
    }
}

impl AcpClient {
    pub(crate) fn start(dirs: &TestDirs, url: &str) -> Self {
        Self::spawn(&mut dirs.asking(url, &["acp"]))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take();
        let pipe = child.stdout.take().expect("a pipe");
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                let Ok(line) = line else { return };
                let frame = serde_json::from_str(&line).expect("every line is JSON");
                if said.send(frame).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, seen: Vec::new(), count: 0, files: EditorBuffers::default() }
    }

    /// With what real editors offer.
    pub(crate) fn initialize(&mut self) -> Value {
        let capabilities = json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
            "session": {"notices": {}, "compaction": {}},
            "elicitation": {"form": {}},
        });
        self.request(
            "initialize",
            &json!({
                "protocolVersion": 1, "clientCapabilities": capabilities,
            }),
        )
        .expect("it answers")
    }

    pub(crate) fn say(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        writeln!(stdin, "{line}").expect("it reads");
    }

    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.count += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}));
        self.count
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(frame) = self.lines.recv_timeout(left) else {
                panic!("it never came; there was {:#?}", self.seen);
            };
            assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
            self.seen.push(frame.clone());
            let method = frame["method"].as_str().unwrap_or_default();
            if method.starts_with("fs/")
                && let Some(mut answer) = self.files.serve(method, &frame["params"])
            {
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = frame["id"].clone();
                self.say(&answer);
            }
            if is_it(&frame) {
                return frame;
            }
        }
    }

    pub(crate) fn response(&mut self, id: u64) -> Result<Value, Value> {
        let frame = self.until(|frame| frame["id"] == id && frame.get("method").is_none());
        match frame.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(frame["result"].clone()),
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.send(method, params);
        self.response(id)
    }

    pub(crate) fn open(&mut self, cwd: &Path) -> String {
        let opened = self.request("session/new", &json!({"cwd": cwd, "mcpServers": []}));
        opened.expect("a session")["sessionId"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn send_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let id = self.send_prompt(session, text);
        self.response(id)
    }

    /// Waits for a question of the agent's, and answers it.
    pub(crate) fn answer(&mut self, method: &str, result: &Value) -> Value {
        let asked = self.until(|frame| frame["method"] == method && frame.get("id").is_some());
        self.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
        asked["params"].clone()
    }

    pub(crate) fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.seen.iter().filter(|frame| frame["method"] == "session/update");
        let updates = updates.map(|frame| frame["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The text of all chunks of a kind.
    pub(crate) fn text(&self, kind: &str) -> String {
        let chunks = self.updates(kind);
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// Closes the input and waits for the end.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        while let Ok(frame) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(frame);
        }
        self.child.wait().expect("a status").code()
    }
}

pub(crate) fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}
