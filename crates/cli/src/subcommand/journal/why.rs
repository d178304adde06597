//! `windlass why`: why a session went on, recovered, shrank, changed its model or stopped.

use windlass_assembly::report::why::render_reasons;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

use super::resolve_journal_path;
use crate::args::WhyArgs;

pub(crate) fn run(args: &WhyArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let journal = resolve_journal_path(args.session.as_deref(), lookup)?;
    render_reasons(&journal, args.turn, args.json)
}
