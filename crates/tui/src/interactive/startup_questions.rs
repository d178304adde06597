//! What has to be asked before there is a session: which one to go on with, whether the project is
//! trusted, and what to do without a key.

use crate::{Picker, PickerItem, TuiDisplayOptions, run_picker};
use windlass_settings::load_settings;
use windlass_settings::trust::TrustStore;

use super::InteractiveOutcome;
use super::resume_rewind;
use windlass_assembly::directories::working_directory;
use windlass_assembly::options::RunOptions;
use windlass_assembly::report::trust::render_trust;
use windlass_assembly::settings;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::user_directories;
use windlass_provider::config::Config;
use windlass_provider::local_server;

/// What came of a question.
pub(super) enum StartupDecision {
    /// Go on.
    Continue,
    /// That was all.
    Quit(InteractiveOutcome),
}

/// Asks what has to be asked. Nothing, as a rule.
pub(super) async fn ask_before_start(
    args: &mut RunOptions,
    looks: TuiDisplayOptions,
) -> Result<StartupDecision, CommandError> {
    if args.session.resume == Some(None) {
        let items = resume_rewind::list_session_items(&working_directory()?)?;
        if items.is_empty() {
            return Err(CommandError::usage(
                "there is no session of this directory yet; leave out -r",
            ));
        }
        let picker = Picker::new("Go on with which session?", items);
        match show_picker(looks, "", picker).await? {
            Some(item) => args.session.resume = Some(Some(item.value)),
            None => return Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS))),
        }
    }
    if args.bare || args.settings.safe_mode || args.settings.trust_project {
        return Ok(StartupDecision::Continue);
    }
    ask_project_trust(args, looks).await
}

/// A project that brings along what would run, allow or lead elsewhere is asked about once.
async fn ask_project_trust(
    args: &RunOptions,
    looks: TuiDisplayOptions,
) -> Result<StartupDecision, CommandError> {
    let environment = |name: &str| std::env::var_os(name);
    let request =
        settings::build_load_request(&args.settings, &working_directory()?, &environment)?;
    let wanted = load_settings(&request).trust;
    let Some(state) = user_directories::state_directory(&environment) else {
        return Ok(StartupDecision::Continue);
    };
    if wanted.withheld_items().is_empty() {
        return Ok(StartupDecision::Continue);
    }
    let words = render_trust(&wanted, false);
    let items = [
        ("no", "No, go on without it", "asked again the next time"),
        ("yes", "Yes, I trust exactly this", "asked again when it changes"),
        ("leave", "Leave", ""),
    ]
    .map(|(value, label, about)| build_item(value, label, about));
    let picker = Picker::new("Do you trust this folder?", items.to_vec());
    match show_picker(looks, &words, picker).await?.map(|item| item.value).as_deref() {
        Some("yes") => {
            let store = TrustStore::new(&state);
            store.accept(&wanted).map_err(|error| CommandError::failure(error.to_string()))?;
            Ok(StartupDecision::Continue)
        }
        Some("no") => Ok(StartupDecision::Continue),
        _ => Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS))),
    }
}

/// No key: a server on this machine, the demo, or how to set one.
pub(super) async fn ask_without_key(
    args: &mut RunOptions,
    looks: TuiDisplayOptions,
    refusal: CommandError,
) -> Result<StartupDecision, CommandError> {
    let environment = |name: &str| std::env::var_os(name);
    let config = Config::load(&environment)?;
    let found = tokio::task::spawn_blocking(move || {
        local_server::find_local_servers(&config, &environment)
    })
    .await
    .unwrap_or_default();
    let mut items = Vec::new();
    for server in &found {
        for model in server.models.iter().take(MODELS_MAX) {
            let label = format!("Ask {model} on this machine");
            let about = format!("{} answers on port {}", server.title, server.port);
            items.push(build_item(&format!("{}/{model}", server.provider), &label, &about));
        }
    }
    items.push(build_item("demo", "Watch the demo", "a rehearsed model; no key, no cost"));
    items.push(build_item("key", "Show how to set a key", ""));
    items.push(build_item("leave", "Leave", ""));
    let picker = Picker::new("What shall it be?", items);
    let words =
        "Welcome to Windlass. There is no key for a model yet, so nothing can be asked.\n\n";
    match show_picker(looks, words, picker).await? {
        Some(item) if item.value == "demo" => {
            Ok(StartupDecision::Quit(InteractiveOutcome::RunDemo))
        }
        Some(item) if item.value == "key" => Err(refusal),
        Some(item) if item.value == "leave" => {
            Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS)))
        }
        Some(item) => {
            args.model.model = Some(item.value);
            Ok(StartupDecision::Continue)
        }
        None => Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS))),
    }
}

async fn show_picker(
    looks: TuiDisplayOptions,
    words: &str,
    picker: Picker,
) -> Result<Option<PickerItem>, CommandError> {
    run_picker(looks, words, picker).await.map_err(|error| {
        CommandError::failure(format!("the terminal cannot be used: {error}; ask with -p instead"))
    })
}

fn build_item(value: &str, label: &str, about: &str) -> PickerItem {
    PickerItem { value: value.to_owned(), label: label.to_owned(), description: about.to_owned() }
}

const MODELS_MAX: usize = 4;
