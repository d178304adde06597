//! Tasks that may block or wait run on the session's runtime; their outcomes come back here.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::{ContentBlock, Ticket};

use super::TuiEventLoop;
use super::editor::EditTarget;
use super::image_import::ImportedImage;
use crate::app::PickerPurpose;
use crate::host::{PromptAction, PromptActionFuture};
use crate::styled_line::TextStyle;
use crate::view;

pub(super) enum TuiTaskOutcome {
    PromptResolved(Result<PromptAction, String>),
    /// A queued prompt was taken back.
    InputUnqueued(String),
    /// The content for the diff of a permission prompt; `None` if the file is not readable text.
    FileRead(Ticket, Option<String>),
    ContextCounted(Box<ContextUsage>),
    StatusLineMade(Option<String>),
    /// A text that says where, or why not.
    RulesSaved(Result<String, String>),
    ImageImported(Result<ImportedImage, String>),
}

impl TuiEventLoop {
    pub(super) fn submit_prompt(&mut self, prompt: String) {
        let host = Arc::clone(&self.host);
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let history_host = Arc::clone(&host);
            let remembered = prompt.clone();
            tokio::task::spawn_blocking(move || history_host.remember_prompt(&remembered));
            let action = host.resolve_prompt(prompt).await;
            // Fails only if the TUI was closed meanwhile.
            let _ = outcome_sender.send(TuiTaskOutcome::PromptResolved(action)).await;
        });
    }

    /// Resolves a prompt that was chosen and not typed, so it is not remembered.
    pub(super) fn submit_choice(&self, prompt: String) {
        let host = Arc::clone(&self.host);
        self.spawn_prompt_action(host.resolve_prompt(prompt));
    }

    fn spawn_prompt_action(&self, action: PromptActionFuture) {
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let _ = outcome_sender.send(TuiTaskOutcome::PromptResolved(action.await)).await;
        });
    }

    pub(super) fn save_rules(&self, rules: Vec<String>) {
        let host = Arc::clone(&self.host);
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn_blocking(move || {
            let _ =
                outcome_sender.blocking_send(TuiTaskOutcome::RulesSaved(host.save_rules(&rules)));
        });
    }

    pub(super) fn read_file_before(&self, ticket: Ticket, path: String) {
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn_blocking(move || {
            let _ = outcome_sender
                .blocking_send(TuiTaskOutcome::FileRead(ticket, read_text_file(&path)));
        });
    }

    pub(super) fn count_context(&self) {
        let session = self.session.clone();
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            if let Some(counted) = session.inventory().await {
                let _ =
                    outcome_sender.send(TuiTaskOutcome::ContextCounted(Box::new(counted))).await;
            }
        });
    }

    pub(super) fn unqueue_last_input(&self) {
        let session = self.session.clone();
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let Some(last) = session.queued_messages().await.and_then(|mut all| all.pop()) else {
                return;
            };
            let [ContentBlock::Text(text)] = last.content.as_slice() else { return };
            let text = text.clone();
            if session.change_queued_message(last, None).await {
                let _ = outcome_sender.send(TuiTaskOutcome::InputUnqueued(text)).await;
            }
        });
    }

    pub(super) fn handle_task_outcome(&mut self, outcome: TuiTaskOutcome) {
        match outcome {
            TuiTaskOutcome::PromptResolved(Ok(action)) => self.perform_prompt_action(action),
            TuiTaskOutcome::PromptResolved(Err(problem)) => {
                self.app.show_text(&problem, TextStyle::Warning);
            }
            TuiTaskOutcome::InputUnqueued(text) => {
                if let Some(at) =
                    self.app.input.queued_input.iter().rposition(|queued| *queued == text)
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
            TuiTaskOutcome::ImageImported(Ok(ImportedImage { name, path })) => {
                self.app.input.composer.mention_image(&name, &path.to_string_lossy());
            }
            TuiTaskOutcome::ImageImported(Err(why)) => self.app.show_dim_line(&why),
        }
    }

    fn perform_prompt_action(&mut self, action: PromptAction) {
        match action {
            PromptAction::SendToModel(submission) => {
                self.show_send_error(self.session.submit(submission));
            }
            PromptAction::Compact(focus) => self.show_send_error(self.session.compact(focus)),
            PromptAction::ShowText(words) => self.app.show_text(&words, TextStyle::Plain),
            PromptAction::ShowFirstFitting(all) => {
                let fits =
                    |words: &&String| words.lines().all(|line| line.width() <= self.app.size.width);
                if let Some(words) = all.iter().find(fits).or(all.last()) {
                    self.app.show_text(words, TextStyle::Plain);
                }
            }
            PromptAction::ShowContext(inventory) => {
                let lines =
                    view::context_chart::render_context_chart(&inventory, self.app.size.width);
                self.app.push_scrollback(lines);
                self.app.usage.inventory = Some(*inventory);
            }
            PromptAction::OpenPicker(picker) => {
                self.app.dialogs.picker = Some((PickerPurpose::Command, picker));
            }
            PromptAction::OpenInput(input) => self.app.dialogs.validated_input = Some(input),
            PromptAction::ShowResult(words, more) => {
                self.app.show_dim_line(&words);
                self.app.dialogs.picker = more.map(|picker| (PickerPurpose::Command, picker));
            }
            PromptAction::ShowThenAwait(words, rest) => {
                self.app.show_dim_line(&words);
                self.spawn_prompt_action(rest);
            }
            PromptAction::EditFile(path) => {
                let opened = self.start_editor(EditTarget::UserFile(path));
                self.show_send_error(opened);
            }
            PromptAction::SideQuestion(question) => {
                self.app.show_dim_line(&format!("asked beside: {question}"));
                self.show_send_error(self.session.ask_side_question(question));
            }
            PromptAction::ModelChanged(name, window) => {
                self.app.show_dim_line(&format!("{name} is asked from now on"));
                self.app.session.facts.model = name;
                self.app.session.facts.context_window = window;
                self.status.mark_due();
            }
            PromptAction::SetMode(mode) => {
                self.app.session.mode = mode;
                self.perform_action(crate::app::AppAction::SetMode(mode));
            }
            PromptAction::ToggleVim => {
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
            PromptAction::SetTheme(Some(theme)) => self.renderer.set_theme(theme),
            PromptAction::SetTheme(None) => {
                let queried = self.renderer.follow_background();
                self.show_send_error(queried);
            }
            PromptAction::Rewound { words, prompt } => {
                self.app.show_text(&words, TextStyle::Dim);
                self.app.input.composer.set_text(prompt);
                self.count_context();
            }
            PromptAction::Quit => self.is_closing = true,
        }
    }
}

/// `None` if it is no file, or not text.
fn read_text_file(path: &str) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

const FILE_BYTES_MAX: u64 = 512 * 1024;
