//! `rewind_files`: files go back to where they were before a prompt.

use serde_json::{Value, json};
use windlass_driver::rewind::RewindOptions;

use super::{require_session, require_text};
use crate::event_loop::EventLoop;

/// Serves it.
pub(super) async fn rewind_files(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    let message = require_text(request, "user_message_id")?.to_owned();
    let dry_run = request.get("dry_run") == Some(&Value::Bool(true));
    if desk.turn.is_some() && !dry_run {
        return Err("files go back between prompts; interrupt this one first".to_owned());
    }
    let stage = require_session(desk)?;
    let wish = RewindOptions { dry_run, overwrite: false };
    let files = match stage.session.rewind_files(message, wish).await {
        Ok(files) => files,
        Err(why) if dry_run => {
            return Ok(json!({ "canRewind": false, "error": why.to_string() }));
        }
        Err(why) => return Err(why.to_string()),
    };
    let (mut insertions, mut deletions) = (0, 0);
    for file in &files {
        insertions += file.insertions;
        deletions += file.deletions;
    }
    let paths: Vec<String> =
        files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
    Ok(json!({
        "canRewind": true, "filesChanged": paths, "insertions": insertions, "deletions": deletions,
    }))
}
