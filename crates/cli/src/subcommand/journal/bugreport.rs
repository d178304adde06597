//! `windlass bugreport`: a copy of a session without its contents that still replays the same.

use std::path::PathBuf;

use windlass_journal::{scrub, verify};

use super::{fallback_settings, resolve_journal_path};
use crate::args::BugreportArgs;
use crate::words;
use windlass_assembly::session::journal_error;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::random;

pub(crate) fn run(args: &BugreportArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let journal = resolve_journal_path(args.session.as_deref(), lookup)?;
    let settings = fallback_settings();
    let bytes = scrub(&journal, &settings, &random::generate_name())
        .map_err(|error| journal_error(&error))?;
    let output = args.output.clone().unwrap_or_else(|| {
        let id = journal.file_stem().unwrap_or_default().to_string_lossy();
        let short: String = id.chars().take(8).collect();
        PathBuf::from(format!("windlass-{short}.report.jsonl"))
    });
    let written = std::fs::OpenOptions::new().write(true).create_new(true).open(&output);
    written.and_then(|mut file| std::io::Write::write_all(&mut file, &bytes)).map_err(|error| {
        CommandError::failure(words::describe_unwritable_report(&output.display(), &error))
    })?;
    let verified = verify(&output, &settings).map_err(|error| journal_error(&error))?;
    let replay_note = match verified.difference {
        None => words::REPORT_REPLAYS,
        Some(_) => words::REPORT_DIFFERS,
    };
    Ok(words::describe_report(&output.display(), &bytes.len(), &replay_note))
}
