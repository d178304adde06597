//! Telemetry of a session, where the user has switched it on.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use windlass_driver::PromptSubmission;
use windlass_driver::mcp::{McpConnectionChange, McpServers, tool_name_prefix};
use windlass_driver::tool_types::Secrets;
use windlass_host::environment::EnvLookup;
use windlass_project::plugins::Plugin;
use windlass_telemetry::{
    ExpandedCommand, LoadedPlugin, ProcessFacts, RegisteredHook, TelemetryConfig,
    TelemetryObserver, WiringReport, read_config,
};
use windlass_vocabulary::ContentBlock;

use crate::options::{OutputFormat, RunOptions};
use crate::settings::hooks::plugin_hook_source;
use crate::settings::{SettingsLayers, settings_source_name};
use crate::slash_command::SlashCommand;

/// Describes what is sent and where; empty if telemetry is off. The second value lists invalid
/// settings.
pub fn describe_telemetry(
    layers: &SettingsLayers,
    lookup: &impl EnvLookup,
) -> (Vec<String>, Vec<String>) {
    let (config, problems) = read(&RunOptions::default(), layers, lookup);
    (config.map(|config| config.describe()).unwrap_or_default(), problems)
}

/// Starts it, if it is on. What is wrong is among the warnings of the settings.
pub(crate) fn start_telemetry(
    options: &RunOptions,
    cwd: &Path,
    layers: &mut SettingsLayers,
    secrets: &Secrets,
    lookup: &impl EnvLookup,
) -> Option<Arc<TelemetryObserver>> {
    let (config, problems) = read(options, layers, lookup);
    for problem in problems {
        layers.warn(problem);
    }
    let mut config = config?;
    // A collector's headers are keys like any other.
    config.secrets().for_each(|value| secrets.add(value));
    if let Some(helper) = &layers.loaded.settings.secret_programs.otel_headers_helper {
        let command = layers.guard_command_line("otelHeadersHelper", helper);
        config.set_headers_program(command, cwd.to_owned(), lookup);
    }
    match TelemetryObserver::start(config) {
        Ok(observer) => Some(Arc::new(observer)),
        Err(error) => {
            layers.warn(format!("no telemetry is sent: {error}"));
            None
        }
    }
}

/// Reports what the session begins with: hooks, plugins, MCP servers.
pub(crate) fn report_setup(
    telemetry: &TelemetryObserver,
    layers: &SettingsLayers,
    servers: &McpServers,
) {
    let scopes = servers.server_reports().into_iter();
    let scopes = scopes.map(|server| (tool_name_prefix(&server.name), server.scope)).collect();
    telemetry.report(WiringReport::McpServersConfigured(scopes));
    for plugin in &layers.plugins {
        telemetry.report(WiringReport::PluginLoaded(describe_plugin(plugin)));
    }
    let (hooks, _) = layers.read_hooks();
    for hook in hooks.list() {
        let mut plugins = layers.plugins.iter().map(|plugin| &plugin.name);
        let plugin = plugins.find(|name| plugin_hook_source(name) == hook.source).cloned();
        let layer = layers.loaded.hooks.iter().find(|layer| layer.name == hook.source);
        let source = match (&plugin, layer) {
            (Some(_), _) => "pluginHook",
            (None, Some(layer)) => settings_source_name(layer.source),
            (None, None) => "flagSettings",
        };
        telemetry.report(WiringReport::HookRegistered(RegisteredHook {
            event: hook.event.name(),
            kind: hook.kind.name(),
            source,
            matcher: hook.matcher,
            plugin,
        }));
    }
}

fn describe_plugin(plugin: &Plugin) -> LoadedPlugin {
    let count = |kind: &str| plugin.component_folders(kind, kind).len() as u64;
    LoadedPlugin {
        name: plugin.name.clone(),
        version: plugin.version().map(str::to_owned),
        has_hooks: plugin.read_hooks().is_ok_and(|hooks| hooks.is_some()),
        has_mcp: plugin.read_mcp_servers().is_ok_and(|servers| !servers.is_empty()),
        skill_folders: count("skills"),
        command_folders: count("commands"),
        agent_folders: count("agents"),
    }
}

/// Reports connections of MCP servers until the session has closed them.
pub(crate) fn forward_connection_changes(
    telemetry: &Arc<TelemetryObserver>,
    mut changes: mpsc::Receiver<McpConnectionChange>,
) {
    let telemetry = Arc::clone(telemetry);
    tokio::spawn(async move {
        while let Some(change) = changes.recv().await {
            telemetry.report(WiringReport::McpConnectionChanged(change));
        }
    });
}

/// Reports the prompt of the command line, which was expanded before telemetry started.
pub(crate) fn report_first_command(
    telemetry: &TelemetryObserver,
    options: &RunOptions,
    command: Option<&SlashCommand>,
) {
    let typed = options.print.as_ref().and_then(Option::as_ref).or(options.prompt.as_ref());
    let typed = typed.and_then(|typed| typed.to_str());
    if let (Some(typed), Some(SlashCommand::SubmitPrompt(submission))) = (typed, command)
        && typed.starts_with('/')
    {
        report_command(telemetry, typed, submission);
    }
}

/// Reports that a typed command became this prompt, so that the prompt is known as a command.
pub(crate) fn report_command(
    telemetry: &TelemetryObserver,
    typed: &str,
    submission: &PromptSubmission,
) {
    let Some(ContentBlock::Text(text)) = submission.content.first() else { return };
    let (name, source) = match &submission.slash_command {
        Some(command) => (command.name.clone(), "custom"),
        None if text != typed && typed.starts_with("/mcp__") => {
            let name = typed.split_whitespace().next().unwrap_or_default();
            (name.trim_start_matches('/').to_owned(), "mcp")
        }
        None => return,
    };
    let text = text.clone();
    telemetry.report(WiringReport::CommandExpanded(ExpandedCommand { name, source, text }));
}

fn read(
    options: &RunOptions,
    layers: &SettingsLayers,
    lookup: &impl EnvLookup,
) -> (Option<TelemetryConfig>, Vec<String>) {
    let is_interactive = options.headless.is_attended;
    let is_stream = options.reads_stream_json();
    let process = ProcessFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        is_interactive,
        is_single_run: !is_interactive && !is_stream,
        speaks_protocol: is_stream || options.output_format == OutputFormat::StreamJson,
        is_continued: options.session.goes_on,
        entrypoint: if is_interactive { "cli" } else { "sdk-cli" }.to_owned(),
        ..ProcessFacts::default()
    };
    let is_managed = |name: &str| layers.loaded.is_managed(&format!("env.{name}"));
    let (mut config, problems) = read_config(lookup, &is_managed, process);
    let headless = &options.headless;
    let is_debugged = headless.debug.is_some() && headless.debug_file.is_none();
    if let Some(config) = config.as_mut().filter(|_| is_debugged && !is_interactive) {
        config.shows_errors = true;
    }
    (config, problems)
}
