//! `windlass diff` and `/diff`: what a session did to files, commands included, as a unified diff.

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::snapshot::{
    ChangedLineCounts, FileDifference, count_differences, render_difference, render_differences,
    visit_span_changes,
};
use windlass_host::command_error::CommandError;
use windlass_host::environment::{EnvLookup, process_environment};
use windlass_journal::SnapshotStore;
use windlass_journal::snapshot_store::SnapshotSpan;

use crate::session::rewind_point;
use crate::session::snapshots::{open_change_log, open_session_snapshots};
use crate::slash_command::{DiffArguments, DiffScope};

/// The differences as text and as JSON.
pub fn diff_journal(
    journal: &Path,
    id: &str,
    wanted: &DiffArguments,
    lookup: &impl EnvLookup,
) -> Result<(String, Value), CommandError> {
    let kept = open_change_log(journal)?;
    let spans = select_spans(&kept, journal, id, &wanted.scope)?;
    let mut report = DiffReport::default();
    if let Some(workspace) = open_session_snapshots(&kept, lookup) {
        visit_span_changes(&workspace, &spans, |file| report.add(&file, wanted.is_summary))
            .map_err(|words| CommandError::failure(format!("cannot show changes: {words}")))?;
    }
    Ok(report.finish(id, wanted.is_summary))
}

/// The same beside an event loop.
pub async fn diff_blocking(
    journal: &Path,
    id: &str,
    wanted: &DiffArguments,
) -> Result<(String, Value), CommandError> {
    let journal = journal.to_owned();
    let id = id.to_owned();
    let wanted = wanted.clone();
    let shown = tokio::task::spawn_blocking(move || {
        diff_journal(&journal, &id, &wanted, &process_environment)
    });
    let broken = |error| CommandError::failure(format!("this should not happen: {error}"));
    shown.await.map_err(broken)?
}

fn select_spans(
    kept: &SnapshotStore,
    journal: &Path,
    id: &str,
    scope: &DiffScope,
) -> Result<Vec<SnapshotSpan>, CommandError> {
    if *scope == DiffScope::Session {
        return Ok(kept.find_spans_after(0));
    }
    if let DiffScope::Call(call) = scope {
        let is_meant = |span: &SnapshotSpan| span.calls.iter().any(|own| own.starts_with(call));
        let found: Vec<SnapshotSpan> = kept.spans().into_iter().filter(is_meant).collect();
        return match found.is_empty() {
            true => Err(CommandError::usage(format!(
                "no call `{call}` with snapshots in this session; `windlass sessions show {id}` lists its calls"
            ))),
            false => Ok(found),
        };
    }
    let messages = rewind_point::trace_messages(journal, id)?;
    let prompts: Vec<u64> =
        messages.iter().filter(|traced| traced.is_prompt).map(|traced| traced.record).collect();
    let number = match scope {
        DiffScope::Turn(number) => *number,
        DiffScope::LastTurn | DiffScope::Session | DiffScope::Call(_) => prompts.len(),
    };
    if number == 0 && prompts.is_empty() {
        return Ok(Vec::new());
    }
    let Some(begin) = number.checked_sub(1).and_then(|place| prompts.get(place)) else {
        return Err(CommandError::usage(format!(
            "there is no prompt {number}: the session has {}",
            prompts.len()
        )));
    };
    let end = prompts.get(number).copied().unwrap_or(u64::MAX);
    let spans = kept.find_live_spans().into_iter();
    Ok(spans.filter(|span| (*begin..end).contains(&span.record)).collect())
}

const DIFF_TEXT_BYTES_MAX: usize = 16 << 20;

#[derive(Default)]
pub(crate) struct DiffReport {
    text: String,
    objects: Vec<Value>,
    insertions: usize,
    deletions: usize,
}

impl DiffReport {
    pub(crate) fn add(&mut self, file: &FileDifference, is_summary: bool) {
        let FileDifference { path, kind, .. } = file;
        let counts = count_differences(file);
        let described = match counts {
            Some(ChangedLineCounts { insertions, deletions }) => {
                format!("+{insertions} -{deletions}")
            }
            None => "not text, or not kept".to_owned(),
        };
        self.insertions += counts.map_or(0, |counts| counts.insertions);
        self.deletions += counts.map_or(0, |counts| counts.deletions);
        let mut shown = None;
        // Of very many changes the rest is only listed.
        if is_summary || self.text.len() > DIFF_TEXT_BYTES_MAX {
            self.text.push_str(&format!("{:<9} {path}  {described}\n", kind.name()));
        } else {
            self.text.push_str(&render_differences(std::slice::from_ref(file)));
            shown = render_difference(file).filter(|shown| !shown.is_empty());
        }
        self.objects.push(json!({
            "path": path,
            "kind": kind.name(),
            "insertions": counts.map(|counts| counts.insertions),
            "deletions": counts.map(|counts| counts.deletions),
            "diff": shown,
        }));
    }

    /// The diff as text, with an empty line behind it if there is one.
    pub(crate) fn take_text(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// Adds the diff of each file to an object, if there is one.
    pub(crate) fn add_to(self, object: &mut Value) {
        if let Some(fields) = object.as_object_mut().filter(|_| !self.objects.is_empty()) {
            fields.insert("changes".to_owned(), Value::Array(self.objects));
        }
    }

    pub(crate) fn finish(self, id: &str, is_summary: bool) -> (String, Value) {
        let Self { mut text, objects, insertions, deletions } = self;
        match objects.len() {
            0 => text.push_str("No files changed.\n"),
            count if is_summary => {
                let files = if count == 1 { "file" } else { "files" };
                text.push_str(&format!("{count} {files} changed, +{insertions} -{deletions}\n"));
            }
            _ => {}
        }
        let object = json!({
            "session_id": id,
            "files": objects,
            "insertions": insertions,
            "deletions": deletions,
        });
        (text, object)
    }
}
