//! What prompts mean: commands of ours, commands of the shell, pages, or words for the model.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    PromptAction as Meant, PromptActionFuture, SlashCommandHint, StatusLineFacts, StatusLineFuture,
    TuiHost,
};
use windlass_driver::SessionSettingsView;
use windlass_driver::{AgentDefinition, PromptSubmission, Session};
use windlass_permission::Policy;
use windlass_vocabulary::{ContentBlock, Notice};

use super::command_screen::LastHookRuns;
use super::prompt_history::PromptHistory;
use super::{NextSession, appearance, list_command_hints};
use windlass_assembly::options::SettingsOptions;
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::report::cost;
use windlass_assembly::report::why;
use windlass_assembly::settings;
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::settings::reloader::SettingsReloader;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::{FrontEnd, SlashCommand};
use windlass_host::command_error::CommandError;
use windlass_provider::config::Config;
use windlass_provider::endpoint::EndpointDescriptions;

/// Knows what prompts mean.
pub(super) struct PromptHost {
    pub(super) prompt_handler: Arc<PromptHandler>,
}

impl TuiHost for PromptHost {
    fn resolve_prompt(&self, prompt: String) -> PromptActionFuture {
        let desk = Arc::clone(&self.prompt_handler);
        Box::pin(
            async move { desk.handle_prompt(prompt).await.map_err(|refusal| refusal.to_string()) },
        )
    }

    fn list_commands(&self) -> Vec<SlashCommandHint> {
        self.prompt_handler.command_hints()
    }

    fn observe_notice(&self, notice: &Notice) {
        self.prompt_handler.last_hook_runs.on_notice(notice);
    }

    fn remember_prompt(&self, prompt: &str) {
        self.prompt_handler.prompt_history.append_prompt(prompt);
    }

    fn request_status_line(&self, facts: StatusLineFacts) -> Option<StatusLineFuture> {
        self.prompt_handler.start_status_line(&facts)
    }

    fn save_rules(&self, rules: &[String]) -> Result<String, String> {
        let environment = |name: &str| std::env::var_os(name);
        let request = settings::build_load_request(
            &self.prompt_handler.args,
            &self.prompt_handler.cwd,
            &environment,
        )
        .map_err(|refusal| refusal.to_string())?;
        let path = windlass_settings::add_local_allow_rules(&request, rules)
            .map_err(|error| error.to_string())?;
        Ok(format!("{} allows {}", path.display(), rules.join(", ")))
    }
}

/// Everything prompts may be about.
pub(super) struct PromptHandler {
    pub(super) session: Session,
    pub(super) journal: Option<PathBuf>,
    pub(super) expander: PromptExpander,
    pub(super) settings: SessionSettingsView,
    pub(super) agents: Vec<AgentDefinition>,
    pub(super) layers: SettingsLayers,
    /// Looks after their files, and has the hooks of the session itself.
    pub(super) settings_reloader: tokio::sync::Mutex<SettingsReloader>,
    /// What prompts may run, if that has changed.
    pub(super) policy: Mutex<Option<Policy>>,
    /// How hooks went.
    pub(super) last_hook_runs: LastHookRuns,
    /// The models there are.
    pub(super) config: Config,
    /// Where each lives; more come when another is chosen.
    pub(super) endpoints: Mutex<EndpointDescriptions>,
    /// Which settings were asked for.
    pub(super) args: SettingsOptions,
    pub(super) cwd: PathBuf,
    pub(super) prompt_history: PromptHistory,
    /// Where to go when this conversation is over.
    pub(super) next_session: Arc<Mutex<Option<NextSession>>>,
    /// What shell commands printed that the model has not seen yet.
    pub(super) shell_outputs: Mutex<Vec<String>>,
}

impl PromptHandler {
    /// What prompts stand for, under what may run now.
    fn build_expander(&self) -> PromptExpander {
        let mut expander = self.expander.clone();
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = policy.as_ref() {
            expander.tools.policy.clone_from(policy);
        }
        expander
    }

    /// SessionSettingsView that changed take effect, unless something is being worked on.
    pub(super) async fn reload_changed_settings(&self) {
        if self.session.is_run_active().await {
            return;
        }
        let kept = self.settings_reloader.lock().await.reload_changed(&self.session, None).await;
        if let Some(change) = kept.change {
            let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
            change.apply(policy.get_or_insert_with(|| self.expander.tools.policy.clone()));
        }
        for file in kept.files {
            self.session.warn(format!("{} changed and was read again", file.display()));
        }
        kept.lines.into_iter().for_each(|line| self.session.warn(line));
    }

