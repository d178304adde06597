//! Recovers what a dead worker did not record: messages that are in the journal and not among the
//! events, and the result of a finished run.

use std::path::Path;

use serde_json::{Value, json};
use windlass_journal::LastRun;
use windlass_journal::transcript::{TranscriptContext, render_recorded_transcript};
use windlass_vocabulary::Terminal;

use super::claimed_session::{SessionClaim, result_end, wait_for_store};
use crate::store::ClaimEnd;

/// Adds the messages of the journal that are missing among the events. Their ids are derived from
/// the journal, so existing ones are recognised.
pub(crate) async fn add_missing_events(claim: &SessionClaim, journal: &Path) -> Result<(), String> {
    if !journal.exists() {
        return Ok(());
    }
    let known = wait_for_store(|| claim.store.list_event_ids(&claim.id)).await?;
    for line in render_lines(&claim.id, journal)? {
        let Some(frame) = to_frame(&claim.id, &line) else { continue };
        let uuid = frame.get("uuid").and_then(Value::as_str);
        if known.iter().any(|known| Some(known.as_str()) == uuid) {
            continue;
        }
        let SessionClaim { store, id, epoch, worker, .. } = claim;
        let text = frame.to_string();
        wait_for_store(|| store.add_event(id, *epoch, worker, uuid, &text)).await?;
    }
    Ok(())
}

/// The end of a session whose run had finished.
pub(crate) fn read_end(journal: &Path, last_run: LastRun) -> ClaimEnd {
    let terminal = match last_run {
        LastRun::Ended(terminal) => terminal,
        LastRun::None | LastRun::Open | LastRun::Asking | LastRun::Deferred => Terminal::Completed,
    };
    let lines = render_lines("", journal).unwrap_or_default();
    let answer = lines.iter().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let blocks = line.pointer("/message/content")?.as_array()?.clone();
        let text = blocks.iter().find_map(|block| block.get("text")?.as_str())?;
        (line.get("type")? == "assistant").then(|| text.to_owned())
    });
    let is_error = terminal.is_error();
    result_end(&json!({
        "type": "result",
        "subtype": if is_error { "error_during_execution" } else { "success" },
        "is_error": is_error,
        "result": answer,
        "terminal_reason": serde_json::to_value(terminal).unwrap_or_default(),
    }))
}

fn render_lines(session: &str, journal: &Path) -> Result<Vec<String>, String> {
    let about = TranscriptContext { session: session.to_owned(), ..TranscriptContext::default() };
    render_recorded_transcript(journal, &about).map_err(|error| error.to_string())
}

/// Converts a line of the transcript to a stream-json frame; `None` for other kinds of lines.
fn to_frame(session: &str, line: &str) -> Option<Value> {
    let line: Value = serde_json::from_str(line).ok()?;
    let kind = line.get("type").and_then(Value::as_str)?;
    let is_told = matches!(kind, "assistant" | "user")
        && line.get("isMeta").and_then(Value::as_bool) != Some(true);
    is_told.then(|| {
        json!({ "type": kind, "uuid": line.get("uuid"), "session_id": session,
            "parent_tool_use_id": null, "message": line.get("message") })
    })
}
