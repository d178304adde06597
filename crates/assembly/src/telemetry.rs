//! Telemetry of a session, where the user has switched it on.

use std::path::Path;
use std::sync::Arc;

use windlass_driver::SessionObserver;
use windlass_driver::tool_types::Secrets;
use windlass_host::environment::EnvLookup;
use windlass_telemetry::{ProcessFacts, TelemetryConfig, TelemetryObserver, read_config};

use crate::options::{OutputFormat, RunOptions};
use crate::settings::SettingsLayers;

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
) -> Option<Arc<dyn SessionObserver>> {
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
