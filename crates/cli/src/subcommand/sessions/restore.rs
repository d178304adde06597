//! `windlass sessions restore`: brings back what the clean-up of old sessions moved to the trash.

use serde_json::json;
use windlass_journal::{JournalError, SessionTrash, TrashedSession};

use crate::args::SessionsRestoreArgs;
use crate::words;
use windlass_assembly::session;
use windlass_assembly::session::cleanup::restore_session;
use windlass_assembly::session::journal_error;
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::format_counted;
use windlass_host::environment::EnvLookup;

pub(super) fn run(
    args: &SessionsRestoreArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let catalogue = session::open_catalogue(lookup)?;
    let trash = SessionTrash::for_sessions(catalogue.root());
    let Some(id) = &args.id else {
        return Ok(render_trash(&trash.list(), args.json));
    };
    let journal = restore_session(&catalogue, id).map_err(|error| {
        if !matches!(error, JournalError::NotOne { .. }) {
            return journal_error(&error);
        }
        CommandError::usage(words::describe_not_in_trash(&id, &trash.root().display()))
    })?;
    Ok(match args.json {
        true => format!("{}\n", json!({"session_id": id, "journal": journal})),
        false => words::describe_restored(&id),
    })
}

fn render_trash(sessions: &[TrashedSession], is_json: bool) -> String {
    let days = |trashed: &TrashedSession| trashed.age.as_secs() / (24 * 60 * 60);
    if is_json {
        let one = |trashed: &TrashedSession| json!({"session_id": trashed.id, "folder": trashed.folder, "days": days(trashed)});
        let listed: Vec<serde_json::Value> = sessions.iter().map(one).collect();
        return format!("{}\n", json!({"sessions": listed}));
    }
    let line = |trashed: &TrashedSession| {
        let age = format_counted(days(trashed), "day");
        format!("{}  {age}  {}\n", trashed.id, trashed.folder.display())
    };
    sessions.iter().map(line).collect()
}
