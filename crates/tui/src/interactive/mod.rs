//! The interactive session: `windlass` in a terminal. Connects the event loop of this crate to a session
//! and its slash commands. Switching to another session ends this one and plans the next.

mod appearance;
mod command_screen;
mod key_entry;
mod prompt_handler;
mod prompt_history;
mod resume_rewind;
mod startup_questions;
mod status_line;
mod words;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{SlashCommandHint, TuiSessionFacts, TuiSetup, run_tui};
use windlass_driver::SessionEndReason;
use windlass_driver::SessionSettingsView;
use windlass_host::environment::process_environment;

use prompt_handler::{PromptHandler, PromptHost, SettingsState};
use startup_questions::StartupDecision;
use windlass_assembly::mcp;
use windlass_assembly::options::{RunOptions, SettingsOptions};
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::prompt_input;
use windlass_assembly::report::cost;
use windlass_assembly::session::cleanup::SessionCleanup;
use windlass_assembly::session::git_branch;
use windlass_assembly::session_close::close_session_for;
use windlass_assembly::session_plan;
use windlass_assembly::session_plan::SessionPlan;
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::FrontEnd;
use windlass_host::command_error::{CommandError, CommandRemedy};
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::run_blocking_unless_signalled;

/// The session to start when this one is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextSession {
    /// By its id.
    Resume(String),
    New,
}

/// What the caller does when the user leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteractiveOutcome {
    Exit(Exit),
    /// There is no key, and the user chose to watch the demo.
    RunDemo,
}

/// Runs sessions one after another until the user leaves.
pub async fn run_interactive(mut args: RunOptions) -> Result<InteractiveOutcome, CommandError> {
    let mut signals = SignalListener::listen()?;
    let mut first = prompt_input::read_from_command_line(&args)?;
    let environment = process_environment;
    let display = appearance::detect_appearance(args.screen_reader);
    let mut unsent_text = String::new();
    let mut startup_notes = Vec::new();
    loop {
        match startup_questions::ask_before_start(&mut args, display).await? {
            StartupDecision::Continue => {}
            StartupDecision::ContinueWithNote(note) => startup_notes.push(note),
            StartupDecision::Quit(outcome) => return Ok(outcome),
        }
        let options = args.clone();
        let planned = run_blocking_unless_signalled(&mut signals, move || {
            session_plan::plan_interactive_session(&options, &environment)
        })
        .await;
        let plan = match planned {
            Ok(Ok(plan)) => plan,
            Ok(Err(signal)) => return Ok(InteractiveOutcome::Exit(signal.exit())),
            Err(error) => {
                let decision = match error.remedy {
                    Some(CommandRemedy::EnterKey) => {
                        startup_questions::ask_without_key(&mut args, display, error).await?
                    }
                    Some(CommandRemedy::ContinueFromTranscript) => {
                        startup_questions::ask_for_transcript(&mut args, display, &error).await?
                    }
                    None => return Err(error),
                };
                match decision {
                    StartupDecision::Continue => continue,
                    StartupDecision::ContinueWithNote(note) => {
                        startup_notes.push(note);
                        continue;
                    }
                    StartupDecision::Quit(outcome) => return Ok(outcome),
                }
            }
        };
        let start = InteractiveStart {
            first_prompt: first.take(),
            unsent_text: std::mem::take(&mut unsent_text),
            is_resumed: args.session.resume.is_some() || args.session.goes_on,
            display,
            settings: args.settings.clone(),
            notes: std::mem::take(&mut startup_notes),
        };
        let end = run_session(plan, start, &mut signals).await?;
        unsent_text = end.unsent_text;
        match end.next_session {
            None => {
                if let Some(id) = end.resumable_id {
                    // Fails only if the terminal was closed.
                    let _ = writeln!(std::io::stdout(), "{}", words::describe_resume(&id));
                }
                return Ok(InteractiveOutcome::Exit(end.exit));
            }
            Some(next) => {
                args.session.goes_on = false;
                args.session.session_id = None;
                args.session.name = None;
                args.session.journal = None;
                args.session.fork_session = false;
                args.session.resume_session_at = None;
                // The yes was for the session before.
                args.session.from_transcript = false;
                args.session.resume = match next {
                    NextSession::Resume(id) => Some(Some(id)),
                    NextSession::New => None,
                };
            }
        }
    }
}

