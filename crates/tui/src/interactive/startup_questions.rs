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
    /// Something was done that the session shows when it starts.
    ContinueWithNote(String),
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
    let choices = vec![
        build_choice(TrustChoice::Refuse, words::TRUST_NO, words::TRUST_NO_NOTE),
        build_choice(TrustChoice::Accept, words::TRUST_YES, words::TRUST_YES_NOTE),
        build_choice(TrustChoice::Leave, words::LEAVE, ""),
    ];
    match ask_choice(display, words::TITLE_TRUST, &report, choices).await? {
        Some(TrustChoice::Accept) => {
            let store = TrustStore::new(&state);
            store.accept(&trust).map_err(|error| CommandError::failure(error.to_string()))?;
            Ok(StartupDecision::Continue)
        }
        Some(TrustChoice::Refuse) => Ok(StartupDecision::Continue),
        Some(TrustChoice::Leave) | None => {
            Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS)))
        }
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
    let mut choices = Vec::new();
    for server in &servers {
        for model in server.models.iter().take(MODELS_MAX) {
            let choice = WelcomeChoice::UseModel(format!("{}/{model}", server.provider));
            let label = words::label_local_model(model);
            let description = words::describe_local_server(&server.title, server.port);
            choices.push(build_choice(choice, &label, &description));
        }
    }
    choices.extend([
        build_choice(WelcomeChoice::EnterKey, words::WELCOME_ENTER, words::WELCOME_ENTER_NOTE),
        build_choice(WelcomeChoice::RunDemo, words::WELCOME_DEMO, words::WELCOME_DEMO_NOTE),
        build_choice(WelcomeChoice::ExplainKey, words::WELCOME_KEY, ""),
        build_choice(WelcomeChoice::Leave, words::LEAVE, ""),
    ]);
    match ask_choice(display, words::TITLE_WELCOME, words::WELCOME, choices).await? {
        Some(WelcomeChoice::RunDemo) => Ok(StartupDecision::Quit(InteractiveOutcome::RunDemo)),
        // Without a key the same question comes again.
        Some(WelcomeChoice::EnterKey) => Ok(match key_entry::enter_key(display).await? {
            Some(note) => StartupDecision::ContinueWithNote(note),
            None => StartupDecision::Continue,
        }),
        Some(WelcomeChoice::ExplainKey) => Err(missing_key),
        Some(WelcomeChoice::UseModel(model)) => {
            args.model.model = Some(model);
            Ok(StartupDecision::Continue)
        }
        Some(WelcomeChoice::Leave) | None => {
            Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS)))
        }
    }
}

/// Offers to continue from the transcript where the journal cannot be used.
pub(super) async fn ask_for_transcript(
    args: &mut RunOptions,
    display: TuiDisplayOptions,
    damage: &CommandError,
) -> Result<StartupDecision, CommandError> {
    let choices = vec![
        build_choice(TranscriptChoice::Continue, words::TRANSCRIPT_YES, words::TRANSCRIPT_YES_NOTE),
        build_choice(TranscriptChoice::Leave, words::TRANSCRIPT_NO, ""),
    ];
    let report = format!("{}\n\n", damage.message());
    match ask_choice(display, words::TITLE_TRANSCRIPT, &report, choices).await? {
        Some(TranscriptChoice::Continue) => {
            args.session.from_transcript = true;
            Ok(StartupDecision::Continue)
        }
        Some(TranscriptChoice::Leave) | None => {
            Ok(StartupDecision::Quit(InteractiveOutcome::Exit(Exit::SUCCESS)))
        }
    }
}

enum TrustChoice {
    Accept,
    Refuse,
    Leave,
}

enum WelcomeChoice {
    UseModel(String),
    EnterKey,
    RunDemo,
    /// Ends with the error that says how to set a key.
    ExplainKey,
    Leave,
}

enum TranscriptChoice {
    Continue,
    Leave,
}

/// One row of a picker and its value.
struct StartupChoice<T> {
    choice: T,
    label: String,
    description: String,
}

fn build_choice<T>(choice: T, label: &str, description: &str) -> StartupChoice<T> {
    StartupChoice { choice, label: label.to_owned(), description: description.to_owned() }
}

/// Shows the choices in order. `None` if none was taken.
async fn ask_choice<T>(
    display: TuiDisplayOptions,
    title: &str,
    text: &str,
    choices: Vec<StartupChoice<T>>,
) -> Result<Option<T>, CommandError> {
    // A picker returns text: here the place of the choice.
    let to_item = |(place, row): (usize, &StartupChoice<T>)| PickerItem {
        value: place.to_string(),
        label: row.label.clone(),
        description: row.description.clone(),
    };
    let items = choices.iter().enumerate().map(to_item).collect();
    let item = show_picker(display, text, Picker::new(title, items)).await?;
    let place: Option<usize> = item.and_then(|item| item.value.parse().ok());
    Ok(place.and_then(|place| choices.into_iter().nth(place)).map(|row| row.choice))
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

const MODELS_MAX: usize = 4;
