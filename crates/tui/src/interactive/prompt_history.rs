//! Prompts of all sessions of this directory, for the arrow keys and the search; and what happened in a
//! session that is resumed.

use std::collections::VecDeque;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use windlass_assembly::session::journal_replay::explain_journal;
use windlass_vocabulary::{MessageOrigin, Notice};

/// The file of earlier prompts; none if sessions are not persisted.
#[derive(Debug)]
pub(super) struct PromptHistory {
    path: Option<PathBuf>,
    project: String,
}

impl PromptHistory {
    pub(super) fn new(is_persisted: bool, cwd: &Path) -> Self {
        let path = super::find_state_directory()
            .filter(|_| is_persisted)
            .map(|state| state.join("prompts.jsonl"));
        Self { path, project: cwd.to_string_lossy().into_owned() }
    }

    /// Prompts of this directory, oldest first. Skips lines that cannot be parsed.
    pub(super) fn load_prompts(&self) -> Vec<String> {
        let Some(text) = self.path.as_deref().and_then(read_tail) else { return Vec::new() };
        let mut prompts: Vec<String> = Vec::new();
        for line in text.lines() {
            let Ok(Value::Object(row)) = serde_json::from_str(line) else { continue };
            let field = |name: &str| row.get(name).and_then(Value::as_str);
            if field("project") == Some(&self.project)
                && let Some(prompt) = field("prompt")
            {
                // A repeated prompt is kept only at its last position.
                prompts.retain(|known| known != prompt);
                prompts.push(prompt.to_owned());
            }
        }
        let excess = prompts.len().saturating_sub(PROMPTS_MAX);
        prompts.drain(..excess);
        prompts
    }

    /// Errors are ignored: a history that cannot be written must not disturb the session.
    pub(super) fn append_prompt(&self, prompt: &str) {
        if prompt.len() > PROMPT_BYTES_MAX {
            return;
        }
        let Some(path) = &self.path else { return };
        if let Some(folder) = path.parent() {
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        let line = format!("{}\n", json!({"project": self.project, "prompt": prompt}));
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        if let Ok(mut file) = file {
            let _ = file.write_all(line.as_bytes());
            if file.metadata().is_ok_and(|metadata| metadata.len() > FILE_MAX) {
                truncate_history_file(path);
            }
        }
    }
}

fn read_tail(path: &Path) -> Option<String> {
    // A pipe at this place would be waited for.
    let mut file = path.is_file().then(|| OpenOptions::new().read(true).open(path).ok())??;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Keeps the last lines. Safe if two processes do it at once: both write the same.
fn truncate_history_file(path: &Path) {
    let Some(text) = read_tail(path) else { return };
    let whole = text.split_once('\n').map_or("", |(_, whole)| whole);
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh);
    let written = file.and_then(|mut file| file.write_all(whole.as_bytes()));
    if written.and_then(|()| std::fs::rename(&fresh, path)).is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
}

/// What happened in this session so far, from the last prompts on.
pub(super) fn load_earlier_notices(journal: &Path) -> Vec<Notice> {
    let mut notices: VecDeque<Notice> = VecDeque::new();
    let mut prompts = 0;
    let collected = explain_journal(journal, |step| {
        let ending = step.ending.map(Notice::RunEnded);
        for notice in step.notices.into_iter().filter(is_shown_again).chain(ending) {
            prompts += usize::from(is_prompt(&notice));
            notices.push_back(notice);
        }
        while prompts > EARLIER_PROMPTS_MAX || notices.len() > EARLIER_NOTICES_MAX {
            let Some(oldest) = notices.pop_front() else { break };
            prompts -= usize::from(is_prompt(&oldest));
        }
    });
    match collected {
        Ok(()) => notices.into(),
        // Starting the session reports a journal that cannot be read.
        Err(_) => Vec::new(),
    }
}

/// The model's current task list, as the task tools format it; empty if there is none.
pub(super) fn load_task_list(journal: &Path) -> String {
    let mut tasks = String::new();
    let walked = explain_journal(journal, |step| {
        for notice in step.notices {
            if let Notice::ToolEnded { outcome, .. } = notice
                && let Some(update) = outcome.update.and_then(|update| update.tasks)
            {
                tasks = update.to_string();
            }
        }
    });
    walked.map_or_else(|_| String::new(), |()| tasks)
}

/// Pieces of answers come again as messages, and there are many.
fn is_shown_again(notice: &Notice) -> bool {
    !matches!(
        notice,
        Notice::Streamed { .. } | Notice::ToolProgressed { .. } | Notice::SubagentNotice { .. }
    )
}

fn is_prompt(notice: &Notice) -> bool {
    matches!(notice, Notice::MessageAdded(message) if message.origin == MessageOrigin::User)
}

const PROMPTS_MAX: usize = 500;
const PROMPT_BYTES_MAX: usize = 16 * 1024;
const TAIL_MAX: u64 = 512 * 1024;
const FILE_MAX: u64 = 2 * 1024 * 1024;
const EARLIER_PROMPTS_MAX: usize = 20;
const EARLIER_NOTICES_MAX: usize = 1_000;
