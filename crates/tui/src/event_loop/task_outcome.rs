//! Tasks that may block or wait run on the session's runtime; their outcomes come back here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;
use windlass_host::regular_file::read_regular_text;
use windlass_vocabulary::Ticket;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::notice::RunEnding;

use super::TuiEventLoop;
use super::editor::EditTarget;
use crate::app::PickerPurpose;
use crate::host::{PromptAction, PromptActionFuture};
use crate::styled_line::TextStyle;
use crate::typed_prompt::{SentPrompt, TypedPrompt, join_texts};
use crate::{text, view, words};

pub(super) enum TuiTaskOutcome {
    /// A prompt, and what it asks for.
    PromptResolved(PromptOrigin, TypedPrompt, Box<Result<PromptAction, String>>),
    /// Queued prompts were taken back: what the model would have got.
    InputUnqueued(Vec<String>),
    /// Why a run failed.
    EndingExplained(String),
    /// The content for the diff of a permission prompt; `None` if the file is not readable text.
    FileRead(Ticket, Option<String>),
    ContextCounted(Box<ContextUsage>),
    StatusLineMade(Option<String>),
    /// A text that says where, or why not.
    RulesSaved(Result<String, String>),
    ImageImported(Result<PathBuf, String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptOrigin {
    Typed,
    /// From a list, so it is neither remembered nor shown.
    Chosen,
}

impl TuiEventLoop {
    pub(super) fn submit_prompt(&mut self, prompt: TypedPrompt) {
        let host = Arc::clone(&self.host);
        let remembered = prompt.text.clone();
        self.session_runtime.spawn_blocking(move || host.remember_prompt(&remembered));
        let action = self.host.resolve_prompt(prompt.clone());
        self.spawn_prompt_action(PromptOrigin::Typed, prompt, action);
    }

    pub(super) fn submit_choice(&self, prompt: String) {
        let prompt = TypedPrompt::from(prompt);
        let action = self.host.resolve_prompt(prompt.clone());
        self.spawn_prompt_action(PromptOrigin::Chosen, prompt, action);
    }

    fn spawn_prompt_action(
        &self,
        origin: PromptOrigin,
        prompt: TypedPrompt,
        action: PromptActionFuture,
    ) {
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let outcome = TuiTaskOutcome::PromptResolved(origin, prompt, Box::new(action.await));
            // Fails only if the TUI was closed meanwhile.
            let _ = outcome_sender.send(outcome).await;
        });
    }

