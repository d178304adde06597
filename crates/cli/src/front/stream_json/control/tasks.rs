//! Requests about what goes on beside the conversation.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Value, json};

use super::{Served, later, now, opened, text};
use crate::front::stream_json::desk::Desk;

/// `stop_task`: ends an agent that is waited for, or a command or an agent in the background, with
/// everything it started.
pub(super) fn stop(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let id = text(request, "task_id")?.to_owned();
    let session = opened(desk)?.session.clone();
    if session.stop_waited(&id) {
        return now(Ok(json!({})));
    }
    Ok(later(async move {
        let stopped = session.stop_background(&id).await;
        move |desk: &mut Desk| {
            desk.look_behind();
            stopped.map(|_| json!({}))
        }
    }))
}

/// `background_tasks`: agents that are waited for go on by themselves. A command cannot be left alone
/// here once it runs.
pub(super) fn leave(desk: &Desk, request: &Value) -> Value {
    let call = request.get("tool_use_id").and_then(Value::as_str);
    let is_left = desk.stage.as_ref().is_some_and(|stage| stage.session.leave_waited(call));
    json!({ "backgrounded": is_left })
}

/// `get_task_output`: the end of what it wrote.
pub(super) fn output(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let id = text(request, "task_id")?;
    let all = opened(desk)?.session.background();
    let task = all.iter().find(|task| task.id == id);
    let task = task.ok_or_else(|| format!("there is no task `{id}` in the background"))?;
    let (tail, total) = tail(&task.output)
        .map_err(|error| format!("{} cannot be read: {error}", task.output.display()))?;
    let truncated = total > tail.len() as u64;
    let output = String::from_utf8_lossy(&tail);
    Ok(json!({ "output": output, "total_bytes": total, "truncated": truncated }))
}

fn tail(path: &Path) -> std::io::Result<(Vec<u8>, u64)> {
    let mut file = File::open(path)?;
    let total = file.metadata()?.len();
    file.seek(SeekFrom::Start(total.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, total))
}

/// Bytes of the end that are told.
const TAIL_BYTES: u64 = 8 * 1024;
