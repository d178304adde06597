//! Requests about tasks in the background.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Value, json};

use super::{ControlOutcome, answer_later, require_session};
use crate::event_loop::EventLoop;

/// `stop_task`: ends an agent that is waited for, or a command or an agent in the background, with
/// everything it started.
pub(super) fn stop_task(event_loop: &mut EventLoop, id: String) -> Result<ControlOutcome, String> {
    let session = require_session(event_loop)?.session.clone();
    if session.stop_awaited_agent(&id) {
        return Ok(ControlOutcome::Now(Ok(json!({}))));
    }
    Ok(answer_later(async move {
        let stopped = session.stop_background_task(&id).await;
        move |event_loop: &mut EventLoop| {
            event_loop.send_ended_commands();
            stopped.map(|_| json!({}))
        }
    }))
}

/// `background_tasks`: commands and agents that are waited for go on by themselves.
pub(super) fn move_to_background(event_loop: &EventLoop, call: Option<&str>) -> Value {
    let is_left =
        event_loop.session.live().is_some_and(|live| live.session.move_awaited_to_background(call));
    json!({ "backgrounded": is_left })
}

/// `get_task_output`: returns the end of the output.
pub(super) fn read_task_output(event_loop: &mut EventLoop, id: &str) -> Result<Value, String> {
    let all = require_session(event_loop)?.session.background_tasks();
    let task = all.iter().find(|task| task.id == id);
    let task = task.ok_or_else(|| format!("there is no task `{id}` in the background"))?;
    let (tail, total) = read_tail(&task.output_path)
        .map_err(|error| format!("{} cannot be read: {error}", task.output_path.display()))?;
    let truncated = total > tail.len() as u64;
    let output = String::from_utf8_lossy(&tail);
    Ok(json!({ "output": output, "total_bytes": total, "truncated": truncated }))
}

fn read_tail(path: &Path) -> std::io::Result<(Vec<u8>, u64)> {
    let mut file = File::open(path)?;
    let total = file.metadata()?.len();
    file.seek(SeekFrom::Start(total.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, total))
}

/// Bytes of the end that are returned.
const TAIL_BYTES: u64 = 8 * 1024;
