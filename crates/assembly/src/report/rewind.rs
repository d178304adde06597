//! `windlass rewind` and `/rewind`: rewinds a session to one of its prompts: the conversation, the
//! files that tools changed, or both. Can show a preview; refuses to overwrite changes by others.

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::Session;
use windlass_driver::rewind::{
    self, FileRewind, REWIND_NOT_COVERED, RestoreStatus, RewindError, RewindOptions,
};
use windlass_driver::snapshot::SharedWorkspace;
use windlass_journal::transcript::TracedMessage;
use windlass_journal::{SnapshotStore, lock_journal, rewind_locked};

use super::diff::DiffReport;
use crate::session::rewind_point::{RewindTarget, find_target};
use crate::session::snapshots::{open_change_log, open_session_snapshots};
use crate::session::{journal_error, rewind_point};
use crate::slash_command::RewindArguments;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_counted;
use windlass_host::display::text_table::{ColumnAlignment, render_table};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::{EnvLookup, process_environment};
use windlass_host::exit::Exit;

/// Rewinds, or returns what that would change: as text and as JSON.
pub fn rewind_journal(
    journal: &Path,
    id: &str,
    wanted: &RewindArguments,
    lookup: &impl EnvLookup,
) -> Result<(String, Value), CommandError> {
    let messages = rewind_point::trace_messages(journal, id)?;
    let prompts: Vec<&TracedMessage> = messages.iter().filter(|traced| traced.is_prompt).collect();
    let snapshots = open_change_log(journal)?;
    let workspace = open_session_snapshots(&snapshots, lookup);
    let workspace = workspace.as_ref();
    let Some(to) = &wanted.to else {
        return Ok(render_prompts(id, &prompts, &snapshots, workspace));
    };
    let target = find_target(&messages, &snapshots, to)?;
    let end = messages.last().map_or(0, |last| last.last_record);
    // No other process may write the session meanwhile.
    let lock = lock_journal(journal).map_err(|error| journal_error(&error))?;
    let mut files = Vec::new();
    if wanted.scope.files {
        files = rewind::rewind(&snapshots, workspace, target.point.files, end, &wanted.options)
            .map_err(|error| rewind_error(&error))?;
    }
    if wanted.scope.conversation && !wanted.options.dry_run {
        rewind_locked(&lock, target.point.conversation, &rewind_point::fallback_settings())
            .map_err(|error| journal_error(&error))?;
    }
    let workspace = workspace.filter(|_| wanted.scope.files);
    let given_up = workspace.map_or_else(Vec::new, |workspace| {
        rewind::list_given_up_calls(&snapshots, workspace, target.point.files)
    });
    let mut preview = DiffReport::default();
    if wanted.options.dry_run && wanted.scope.files {
        preview = preview_rewind(&snapshots, workspace, target.point.files)?;
    }
    Ok(render_rewind(wanted, &target, &files, RewindNotes { given_up, preview }))
}

/// Says besides which files a rewind restores.
#[derive(Default)]
struct RewindNotes {
    given_up: Vec<String>,
    /// What it would change.
    preview: DiffReport,
}

fn preview_rewind(
    snapshots: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
    to_record: u64,
) -> Result<DiffReport, CommandError> {
    let mut preview = DiffReport::default();
    rewind::visit_rewind_changes(snapshots, workspace, to_record, |file| preview.add(&file, false))
        .map_err(|error| rewind_error(&error))?;
    Ok(preview)
}

/// Undoes the last rewind of files, or returns what that would change.
pub fn undo_rewind(
    journal: &Path,
    wanted: &RewindArguments,
    lookup: &impl EnvLookup,
) -> Result<(String, Value), CommandError> {
    let snapshots = open_change_log(journal)?;
    let workspace = open_session_snapshots(&snapshots, lookup);
    // No other process may write the session meanwhile.
    let _lock = lock_journal(journal).map_err(|error| journal_error(&error))?;
    let last_span = snapshots.spans().last().map_or(0, |span| span.record);
    let last_change = snapshots.changes().last().map_or(0, |change| change.record);
    let end = last_span.max(last_change);
    let files = rewind::undo_rewind(&snapshots, workspace.as_ref(), end, &wanted.options)
        .map_err(|error| rewind_error(&error))?;
    let mut preview = DiffReport::default();
    if wanted.options.dry_run {
        let add = |file| preview.add(&file, false);
        rewind::visit_undo_changes(&snapshots, workspace.as_ref(), add)
            .map_err(|error| rewind_error(&error))?;
    }
    let text = preview.take_text() + &render_files(&files, &wanted.options);
    let objects: Vec<Value> =
        files.iter().map(|file| file_to_json(file, &wanted.options)).collect();
    let mut object = json!({
        "undo": true, "dry_run": wanted.options.dry_run, "files": objects,
    });
    preview.add_to(&mut object);
    Ok((text, object))
}

