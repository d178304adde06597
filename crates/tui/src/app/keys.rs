//! How keys change the state.

use std::time::Duration;

use windlass_vocabulary::{PermissionAnswer, PermissionMode};

use super::{App, AppAction, LastKey, PickerPurpose};
use crate::composer::dragged_images;
use crate::composer::vim::VimKeyOutcome;
use crate::input::{CursorMove, Deletion, InputKey, Shortcut};
use crate::pager::Pager;
use crate::permission_prompt::PermissionPromptReply;
use crate::picker::{Picker, PickerItem, PickerOutcome};
use crate::styled_line::StyledLine;
use crate::validated_input::ValidatedInputOutcome;
use crate::{text, words};

impl App {
    pub fn handle_key(&mut self, key: InputKey) -> Vec<AppAction> {
        let moves_left =
            key == InputKey::Shortcut(Shortcut::MoveToBackground) && !self.may_move_to_background();
        let key = if moves_left { InputKey::Move(CursorMove::Left) } else { key };
        self.keys.hint = None;
        self.dialogs.is_showing_keys = false;
        if self.dialogs.pager.is_some()
            || self.dialogs.picker.is_some()
            || self.dialogs.validated_input.is_some()
        {
            // A key that was meant for this must not answer a permission prompt behind it.
            self.keys.last_key = Some(LastKey { at: self.now, is_for_composer: false });
        }
        if let Some(pager) = &mut self.dialogs.pager {
            if !pager.handle_key(&key, self.size.rows) {
                self.dialogs.pager = None;
            }
            return Vec::new();
        }
        if key == InputKey::Shortcut(Shortcut::Suspend) {
            return vec![AppAction::Suspend];
        }
        if key == InputKey::Shortcut(Shortcut::Redraw) {
            return vec![AppAction::Redraw];
        }
        if key == InputKey::Shortcut(Shortcut::OpenTranscript) {
            self.open_pager();
            return Vec::new();
        }
        if let Some((purpose, picker)) = &mut self.dialogs.picker {
            let purpose = *purpose;
            return match picker.handle_key(&key) {
                PickerOutcome::Pending => Vec::new(),
                PickerOutcome::Cancelled => {
                    self.dialogs.picker = None;
                    Vec::new()
                }
                PickerOutcome::Chosen(item) => {
                    self.dialogs.picker = None;
                    self.apply_picked_item(purpose, item)
                }
            };
        }
        if let Some(input) = &mut self.dialogs.validated_input {
            let outcome = input.handle_key(&key);
            if outcome != ValidatedInputOutcome::Pending {
                self.dialogs.validated_input = None;
            }
            return match outcome {
                ValidatedInputOutcome::Submitted(prompt) => vec![AppAction::SubmitChoice(prompt)],
                ValidatedInputOutcome::Pending | ValidatedInputOutcome::Cancelled => Vec::new(),
            };
        }
        let is_armed = self.may_answer_prompt();
        let is_composing = self.is_composing();
        self.keys.last_key = Some(LastKey { at: self.now, is_for_composer: is_composing });
        match self.dialogs.permission_prompts.front_mut() {
            Some(prompt) if is_armed => {
                // The user answers with single keys, so the next key need not wait.
                match prompt.handle_key(key) {
                    None => {
                        self.keys.last_key = None;
                        Vec::new()
                    }
                    Some(reply) => self.apply_permission_reply(reply),
                }
            }
            // A key right after an answer was meant for that prompt, not for the next one.
            Some(_) if !is_composing => Vec::new(),
            Some(_) | None => self.handle_composer_key(key),
        }
    }

    fn may_move_to_background(&self) -> bool {
        let dialogs = &self.dialogs;
        self.run.is_busy()
            && self.input.composer.is_empty()
            && dialogs.permission_prompts.is_empty()
            && dialogs.picker.is_none()
            && dialogs.validated_input.is_none()
    }

    fn open_pager(&mut self) {
        let folder = &self.session.facts.working_directory;
        let mut pager = Pager::open_at_end(&self.transcript, folder, self.size);
        let waiting = self.answer.waiting.entries();
        let width = self.size.width;
        pager.add_below(
            waiting.flat_map(|entry| {
                entry.render(width, folder).into_iter().chain([StyledLine::new()])
            }),
            self.size.rows,
        );
        self.dialogs.pager = Some(pager);
    }

