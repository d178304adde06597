//! `windlass fork`: copies a session up to a point, to continue it in two ways.

use serde_json::json;
use windlass_assembly::session::fork_with_files::{ForkArguments, ForkFiles, fork_with_files};
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::format_counted;
use windlass_host::environment::EnvLookup;

use crate::args::ForkArgs;
use crate::words;

pub(crate) fn run(args: &ForkArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let files = match &args.workspace {
        None => ForkFiles::Shared,
        Some(None) => ForkFiles::Beside,
        Some(Some(place)) => ForkFiles::In(place.clone()),
    };
    let arguments = ForkArguments { at: args.at.clone(), files };
    let forked = fork_with_files(&listed, &arguments, lookup)?;
    let directory = forked.directory.display().to_string();
    if args.json {
        let object = json!({
            "session_id": forked.id,
            "parent": listed.summary.id,
            "directory": directory,
            "files": forked.copied.as_ref().map(|copied| copied.files),
            "bytes": forked.copied.as_ref().map(|copied| copied.bytes),
            "missing": forked.copied.as_ref().map(|copied| &copied.missing),
        });
        return Ok(format!("{object}\n"));
    }
    let mut text = match &forked.point {
        Some(point) => words::describe_fork_point(point),
        None => words::FORKED.to_owned(),
    };
    if let Some(copied) = &forked.copied {
        let files = format_counted(copied.files, "file");
        text.push_str(&words::describe_copied_files(&files, &directory));
        if !copied.missing.is_empty() {
            text.push_str(&words::describe_missing_files(&copied.missing.join(", ")));
        }
    }
    let resume = match forked.copied {
        Some(_) => words::describe_resume_in(&directory, &forked.id),
        None => words::describe_resume(&forked.id),
    };
    text.push_str(&words::describe_next_command(&resume));
    Ok(text)
}