/// The same in an open session: ends the current run, and continues from before the prompt.
pub async fn rewind_open_session(
    session: &Session,
    journal: &Path,
    id: &str,
    wanted: &RewindArguments,
) -> Result<(String, Value), CommandError> {
    let journal = journal.to_owned();
    let id = id.to_owned();
    let arguments = wanted.clone();
    let looked = tokio::task::spawn_blocking(move || match &arguments.to {
        None => rewind_journal(&journal, &id, &arguments, &process_environment).map(Err),
        Some(to) => {
            let messages = rewind_point::trace_messages(&journal, &id)?;
            let kept = open_change_log(&journal)?;
            let target = find_target(&messages, &kept, to)?;
            let workspace = open_session_snapshots(&kept, &process_environment);
            let workspace = workspace.filter(|_| arguments.scope.files);
            let mut notes = RewindNotes::default();
            if let Some(workspace) = &workspace {
                notes.given_up = rewind::list_given_up_calls(&kept, workspace, target.point.files);
            }
            if arguments.options.dry_run && arguments.scope.files {
                notes.preview = preview_rewind(&kept, workspace.as_ref(), target.point.files)?;
            }
            Ok(Ok((target, notes)))
        }
    });
    let broken = |error| CommandError::failure(format!("this should not happen: {error}"));
    let (target, notes) = match looked.await.map_err(broken)?? {
        Ok(found) => found,
        Err(listed) => return Ok(listed),
    };
    let rewound = session
        .rewind(target.name.clone(), wanted.scope, wanted.options.clone())
        .await
        .map_err(|error| rewind_error(&error))?;
    Ok(render_rewind(wanted, &target, &rewound.files, notes))
}

fn render_prompts(
    id: &str,
    prompts: &[&TracedMessage],
    snapshots: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
) -> (String, Value) {
    let given_up = workspace
        .map_or_else(Vec::new, |workspace| rewind::list_given_up_calls(snapshots, workspace, 0));
    let mut rows = vec![["", "files", "message", "prompt"].map(str::to_owned)];
    let mut objects = Vec::new();
    for (place, traced) in prompts.iter().enumerate() {
        let before = traced.record.saturating_sub(1);
        let look = RewindOptions { dry_run: true, ..RewindOptions::default() };
        let files = rewind::rewind(snapshots, workspace, before, before, &look);
        let files = files.map_or(0, |files| files.len());
        let name = traced.uuids.first().cloned().unwrap_or_default();
        let words = truncate_with_ellipsis(&to_single_line(&traced.text), PROMPT_CHARS_MAX);
        objects.push(
            json!({"number": place + 1, "uuid": name, "prompt": traced.text, "files": files}),
        );
        rows.push([(place + 1).to_string(), files.to_string(), name, words]);
    }
    let sides = [
        ColumnAlignment::Right,
        ColumnAlignment::Right,
        ColumnAlignment::Left,
        ColumnAlignment::Left,
    ];
    let text = format!(
        "Session {id}\n{}\n{}Go back to before a prompt: windlass rewind {id} --to NUMBER. {REWIND_NOT_COVERED}\n",
        render_table(sides, &rows),
        describe_given_up(&given_up)
    );
    (text, json!({"session_id": id, "prompts": objects, "calls_given_up": given_up}))
}

