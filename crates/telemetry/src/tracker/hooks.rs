//! Events for batches of hooks.

use windlass_driver::HookBatchResult;

use super::agent_track::AgentTrack;
use super::emission::{Emission, EndedSpan, OpenSpan};
use crate::names;
use crate::record::{Attributes, SpanKind};

pub(super) fn hooks_started(
    event: &str,
    target: Option<&str>,
    count: usize,
    emission: &mut Emission<'_>,
) {
    let attributes = describe(event, target, count, emission);
    emission.event(names::HOOK_EXECUTION_START, attributes);
}

pub(super) fn hooks_ended(
    track: &AgentTrack,
    result: &HookBatchResult<'_>,
    emission: &mut Emission<'_>,
) {
    let attributes = describe(result.event, result.target, result.count, emission)
        .count("num_success", result.succeeded as u64)
        .count("num_blocking", result.blocking as u64)
        .count("num_non_blocking_error", result.failed as u64)
        .count("num_cancelled", result.cancelled as u64);
    if emission.config.trace.has_hook_spans {
        let took = result.took.0.saturating_mul(1_000_000);
        let span = emission.begin_span(track.current_context());
        emission.end_span(EndedSpan {
            span: OpenSpan { start: emission.now.saturating_sub(took), ..span },
            name: names::HOOK_SPAN,
            kind: SpanKind::Internal,
            end: emission.now,
            attributes: attributes.clone().count("duration_ms", result.took.0),
            events: Vec::new(),
            error: (result.failed > 0).then(|| "hook_error".to_owned()),
        });
    }
    let attributes = attributes.count("total_duration_ms", result.took.0);
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
