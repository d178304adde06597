//! `windlass doctor`: which files were read, what is wrong, what is not trusted, which sandbox is used, and
//! where the key would come from; and whether the model server answers. Changes nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_config_text::TextPosition;
use windlass_driver::mcp::McpServerConfig;
use windlass_provider::model_options::ModelOptions;
use windlass_sandbox::{Cell, Sandbox, SandboxProbeOptions};
use windlass_settings::{
    LoadedSettings, ProblemSeverity, SettingsFileState, SettingsProblem, SettingsSource,
};

use crate::args::DoctorArgs;
use crate::words;
use windlass_assembly::directories::working_directory;
use windlass_assembly::mcp;
use windlass_assembly::options::{McpOptions, SettingsOptions};
use windlass_assembly::report::server_check::{ServerCheck, check_model_server};
use windlass_assembly::sandbox::ENTRY_SUBCOMMAND;
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::telemetry::describe_telemetry;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_seconds;
use windlass_host::display::text_table::{ColumnAlignment, render_table};
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_project::{agents, output_style, skills};
use windlass_provider::config::Config;
use windlass_provider::keyring::Keyring;
use windlass_provider::model_choice;
use windlass_provider::model_choice::ModelChain;
use windlass_provider::{key_source, keyring_key};

struct DoctorReport {
    layers: SettingsLayers,
    /// Problems outside of the settings files.
    other_problems: Vec<String>,
    model: Option<String>,
    key: Option<String>,
    server: ServerState,
    sandbox: Result<String, String>,
    /// What holds commands that run unasked.
    cell: Result<String, String>,
    /// Can runs be tried on a copy?
    trial: Result<(), String>,
    config: Option<PathBuf>,
    /// What is sent where; empty if telemetry is off.
    telemetry: Vec<String>,
}

enum ServerState {
    /// `--offline`.
    NotAsked,
    /// There is no model or no key, so it cannot be asked.
    CannotBeAsked,
    Answered(ServerCheck),
    /// What failed, and what to do about it.
    Failed(String),
}

/// Must be called where it may block, inside a runtime.
pub(crate) fn run(
    args: &DoctorArgs,
    lookup: &impl EnvLookup,
) -> Result<(String, Exit), CommandError> {
    let cwd = working_directory()?;
    let layers = SettingsLayers::load(&args.settings.clone().into(), false, &cwd, lookup)?;
    let mut report = run_checks(layers, &cwd, lookup);
    if args.offline {
        report.server = ServerState::NotAsked;
    } else if report.model.is_some() && report.key.is_some() {
        report.ask_server(&args.settings.clone().into(), lookup);
    }
    let is_fine = report.other_problems.is_empty() && report.layers.loaded.problems.is_empty();
    let text = match args.json {
        true => format!("{}\n", report_to_json(&report, is_fine)),
        false => render_report(&report, is_fine),
    };
    Ok((text, if is_fine { Exit::SUCCESS } else { Exit::FAILURE }))
}

impl DoctorReport {
    fn ask_server(&mut self, settings: &SettingsOptions, lookup: &impl EnvLookup) {
        let asked = check_model_server(settings, lookup);
        self.server = match tokio::runtime::Handle::current().block_on(asked) {
            Ok(check) => ServerState::Answered(check),
            Err(error) => {
                let why = to_single_line(error.message());
                self.other_problems.push(words::describe_server_problem(&why));
                ServerState::Failed(why)
            }
        };
    }
}