    pub(super) fn explain_ending(&self, ending: RunEnding) {
        let host = Arc::clone(&self.host);
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn_blocking(move || {
            let words = host.explain_ending(&ending);
            let _ = outcome_sender.blocking_send(TuiTaskOutcome::EndingExplained(words));
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

    pub(super) fn read_file_before(&mut self, ticket: Ticket, path: String) {
        if self.renderer.is_linear() {
            // A screen reader says a line once: the question must be whole before it is said.
            return self.app.set_file_before(ticket, read_text_file(&path));
        }
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

    /// Takes back the last prompts that wait, so that they can be changed and sent again.
    pub(super) fn unqueue_input(&self, count_max: usize) {
        let session = self.session.clone();
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let mut taken = Vec::new();
            while taken.len() < count_max
                && let Some(last) = session.queued_messages().await.and_then(|mut all| all.pop())
            {
                let sent = join_texts(&last.content);
                if !session.change_queued_message(last, None).await {
                    break;
                }
                taken.push(sent);
            }
            taken.reverse();
            let _ = outcome_sender.send(TuiTaskOutcome::InputUnqueued(taken)).await;
        });
    }

    pub(super) fn handle_task_outcome(&mut self, outcome: TuiTaskOutcome) {
        match outcome {
            TuiTaskOutcome::PromptResolved(origin, prompt, resolved) => {
                if origin == PromptOrigin::Typed && prints_below_command(&prompt, &resolved) {
                    self.app.show_command(&prompt.shown);
                }
                match *resolved {
                    Ok(action) => self.perform_prompt_action(prompt, action),
                    Err(problem) => self.app.show_error(&problem),
                }
            }
            TuiTaskOutcome::InputUnqueued(taken) => self.app.return_to_composer(&taken),
            TuiTaskOutcome::EndingExplained(words) => self.app.show_ending(&words),
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
            TuiTaskOutcome::RulesSaved(Err(problem)) => self.app.show_error(&problem),
            TuiTaskOutcome::ImageImported(Ok(path)) => {
                self.app.input.composer.mention_image(&path.to_string_lossy());
            }
            TuiTaskOutcome::ImageImported(Err(why)) => self.app.show_dim_line(&why),
        }
    }

    fn copy_answer(&mut self) {
        let Some(answer) = self.app.transcript.last_answer().map(str::to_owned) else {
            return self.app.show_dim_line(words::NOTHING_TO_COPY);
        };
        match self.renderer.copy_to_clipboard(&answer) {
            true => self.app.show_dim_line(&words::describe_copied(answer.lines().count())),
            false => self.app.show_dim_line(words::CANNOT_COPY),
        }
    }

    fn perform_prompt_action(&mut self, prompt: TypedPrompt, action: PromptAction) {
        match action {
            PromptAction::SendToModel(submission) => {
                self.app.input.expect_sent(SentPrompt::new(&submission.content, prompt));
                self.show_send_error(self.session.submit(submission));
            }
            PromptAction::Compact(focus) => self.show_send_error(self.session.compact(focus)),
            PromptAction::CopyAnswer => self.copy_answer(),
            PromptAction::OpenHelp => self.app.open_help(),
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
                self.app.show_lines(lines);
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
            PromptAction::ShowChanges { lead, files, rest, picker } => {
                let width = self.app.size.width;
                let folder = &self.app.session.facts.working_directory;
                let mut lines = text::render_plain(&lead, TextStyle::Plain, width);
                lines.extend(files.iter().flat_map(|file| file.render(folder, width)));
                lines.extend(text::render_plain(&rest, TextStyle::Dim, width));
                self.app.show_lines(lines);
                self.app.dialogs.picker = picker.map(|picker| (PickerPurpose::Command, picker));
            }
            PromptAction::ShowThenAwait(words, rest) => {
                self.app.show_dim_line(&words);
                self.spawn_prompt_action(PromptOrigin::Chosen, prompt, rest);
            }
            PromptAction::EditFile(path) => {
                let opened = self.start_editor(EditTarget::UserFile(path));
                self.show_send_error(opened);
            }
            PromptAction::SideQuestion(question) => {
                self.app.show_dim_line(&words::describe_side_question(&question));
                self.show_send_error(self.session.ask_side_question(question));
            }
            PromptAction::ModelChanged(name, window) => {
                self.app.show_dim_line(&words::describe_new_model(&name));
                self.app.session.facts.model = name;
                self.app.session.facts.context_window = window;
                self.status.mark_due();
            }
            PromptAction::ToggleVim => {
                self.app.input.vim = match self.app.input.vim {
                    Some(_) => None,
                    None => Some(Default::default()),
                };
                let on = self.app.input.vim.is_some();
                self.app.show_dim_line(if on { words::VIM_ON } else { words::VIM_OFF });
            }
            PromptAction::SetTheme(Some(theme)) => self.renderer.set_theme(theme),
            PromptAction::SetTheme(None) => {
                let queried = self.renderer.follow_background();
                self.show_send_error(queried);
            }
            PromptAction::Rewound { words, prompt, tasks } => {
                self.app.rewind_to(&words, prompt, &tasks);
                self.count_context();
            }
            PromptAction::Quit => self.quit(),
        }
    }
}

/// Is there output that must appear below the command?
fn prints_below_command(prompt: &TypedPrompt, resolved: &Result<PromptAction, String>) -> bool {
    match resolved {
        Err(_) => true,
        // The output of a shell command begins with the command.
        Ok(PromptAction::ShowText(_)) => !prompt.text.trim_start().starts_with('!'),
        Ok(
            PromptAction::Compact(_)
            | PromptAction::CopyAnswer
            | PromptAction::ShowFirstFitting(_)
            | PromptAction::ShowContext(_)
            | PromptAction::ShowResult(..)
            | PromptAction::ShowChanges { .. }
            | PromptAction::ShowThenAwait(..)
            | PromptAction::ModelChanged(..)
            | PromptAction::ToggleVim
            | PromptAction::Rewound { .. },
        ) => true,
        Ok(
            PromptAction::SendToModel(_)
            | PromptAction::OpenHelp
            | PromptAction::OpenPicker(_)
            | PromptAction::OpenInput(_)
            | PromptAction::EditFile(_)
            | PromptAction::SideQuestion(_)
            | PromptAction::SetTheme(_)
            | PromptAction::Quit,
        ) => false,
    }
}

/// `None` if it is not a file, not text, or too long to be shown.
fn read_text_file(path: &str) -> Option<String> {
    read_regular_text(Path::new(path), FILE_BYTES_MAX).ok()
}

const FILE_BYTES_MAX: u64 = 512 * 1024;
