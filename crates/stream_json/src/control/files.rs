//! Requests about files: what one holds, and that the model knows one already. Both are served only for
//! files that the session may read without a question.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{ControlOutcome, answer_later, require_session};
use crate::event_loop::EventLoop;
use crate::line_limit;
use crate::session_phase::SESSION_OVER;

pub(super) async fn read_file(
    event_loop: &mut EventLoop,
    path: &str,
    max_bytes: Option<u64>,
    is_base64: bool,
) -> Result<ControlOutcome, String> {
    let path = resolve_readable_path(event_loop, path).await?;
    let max_bytes = max_bytes.unwrap_or(BYTES_MAX).min(BYTES_MAX);
    let reading =
        tokio::task::spawn_blocking(move || read_file_to_json(&path, max_bytes, is_base64));
    Ok(answer_later(async move {
        let read = reading.await.unwrap_or_else(|_| Err(NOT_READ.to_owned()));
        move |_: &mut EventLoop| read
    }))
}

/// `seed_read_state`: the client showed the model this file, as it was then.
pub(super) async fn seed_read_state(
    event_loop: &mut EventLoop,
    path: &str,
    mtime: Option<f64>,
) -> Result<ControlOutcome, String> {
    let path = resolve_readable_path(event_loop, path).await?;
    let known = mtime.filter(|millis| millis.is_finite() && *millis >= 0.0);
    let known = known.ok_or_else(|| "the request has no `mtime` in milliseconds".to_owned())?;
    let session = require_session(event_loop)?.session.clone();
    let seeding = tokio::task::spawn_blocking(move || {
        // What changed since is not what the model knows: it has to read it, as ever.
        match modified_since_epoch(&path) {
            Some(changed) if changed.as_millis() as f64 > known.ceil() => Ok(json!({})),
            _ => session.mark_file_read(&path).map(|()| json!({})),
        }
    });
    Ok(answer_later(async move {
        let seeded = seeding.await.unwrap_or_else(|_| Err(NOT_READ.to_owned()));
        move |_: &mut EventLoop| seeded
    }))
}

/// The path of the requested file, if it may be read.
async fn resolve_readable_path(event_loop: &mut EventLoop, path: &str) -> Result<PathBuf, String> {
    let live = require_session(event_loop)?;
    let path = live.cwd().join(path);
    let mut tools = live.expander.tools.clone();
    // What was allowed and forbidden on the way counts.
    tools.policy = live.session.settings().await.ok_or(SESSION_OVER)?.policy;
    tools.may_read(&path.to_string_lossy())?;
    Ok(path)
}

fn read_file_to_json(path: &Path, bytes_max: u64, is_base64: bool) -> Result<Value, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{} cannot be read: {why}", path.display());
    if !path.is_file() {
        return Err(wrong(&"there is no such file"));
    }
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let total = file.metadata().map_err(|error| wrong(&error))?.len();
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
    loop {
        let mut answer = json!({ "absPath": path, "truncated": total > bytes.len() as u64 });
        if is_base64 {
            super::set_field(&mut answer, "contents", BASE64_STANDARD.encode(&bytes).into());
            super::set_field(&mut answer, "encoding", "base64".into());
        } else {
            let contents = String::from_utf8_lossy(&bytes);
            super::set_field(&mut answer, "lossy", std::str::from_utf8(&bytes).is_err().into());
            super::set_field(&mut answer, "contents", contents.into());
        }
        // Control characters take six bytes on the line.
        if line_limit::json_length(&answer) <= ANSWER_MAX {
            return Ok(answer);
        }
        bytes.truncate(bytes.len() / 2);
    }
}

fn modified_since_epoch(path: &Path) -> Option<Duration> {
    let modified: SystemTime = std::fs::metadata(path).ok()?.modified().ok()?;
    modified.duration_since(UNIX_EPOCH).ok()
}

/// Bytes of a file in one answer, and of the answer: it has to fit on a line.
const BYTES_MAX: u64 = 512 * 1024;
const ANSWER_MAX: usize = 900_000;
const NOT_READ: &str = "the file was not read";
