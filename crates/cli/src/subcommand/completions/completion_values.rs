//! What an option or an operand may be: what clap knows, or what there is on this machine. What cannot be
//! read is left out: a shell has no place for an error.

use clap::Arg;

use super::CompletionCandidate;
use windlass_assembly::directories::working_directory;
use windlass_assembly::session::open_catalogue;
use windlass_host::display::strip_control_characters;
use windlass_host::environment::EnvLookup;
use windlass_journal::SessionSummary;
use windlass_project::agents::find_agent_files;
use windlass_project::extension_sources::ExtensionSources;
use windlass_provider::config::Config;
use windlass_settings::EnabledSources;

/// A longer list is not helpful.
const SESSIONS_MAX: usize = 50;
/// The part of an id that `sessions list` shows.
const ID_LENGTH: usize = 13;

pub(super) fn list_values(option: &Arg, lookup: &impl EnvLookup) -> Vec<CompletionCandidate> {
    let known: Vec<_> = option
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| {
            let meaning = value.get_help().map(ToString::to_string).unwrap_or_default();
            CompletionCandidate::new(value.get_name(), meaning)
        })
        .collect();
    if !known.is_empty() {
        return known;
    }
    match option.get_id().as_str() {
        "session" | "resume" => list_sessions(lookup).unwrap_or_default(),
        "model" | "fallback_model" | "part" => list_models(lookup).unwrap_or_default(),
        "agent" => list_agents(lookup).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn list_sessions(lookup: &impl EnvLookup) -> Option<Vec<CompletionCandidate>> {
    let here = open_catalogue(lookup).ok()?.list(Some(&working_directory().ok()?)).ok()?;
    let candidate = |summary: &SessionSummary| {
        let id = summary.id.get(..ID_LENGTH).unwrap_or(&summary.id);
        // A model may have written it, and the shell prints it.
        let name = strip_control_characters(summary.title.as_ref().unwrap_or(&summary.prompt));
        CompletionCandidate::new(id, name)
    };
    Some(here.iter().take(SESSIONS_MAX).map(|listed| candidate(&listed.summary)).collect())
}

fn list_models(lookup: &impl EnvLookup) -> Option<Vec<CompletionCandidate>> {
    let config = Config::load(lookup).ok()?;
    let full_names = config.providers.keys().flat_map(|provider| {
        config.listed_models(provider).map(move |name| format!("{provider}/{name}"))
    });
    Some(full_names.map(|name| CompletionCandidate::new(name, "")).collect())
}

fn list_agents(lookup: &impl EnvLookup) -> Option<Vec<CompletionCandidate>> {
    let config = Config::load(lookup).ok()?;
    let extensions = ExtensionSources {
        enabled: EnabledSources::default(),
        plugins: &[],
        trusts_project: false,
        allows_hooks: false,
    };
    let files = find_agent_files(&working_directory().ok()?, &config, extensions, lookup);
    Some(files.into_iter().map(|(name, _)| CompletionCandidate::new(name, "")).collect())
}
