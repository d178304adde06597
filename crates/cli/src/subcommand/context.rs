//! `windlass context`: what filled the window of a session when its last run ended. Read off the
//! journal; nothing is replayed and no model is asked.

use std::path::Path;

use windlass_journal::{JournalNote, JournalReader, RecordItem};
use windlass_vocabulary::context_usage::ContextUsage;

use crate::args::SingleSessionArgs;
use windlass_assembly::report::context_usage;
use windlass_assembly::session::journal_error;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

/// What to print.
pub(crate) fn run(
    args: &SingleSessionArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let id = &listed.summary.id;
    let inventory = read_last_context_usage(&listed.path)?.ok_or_else(|| {
        CommandError::failure(format!(
            "no run of the session {id} has ended yet; ask it instead: windlass -p \"/context\" -r \
             {id}"
        ))
    })?;
    Ok(match args.json {
        true => format!("{}\n", context_usage::context_usage_to_json(id, &inventory)),
        false => format!("Session {id}\n{}", context_usage::render_context_usage(&inventory)),
    })
}

fn read_last_context_usage(journal: &Path) -> Result<Option<Box<ContextUsage>>, CommandError> {
    let mut reader = JournalReader::open(journal).map_err(|error| journal_error(&error))?;
    let mut last = None;
    while let Some(record) = reader.next_record().map_err(|error| journal_error(&error))? {
        if let RecordItem::Note(JournalNote::Context(inventory)) = record.item {
            last = Some(inventory);
        }
    }
    Ok(last)
}