/// Problems of hooks, skills, agents, output styles and MCP servers.
fn check_project_files(
    layers: &SettingsLayers,
    cwd: &Path,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Vec<String> {
    let (_, mut problems_found) = layers.read_hooks();
    let folders = skills::find_skill_folders(cwd, layers.extension_sources(), lookup);
    for skill in windlass_driver::load_skills(&folders, |_| false) {
        let file = skill.folder.join("SKILL.md");
        problems_found.extend(skill.problem.map(|why| words::describe_file_problem(&file, &why)));
    }
    problems_found
        .extend(agents::load_agent_definitions(cwd, config, layers.extension_sources(), lookup).1);
    problems_found.extend(
        output_style::load_output_styles(cwd, layers.extension_sources(), lookup)
            .into_iter()
            .filter_map(|style| style.problem),
    );
    let stored = &layers.loaded.mcp_servers;
    match mcp::load_server_configs(&McpOptions::default(), stored, cwd, lookup) {
        Ok(servers) => {
            problems_found.extend(servers.notes);
            problems_found.extend(check_install_time(&servers.servers, lookup));
        }
        Err(error) => problems_found.push(to_single_line(error.message())),
    }
    problems_found
}

/// A limit that is right for a start is short for an install.
fn check_install_time(servers: &[McpServerConfig], lookup: &impl EnvLookup) -> Vec<String> {
    let limit = match mcp::read_timeouts(lookup) {
        Ok(timeouts) => timeouts.install,
        Err(error) => return vec![to_single_line(error.message())],
    };
    if limit >= INSTALL_MIN {
        return Vec::new();
    }
    let installed = servers.iter().filter(|server| server.installs_first());
    let describe = |server: &McpServerConfig| {
        words::describe_short_install(&server.name, &format_seconds(limit), INSTALL_MIN)
    };
    installed.map(describe).collect()
}

fn run_checks(mut layers: SettingsLayers, cwd: &Path, lookup: &impl EnvLookup) -> DoctorReport {
    let mut problems_found = Vec::new();
    let variables = layers.clone();
    let lookup = &variables.overlay_environment(lookup);
    let mut model = None;
    let mut key = None;
    let mut path = None;
    let describe = |error: CommandError| to_single_line(error.message());
    match Config::load(lookup) {
        Err(error) => problems_found.push(describe(error)),
        Ok(mut config) => {
            layers.apply_key_command(&mut config);
            problems_found.extend(check_project_files(&layers, cwd, &config, lookup));
            path.clone_from(&config.path);
            let args = layers.merge_model_options(&ModelOptions::default(), lookup);
            match model_choice::choose_model_chain(&args, &config, lookup) {
                Err(error) => problems_found.push(describe(error)),
                Ok(chain) => {
                    model = Some(chain.primary.full_name());
                    key = find_key_source(&chain, &config, lookup);
                    if key.is_none() {
                        problems_found.push(words::describe_missing_key(&chain.primary.provider));
                    }
                }
            }
        }
    }
    layers.add_directories(Vec::new());
    problems_found.extend(layers.extra_warnings().iter().cloned());
    let (telemetry, wrong_variables) = describe_telemetry(&layers, lookup);
    problems_found.extend(wrong_variables);
    let executable = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("windlass"));
    let sandbox =
        Sandbox::probe(&SandboxProbeOptions::best_available(executable, [ENTRY_SUBCOMMAND]));
    let sandbox =
        sandbox.map(|sandbox| sandbox.report().to_owned()).map_err(|error| error.to_string());
    let cell = Cell::probe();
    let cell = cell.map(|cell| cell.report().to_owned()).map_err(|error| error.to_string());
    DoctorReport {
        layers,
        other_problems: problems_found,
        model,
        key,
        server: ServerState::CannotBeAsked,
        sandbox,
        cell,
        trial: windlass_trial::dry_run::check_support(lookup),
        config: path,
        telemetry,
    }
}

/// Where the key of the first model would come from; never the key.
fn find_key_source(chain: &ModelChain, config: &Config, lookup: &impl EnvLookup) -> Option<String> {
    let name = chain.primary.provider.as_str();
    let provider = config.providers.get(name)?;
    if let Some(source) = key_source::list_configured_sources(provider, config, lookup).first() {
        return Some(source.to_string());
    }
    let origin = keyring_key::key_origin(name, config, lookup)
        .filter(|_| keyring_key::uses_keyring(provider));
    if let (Ok(keyring), Some(origin)) = (Keyring::detect(lookup), origin)
        && keyring_key::find_keyring_key(&keyring, name, &origin, config, lookup)
            .is_ok_and(|key| key.is_some())
    {
        return Some(key_source::KeySource::Keyring.to_string());
    }
    let base_url = keyring_key::key_origin(name, config, lookup);
    let is_local =
        base_url.is_some_and(|url| windlass_host::environment::parse_local_address(&url).is_some());
    (provider.needs_no_key() || is_local).then(|| words::NO_KEY_NEEDED.to_owned())
}

