//! What a request is for, on its costs and events: agent, skill, plugin, MCP tool.

use windlass_driver::ObservedSession;

use super::agent_track::AgentTrack;
use super::emission::Emission;
use super::subagents::agent_name;
use super::wiring::{plugin_of, show_plugin};
use crate::record::Attributes;

/// Takes the MCP tool that ran since the last request: the next one is for something else.
pub(super) fn attribute_request(
    track: &mut AgentTrack,
    session: &ObservedSession,
    emission: &Emission<'_>,
) -> Attributes {
    let is_revealed = emission.config.content.tool_details;
    let show = |name: String| if is_revealed { name } else { "custom".to_owned() };
    let skill = track.run.skill.as_deref();
    let plugin = skill.and_then(plugin_of);
    let plugin = plugin.or_else(|| session.agent_kind.as_deref().and_then(plugin_of));
    let (server, tool) = track.mcp_call.take().unzip();
    Attributes::default()
        .optional_text("agent.name", agent_name(session, is_revealed))
        .optional_text("skill.name", skill.map(|name| show(name.to_owned())))
        .optional_text("plugin.name", plugin.map(|name| show_plugin(name, is_revealed)))
        .optional_text("mcp_server.name", server.map(show))
        .optional_text("mcp_tool.name", tool.map(show))
}
