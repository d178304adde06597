//! Events for batches of hooks.

use windlass_driver::HookBatchResult;

use super::emission::Emission;
use crate::names;
use crate::record::Attributes;

pub(super) fn hooks_started(
    event: &str,
    target: Option<&str>,
    count: usize,
    emission: &mut Emission<'_>,
) {
    let attributes = describe(event, target, count, emission);
    emission.event(names::HOOK_EXECUTION_START, attributes);
}

pub(super) fn hooks_ended(result: &HookBatchResult<'_>, emission: &mut Emission<'_>) {
    let attributes = describe(result.event, result.target, result.count, emission)
        .count("num_success", result.succeeded as u64)
        .count("num_blocking", result.blocking as u64)
        .count("num_non_blocking_error", result.failed as u64)
        .count("num_cancelled", result.cancelled as u64)
        .count("total_duration_ms", result.took.0);
    emission.event(names::HOOK_EXECUTION_COMPLETE, attributes);
}

fn describe(
    event: &str,
    target: Option<&str>,
    count: usize,
    emission: &Emission<'_>,
) -> Attributes {
    // The target may be a user's MCP server.
    let target = target
        .filter(|target| emission.config.content.tool_details || !target.starts_with("mcp__"));
    let name = target.map_or_else(|| event.to_owned(), |target| format!("{event}:{target}"));
    Attributes::default()
        .text("hook_event", event)
        .text("hook_name", name)
        .count("num_hooks", count as u64)
}