    /// Loads more of an open pager; opens it again if the width has changed.
    pub fn load_pager(&mut self) {
        let is_narrower = |pager: &Pager| pager.width() != self.size.width;
        match &self.dialogs.pager {
            Some(pager) if is_narrower(pager) && pager.is_page() => self.open_help(),
            Some(pager) if is_narrower(pager) => self.open_pager(),
            Some(_) | None => {}
        }
        if let Some(pager) = &mut self.dialogs.pager {
            pager.load_older(
                &self.transcript,
                &self.session.facts.working_directory,
                self.size.rows,
            );
        }
    }

    fn apply_picked_item(&mut self, purpose: PickerPurpose, item: PickerItem) -> Vec<AppAction> {
        match purpose {
            PickerPurpose::History => {
                self.input.composer.set_text(item.value);
                Vec::new()
            }
            PickerPurpose::Command => vec![AppAction::SubmitChoice(item.value)],
        }
    }

    fn handle_composer_key(&mut self, key: InputKey) -> Vec<AppAction> {
        let mut key = key;
        if let Some(vim) = &mut self.input.vim {
            match vim.handle_key(key, &mut self.input.composer) {
                VimKeyOutcome::Handled => return self.request_file_search().into_iter().collect(),
                VimKeyOutcome::Key(other) => key = other,
            }
        }
        let suggestions = self.find_suggestions();
        if let Some(actions) = self.handle_suggestion_key(&key, &suggestions) {
            return actions;
        }
        let escaped = self.keys.escape_pressed.take();
        let cancelled = self.keys.cancel_pressed.take();
        match key {
            InputKey::Enter => return self.submit_composer(),
            InputKey::Escape => return self.handle_escape(escaped),
            InputKey::Cancel if self.run.is_busy() => return self.interrupt(),
            InputKey::Cancel if !self.input.composer.is_empty() => self.input.composer.clear(),
            InputKey::Cancel => return self.handle_second_cancel(cancelled),
            InputKey::EndOfInput if self.input.composer.is_empty() => return vec![AppAction::Quit],
            InputKey::EndOfInput | InputKey::Delete(Deletion::CharUnder) => {
                self.input.composer.delete();
            }
            InputKey::BackTab => return vec![self.cycle_mode()],
            InputKey::Shortcut(Shortcut::OpenEditor) => return vec![AppAction::OpenEditor],
            InputKey::Shortcut(Shortcut::PasteImage) => return vec![AppAction::PasteImage],
            InputKey::Shortcut(Shortcut::MoveToBackground) => {
                return vec![AppAction::MoveToBackground];
            }
            InputKey::Shortcut(Shortcut::InsertDeleted) => self.input.composer.insert_deleted(),
            InputKey::Shortcut(Shortcut::SearchHistory) => self.open_history_search(),
            InputKey::Shortcut(Shortcut::ToggleTasks) => {
                self.tasks.is_hidden = !self.tasks.is_hidden;
            }
            InputKey::Char('?') if self.input.composer.is_empty() => {
                self.dialogs.is_showing_keys = true;
            }
            InputKey::Char(letter) => self.input.composer.insert(letter.encode_utf8(&mut [0; 4])),
            InputKey::NewLine => self.input.composer.insert("\n"),
            InputKey::Paste(text) => return self.handle_paste(&text),
            InputKey::Delete(Deletion::CharBefore) => self.input.composer.backspace(),
            InputKey::Delete(Deletion::WordBefore) => self.input.composer.delete_word(),
            InputKey::Delete(Deletion::ToHome) => self.input.composer.delete_to_home(),
            InputKey::Delete(Deletion::ToEnd) => self.input.composer.delete_to_end(),
            // Queued prompts come before the history.
            InputKey::Move(CursorMove::Up)
                if self.input.composer.is_empty() && !self.input.queued_input.is_empty() =>
            {
                return vec![AppAction::UnqueueInput];
            }
            InputKey::Move(to) => self.input.composer.move_cursor(to),
            InputKey::Tab
                if self.input.composer.is_empty() && !self.input.suggested_prompt.is_empty() =>
            {
                self.input.composer.set_text(std::mem::take(&mut self.input.suggested_prompt));
            }
            InputKey::Tab
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Shortcut(Shortcut::Suspend)
            | InputKey::Shortcut(Shortcut::Redraw)
            | InputKey::Shortcut(Shortcut::OpenTranscript) => {}
        }
        self.request_file_search().into_iter().collect()
    }

