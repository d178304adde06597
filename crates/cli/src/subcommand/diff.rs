//! `windlass diff`: what a session did to files.

use windlass_assembly::report::diff::diff_journal;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::slash_command::{DiffArguments, DiffScope};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

use crate::args::DiffArgs;

pub(crate) fn run(args: &DiffArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let scope = match (args.turn, &args.call) {
        (Some(number), _) => DiffScope::Turn(number),
        (None, Some(call)) => DiffScope::Call(call.clone()),
        (None, None) if args.last => DiffScope::LastTurn,
        (None, None) => DiffScope::Session,
    };
    let arguments = DiffArguments { scope, is_summary: args.stat };
    let (text, object) = diff_journal(&listed.path, &listed.summary.id, &arguments, lookup)?;
    Ok(if args.json { format!("{object}\n") } else { text })
}
