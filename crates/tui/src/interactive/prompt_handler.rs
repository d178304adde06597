//! Decides what a typed prompt is: a slash command, a shell command, or text for the model.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    PromptAction, PromptActionFuture, SlashCommandHint, StatusLineFacts, StatusLineFuture, TuiHost,
};
use windlass_driver::SessionSettingsView;
use windlass_driver::{AgentDefinition, PromptSubmission, Session};
use windlass_host::environment::process_environment;
use windlass_permission::Policy;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{ContentBlock, ModelName, Notice};

use serde_json::Value;

use super::command_screen::LastHookRuns;
use super::prompt_history::PromptHistory;
use super::resume_rewind::RewindChoice;
use super::{NextSession, appearance, list_command_hints, words};
use crate::file_changes::FileChangeView;
use crate::typed_prompt::{TypedPrompt, introduce_shell_output};
use windlass_assembly::failure_advice;
use windlass_assembly::options::SettingsOptions;
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::report::cost;
use windlass_assembly::report::diff::diff_blocking;
use windlass_assembly::report::why;
use windlass_assembly::settings;
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::settings::reloader::SettingsReloader;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::{DiffScope, FrontEnd, SlashCommand};
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format;
use windlass_provider::config::Config;
use windlass_provider::endpoint::EndpointDescriptions;

/// The `TuiHost` of an interactive session.
pub(super) struct PromptHost {
    pub(super) prompt_handler: Arc<PromptHandler>,
}

impl TuiHost for PromptHost {
    fn resolve_prompt(&self, prompt: TypedPrompt) -> PromptActionFuture {
        let handler = Arc::clone(&self.prompt_handler);
        Box::pin(async move {
            handler.handle_prompt(prompt).await.map_err(|error| error.message().to_owned())
        })
    }

    fn list_commands(&self) -> Vec<SlashCommandHint> {
        self.prompt_handler.command_hints()
    }

    fn observe_notice(&self, notice: &Notice) {
        self.prompt_handler.last_hook_runs.on_notice(notice);
        if let Notice::RequestStarted { model, .. } = notice {
            let mut last =
                self.prompt_handler.last_model.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(model.clone());
        }
    }

    fn explain_ending(&self, ending: &RunEnding) -> String {
        self.prompt_handler.explain_ending(ending)
    }

    fn remember_prompt(&self, prompt: &str) {
        self.prompt_handler.prompt_history.append_prompt(prompt);
    }

    fn request_status_line(&self, facts: StatusLineFacts) -> Option<StatusLineFuture> {
        self.prompt_handler.start_status_line(&facts)
    }

    fn save_rules(&self, rules: &[String]) -> Result<String, String> {
        let environment = process_environment;
        let request = settings::build_load_request(
            &self.prompt_handler.settings_state.options,
            &self.prompt_handler.cwd,
            &environment,
        )
        .map_err(|error| error.to_string())?;
        let path = windlass_settings::add_local_allow_rules(&request, rules)
            .map_err(|error| error.to_string())?;
        self.prompt_handler.settings_state.note_own_write(&path);
        let place = self.prompt_handler.shorten_path(&path.to_string_lossy());
        Ok(words::describe_saved_rules(rules, &place))
    }
}

/// What prompts and slash commands act on.
pub(super) struct PromptHandler {
    pub(super) session: Session,
    pub(super) journal: Option<PathBuf>,
    /// The transcript's path, for hooks and the status line.
    pub(super) transcript: Option<PathBuf>,
    pub(super) expander: PromptExpander,
    pub(super) settings: SessionSettingsView,
    pub(super) agents: Vec<AgentDefinition>,
    pub(super) settings_state: SettingsState,
    pub(super) last_hook_runs: LastHookRuns,
    pub(super) config: Config,
    /// Switching to a model of another provider adds its endpoint.
    pub(super) endpoints: Mutex<EndpointDescriptions>,
    pub(super) cwd: PathBuf,
    pub(super) prompt_history: PromptHistory,
    /// Read by the caller when this session is over.
    pub(super) next_session: Arc<Mutex<Option<NextSession>>>,
    /// Output of shell commands that goes to the model with the next prompt.
    pub(super) shell_outputs: Mutex<Vec<String>>,
    /// The model that was asked last: a fallback may have other keys and another server.
    pub(super) last_model: Mutex<Option<ModelName>>,
}

/// The settings files of a session, and what their changes did to it.
pub(super) struct SettingsState {
    /// The settings flags, needed to load the files again.
    pub(super) options: SettingsOptions,
    pub(super) startup_layers: SettingsLayers,
    /// Watches the files, and owns the current layers and the hooks of the session.
    pub(super) reloader: tokio::sync::Mutex<SettingsReloader>,
    /// The policy of the expander, once a changed file has replaced it.
    pub(super) changed_policy: Mutex<Option<Policy>>,
    /// Files that an answer to a permission prompt changed, with their text: no news to the user.
    own_writes: Mutex<Vec<(PathBuf, String)>>,
}

