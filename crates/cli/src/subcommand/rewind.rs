//! `windlass rewind`: takes a session back to one of its prompts.

use windlass_assembly::report::rewind::rewind_journal;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::slash_command::RewindArguments;
use windlass_driver::rewind::{RewindOptions, RewindScope};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

use crate::args::RewindArgs;

pub(crate) fn run(args: &RewindArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let arguments = RewindArguments {
        to: args.to.clone(),
        scope: RewindScope { conversation: !args.files, files: !args.conversation },
        options: RewindOptions { dry_run: args.dry_run, overwrite: args.overwrite },
    };
    let (text, object) = rewind_journal(&listed.path, &listed.summary.id, &arguments, lookup)?;
    Ok(if args.json { format!("{object}\n") } else { text })
}