struct InteractiveStart {
    first_prompt: Option<String>,
    /// Typed in the session before, and not sent.
    unsent_text: String,
    is_resumed: bool,
    display: crate::TuiDisplayOptions,
    settings: SettingsOptions,
    /// What was done before the session started.
    notes: Vec<String>,
}

struct InteractiveEnd {
    exit: Exit,
    next_session: Option<NextSession>,
    unsent_text: String,
    /// The id of the session, if something was said in it and it was saved.
    resumable_id: Option<String>,
}

async fn run_session(
    plan: SessionPlan,
    start: InteractiveStart,
    signals: &mut SignalListener,
) -> Result<InteractiveEnd, CommandError> {
    let warnings = plan.settings_layers.warnings();
    let SessionPlan {
        mut builder,
        subagents,
        description,
        expander,
        session_id,
        journal,
        scratch_directory,
        mut notes,
        ..
    } = plan;
    // The id is for resuming, so it is shown when the session is over.
    notes.retain(|note| !note.contains(&session_id));
    notes.extend(warnings.into_iter().chain(start.notes));
    let mut agents = Vec::new();
    if let Some(subagents) = subagents {
        agents.clone_from(&subagents.definitions);
        builder = builder.subagents(subagents);
    }
    let settings = builder.settings();
    let facts = describe_session(&settings, &description.cwd, &expander);
    let mode = settings.policy.mode;
    let resumed_journal = journal.as_deref().filter(|_| start.is_resumed);
    let earlier_notices = resumed_journal.map(prompt_history::load_earlier_notices);
    let spent_before = resumed_journal.map_or(0, load_spent);
    let display = apply_appearance_settings(start.display, &plan.settings_layers);
    let prompt_history = prompt_history::PromptHistory::new(journal.is_some(), &description.cwd);
    let (session, notices) = builder
        .start()
        .map_err(|error| CommandError::failure(words::describe_unstarted_session(&error)))?;
    let _cleanup = plan.cleanup.map(SessionCleanup::spawn);
    mcp::attach_to_session(&plan.mcp_servers, &session);
    let next_session = Arc::new(Mutex::new(None));
    let is_saved = journal.is_some();
    let earlier_prompts = prompt_history.load_prompts();
    let prompt_handler = Arc::new(PromptHandler {
        session: session.clone(),
        journal,
        transcript: description.transcript,
        expander,
        settings,
        agents,
        settings_state: SettingsState::new(
            start.settings,
            plan.settings_layers,
            plan.settings_reloader,
        ),
        last_hook_runs: Default::default(),
        config: plan.endpoints.config.clone(),
        endpoints: Mutex::new(plan.endpoints),
        cwd: description.cwd.clone(),
        prompt_history,
        next_session: Arc::clone(&next_session),
        shell_outputs: Mutex::new(Vec::new()),
        last_model: Mutex::new(None),
    });
    let processes = &prompt_handler.expander.tools.tool_context.processes;
    let setup = TuiSetup {
        session: session.clone(),
        notices,
        facts,
        mode,
        display,
        scratch_directory: processes.spill_directory.clone(),
        host: Arc::new(PromptHost { prompt_handler: Arc::clone(&prompt_handler) }),
        working_directory: description.cwd,
        prompt_history: earlier_prompts,
        has_vim_keys: appearance::is_vim_mode(),
        first_prompt: start.first_prompt,
        unsent_text: start.unsent_text,
        earlier_notices: earlier_notices.unwrap_or_default(),
        startup_notes: notes,
        spent_before,
    };
    let mut signal_exit = None;
    let unsent_text = tokio::select! {
        unsent_text = run_tui(setup) => unsent_text,
        signal = signals.next() => {
            signal_exit = Some(signal.exit());
            Ok(String::new())
        }
    };
    let next_session = next_session.lock().ok().and_then(|mut next| next.take());
    let end_reason = session_end_reason(next_session.as_ref(), signal_exit.is_some());
    close_session_for(&session, end_reason, signals).await;
    plan.mcp_servers.close().await;
    remove_scratch_directory(scratch_directory.as_deref());
    let unsent_text = unsent_text
        .map_err(|error| CommandError::failure(words::describe_terminal_failure(&error)))?;
    // A terminal that a signal ends may read nothing more.
    let is_left = signal_exit.is_none();
    let is_resumable =
        is_left && is_saved && (start.is_resumed || prompt_handler.has_asked_model());
    Ok(InteractiveEnd {
        exit: signal_exit.unwrap_or(Exit::SUCCESS),
        next_session,
        unsent_text,
        resumable_id: is_resumable.then_some(session_id),
    })
}

