//! The interactive session: `windlass` in a terminal. What is shown and typed is the terminal crate's;
//! here it is told what prompts mean and what the session is. Going to another session ends this one
//! and begins again.

mod appearance;
mod command_screen;
mod help_text;
mod prompt_handler;
mod prompt_history;
mod resume_rewind;
mod startup_questions;
mod status_line;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{SlashCommandHint, TuiSessionFacts, TuiSetup, run_tui as converse};
use windlass_driver::SessionEndReason;
use windlass_driver::SessionSettingsView;

use prompt_handler::{PromptHandler, PromptHost};
use startup_questions::StartupDecision;
use windlass_assembly::mcp::SessionElicitor;
use windlass_assembly::options::{RunOptions, SettingsOptions};
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::prompt_input;
use windlass_assembly::session::git_branch;
use windlass_assembly::session_close::close_session_for;
use windlass_assembly::session_plan;
use windlass_assembly::session_plan::SessionPlan;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::FrontEnd;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::run_blocking_unless_signalled;

/// Where to go when a conversation is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextSession {
    /// To this session.
    Resume(String),
    /// To a new one.
    New,
}

/// What is left to do when the user leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteractiveOutcome {
    Exit(Exit),
    /// There is no key, and the user chose to watch the demo.
    RunDemo,
}

/// Holds conversations until somebody has had enough.
pub async fn run_interactive(mut args: RunOptions) -> Result<InteractiveOutcome, CommandError> {
    let mut signals = SignalListener::listen()?;
    let mut first = prompt_input::read_from_command_line(&args)?;
    let environment = |name: &str| std::env::var_os(name);
    let looks = appearance::detect_appearance(args.screen_reader);
    let mut typed = String::new();
    loop {
        match startup_questions::ask_before_start(&mut args, looks).await? {
            StartupDecision::Continue => {}
            StartupDecision::Quit(outcome) => return Ok(outcome),
        }
        let wanted = args.clone();
        let composed = run_blocking_unless_signalled(&mut signals, move || {
            session_plan::plan_interactive_session(&wanted, &environment)
        })
        .await;
        let plan = match composed {
            Ok(Ok(plan)) => plan,
            Ok(Err(signal)) => return Ok(InteractiveOutcome::Exit(signal.exit())),
            Err(refusal) if refusal.is_missing_key => {
                match startup_questions::ask_without_key(&mut args, looks, refusal).await? {
                    StartupDecision::Continue => continue,
                    StartupDecision::Quit(outcome) => return Ok(outcome),
                }
            }
            Err(refusal) => return Err(refusal),
        };
        let is_older = args.session.resume.is_some() || args.session.goes_on;
        let begun = InteractiveStart {
            first_prompt: first.take(),
            unsent_text: std::mem::take(&mut typed),
            is_resumed: is_older,
            looks,
            settings: args.settings.clone(),
        };
        let ended = run_session(plan, begun, &mut signals).await?;
        typed = ended.unsent_text;
        match ended.next_session {
            None => return Ok(InteractiveOutcome::Exit(ended.exit)),
            Some(next) => {
                args.session.goes_on = false;
                args.session.session_id = None;
                args.session.name = None;
                args.session.journal = None;
                args.session.fork_session = false;
                args.session.resume_session_at = None;
                args.session.resume = match next {
                    NextSession::Resume(id) => Some(Some(id)),
                    NextSession::New => None,
                };
            }
        }
    }
}

/// How a conversation begins.
struct InteractiveStart {
    first_prompt: Option<String>,
    /// What is typed already.
    unsent_text: String,
    /// Something was said in it before.
    is_resumed: bool,
    looks: crate::TuiDisplayOptions,
    /// Which settings were asked for.
    settings: SettingsOptions,
}

/// How it ended.
struct InteractiveEnd {
    exit: Exit,
    next_session: Option<NextSession>,
    /// What was typed and not sent.
    unsent_text: String,
}