const fn layer_name(source: SettingsSource) -> &'static str {
    match source {
        SettingsSource::User => "user",
        SettingsSource::Project => "project",
        SettingsSource::Local => "local",
        SettingsSource::Flag => "flag",
        SettingsSource::Managed => "managed",
    }
}

fn report_to_json(report: &DoctorReport, is_fine: bool) -> Value {
    let LoadedSettings { files, problems, trust, .. } = &report.layers.loaded;
    let files: Vec<Value> = files
        .iter()
        .map(|file| {
            let state = match file.state {
                SettingsFileState::Absent => "absent",
                SettingsFileState::Read => "read",
                SettingsFileState::Broken => "broken",
            };
            json!({ "layer": layer_name(file.source), "file": file.name, "state": state, "keys": file.keys })
        })
        .collect();
    let line_and_column = |position: Option<TextPosition>| {
        position.map(|position| (position.line, position.column)).unzip()
    };
    let problem = |problem: &SettingsProblem| {
        let (line, column) = line_and_column(problem.position);
        json!({
            "layer": problem.source.map(layer_name), "file": problem.name, "line": line, "column": column,
            "what": problem.description(), "severity": problem.severity.as_str(),
        })
    };
    let values: serde_json::Map<String, Value> =
        report.layers.loaded.origins().map(|(key, names)| (key.to_owned(), json!(names))).collect();
    let idle: Vec<&str> = report
        .layers
        .loaded
        .origins()
        .map(|(key, _)| key)
        .filter(|key| !LoadedSettings::has_effect(key))
        .collect();
    let withheld: Vec<Value> = trust
        .withheld_items()
        .iter()
        .map(|item| json!({ "file": item.name, "key": item.key }))
        .collect();
    json!({
        "ok": is_fine,
        "files": files,
        "values": values,
        "without_effect": idle,
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        "wrong": report.other_problems,
        "trust": { "root": trust.root, "given": trust.is_given(), "withheld": withheld },
        "sandbox": match &report.sandbox {
            Ok(text) => json!({ "available": true, "report": text }),
            Err(why) => json!({ "available": false, "report": why }),
        },
        "dry_run": match &report.trial {
            Ok(()) => json!({ "available": true }),
            Err(why) => json!({ "available": false, "report": why }),
        },
        "wide_rules": list_wide_rules(&report.layers.loaded)
            .into_iter()
            .map(|(rule, width)| json!({ "rule": rule, "opens": width }))
            .collect::<Vec<_>>(),
        "cell": match &report.cell {
            Ok(text) => json!({ "available": true, "report": text }),
            Err(why) => json!({ "available": false, "report": why }),
        },
        "model": report.model,
        "key": report.key,
        "server": server_to_json(&report.server),
        "config": report.config,
        "telemetry": report.telemetry,
    })
}

fn server_to_json(server: &ServerState) -> Value {
    match server {
        ServerState::NotAsked | ServerState::CannotBeAsked => Value::Null,
        ServerState::Answered(check) => json!({
            "answers": true, "address": check.base_url, "milliseconds": check.took.as_millis(),
        }),
        ServerState::Failed(why) => json!({ "answers": false, "why": why }),
    }
}

fn describe_server(server: &ServerState) -> String {
    match server {
        ServerState::NotAsked => words::SERVER_NOT_ASKED.to_owned(),
        ServerState::CannotBeAsked => words::SERVER_CANNOT_BE_ASKED.to_owned(),
        ServerState::Answered(check) => words::describe_server_answer(&check.base_url, check.took),
        ServerState::Failed(_) => words::SERVER_FAILED.to_owned(),
    }
}

/// Allow rules in force that open more than their text shows, and what.
fn list_wide_rules(loaded: &LoadedSettings) -> Vec<(String, &'static str)> {
    let rules = loaded.rules.allow.iter();
    rules.filter_map(|rule| Some((rule.to_string(), rule.describe_width()?))).collect()
}