/// The cost of earlier runs, in micro-dollars. A bill that cannot be read counts as nothing.
fn load_spent(journal: &Path) -> u64 {
    cost::load_session_account(journal, None).map_or(0, |account| account.all.cost.0)
}

fn apply_appearance_settings(
    display: crate::TuiDisplayOptions,
    layers: &SettingsLayers,
) -> crate::TuiDisplayOptions {
    let look = &layers.loaded.settings.appearance;
    let display = appearance::apply_theme_setting(display, look.theme.as_deref());
    appearance::apply_notification_setting(display, look.preferred_notif_channel.as_deref())
}

/// The reason that hooks of `SessionEnd` receive.
fn session_end_reason(next: Option<&NextSession>, is_signalled: bool) -> SessionEndReason {
    match (next, is_signalled) {
        (_, true) => SessionEndReason::Other,
        (Some(NextSession::New), _) => SessionEndReason::Clear,
        (Some(NextSession::Resume(_)), _) => SessionEndReason::Resume,
        (None, _) => SessionEndReason::PromptInputExit,
    }
}

fn describe_session(
    settings: &SessionSettingsView,
    cwd: &Path,
    expander: &PromptExpander,
) -> TuiSessionFacts {
    TuiSessionFacts {
        model: settings.model.name.as_str().to_owned(),
        directory_label: appearance::abbreviate_home(cwd),
        working_directory: cwd.to_string_lossy().into_owned(),
        branch: git_branch::current_branch(cwd),
        context_window: settings.model.window.0,
        budget: settings.budget_max.map(|budget| budget.0),
        commands: list_command_hints(expander),
        rules_file: Some(RULES_FILE.to_owned()),
    }
}

/// Where the user's own rules for a project are saved, relative to its root.
const RULES_FILE: &str = ".claude/settings.local.json";

/// The directory belongs to this session alone; it may never have been created.
fn remove_scratch_directory(scratch: Option<&Path>) {
    if let Some(scratch) = scratch {
        let _ = std::fs::remove_dir_all(scratch);
    }
}

fn list_command_hints(expander: &PromptExpander) -> Vec<SlashCommandHint> {
    let hint = |name: &str, arguments: &str, description: &str| SlashCommandHint {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        description: description.to_owned(),
    };
    let own = slash_command::list_available(FrontEnd::Terminal)
        .map(|command| hint(command.name, command.argument_hint, command.description));
    let mut hints: Vec<SlashCommandHint> = own.collect();
    hints.extend(expander.list_commands().into_iter().map(|command| SlashCommandHint {
        name: command.name,
        arguments: command.argument_hint,
        description: command.description,
    }));
    hints
}

fn find_state_directory() -> Option<PathBuf> {
    windlass_host::user_directories::state_directory(&process_environment)
}