    /// Dragged images are mentioned; those outside the working directory are imported first.
    fn handle_paste(&mut self, text: &str) -> Vec<AppAction> {
        let images = dragged_images::parse_image_paths(text);
        if images.is_empty() {
            self.input.composer.paste(text);
            return self.request_file_search().into_iter().collect();
        }
        let folder = &self.session.facts.working_directory;
        let is_here = |path: &str| {
            let below = path.strip_prefix(folder.as_str());
            !path.starts_with('/') || below.is_some_and(|rest| rest.starts_with('/'))
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            images.into_iter().partition(|path| is_here(path));
        here.iter().for_each(|path| self.input.composer.mention(path));
        elsewhere.into_iter().map(AppAction::ImportImage).collect()
    }

    /// Returns `None` if there are no suggestions, or they do not use the key.
    fn handle_suggestion_key(
        &mut self,
        key: &InputKey,
        suggestions: &[super::Suggestion],
    ) -> Option<Vec<AppAction>> {
        let chosen =
            suggestions.get(self.completion.selected.min(suggestions.len().checked_sub(1)?))?;
        match key {
            InputKey::Tab => self.accept_suggestion(chosen),
            InputKey::Enter if chosen.replace_from == 0 && chosen.replacement.starts_with('/') => {
                let is_named = chosen.replacement.trim_end() == self.input.composer.text();
                self.accept_suggestion(chosen);
                if chosen.is_complete || is_named {
                    return Some(self.submit_composer());
                }
            }
            InputKey::Enter => self.accept_suggestion(chosen),
            InputKey::Move(CursorMove::Down) => {
                self.completion.selected =
                    (self.completion.selected + 1).min(suggestions.len() - 1);
            }
            InputKey::Move(CursorMove::Up) => {
                self.completion.selected = self.completion.selected.saturating_sub(1);
            }
            InputKey::Escape => self.dismiss_suggestions(),
            InputKey::Move(_)
            | InputKey::NewLine
            | InputKey::Cancel
            | InputKey::EndOfInput
            | InputKey::BackTab
            | InputKey::Char(_)
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Shortcut(_) => return None,
        }
        Some(self.request_file_search().into_iter().collect())
    }

    fn interrupt(&mut self) -> Vec<AppAction> {
        self.keys.hint = Some(words::HINT_INTERRUPTING);
        vec![AppAction::Interrupt]
    }

    /// Ctrl-C twice leaves; once might have been meant for a run that ended a moment before.
    fn handle_second_cancel(&mut self, cancelled: Option<Duration>) -> Vec<AppAction> {
        match cancelled {
            Some(at) if self.now.saturating_sub(at) < DOUBLE_KEY_MAX => vec![AppAction::Quit],
            Some(_) | None => {
                self.keys.cancel_pressed = Some(self.now);
                self.keys.hint = Some(words::HINT_CANCEL_AGAIN);
                Vec::new()
            }
        }
    }

    fn handle_escape(&mut self, escaped: Option<Duration>) -> Vec<AppAction> {
        if self.run.is_busy() {
            return self.interrupt();
        }
        if !self.input.composer.is_empty() {
            self.input.composer.clear();
            return Vec::new();
        }
        match escaped {
            Some(at) if self.now.saturating_sub(at) < DOUBLE_KEY_MAX => {
                vec![AppAction::SubmitChoice("/rewind".to_owned())]
            }
            _ => {
                self.keys.escape_pressed = Some(self.now);
                self.keys.hint = Some(words::HINT_ESCAPE_AGAIN);
                Vec::new()
            }
        }
    }

    fn open_history_search(&mut self) {
        let items = self.input.composer.history().iter().rev().map(|prompt| PickerItem {
            value: prompt.clone(),
            label: text::join_lines(prompt),
            description: String::new(),
        });
        let items: Vec<PickerItem> = items.collect();
        if items.is_empty() {
            self.keys.hint = Some(words::HINT_NO_HISTORY);
            return;
        }
        self.dialogs.picker =
            Some((PickerPurpose::History, Picker::new(words::TITLE_HISTORY, items)));
    }

    fn cycle_mode(&mut self) -> AppAction {
        self.session.mode = match self.session.mode {
            PermissionMode::Default => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits => PermissionMode::Plan,
            PermissionMode::Plan | PermissionMode::DontAsk | PermissionMode::BypassPermissions => {
                PermissionMode::Default
            }
        };
        AppAction::SetMode(self.session.mode)
    }

    fn submit_composer(&mut self) -> Vec<AppAction> {
        // A backslash at the end continues the prompt on a new line.
        if self.input.composer.text().ends_with('\\') {
            self.input.composer.move_cursor(CursorMove::End);
            self.input.composer.backspace();
            self.input.composer.insert("\n");
            return Vec::new();
        }
        let prompt = self.input.composer.submit();
        match prompt.text.trim().is_empty() {
            true => Vec::new(),
            false => vec![AppAction::Submit(prompt)],
        }
    }

    fn apply_permission_reply(&mut self, reply: PermissionPromptReply) -> Vec<AppAction> {
        let Some(prompt) = self.dialogs.permission_prompts.pop_front() else { return Vec::new() };
        self.run.count_wait(!self.dialogs.permission_prompts.is_empty(), self.now);
        if let Some(mode) = reply.mode_after_call {
            self.session.mode_after_call = Some((prompt.call().id.clone(), mode));
        }
        if let (PermissionAnswer::Allow { .. }, Some(after)) = (&reply.answer, prompt.file_after())
        {
            // The next question about the file shows it as this edit will leave it.
            let others = self.dialogs.permission_prompts.iter_mut();
            others
                .filter(|other| other.file_to_read() == prompt.file_to_read())
                .for_each(|other| other.set_file_before(Some(after.clone())));
        }
        let save =
            (!reply.rules_to_save.is_empty()).then_some(AppAction::SaveRules(reply.rules_to_save));
        // The comment is queued before the call can end, so it arrives with the result.
        let comment = reply.comment.map(AppAction::SendComment);
        comment
            .into_iter()
            .chain([AppAction::AnswerPermission(prompt.ticket, reply.answer)])
            .chain(save)
            .collect()
    }
}

/// A key counts as pressed twice within this time.
const DOUBLE_KEY_MAX: Duration = Duration::from_millis(1_500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission_prompt::PermissionPrompt;
    use crate::screen_size::ScreenSize;
    use crate::session_facts::TuiSessionFacts;
    use windlass_vocabulary::{Json, PermissionQuestion, Ticket, ToolCall};

    const SIZE: ScreenSize = ScreenSize { width: 80, rows: 24 };

    #[test]
    fn a_key_for_a_list_answers_no_question_behind_it() {
        let mut app = App::new(TuiSessionFacts::default(), PermissionMode::Default, SIZE);
        let call = ToolCall {
            id: "c".into(),
            name: "Bash".into(),
            input: Json::from_checked(r#"{"command":"rm x"}"#),
            signature: None,
        };
        let question =
            PermissionQuestion { call, why: String::new(), suggestions: Vec::new(), agent: None };
        app.now = Duration::from_secs(10);
        app.dialogs.picker = Some((PickerPurpose::Command, Picker::new("Which?", Vec::new())));
        app.dialogs.permission_prompts.push_back(PermissionPrompt::new(
            Ticket(1),
            question,
            &TuiSessionFacts::default(),
        ));
        assert_eq!(app.handle_key(InputKey::Escape), Vec::new());
        assert!(app.dialogs.picker.is_none() && !app.may_answer_prompt());
        assert_eq!(app.handle_key(InputKey::Char('2')), Vec::new(), "it follows at once");
        assert!(app.input.composer.is_empty());
        app.now += Duration::from_secs(2);
        let answered = app.handle_key(InputKey::Char('2'));
        assert!(matches!(
            answered.first(),
            Some(AppAction::AnswerPermission(Ticket(1), PermissionAnswer::Allow { .. }))
        ));
    }
}