fn render_rewind(
    wanted: &RewindArguments,
    target: &RewindTarget,
    files: &[FileRewind],
    notes: RewindNotes,
) -> (String, Value) {
    let RewindNotes { given_up, mut preview } = notes;
    let is_done = !wanted.options.dry_run;
    let mut text = String::new();
    if wanted.scope.conversation {
        let begins =
            if is_done { "Conversation rewound to" } else { "Would rewind the conversation to" };
        text.push_str(&format!("{begins} before {}\n", target.describe()));
    }
    if wanted.scope.files {
        text.push_str(&preview.take_text());
        text.push_str(&render_files(files, &wanted.options));
    }
    text.push_str(&describe_given_up(&given_up));
    let objects: Vec<Value> =
        files.iter().map(|file| file_to_json(file, &wanted.options)).collect();
    let mut object = json!({
        "snapshots_given_up": !given_up.is_empty(),
        "calls_given_up": given_up,
        "prompt": target.number,
        "uuid": target.name,
        "conversation": wanted.scope.conversation,
        "dry_run": wanted.options.dry_run,
        "files": objects,
    });
    preview.add_to(&mut object);
    (text, object)
}

/// What becomes of a file, which a preview cannot say of one that others changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileOutcome {
    Restored,
    NotRestored,
    LeftAlone,
}

fn file_outcome(file: &FileRewind, options: &RewindOptions) -> FileOutcome {
    match file.file_state {
        RestoreStatus::NotStored => FileOutcome::NotRestored,
        RestoreStatus::ChangedByOthers
            if !options.dry_run && !options.overwrite.covers(&file.path) =>
        {
            FileOutcome::LeftAlone
        }
        RestoreStatus::ChangedByOthers
        | RestoreStatus::Restorable
        | RestoreStatus::AlreadyRestored => FileOutcome::Restored,
    }
}

/// Failure when files were to be restored and none was. What was left alone on request is none.
#[must_use]
pub fn rewind_exit(report: &Value) -> Exit {
    let files = report.get("files").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_done = report.get("dry_run").and_then(Value::as_bool) == Some(false);
    let is_restored = |file: &Value| file.get("restored").and_then(Value::as_bool) == Some(true);
    let is_lost = |file: &Value| file.get("standing").and_then(Value::as_str) == Some(NOT_KEPT);
    match is_done && files.iter().any(is_lost) && !files.iter().any(is_restored) {
        true => Exit::FAILURE,
        false => Exit::SUCCESS,
    }
}

fn render_files(files: &[FileRewind], options: &RewindOptions) -> String {
    let rows: Vec<[String; 4]> = files.iter().map(|file| build_file_row(file, options)).collect();
    let sides = [
        ColumnAlignment::Left,
        ColumnAlignment::Right,
        ColumnAlignment::Right,
        ColumnAlignment::Left,
    ];
    let count = |wanted: FileOutcome| {
        files.iter().filter(|file| file_outcome(file, options) == wanted).count()
    };
    let (lost, left) = (count(FileOutcome::NotRestored), count(FileOutcome::LeftAlone));
    let mut text = render_table(sides, &rows);
    if left > 0 {
        text.push_str(&format!("Left alone: {}.\n", format_counted(left, "file")));
    }
    text + &describe_file_count(files.len() - lost - left, lost, !options.dry_run)
}

fn describe_file_count(restored: usize, left: usize, is_done: bool) -> String {
    let many = match restored {
        0 if left > 0 => format!("Not restored: {}.", format_counted(left, "file")),
        0 => "No files to restore.".to_owned(),
        count if is_done => format!("Restored {}.", format_counted(count, "file")),
        count => format!("Would restore {}.", format_counted(count, "file")),
    };
    format!("{many} {REWIND_NOT_COVERED}\n")
}

/// What the report of a preview says besides its files, for a front end that shows those by itself.
pub fn describe_preview(report: &Value) -> String {
    let list =
        |field: &str| report.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let files = list("files");
    let stays = |file: &&Value| file.get("standing").and_then(Value::as_str) == Some(NOT_KEPT);
    let left = files.iter().filter(stays).count();
    let calls = list("calls_given_up").iter().filter_map(Value::as_str).map(str::to_owned);
    describe_file_count(files.len() - left, left, false)
        + &describe_given_up(&calls.collect::<Vec<_>>())
}