    async fn handle_prompt(&self, prompt: String) -> Result<Meant, CommandError> {
        self.reload_changed_settings().await;
        if let Some(command) = prompt.trim().strip_prefix('!') {
            return self.run_shell_command(command.trim()).await;
        }
        Ok(match slash_command::parse_prompt(prompt, FrontEnd::Terminal)? {
            SlashCommand::SubmitPrompt(submission) if submission.pinned => {
                Meant::SendToModel(submission)
            }
            SlashCommand::SubmitPrompt(submission) => {
                Meant::SendToModel(self.expand_prompt(submission).await?)
            }
            SlashCommand::Compact(focus) => Meant::Compact(focus),
            SlashCommand::Context => match self.session.inventory().await {
                Some(found) => Meant::ShowContext(Box::new(found)),
                None => return Err(session_ended_error()),
            },
            SlashCommand::Cost => match &self.journal {
                Some(journal) => {
                    Meant::ShowFirstFitting(cost::render_session_cost_for_screen(journal)?.to_vec())
                }
                None => no_journal_message(),
            },
            SlashCommand::Why => match &self.journal {
                Some(journal) => Meant::ShowText(why::render_recent_reasons(journal)?),
                None => no_journal_message(),
            },
            SlashCommand::SideQuestion(question) => Meant::SideQuestion(question),
            SlashCommand::Rewind(wanted) => return self.rewind_session(&wanted).await,
            SlashCommand::Clear => self.switch_session(NextSession::New),
            SlashCommand::Resume(None) => return self.pick_session(),
            SlashCommand::Resume(Some(wanted)) => return self.resume_session(&wanted),
            SlashCommand::ContinueRun | SlashCommand::ResumeDeferredCall => {
                Meant::ShowText("Nothing was left unfinished here.".to_owned())
            }
            SlashCommand::Show { section: topic, .. } => return self.open_screen(topic).await,
            SlashCommand::TerminalAction(act) => return self.perform_action(act).await,
        })
    }

    /// What is set now.
    pub(super) async fn read_current_settings(&self) -> Result<SessionSettingsView, CommandError> {
        self.session.settings().await.ok_or_else(session_ended_error)
    }

    /// What may be typed as a command now.
    pub(super) fn command_hints(&self) -> Vec<SlashCommandHint> {
        list_command_hints(&self.expander)
    }

    /// A path as people see it: from where we are, or from home.
    pub(super) fn shorten_path(&self, path: &str) -> String {
        let inside = Path::new(path).strip_prefix(&self.cwd).ok();
        inside.map_or_else(
            || appearance::abbreviate_home(Path::new(path)),
            |rest| rest.display().to_string(),
        )
    }

    pub(super) fn switch_session(&self, next: NextSession) -> Meant {
        *self.next_session.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        Meant::Quit
    }

    /// What is said to the model: the words, what the shell said meanwhile, files and images.
    async fn expand_prompt(
        &self,
        submission: PromptSubmission,
    ) -> Result<PromptSubmission, CommandError> {
        let names: Vec<String> = match submission.content.as_slice() {
            [ContentBlock::Text(text)] => {
                text.lines().flat_map(windlass_project::memory::find_mentions).collect()
            }
            _ => Vec::new(),
        };
        let mut said = self.build_expander().expand(submission).await?;
        let aside: Vec<String> =
            std::mem::take(&mut *self.shell_outputs.lock().unwrap_or_else(PoisonError::into_inner));
        if let (Some(ContentBlock::Text(text)), false) =
            (said.content.first_mut(), aside.is_empty())
        {
            *text = format!("{}\n\n{text}", aside.join("\n\n"));
        }
        for name in names.iter().filter(|name| is_image(name)).take(IMAGES_MAX) {
            let path = self.cwd.join(name);
            let media = self.expander.tools.read_media(&path.to_string_lossy()).await;
            said.content.extend(media.into_iter().map(ContentBlock::Media));
        }
        Ok(said)
    }

    /// A command of the user's own. The model is told of it with the next prompt.
    async fn run_shell_command(&self, command: &str) -> Result<Meant, CommandError> {
        if command.is_empty() {
            return Err(CommandError::usage("! takes a command; for example: !git status"));
        }
        let printed = self
            .build_expander()
            .tools
            .run_user_command(command)
            .await
            .map_err(CommandError::failure)?;
        let told = format!("I ran `{command}` myself. It printed:\n{printed}");
        self.shell_outputs.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        Ok(Meant::ShowText(format!("! {command}\n{printed}\n")))
    }
}

fn session_ended_error() -> CommandError {
    CommandError::failure("the session ended")
}

pub(super) fn no_journal_message() -> Meant {
    Meant::ShowText("This session is not written down.".to_owned())
}

fn is_image(name: &str) -> bool {
    let end = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(end.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}

const IMAGES_MAX: usize = 10;