impl SettingsState {
    pub(super) fn new(
        options: SettingsOptions,
        startup_layers: SettingsLayers,
        reloader: SettingsReloader,
    ) -> Self {
        Self {
            options,
            startup_layers,
            reloader: tokio::sync::Mutex::new(reloader),
            changed_policy: Mutex::new(None),
            own_writes: Mutex::new(Vec::new()),
        }
    }

    fn note_own_write(&self, path: &Path) {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let mut writes = self.own_writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.retain(|(written, _)| written != path);
        writes.push((path.to_owned(), text));
    }

    /// Is the file exactly as we wrote it?
    fn is_own_write(&self, path: &Path) -> bool {
        let mut writes = self.own_writes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = writes.iter().position(|(written, _)| written == path) else { return false };
        let (_, text) = writes.remove(at);
        std::fs::read_to_string(path).is_ok_and(|now| now == text)
    }
}

impl PromptHandler {
    /// The expander with the policy in force now.
    fn build_expander(&self) -> PromptExpander {
        let mut expander = self.expander.clone();
        let policy =
            self.settings_state.changed_policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = policy.as_ref() {
            expander.tools.policy.clone_from(policy);
        }
        expander
    }

    /// Applies changed settings files, unless a run is active.
    pub(super) async fn reload_changed_settings(&self) {
        if self.session.is_run_active().await {
            return;
        }
        let reload =
            self.settings_state.reloader.lock().await.reload_changed(&self.session, None).await;
        if let Some(change) = reload.change {
            let mut policy =
                self.settings_state.changed_policy.lock().unwrap_or_else(PoisonError::into_inner);
            change.apply(policy.get_or_insert_with(|| self.expander.tools.policy.clone()));
        }
        for file in reload.files {
            if !self.settings_state.is_own_write(&file) {
                let place = self.shorten_path(&file.to_string_lossy());
                self.session.warn(words::describe_reload(&place));
            }
        }
        reload.lines.into_iter().for_each(|line| self.session.warn(line));
    }

    async fn handle_prompt(&self, typed: TypedPrompt) -> Result<PromptAction, CommandError> {
        let TypedPrompt { text: prompt, shown } = typed;
        self.reload_changed_settings().await;
        if EXIT_WORDS.contains(&prompt.trim()) {
            return Ok(PromptAction::Quit);
        }
        // A long paste is text for the model: a page may begin with `!` or `/`.
        if !shown.trim_start().starts_with(['!', '/']) {
            let submission = PromptSubmission::from(prompt);
            return Ok(PromptAction::SendToModel(self.expand_prompt(submission, shown).await?));
        }
        if let Some(command) = prompt.trim().strip_prefix('!') {
            return self.run_shell_command(command.trim()).await;
        }
        if let Some(choice) = RewindChoice::parse(prompt.trim()) {
            return self.refine_rewind(choice).await;
        }
        if let Some(error) = self.check_command_name(&prompt) {
            return Err(error);
        }
        let is_scope_named =
            prompt.split_whitespace().any(|word| matches!(word, "conversation" | "files" | "both"));
        Ok(match slash_command::parse_prompt(prompt, FrontEnd::Terminal)? {
            SlashCommand::SubmitPrompt(submission) if submission.pinned => {
                PromptAction::SendToModel(submission)
            }
            SlashCommand::SubmitPrompt(submission) => {
                PromptAction::SendToModel(self.expand_prompt(submission, shown).await?)
            }
            SlashCommand::Compact(focus) => PromptAction::Compact(focus),
            SlashCommand::Context => match self.session.inventory().await {
                Some(inventory) => PromptAction::ShowContext(Box::new(inventory)),
                None => return Err(session_ended_error()),
            },
            SlashCommand::Cost => match &self.journal {
                Some(journal) => PromptAction::ShowFirstFitting(
                    cost::render_session_cost_for_screen(journal)?.to_vec(),
                ),
                None => no_journal_message(),
            },
            SlashCommand::Diff(wanted) => match &self.journal {
                Some(journal) => {
                    let id = &self.expander.variables.session_id;
                    let report = diff_blocking(journal, id, &wanted).await?.1;
                    show_differences(&report, wanted.scope == DiffScope::LastTurn)
                }
                None => no_journal_message(),
            },
            SlashCommand::Why => match &self.journal {
                Some(journal) => PromptAction::ShowText(why::render_recent_reasons(journal)?),
                None => no_journal_message(),
            },
            SlashCommand::SideQuestion(question) => PromptAction::SideQuestion(question),
            SlashCommand::Rewind(arguments) => {
                return self.rewind_session(&arguments, is_scope_named).await;
            }
            SlashCommand::Clear => self.switch_session(NextSession::New),
            SlashCommand::Resume(None) => return self.pick_session(),
            SlashCommand::Resume(Some(id)) => return self.resume_session(&id),
            SlashCommand::ContinueRun | SlashCommand::ResumeDeferredCall => {
                PromptAction::ShowText(words::NOTHING_UNFINISHED.to_owned())
            }
            SlashCommand::Show { section, .. } => return self.open_screen(section).await,
            SlashCommand::TerminalAction(action) => return self.perform_action(action).await,
        })
    }

