//! What takes its time is done beside the conversation; what came of it is told here.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{ContentBlock, Ticket};

use super::TuiEventLoop;
use super::editor::EditTarget;
use crate::app::PickerPurpose;
use crate::host::{PromptAction, PromptActionFuture};
use crate::styled_line::TextStyle;
use crate::view;

/// What came of something.
pub(super) enum TuiTaskOutcome {
    /// What a prompt asks for.
    PromptResolved(Result<PromptAction, String>),
    /// Something that waited was taken back.
    InputUnqueued(String),
    /// What a file holds.
    FileRead(Ticket, Option<String>),
    /// What fills the window.
    ContextCounted(Box<ContextUsage>),
    /// The line of the user's own.
    StatusLineMade(Option<String>),
    /// Where rules are kept now.
    RulesSaved(Result<String, String>),
    /// What an image is called and where it is, or why there is none.
    ImageImported(Result<(String, PathBuf), String>),
}

impl TuiEventLoop {
    pub(super) fn submit_prompt(&mut self, prompt: String) {
        let (host, tell) = (Arc::clone(&self.host), self.outcome_sender.clone());
        self.session_runtime.spawn(async move {
            let (keeper, said) = (Arc::clone(&host), prompt.clone());
            tokio::task::spawn_blocking(move || keeper.remember_prompt(&said));
            // Nobody waits for it any more when the conversation is over.
            let _ =
                tell.send(TuiTaskOutcome::PromptResolved(host.resolve_prompt(prompt).await)).await;
        });
    }

    /// Carries out what was chosen. It was not said, so it is not remembered.
    pub(super) fn submit_choice(&self, prompt: String) {
        let host = Arc::clone(&self.host);
        self.spawn_prompt_action(host.resolve_prompt(prompt));
    }