/// Holds one conversation.
async fn run_session(
    plan: SessionPlan,
    begun: InteractiveStart,
    signals: &mut SignalListener,
) -> Result<InteractiveEnd, CommandError> {
    let warnings = plan.settings_layers.warnings();
    let SessionPlan {
        mut builder,
        subagents: agents,
        description: portrait,
        expander,
        journal,
        scratch_directory: scratch,
        mut notes,
        ..
    } = plan;
    notes.extend(warnings);
    let definitions = agents.as_ref().map(|agents| agents.definitions.clone()).unwrap_or_default();
    if let Some(agents) = agents {
        builder = builder.subagents(agents);
    }
    let settings = builder.settings();
    let about = describe_session(&settings, &portrait.cwd, &expander);
    let mode = settings.policy.mode;
    let older = journal.as_deref().filter(|_| begun.is_resumed);
    let earlier = older.map(|journal| {
        prompt_history::load_earlier_messages(journal, &expander.variables.session_id)
    });
    let looks = appearance::apply_theme_setting(
        begun.looks,
        plan.settings_layers.loaded.settings.appearance.theme.as_deref(),
    );
    let past = prompt_history::PromptHistory::new(journal.is_some(), &portrait.cwd);
    let (session, notices) = builder
        .start()
        .map_err(|error| CommandError::failure(format!("{error}; correct it and try again")))?;
    plan.mcp_servers.set_prompter(SessionElicitor::new(session.clone()));
    let next = Arc::new(Mutex::new(None));
    let said = past.load_prompts();
    let desk = PromptHandler {
        session: session.clone(),
        journal,
        expander,
        settings,
        agents: definitions,
        layers: plan.settings_layers,
        settings_reloader: tokio::sync::Mutex::new(plan.settings_reloader),
        policy: Mutex::new(None),
        last_hook_runs: Default::default(),
        config: plan.endpoints.config.clone(),
        endpoints: Mutex::new(plan.endpoints),
        args: begun.settings,
        cwd: portrait.cwd.clone(),
        prompt_history: past,
        next_session: Arc::clone(&next),
        shell_outputs: Mutex::new(Vec::new()),
    };
    let stage = TuiSetup {
        session: session.clone(),
        notices,
        facts: about,
        mode,
        display: looks,
        scratch_directory: desk.expander.tools.tool_context.processes.spill_directory.clone(),
        host: Arc::new(PromptHost { prompt_handler: Arc::new(desk) }),
        working_directory: portrait.cwd,
        prompt_history: said,
        has_vim_keys: appearance::is_vim_mode(),
        first_prompt: begun.first_prompt,
        unsent_text: begun.unsent_text,
        earlier_messages: earlier.unwrap_or_default(),
        startup_notes: notes,
    };
    let (held, is_signalled) = tokio::select! {
        held = converse(stage) => (held.map(|typed| (Exit::SUCCESS, typed)), false),
        signal = signals.next() => (Ok((signal.exit(), String::new())), true),
    };
    let next = next.lock().ok().and_then(|mut next| next.take());
    close_session_for(&session, session_end_reason(next.as_ref(), is_signalled), signals).await;
    plan.mcp_servers.close().await;
    remove_scratch_directory(scratch.as_deref());
    let (exit, typed) = held.map_err(|error| {
        CommandError::failure(format!("the terminal cannot be used: {error}; ask with -p instead"))
    })?;
    Ok(InteractiveEnd { exit, next_session: next, unsent_text: typed })
}

/// How hooks are told that it is over.
fn session_end_reason(next: Option<&NextSession>, is_signalled: bool) -> SessionEndReason {
    match (next, is_signalled) {
        (_, true) => SessionEndReason::Other,
        (Some(NextSession::New), _) => SessionEndReason::Clear,
        (Some(NextSession::Resume(_)), _) => SessionEndReason::Resume,
        (None, _) => SessionEndReason::PromptInputExit,
    }
}

/// What is shown of the session.
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

/// Where rules for a project on this machine are kept, from its root.
const RULES_FILE: &str = ".claude/settings.local.json";

/// Ours alone and perhaps never made.
fn remove_scratch_directory(scratch: Option<&Path>) {
    if let Some(scratch) = scratch {
        let _ = std::fs::remove_dir_all(scratch);
    }
}

fn list_command_hints(expander: &PromptExpander) -> Vec<SlashCommandHint> {
    let hint = |name: &str, words: &str, about: &str| SlashCommandHint {
        name: name.to_owned(),
        arguments: words.to_owned(),
        description: about.to_owned(),
    };
    let own = slash_command::list_available(FrontEnd::Terminal)
        .map(|one| hint(one.name, one.argument_hint, one.description));
    let mut hints: Vec<SlashCommandHint> = own.collect();
    hints.extend(expander.list_commands().into_iter().map(|one| SlashCommandHint {
        name: one.name,
        arguments: one.argument_hint,
        description: one.description,
    }));
    hints
}

/// Where our own state lies, for whoever keeps something in it.
fn find_state_directory() -> Option<PathBuf> {
    windlass_host::user_directories::state_directory(&|name: &str| std::env::var_os(name))
}