    pub(super) fn has_asked_model(&self) -> bool {
        self.last_model.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Also knows custom commands, and prompts of MCP servers that are connected.
    fn check_command_name(&self, prompt: &str) -> Option<CommandError> {
        if self.expander.custom_commands.find_invoked(prompt).is_some() {
            return None;
        }
        let hints = self.command_hints();
        let names: Vec<&str> = hints.iter().map(|hint| hint.name.as_str()).collect();
        slash_command::check_command_name(prompt, &names)
    }

    /// The sentence of `-p`, and what can be done about it here. May block: it may ask a local server
    /// for its models.
    fn explain_ending(&self, ending: &RunEnding) -> String {
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let model = self.last_model.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sentence = human_format::describe_run_failure(ending, |failure| {
            failure_advice::explain_failure(failure, &endpoints, model.as_ref())
        });
        let sentence = sentence.unwrap_or_else(|| ending.why.clone());
        match words::advise_command(ending) {
            Some(advice) => format!("{sentence}\n  {advice}"),
            None => sentence,
        }
    }

    pub(super) async fn read_current_settings(&self) -> Result<SessionSettingsView, CommandError> {
        self.session.settings().await.ok_or_else(session_ended_error)
    }

    pub(super) fn command_hints(&self) -> Vec<SlashCommandHint> {
        list_command_hints(&self.expander)
    }

    /// A path for display: relative to the working directory, or to the home directory.
    pub(super) fn shorten_path(&self, path: &str) -> String {
        let inside = Path::new(path).strip_prefix(&self.cwd).ok();
        inside.map_or_else(
            || appearance::abbreviate_home(Path::new(path)),
            |rest| rest.display().to_string(),
        )
    }

    pub(super) fn switch_session(&self, next: NextSession) -> PromptAction {
        *self.next_session.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        PromptAction::Quit
    }

    /// Adds what the prompt mentions and the output of shell commands run since the last prompt.
    async fn expand_prompt(
        &self,
        submission: PromptSubmission,
        own_words: String,
    ) -> Result<PromptSubmission, CommandError> {
        let names: Vec<String> = match submission.content.as_slice() {
            [ContentBlock::Text(text)] => {
                text.lines().flat_map(windlass_project::memory::find_mentions).collect()
            }
            _ => Vec::new(),
        };
        let expander = self.build_expander();
        let mut expanded = expander.expand_with_own_words(submission, Some(own_words)).await?;
        let shell_outputs: Vec<String> =
            std::mem::take(&mut *self.shell_outputs.lock().unwrap_or_else(PoisonError::into_inner));
        // Behind the prompt: its first words are what a list of sessions shows.
        expanded.content.extend(shell_outputs.into_iter().map(ContentBlock::Text));
        for name in names.iter().filter(|name| is_image(name)).take(IMAGES_MAX) {
            let path = self.cwd.join(name);
            let media = self.expander.tools.read_media(&path.to_string_lossy()).await;
            expanded.content.extend(media.into_iter().map(ContentBlock::Media));
        }
        Ok(expanded)
    }

    /// Runs a command of the user; the model gets its output with the next prompt.
    async fn run_shell_command(&self, command: &str) -> Result<PromptAction, CommandError> {
        if command.is_empty() {
            return Err(CommandError::usage(words::SHELL_COMMAND_MISSING));
        }
        let printed = self
            .build_expander()
            .tools
            .run_user_command(command)
            .await
            .map_err(CommandError::failure)?;
        let message = introduce_shell_output(command, &printed);
        self.shell_outputs.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        Ok(PromptAction::ShowText(format!("! {command}\n{printed}\n")))
    }
}

fn show_differences(report: &Value, is_last_turn: bool) -> PromptAction {
    let to_change = |file: &Value| {
        let kind = file.get("kind").and_then(Value::as_str).unwrap_or_default();
        // A file that existed before needs no remark.
        let note = if kind == "modified" { "" } else { kind };
        let change = FileChangeView::from_report(file, note);
        match change.counts {
            Some(_) => change,
            None => FileChangeView { note: words::describe_unshown_change(kind), ..change },
        }
    };
    let files = report.get("files").and_then(Value::as_array).map(Vec::as_slice);
    let files: Vec<FileChangeView> = files.unwrap_or_default().iter().map(to_change).collect();
    let rest = words::describe_changes(files.len(), is_last_turn);
    PromptAction::ShowChanges { lead: String::new(), files, rest, picker: None }
}

fn session_ended_error() -> CommandError {
    CommandError::failure(words::SESSION_ENDED)
}

pub(super) fn no_journal_message() -> PromptAction {
    PromptAction::ShowText(words::NOT_SAVED.to_owned())
}

fn is_image(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(extension.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}

const IMAGES_MAX: usize = 10;
/// What people type to leave a program; none of it is a task for a model.
const EXIT_WORDS: &[&str] = &["exit", "quit", ":q", ":q!", ":wq"];
