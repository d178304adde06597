//! The plan of a session, as this front end needs it.

use windlass_assembly::options::RunOptions;
use windlass_assembly::session_plan;
use windlass_assembly::session_plan::SessionPlan;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;

/// A new plan for the same command line, for a new conversation.
pub(crate) fn build_fresh_plan(args: &RunOptions) -> Result<SessionPlan, CommandError> {
    let mut args = args.clone();
    args.session.goes_on = false;
    args.session.resume = None;
    args.session.fork_session = false;
    args.session.session_id = None;
    args.session.journal = None;
    args.print = None;
    args.prompt = None;
    session_plan::plan_streaming_session(&args, &process_environment).map(enable_deferred_calls)
}

/// Hooks may defer calls where another process can resume the session.
pub(crate) fn enable_deferred_calls(mut plan: SessionPlan) -> SessionPlan {
    plan.builder.set_deferrable_calls(plan.journal.is_some());
    plan
}