fn build_file_row(file: &FileRewind, options: &RewindOptions) -> [String; 4] {
    let note = match file.file_state {
        RestoreStatus::ChangedByOthers if file_outcome(file, options) == FileOutcome::LeftAlone => {
            "left alone: changed by others since"
        }
        RestoreStatus::ChangedByOthers => "changed by others since",
        RestoreStatus::NotStored => "cannot be restored: too large, no room, or changed meanwhile",
        RestoreStatus::Restorable | RestoreStatus::AlreadyRestored if file.is_removed => "removed",
        RestoreStatus::Restorable | RestoreStatus::AlreadyRestored => "",
    };
    let path = to_single_line(&file.path.to_string_lossy());
    [path, format!("+{}", file.insertions), format!("-{}", file.deletions), note.to_owned()]
}

fn file_to_json(file: &FileRewind, options: &RewindOptions) -> Value {
    let standing = match file.file_state {
        RestoreStatus::ChangedByOthers => "changed_by_others",
        RestoreStatus::NotStored => NOT_KEPT,
        RestoreStatus::Restorable | RestoreStatus::AlreadyRestored => "ours",
    };
    json!({
        "path": file.path.to_string_lossy(),
        "removed": file.is_removed,
        "insertions": file.insertions,
        "deletions": file.deletions,
        "standing": standing,
        "restored": !options.dry_run && file_outcome(file, options) == FileOutcome::Restored,
    })
}

fn rewind_error(error: &RewindError) -> CommandError {
    match error {
        RewindError::ChangedByOthers(_) => CommandError::failure(format!(
            "nothing was done: {error}; look with --dry-run, then add --skip-changed to restore \
             the rest or --overwrite to overwrite them"
        )),
        RewindError::NoMessage(_)
        | RewindError::NotKept
        | RewindError::NoRewind
        | RewindError::StillRunning
        | RewindError::Closed
        | RewindError::Journal(_)
        | RewindError::Snapshots(_) => CommandError::failure(error.to_string()),
    }
}

const PROMPT_CHARS_MAX: usize = 60;
/// In a report: the contents of the file are not stored.
const NOT_KEPT: &str = "not_kept";

/// Nothing if nothing was.
fn describe_given_up(calls: &[String]) -> String {
    if calls.is_empty() {
        return String::new();
    }
    let shown: Vec<&str> = calls.iter().take(GIVEN_UP_SHOWN_MAX).map(String::as_str).collect();
    let more = match calls.len() - shown.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!(
        "Snapshots of that time were deleted because of their age or to save space. What these calls \
         changed is not restored: {}{more}\n",
        shown.join(", ")
    )
}

const GIVEN_UP_SHOWN_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use windlass_driver::rewind::OverwriteChoice;

    use super::*;

    fn report(files: &[(RestoreStatus, OverwriteChoice)], dry_run: bool) -> (String, Exit) {
        let mut text = String::new();
        let mut objects = Vec::new();
        for (file_state, overwrite) in files {
            let options = RewindOptions { dry_run, overwrite: overwrite.clone() };
            let path = PathBuf::from("/folder/file");
            let file_state = *file_state;
            let (insertions, deletions) = (1, 2);
            let file = FileRewind { path, file_state, is_removed: false, insertions, deletions };
            objects.push(file_to_json(&file, &options));
            text.push_str(&render_files(&[file], &options));
        }
        (text, rewind_exit(&json!({"dry_run": dry_run, "files": objects})))
    }

    #[test]
    fn a_rewind_that_restored_nothing_it_should_have_is_a_failure() {
        let lost = (RestoreStatus::NotStored, OverwriteChoice::Refuse);
        let left = (RestoreStatus::ChangedByOthers, OverwriteChoice::Skip);
        let back = (RestoreStatus::Restorable, OverwriteChoice::Skip);
        let taken = (RestoreStatus::ChangedByOthers, OverwriteChoice::All);
        let (text, exit) = report(std::slice::from_ref(&lost), false);
        assert!(text.contains("Not restored: 1 file."), "{text}");
        assert_eq!(exit, Exit::FAILURE);
        assert_eq!(report(&[lost.clone(), left.clone()], false).1, Exit::FAILURE);
        for some in [back, taken] {
            assert_eq!(report(&[lost.clone(), some], false).1, Exit::SUCCESS);
        }
        assert_eq!(report(&[lost], true).1, Exit::SUCCESS, "a preview");
        let (text, exit) = report(&[left], false);
        assert!(text.contains("/folder/file") && text.contains("left alone"), "{text}");
        assert_eq!(exit, Exit::SUCCESS, "as asked");
        assert_eq!(report(&[], false).1, Exit::SUCCESS);
    }
}
