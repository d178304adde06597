//! Text files through the editor, where it offers that: what a call reads is what the editor shows, and
//! what it writes the editor can undo. Rules and questions come first, as for the disk.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use windlass_driver::{EditorFiles, EditorWrite};

use super::editor_questions::EditorQuestions;
use crate::rpc::RpcError;

#[derive(Debug)]
pub(super) struct ClientFiles {
    questions: EditorQuestions,
    runtime: Handle,
    /// It did not answer once. Every later call would wait as long.
    is_silent: AtomicBool,
}

/// What a client said to a request, or that it said nothing in time.
enum FileReply {
    Answered(Result<Value, RpcError>),
    Nothing,
}

impl ClientFiles {
    /// `None` if the client offers neither reading nor writing. Must be called in a runtime.
    pub(super) fn new(questions: EditorQuestions) -> Option<Self> {
        let capabilities = &questions.capabilities;
        let is_offered = capabilities.reads_files() || capabilities.writes_files();
        is_offered.then(|| Self {
            questions,
            runtime: Handle::current(),
            is_silent: AtomicBool::new(false),
        })
    }

    /// The path as the client knows it.
    fn to_client_path(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.questions.cwd);
        let spelled = below
            .map_or_else(|_| path.to_path_buf(), |below| self.questions.client_cwd.join(below));
        spelled.to_string_lossy().into_owned()
    }

    /// Called on threads that may block, never on one that drives the runtime.
    fn request(&self, method: &'static str, params: Value) -> FileReply {
        if self.is_silent.load(Ordering::Relaxed) {
            return FileReply::Nothing;
        }
        let client = self.questions.client.clone();
        let (sender, reply) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            let asked = client.request(method, &params, ANSWER_MAX * 2);
            let reply = match tokio::time::timeout(ANSWER_MAX, asked).await {
                Ok(outcome) => FileReply::Answered(outcome),
                Err(_) => FileReply::Nothing,
            };
            // The thread that asked may be gone with the process.
            let _ = sender.send(reply);
        });
        let reply = reply.recv_timeout(ANSWER_MAX * 2).unwrap_or(FileReply::Nothing);
        if matches!(reply, FileReply::Nothing) && !self.is_silent.swap(true, Ordering::Relaxed) {
            let text = format!(
                "The editor did not answer {method} in {} s; files are read and written on disk from \
                 now on.",
                ANSWER_MAX.as_secs()
            );
            self.questions.send_warning(&text);
        }
        reply
    }
}

impl EditorFiles for ClientFiles {
    fn read_text(&self, path: &Path) -> Option<String> {
        if !self.questions.capabilities.reads_files() {
            return None;
        }
        let params =
            json!({ "sessionId": self.questions.session_id, "path": self.to_client_path(path) });
        match self.request("fs/read_text_file", params) {
            FileReply::Answered(Ok(mut answer)) => match answer.get_mut("content") {
                Some(Value::String(text)) => Some(std::mem::take(text)),
                Some(_) | None => None,
            },
            FileReply::Answered(Err(_)) | FileReply::Nothing => None,
        }
    }

    fn write_text(&self, path: &Path, text: &str) -> EditorWrite {
        let is_silent = self.is_silent.load(Ordering::Relaxed);
        if is_silent || !self.questions.capabilities.writes_files() {
            return EditorWrite::NotOffered;
        }
        let params = json!({
            "sessionId": self.questions.session_id,
            "path": self.to_client_path(path),
            "content": text,
        });
        match self.request("fs/write_text_file", params) {
            FileReply::Answered(Ok(_)) => EditorWrite::Written,
            FileReply::Answered(Err(error)) => EditorWrite::Refused(error.message),
            FileReply::Nothing => EditorWrite::Unanswered,
        }
    }
}

/// How long an editor may take for one file.
const ANSWER_MAX: Duration = Duration::from_secs(10);
