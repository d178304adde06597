//! Nested sessions and their names.

use windlass_driver::ObservedSession;

use super::agent_track::AgentTrack;
use super::emission::{Emission, millis_between};
use crate::names;
use crate::record::Attributes;

pub(super) fn subagent_completed(
    track: &AgentTrack,
    session: &ObservedSession,
    started: Option<u64>,
    emission: &mut Emission<'_>,
) {
    let took = started.map_or(0, |started| millis_between(started, emission.now));
    let kind = agent_name(session, emission.config.content.tool_details).unwrap_or_default();
    let attributes = Attributes::default()
        .text("agent_type", kind)
        .count("total_tokens", track.run.last_tokens)
        .count("total_tool_uses", track.run.tool_uses)
        .count("duration_ms", took)
        .text("model", &track.run.model)
        .flag("is_async", track.is_async);
    emission.event(names::SUBAGENT_COMPLETED, attributes);
}

/// Hides names of users' agents as `custom`, unless details may be sent.
pub(super) fn agent_name(session: &ObservedSession, is_revealed: bool) -> Option<String> {
    let kind = session.agent_kind.as_deref()?;
    let is_known = is_revealed || BUILT_IN_AGENTS.contains(&kind);
    Some(if is_known { kind } else { "custom" }.to_owned())
}

const BUILT_IN_AGENTS: &[&str] = &["general-purpose"];
