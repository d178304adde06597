//! `windlass context`: what filled the context window of a session when its last run ended. Read from the
//! journal, without a replay or a request.

use std::path::Path;

use windlass_journal::{JournalNote, JournalReader, RecordItem};
use windlass_vocabulary::context_usage::ContextUsage;

use crate::args::SingleSessionArgs;
use crate::words;
use windlass_assembly::report::context_usage;
use windlass_assembly::session::journal_error;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

pub(crate) fn run(
    args: &SingleSessionArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let id = &listed.summary.id;
    let usage = read_last_context_usage(&listed.path)?
        .ok_or_else(|| CommandError::failure(words::describe_no_context_yet(id)))?;
    Ok(match args.json {
        true => format!("{}\n", context_usage::context_usage_to_json(id, &usage)),
        false => format!("Session {id}\n{}", context_usage::render_context_usage(&usage)),
    })
}

fn read_last_context_usage(journal: &Path) -> Result<Option<Box<ContextUsage>>, CommandError> {
    let mut reader = JournalReader::open(journal).map_err(|error| journal_error(&error))?;
    let mut last = None;
    while let Some(record) = reader.next_record().map_err(|error| journal_error(&error))? {
        if let RecordItem::Note(JournalNote::Context(usage)) = record.item {
            last = Some(usage);
        }
    }
    Ok(last)
}