fn render_report(report: &DoctorReport, is_fine: bool) -> String {
    let LoadedSettings { files, problems, trust, .. } = &report.layers.loaded;
    let mut text = words::DOCTOR_FILES.to_owned();
    let rows: Vec<[String; 4]> = files
        .iter()
        .map(|file| {
            let keys = file.keys.join(", ");
            [
                layer_name(file.source).to_owned(),
                words::describe_file_state(file.state).to_owned(),
                file.name.clone(),
                keys,
            ]
            .map(|cell| to_single_line(&cell))
        })
        .collect();
    text.push_str(&indent_lines(&render_table([ColumnAlignment::Left; 4], &rows)));
    let values: Vec<[String; 2]> = report
        .layers
        .loaded
        .origins()
        .map(|(key, names)| {
            let idle =
                if LoadedSettings::has_effect(key) { "" } else { words::DOCTOR_WITHOUT_EFFECT };
            [to_single_line(key), format!("{}{idle}", to_single_line(&names.join(", ")))]
        })
        .collect();
    if !values.is_empty() {
        text.push_str(words::DOCTOR_VALUES);
        text.push_str(&indent_lines(&render_table([ColumnAlignment::Left; 2], &values)));
    }
    text.push_str(&format!(
        "{}  {}: {}\n",
        words::DOCTOR_TRUST,
        to_single_line(&trust.root.display().to_string()),
        words::describe_trust_state(trust.state)
    ));
    for item in trust.withheld_items() {
        let ignored = words::describe_ignored_item(&item.key, &item.name);
        text.push_str(&format!("  {}\n", to_single_line(&ignored)));
    }
    let sandbox = match &report.sandbox {
        // The heading says it.
        Ok(text) => text.strip_prefix("Sandbox: ").unwrap_or(text).to_owned(),
        Err(why) => words::describe_no_sandbox(why),
    };
    let wide = list_wide_rules(&report.layers.loaded);
    if !wide.is_empty() {
        text.push_str(words::DOCTOR_BROAD_RULES);
        for (rule, width) in wide {
            text.push_str(&format!("  {}: {width}\n", to_single_line(&rule)));
        }
    }
    let or_none = |text: &Option<String>| to_single_line(text.as_deref().unwrap_or(words::NONE));
    text.push_str(&format!("{}  {}\n", words::DOCTOR_SANDBOX, to_single_line(&sandbox)));
    let cell = match &report.cell {
        Ok(text) => words::describe_cell(text),
        Err(why) => words::describe_no_cell(why),
    };
    text.push_str(&format!("{}  {}\n", words::DOCTOR_CELL, to_single_line(&cell)));
    let trial = match &report.trial {
        Ok(()) => words::TRIAL_AVAILABLE.to_owned(),
        Err(why) => words::describe_no_trial(why),
    };
    text.push_str(&format!("{}  {}\n", words::DOCTOR_TRIAL, to_single_line(&trial)));
    text.push_str(words::DOCTOR_MODEL);
    text.push_str(&words::describe_model(
        &or_none(&report.model),
        &or_none(&report.key),
        &describe_server(&report.server),
    ));
    if !report.telemetry.is_empty() {
        text.push_str(&format!(
            "{}{}",
            words::DOCTOR_TELEMETRY,
            indent_lines(&report.telemetry.join("\n"))
        ));
    }
    text.push_str(if is_fine { words::DOCTOR_FINE } else { words::DOCTOR_PROBLEMS });
    let mut problems: Vec<&SettingsProblem> = problems.iter().collect();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    for problem in problems {
        let mark = if problem.severity == ProblemSeverity::File { "!" } else { "-" };
        text.push_str(&format!("  {mark} {}\n", to_single_line(&problem.to_string())));
    }
    for line in &report.other_problems {
        text.push_str(&format!("  - {}\n", to_single_line(line)));
    }
    text
}

fn indent_lines(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// What a package of some size takes to be installed on a slow line.
const INSTALL_MIN: Duration = Duration::from_secs(60);
