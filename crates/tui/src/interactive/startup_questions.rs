//! Questions before a session starts: which one to resume, whether the project is trusted, what to
//! do without a key, and whether to use a transcript in place of a damaged journal.

use crate::{Picker, PickerItem, TuiDisplayOptions, run_picker};
use windlass_host::environment::process_environment;
use windlass_settings::load_settings;
use windlass_settings::trust::TrustStore;

use super::resume_rewind;
use super::{InteractiveOutcome, key_entry, words};
use windlass_assembly::directories::working_directory;
use windlass_assembly::options::RunOptions;
use windlass_assembly::report::trust::render_trust;
use windlass_assembly::settings;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::user_directories;
use windlass_provider::config::Config;
use windlass_provider::local_server;

pub(super) enum StartupDecision {
    Continue,
    Quit(InteractiveOutcome),
}

/// Asks which session to resume and about trust, where needed. As a rule neither is.
pub(super) async fn ask_before_start(
    args: &mut RunOptions,
    display: TuiDisplayOptions,
) -> Result<StartupDecision, CommandError> {
    if args.session.resume == Some(None) {
        let items = resume_rewind::list_session_items(&working_directory()?)?;
        if items.is_empty() {
            return Err(CommandError::usage(words::NO_SESSION_YET));
        }
        let picker = Picker::new(words::TITLE_RESUME, items);
        match show_picker(display, "", picker).await? {
            Some(item) => args.session.resume = Some(Some(item.value)),
            None => return Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS))),
        }
    }
    if args.bare || args.settings.safe_mode || args.settings.trust_project {
        return Ok(StartupDecision::Continue);
    }
    ask_project_trust(args, display).await
}

/// Asks once about settings of the project that would run programs, allow tools or redirect requests.
async fn ask_project_trust(
    args: &RunOptions,
    display: TuiDisplayOptions,
) -> Result<StartupDecision, CommandError> {
    let environment = process_environment;
    let request =
        settings::build_load_request(&args.settings, &working_directory()?, &environment)?;
    let trust = load_settings(&request).trust;
    let Some(state) = user_directories::state_directory(&environment) else {
        return Ok(StartupDecision::Continue);
    };
    if trust.withheld_items().is_empty() {
        return Ok(StartupDecision::Continue);
    }
    let report = render_trust(&trust, false);
    let items = vec![
        build_item("no", words::TRUST_NO, words::TRUST_NO_NOTE),
        build_item("yes", words::TRUST_YES, words::TRUST_YES_NOTE),
        build_item("leave", words::LEAVE, ""),
    ];
    let picker = Picker::new(words::TITLE_TRUST, items);
    match show_picker(display, &report, picker).await?.map(|item| item.value).as_deref() {
        Some("yes") => {
            let store = TrustStore::new(&state);
            store.accept(&trust).map_err(|error| CommandError::failure(error.to_string()))?;
            Ok(StartupDecision::Continue)
        }
        Some("no") => Ok(StartupDecision::Continue),
        _ => Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS))),
    }
}

/// Offers local model servers, the demo, or the error that says how to set a key.
pub(super) async fn ask_without_key(
    args: &mut RunOptions,
    display: TuiDisplayOptions,
    missing_key: CommandError,
) -> Result<StartupDecision, CommandError> {
    let environment = process_environment;
    let config = Config::load(&environment)?;
    let servers = tokio::task::spawn_blocking(move || {
        local_server::find_local_servers(&config, &environment)
    })
    .await
    .unwrap_or_default();
    let mut items = Vec::new();
    for server in &servers {
        for model in server.models.iter().take(MODELS_MAX) {
            let label = words::label_local_model(model);
            let description = words::describe_local_server(&server.title, server.port);
            items.push(build_item(&format!("{}/{model}", server.provider), &label, &description));
        }
    }
    items.push(build_item("enter", words::WELCOME_ENTER, words::WELCOME_ENTER_NOTE));
    items.push(build_item("demo", words::WELCOME_DEMO, words::WELCOME_DEMO_NOTE));
    items.push(build_item("key", words::WELCOME_KEY, ""));
    items.push(build_item("leave", words::LEAVE, ""));
    let picker = Picker::new(words::TITLE_WELCOME, items);
    match show_picker(display, words::WELCOME, picker).await? {
        Some(item) if item.value == "demo" => {
            Ok(StartupDecision::Quit(InteractiveOutcome::RunDemo))
        }
        // Without a key the same question comes again.
        Some(item) if item.value == "enter" => {
            key_entry::enter_key(display).await?;
            Ok(StartupDecision::Continue)
        }
        Some(item) if item.value == "key" => Err(missing_key),
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

/// Offers to continue from the transcript where the journal cannot be used.
pub(super) async fn ask_for_transcript(
    args: &mut RunOptions,
    display: TuiDisplayOptions,
    damage: &CommandError,
) -> Result<StartupDecision, CommandError> {
    let items = vec![
        build_item("yes", words::TRANSCRIPT_YES, words::TRANSCRIPT_YES_NOTE),
        build_item("no", words::TRANSCRIPT_NO, ""),
    ];
    let picker = Picker::new(words::TITLE_TRANSCRIPT, items);
    let report = format!("{}\n\n", damage.message());
    match show_picker(display, &report, picker).await?.map(|item| item.value).as_deref() {
        Some("yes") => {
            args.session.from_transcript = true;
            Ok(StartupDecision::Continue)
        }
        _ => Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS))),
    }
}

async fn show_picker(
    display: TuiDisplayOptions,
    text: &str,
    picker: Picker,
) -> Result<Option<PickerItem>, CommandError> {
    run_picker(display, text, picker)
        .await
        .map_err(|error| CommandError::failure(words::describe_terminal_failure(&error)))
}

fn build_item(value: &str, label: &str, description: &str) -> PickerItem {
    PickerItem {
        value: value.to_owned(),
        label: label.to_owned(),
        description: description.to_owned(),
    }
}

const MODELS_MAX: usize = 4;