    fn spawn_prompt_action(&self, ordering: PromptActionFuture) {
        let tell = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let _ = tell.send(TuiTaskOutcome::PromptResolved(ordering.await)).await;
        });
    }

    pub(super) fn save_rules(&self, rules: Vec<String>) {
        let (host, tell) = (Arc::clone(&self.host), self.outcome_sender.clone());
        self.session_runtime.spawn_blocking(move || {
            let _ = tell.blocking_send(TuiTaskOutcome::RulesSaved(host.save_rules(&rules)));
        });
    }

    pub(super) fn read_file_before(&self, ticket: Ticket, path: String) {
        let tell = self.outcome_sender.clone();
        self.session_runtime.spawn_blocking(move || {
            let _ = tell.blocking_send(TuiTaskOutcome::FileRead(ticket, read_text_file(&path)));
        });
    }

    pub(super) fn count_context(&self) {
        let (session, tell) = (self.session.clone(), self.outcome_sender.clone());
        self.session_runtime.spawn(async move {
            if let Some(counted) = session.inventory().await {
                let _ = tell.send(TuiTaskOutcome::ContextCounted(Box::new(counted))).await;
            }
        });
    }

    pub(super) fn unqueue_last_input(&self) {
        let (session, tell) = (self.session.clone(), self.outcome_sender.clone());
        self.session_runtime.spawn(async move {
            let Some(last) = session.queued_messages().await.and_then(|mut all| all.pop()) else {
                return;
            };
            let [ContentBlock::Text(text)] = last.content.as_slice() else { return };
            let text = text.clone();
            if session.change_queued_message(last, None).await {
                let _ = tell.send(TuiTaskOutcome::InputUnqueued(text)).await;
            }
        });
    }

    pub(super) fn handle_task_outcome(&mut self, told: TuiTaskOutcome) {
        match told {
            TuiTaskOutcome::PromptResolved(order) => self.perform_prompt_action(order),
            TuiTaskOutcome::InputUnqueued(text) => {
                if let Some(at) = self.app.input.queued_input.iter().rposition(|said| *said == text)
                {
                    self.app.input.queued_input.remove(at);
                }
                self.app.input.composer.set_text(text);
            }
            TuiTaskOutcome::FileRead(ticket, before) => self.app.set_file_before(ticket, before),
            TuiTaskOutcome::ContextCounted(inventory) => {
                self.app.usage.context_tokens = inventory.total.0;
                self.app.usage.inventory = Some(*inventory);
            }
            TuiTaskOutcome::StatusLineMade(line) => {
                self.app.session.status_line = line;
                self.status.mark_answered();
            }
            TuiTaskOutcome::RulesSaved(Ok(place)) => self.app.show_dim_line(&place),
            TuiTaskOutcome::RulesSaved(Err(problem)) => {
                self.app.show_text(&problem, TextStyle::Failure);
            }
            TuiTaskOutcome::ImageImported(Ok((name, path))) => {
                self.app.input.composer.mention_image(&name, &path.to_string_lossy());
            }
            TuiTaskOutcome::ImageImported(Err(why)) => self.app.show_dim_line(&why),
        }
    }

    fn perform_prompt_action(&mut self, order: Result<PromptAction, String>) {
        match order {
            Ok(PromptAction::SendToModel(submission)) => {
                self.show_send_error(self.session.submit(submission));
            }
            Ok(PromptAction::Compact(focus)) => self.show_send_error(self.session.compact(focus)),
            Ok(PromptAction::ShowText(words)) => self.app.show_text(&words, TextStyle::Plain),
            Ok(PromptAction::ShowFirstFitting(all)) => {
                let fits =
                    |words: &&String| words.lines().all(|line| line.width() <= self.app.size.width);
                if let Some(words) = all.iter().find(fits).or(all.last()) {
                    self.app.show_text(words, TextStyle::Plain);
                }
            }
            Ok(PromptAction::ShowContext(inventory)) => {
                let lines =
                    view::context_chart::render_context_chart(&inventory, self.app.size.width);
                self.app.push_scrollback(lines);
                self.app.usage.inventory = Some(*inventory);
            }
            Ok(PromptAction::OpenPicker(picker)) => {
                self.app.dialogs.picker = Some((PickerPurpose::Command, picker));
            }
            Ok(PromptAction::OpenInput(field)) => self.app.dialogs.validated_input = Some(field),
            Ok(PromptAction::ShowResult(words, more)) => {
                self.app.show_dim_line(&words);
                self.app.dialogs.picker = more.map(|picker| (PickerPurpose::Command, picker));
            }
            Ok(PromptAction::ShowThenAwait(words, rest)) => {
                self.app.show_dim_line(&words);
                self.spawn_prompt_action(rest);
            }
            Ok(PromptAction::EditFile(path)) => {
                let opened = self.start_editor(EditTarget::UserFile(path));
                self.show_send_error(opened);
            }
            Ok(PromptAction::SideQuestion(question)) => {
                self.app.show_dim_line(&format!("asked beside: {question}"));
                self.show_send_error(self.session.ask_side_question(question));
            }
            Ok(PromptAction::ModelChanged(name, window)) => {
                self.app.show_dim_line(&format!("{name} is asked from now on"));
                self.app.session.facts.model = name;
                self.app.session.facts.context_window = window;
                self.status.mark_due();
            }
            Ok(PromptAction::SetMode(mode)) => {
                self.app.session.mode = mode;
                self.perform_action(crate::app::AppAction::SetMode(mode));
            }
            Ok(PromptAction::ToggleVim) => {
                self.app.input.vim = match self.app.input.vim {
                    Some(_) => None,
                    None => Some(Default::default()),
                };
                let on = self.app.input.vim.is_some();
                self.app.show_dim_line(if on {
                    "keys are as in vim"
                } else {
                    "keys are as everywhere"
                });
            }
            Ok(PromptAction::SetTheme(Some(theme))) => self.renderer.set_theme(theme),
            Ok(PromptAction::SetTheme(None)) => {
                let asked = self.renderer.follow_background();
                self.show_send_error(asked);
            }
            Ok(PromptAction::Rewound { words, prompt }) => {
                self.app.show_text(&words, TextStyle::Dim);
                self.app.input.composer.set_text(prompt);
                self.count_context();
            }
            Ok(PromptAction::Quit) => self.is_closing = true,
            Err(problem) => self.app.show_text(&problem, TextStyle::Warning),
        }
    }
}

/// What a file holds, if it is text of a size that can be compared.
fn read_text_file(path: &str) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

const FILE_BYTES_MAX: u64 = 512 * 1024;
