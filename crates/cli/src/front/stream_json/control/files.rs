//! Requests about files: what one holds, and that the model knows one already. Both are served only for
//! files that the session may read without a question.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{OVER, Served, later, opened, text};
use crate::front::stream_json::desk::Desk;
use crate::front::stream_json::fit;

/// `read_file`.
pub(super) async fn read(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let path = readable(desk, request).await?;
    let wanted = request.get("max_bytes").and_then(Value::as_u64).unwrap_or(BYTES_MAX);
    let is_base64 = request.get("encoding").and_then(Value::as_str) == Some("base64");
    let reading =
        tokio::task::spawn_blocking(move || held(&path, wanted.min(BYTES_MAX), is_base64));
    Ok(later(async move {
        let read = reading.await.unwrap_or_else(|_| Err(LOST.to_owned()));
        move |_: &mut Desk| read
    }))
}

/// `seed_read_state`: the client showed the model this file, as it was then.
pub(super) async fn seed(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let path = readable(desk, request).await?;
    let known = request.get("mtime").and_then(Value::as_f64);
    let known = known.filter(|millis| millis.is_finite() && *millis >= 0.0);
    let known = known.ok_or_else(|| "the request has no `mtime` in milliseconds".to_owned())?;
    let session = opened(desk)?.session.clone();
    let seeding = tokio::task::spawn_blocking(move || {
        // What changed since is not what the model knows: it has to read it, as ever.
        match changed(&path) {
            Some(changed) if changed.as_millis() as f64 > known.ceil() => Ok(json!({})),
            _ => session.knows_file(&path).map(|()| json!({})),
        }
    });
    Ok(later(async move {
        let seeded = seeding.await.unwrap_or_else(|_| Err(LOST.to_owned()));
        move |_: &mut Desk| seeded
    }))
}

/// The file that is meant, if it may be read.
async fn readable(desk: &mut Desk, request: &Value) -> Result<PathBuf, String> {
    let stage = opened(desk)?;
    let path = stage.cwd().join(text(request, "path")?);
    let mut hands = stage.expander.hands.clone();
    // What was allowed and forbidden on the way counts.
    hands.policy = stage.session.settings().await.ok_or(OVER)?.policy;
    hands.may_read(&path.to_string_lossy())?;
    Ok(path)
}

fn held(path: &Path, bytes_max: u64, is_base64: bool) -> Result<Value, String> {
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
            super::set(&mut answer, "contents", BASE64_STANDARD.encode(&bytes).into());
            super::set(&mut answer, "encoding", "base64".into());
        } else {
            let contents = String::from_utf8_lossy(&bytes);
            super::set(&mut answer, "lossy", std::str::from_utf8(&bytes).is_err().into());
            super::set(&mut answer, "contents", contents.into());
        }
        // Control characters take six bytes on the line.
        if fit::length(&answer) <= ANSWER_MAX {
            return Ok(answer);
        }
        bytes.truncate(bytes.len() / 2);
    }
}

fn changed(path: &Path) -> Option<Duration> {
    let modified: SystemTime = std::fs::metadata(path).ok()?.modified().ok()?;
    modified.duration_since(UNIX_EPOCH).ok()
}

/// Bytes of a file in one answer, and of the answer: it has to fit on a line.
const BYTES_MAX: u64 = 512 * 1024;
const ANSWER_MAX: usize = 900_000;
const LOST: &str = "the file was not read";
