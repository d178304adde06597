//! Events for what the wiring reports, and what of it later records need.

use std::collections::{HashMap, VecDeque};

use windlass_driver::ObservedSession;
use windlass_driver::mcp::{McpConnectionChange, McpConnectionState};
use windlass_vocabulary::ContentBlock;

use super::emission::Emission;
use crate::names;
use crate::record::Attributes;
use crate::wiring_report::{ExpandedCommand, LoadedPlugin, RegisteredHook, WiringReport};

#[derive(Debug, Default)]
pub(super) struct WiringTrack {
    /// The first session of the tree, once it has started.
    pub(super) main: Option<ObservedSession>,
    /// What was reported before that.
    early: VecDeque<WiringReport>,
    /// The scope of each MCP server, by the prefix of the names of its tools.
    pub(super) server_scopes: HashMap<String, String>,
    /// Commands whose prompts were not accepted yet.
    commands: VecDeque<ExpandedCommand>,
}

impl WiringTrack {
    /// Keeps what is reported before the session starts.
    pub(super) fn defer(&mut self, report: WiringReport) {
        if self.early.len() < EARLY_MAX {
            self.early.push_back(report);
        }
    }

    pub(super) fn take_early(&mut self) -> VecDeque<WiringReport> {
        std::mem::take(&mut self.early)
    }

    /// Remembers what later records need.
    pub(super) fn remember(&mut self, report: &WiringReport) {
        match report {
            WiringReport::McpServersConfigured(scopes) => {
                self.server_scopes.extend(scopes.iter().cloned());
            }
            WiringReport::CommandExpanded(command) => {
                if self.commands.len() >= COMMANDS_MAX {
                    self.commands.pop_front();
                }
                self.commands.push_back(command.clone());
            }
            WiringReport::HookRegistered(_)
            | WiringReport::PluginLoaded(_)
            | WiringReport::McpConnectionChanged(_)
            | WiringReport::SessionsCleanedUp { .. } => {}
        }
    }

    /// The command that became this prompt.
    pub(super) fn take_command(&mut self, content: &[ContentBlock]) -> Option<ExpandedCommand> {
        let Some(ContentBlock::Text(text)) = content.first() else { return None };
        let place = self.commands.iter().position(|command| command.text == *text)?;
        self.commands.remove(place)
    }
}

pub(super) fn emit_report(report: &WiringReport, emission: &mut Emission<'_>) {
    match report {
        WiringReport::HookRegistered(hook) => hook_registered(hook, emission),
        WiringReport::PluginLoaded(plugin) => plugin_loaded(plugin, emission),
        WiringReport::McpConnectionChanged(change) => connection_changed(change, emission),
        WiringReport::SessionsCleanedUp { moved, deleted } => {
            let attributes = Attributes::default()
                .count("sessions_moved", *moved as u64)
                .count("sessions_deleted", *deleted as u64);
            emission.event(names::RETENTION_SWEEP, attributes);
        }
        // A part of later events.
        WiringReport::McpServersConfigured(_) | WiringReport::CommandExpanded(_) => {}
    }
}

fn hook_registered(hook: &RegisteredHook, emission: &mut Emission<'_>) {
    let is_revealed = emission.config.content.tool_details;
    let matcher = Some(&hook.matcher).filter(|matcher| is_revealed && !matcher.is_empty());
    let plugin = hook.plugin.as_deref().map(|name| show_plugin(name, is_revealed));
    let attributes = Attributes::default()
        .text("hook_event", hook.event)
        .text("hook_type", hook.kind)
        .text("hook_source", hook.source)
        .optional_text("hook_matcher", matcher)
        .optional_text("plugin.name", plugin);
    emission.event(names::HOOK_REGISTERED, attributes);
}

fn plugin_loaded(plugin: &LoadedPlugin, emission: &mut Emission<'_>) {
    let is_revealed = emission.config.content.tool_details;
    let attributes = Attributes::default()
        .text("plugin.name", show_plugin(&plugin.name, is_revealed))
        .optional_text("plugin.version", plugin.version.as_ref().filter(|_| is_revealed))
        .text("plugin.scope", "user-local")
        .flag("has_hooks", plugin.has_hooks)
        .flag("has_mcp", plugin.has_mcp)
        .count("skill_path_count", plugin.skill_folders)
        .count("command_path_count", plugin.command_folders)
        .count("agent_path_count", plugin.agent_folders);
    emission.event(names::PLUGIN_LOADED, attributes);
}

fn connection_changed(change: &McpConnectionChange, emission: &mut Emission<'_>) {
    let is_revealed = emission.config.content.tool_details;
    let status = match change.state {
        McpConnectionState::Connected => "connected",
        McpConnectionState::Failed => "failed",
        McpConnectionState::Disconnected => "disconnected",
    };
    let plugin = plugin_of(&change.name);
    let error = change.error.as_deref().filter(|_| is_revealed);
    let error = error.map(|error| emission.cut(error, ERROR_LENGTH_MAX));
    let mut attributes = Attributes::default()
        .text("status", status)
        .text("transport_type", change.transport)
        .text("server_scope", &change.scope)
        .flag("is_plugin", plugin.is_some())
        .optional_text("plugin.name", plugin.map(|name| show_plugin(name, is_revealed)))
        .optional_text("server_name", Some(&change.name).filter(|_| is_revealed))
        .optional_text("error", error);
    if let Some(took) = change.took {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        attributes = attributes.count("duration_ms", millis);
    }
    emission.event(names::MCP_SERVER_CONNECTION, attributes);
}

/// The plugin that a name such as `plugin:part` belongs to.
pub(super) fn plugin_of(name: &str) -> Option<&str> {
    name.split_once(':').map(|(plugin, _)| plugin)
}

/// Hides the name of a plugin, unless details may be sent. Windlass knows no plugin of its own.
pub(super) fn show_plugin(name: &str, is_revealed: bool) -> String {
    if is_revealed { name } else { "third-party" }.to_owned()
}

/// Of reports before the session has started.
const EARLY_MAX: usize = 512;
/// Of commands whose prompts are still queued.
const COMMANDS_MAX: usize = 16;
const ERROR_LENGTH_MAX: usize = 1_000;
