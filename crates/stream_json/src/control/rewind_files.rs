//! `rewind_files`: files go back to where they were before a prompt.

use serde_json::{Value, json};
use windlass_driver::rewind::RewindOptions;

use super::require_session;
use crate::event_loop::EventLoop;

pub(super) async fn rewind_files(
    event_loop: &mut EventLoop,
    user_message_id: String,
    dry_run: bool,
) -> Result<Value, String> {
    if event_loop.turn.is_some() && !dry_run {
        return Err(
            "files can be restored only between prompts; interrupt this one first".to_owned()
        );
    }
    let live = require_session(event_loop)?;
    let options = RewindOptions { dry_run, ..RewindOptions::default() };
    let files = match live.session.rewind_files(user_message_id, options).await {
        Ok(files) => files,
        Err(why) if dry_run => {
            return Ok(json!({ "canRewind": false, "error": why.to_string() }));
        }
        Err(why) => return Err(why.to_string()),
    };
    let insertions: usize = files.iter().map(|file| file.insertions).sum();
    let deletions: usize = files.iter().map(|file| file.deletions).sum();
    let paths: Vec<String> =
        files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
    Ok(json!({
        "canRewind": true, "filesChanged": paths, "insertions": insertions, "deletions": deletions,
    }))
}
