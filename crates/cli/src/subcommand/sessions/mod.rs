//! `windlass sessions`: lists, shows, searches, exports, renames, deletes and restores sessions.

mod restore;
mod show;

use std::io::{ErrorKind, Write};

use serde_json::json;
use windlass_journal::session_catalogue::{self, JournalExportFormat};
use windlass_journal::{JournalError, ListedSession};

use crate::args::{SessionExportFormat, SessionsCommand};
use crate::words;
use windlass_assembly::directories::working_directory;
use windlass_assembly::report::session_list::{render_search, render_session_list};
use windlass_assembly::session;
use windlass_assembly::session::journal_error;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::standard_streams::StandardOutput;

pub(crate) fn run(
    command: SessionsCommand,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    match command {
        SessionsCommand::List(args) => render_session_list(&args.into(), lookup),
        SessionsCommand::Show(args) => show::run(&args, lookup),
        SessionsCommand::Search(args) => render_search(&args.words, &(&args).into(), lookup),
        SessionsCommand::Export(args) => {
            let format = match args.format {
                SessionExportFormat::Markdown => JournalExportFormat::Markdown,
                SessionExportFormat::Jsonl => JournalExportFormat::Jsonl,
            };
            export_session(&find_session_here(args.session.as_deref(), lookup)?, format)
        }
        SessionsCommand::Restore(args) => restore::run(&args, lookup),
        SessionsCommand::Delete(args) => delete_session(&args.id, args.json, lookup),
        SessionsCommand::Rename(args) => {
            let listed = find_session_here(Some(&args.session), lookup)?;
            let catalogue = session::open_catalogue(lookup)?;
            let transcript = session::find_transcript(&listed, lookup)?;
            session::rename_session(&catalogue, &listed.path, transcript.as_deref(), &args.name)?;
            let id = &listed.summary.id;
            Ok(match args.json {
                true => format!("{}\n", json!({"session_id": id, "name": args.name})),
                false => String::new(),
            })
        }
    }
}

/// Streams to standard output, because a session may be long.
fn export_session(
    listed: &ListedSession,
    format: JournalExportFormat,
) -> Result<String, CommandError> {
    let mut stdout = std::io::BufWriter::new(StandardOutput::Stdout);
    let exported = session_catalogue::export_session(&listed.path, format, &mut stdout);
    let written = exported.and_then(|()| {
        stdout.flush().map_err(|error| JournalError::Disk {
            path: listed.path.clone(),
            action: "exported",
            remedy: windlass_journal::DiskRemedy::from_io_error(&error),
            source: error,
        })
    });
    match written {
        // A reader that closes the pipe early is not an error.
        Err(JournalError::Disk { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            Ok(String::new())
        }
        Err(error) => Err(journal_error(&error)),
        Ok(()) => Ok(String::new()),
    }
}

/// Requires the whole id, because a deletion cannot be undone.
fn delete_session(
    id: &str,
    is_json: bool,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let catalogue = session::open_catalogue(lookup)?;
    let all = catalogue.list(None).map_err(|error| journal_error(&error))?;
    let Some(listed) = all.iter().find(|listed| listed.summary.id == id) else {
        let similar = session::find_session(&catalogue, Some(id), &working_directory()?);
        let advice = match similar {
            Ok(listed) => words::describe_similar_session(&listed.summary.id),
            Err(_) => words::LIST_ALL_SESSIONS.to_owned(),
        };
        return Err(CommandError::usage(words::describe_unknown_session_id(&id, &advice)));
    };
    session::delete_listed(&catalogue, listed, lookup)?;
    Ok(match is_json {
        true => format!("{}\n", json!({"session_id": id, "deleted": true})),
        false => String::new(),
    })
}
