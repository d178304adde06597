//! What follows from keys.

use std::time::Duration;

use windlass_vocabulary::{PermissionAnswer, PermissionMode};

use super::{App, AppAction, PickerPurpose};
use crate::composer::vim::VimKeyOutcome;
use crate::composer::{CursorMove, dragged_images};
use crate::input::InputKey;
use crate::pager::Pager;
use crate::permission_prompt::PermissionPromptReply;
use crate::picker::{Picker, PickerItem, PickerOutcome};
use crate::styled_line::{StyledLine, TextStyle};
use crate::text;
use crate::validated_input::ValidatedInputOutcome;

impl App {
    /// A key was pressed.
    pub fn handle_key(&mut self, key: InputKey) -> Vec<AppAction> {
        self.key_hint = None;
        if self.pager.is_some() || self.picker.is_some() || self.validated_input.is_some() {
            // What was meant for this answers no question that stands behind it.
            self.last_key = Some((self.now, false));
        }
        if let Some(pager) = &mut self.pager {
            if !pager.handle_key(&key, self.rows) {
                self.pager = None;
            }
            return Vec::new();
        }
        match key {
            InputKey::Suspend => return vec![AppAction::Suspend],
            InputKey::Redraw => return vec![AppAction::Redraw],
            InputKey::OpenTranscript => {
                self.open_pager();
                return Vec::new();
            }
            _ => {}
        }
        if let Some((purpose, picker)) = &mut self.picker {
            let purpose = *purpose;
            return match picker.handle_key(&key) {
                PickerOutcome::Pending => Vec::new(),
                PickerOutcome::Cancelled => {
                    self.picker = None;
                    Vec::new()
                }
                PickerOutcome::Chosen(item) => {
                    self.picker = None;
                    self.apply_picked_item(purpose, item)
                }
            };
        }
        if let Some(field) = &mut self.validated_input {
            let filled = field.handle_key(&key);
            if filled != ValidatedInputOutcome::Pending {
                self.validated_input = None;
            }
            return match filled {
                ValidatedInputOutcome::Submitted(prompt) => vec![AppAction::SubmitChoice(prompt)],
                ValidatedInputOutcome::Pending | ValidatedInputOutcome::Cancelled => Vec::new(),
            };
        }
        let is_armed = self.may_answer_prompt();
        let is_composing = self.is_composing();
        self.last_key = Some((self.now, is_composing));
        match self.permission_prompts.front_mut() {
            Some(approval) if is_armed => {
                // Whoever answers does not type a prompt, and one answer is one key.
                match approval.handle_key(key) {
                    None => {
                        self.last_key = None;
                        Vec::new()
                    }
                    Some(said) => self.apply_permission_reply(said),
                }
            }
            // A key that follows an answer was meant for that.
            Some(_) if !is_composing => Vec::new(),
            _ => self.handle_composer_key(key),
        }
    }

    /// Opens the page on which everything stands unfolded.
    fn open_pager(&mut self) {
        let size = (self.width, self.rows);
        self.pager =
            Some(Pager::open_at_end(&self.transcript, &self.facts.working_directory, size));
    }

    /// Draws more of an open page, or all of it anew for another width.
    pub fn load_pager(&mut self) {
        if self.pager.as_ref().is_some_and(|pager| pager.width() != self.width) {
            self.open_pager();
        }
        if let Some(pager) = &mut self.pager {
            pager.load_older(&self.transcript, &self.facts.working_directory, self.rows);
        }
    }

    fn apply_picked_item(&mut self, purpose: PickerPurpose, item: PickerItem) -> Vec<AppAction> {
        match purpose {
            PickerPurpose::History => {
                self.composer.set_text(item.value);
                Vec::new()
            }
            PickerPurpose::Command => vec![AppAction::SubmitChoice(item.value)],
        }
    }

    /// A key for the composer.
    fn handle_composer_key(&mut self, key: InputKey) -> Vec<AppAction> {
        let mut key = key;
        if let Some(vim) = &mut self.vim {
            match vim.handle_key(key, &mut self.composer) {
                VimKeyOutcome::Handled => return self.request_file_search().into_iter().collect(),
                VimKeyOutcome::Key(other) => key = other,
            }
        }
        let suggestions = self.find_suggestions();
        if let Some(wishes) = self.handle_suggestion_key(&key, &suggestions) {
            return wishes;
        }
        let escaped = self.escape_pressed.take();
        match key {
            InputKey::Enter => return self.submit_composer(),
            InputKey::Escape => return self.handle_escape(escaped),
            InputKey::Cancel if self.is_busy => return vec![AppAction::Interrupt],
            InputKey::Cancel if !self.composer.is_empty() => self.composer.set_text(""),
            InputKey::Cancel => return vec![AppAction::Quit],
            InputKey::EndOfInput if self.composer.is_empty() => return vec![AppAction::Quit],
            InputKey::EndOfInput | InputKey::Delete => self.composer.delete(),
            InputKey::BackTab => return vec![self.cycle_mode()],
            InputKey::OpenEditor => return vec![AppAction::OpenEditor],
            InputKey::PasteImage => return vec![AppAction::PasteImage],
            InputKey::SearchHistory => self.open_history_search(),
            InputKey::ToggleTasks => self.hides_tasks = !self.hides_tasks,
            InputKey::Char(letter) => self.composer.insert(letter.encode_utf8(&mut [0; 4])),
            InputKey::NewLine => self.composer.insert("\n"),
            InputKey::Paste(text) => return self.handle_paste(&text),
            InputKey::Backspace => self.composer.backspace(),
            InputKey::DeleteWord => self.composer.delete_word(),
            InputKey::DeleteToHome => self.composer.delete_to_home(),
            InputKey::DeleteToEnd => self.composer.delete_to_end(),
            // What waits is taken back before what was said comes back.
            InputKey::Move(CursorMove::Up)
                if self.composer.is_empty() && !self.queued_input.is_empty() =>
            {
                return vec![AppAction::UnqueueInput];
            }
            InputKey::Move(to) => self.composer.move_cursor(to),
            InputKey::Tab if self.composer.is_empty() && !self.suggested_prompt.is_empty() => {
                self.composer.set_text(std::mem::take(&mut self.suggested_prompt));
            }
            InputKey::Tab
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Suspend
            | InputKey::Redraw
            | InputKey::OpenTranscript => {}
        }
        self.request_file_search().into_iter().collect()
    }

    /// A paste. Images that were dragged in are mentioned; those from elsewhere are brought first.
    fn handle_paste(&mut self, text: &str) -> Vec<AppAction> {
        let images = dragged_images::parse_image_paths(text);
        if images.is_empty() {
            self.composer.paste(text);
            return self.request_file_search().into_iter().collect();
        }
        let folder = &self.facts.working_directory;
        let is_here = |path: &str| {
            let below = path.strip_prefix(folder.as_str());
            !path.starts_with('/') || below.is_some_and(|rest| rest.starts_with('/'))
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            images.into_iter().partition(|path| is_here(path));
        here.iter().for_each(|path| self.composer.mention(path));
        elsewhere.into_iter().map(AppAction::ImportImage).collect()
    }

    /// A key for the suggestions, if there are any and it is one.
    fn handle_suggestion_key(
        &mut self,
        key: &InputKey,
        suggestions: &[super::Suggestion],
    ) -> Option<Vec<AppAction>> {
        let chosen =
            suggestions.get(self.selected_suggestion.min(suggestions.len().checked_sub(1)?))?;
        match key {
            InputKey::Tab => self.accept_suggestion(chosen),
            InputKey::Enter if chosen.replace_from == 0 && chosen.replacement.starts_with('/') => {
                let is_named = chosen.replacement.trim_end() == self.composer.text();
                self.accept_suggestion(chosen);
                if chosen.is_complete || is_named {
                    return Some(self.submit_composer());
                }
            }
            InputKey::Enter => self.accept_suggestion(chosen),
            InputKey::Move(CursorMove::Down) => {
                self.selected_suggestion =
                    (self.selected_suggestion + 1).min(suggestions.len() - 1);
            }
            InputKey::Move(CursorMove::Up) => {
                self.selected_suggestion = self.selected_suggestion.saturating_sub(1);
            }
            InputKey::Escape => self.dismiss_suggestions(),
            _ => return None,
        }
        Some(self.request_file_search().into_iter().collect())
    }

    fn handle_escape(&mut self, escaped: Option<Duration>) -> Vec<AppAction> {
        if self.is_busy {
            self.key_hint = Some("stopping");
            return vec![AppAction::Interrupt];
        }
        if !self.composer.is_empty() {
            self.composer.set_text("");
            return Vec::new();
        }
        match escaped {
            Some(at) if self.now.saturating_sub(at) < DOUBLE_ESCAPE_MAX => {
                vec![AppAction::Submit("/rewind".to_owned())]
            }
            _ => {
                self.escape_pressed = Some(self.now);
                self.key_hint = Some("Esc again goes back to an earlier prompt");
                Vec::new()
            }
        }
    }

    fn open_history_search(&mut self) {
        let items = self.composer.history().iter().rev().map(|said| PickerItem {
            value: said.clone(),
            label: text::to_one_line(said),
            description: String::new(),
        });
        let items: Vec<PickerItem> = items.collect();
        if items.is_empty() {
            self.key_hint = Some("nothing was said before");
            return;
        }
        self.picker = Some((PickerPurpose::History, Picker::new("What was said before", items)));
    }

    fn cycle_mode(&mut self) -> AppAction {
        self.mode = match self.mode {
            PermissionMode::Default => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits => PermissionMode::Plan,
            _ => PermissionMode::Default,
        };
        AppAction::SetMode(self.mode)
    }

    fn submit_composer(&mut self) -> Vec<AppAction> {
        // A sign before the end of the line asks for another one.
        if self.composer.text().ends_with('\\') {
            self.composer.move_cursor(CursorMove::End);
            self.composer.backspace();
            self.composer.insert("\n");
            return Vec::new();
        }
        let said = self.composer.submit();
        match said.trim().is_empty() {
            true => Vec::new(),
            false => vec![AppAction::Submit(said)],
        }
    }

    fn apply_permission_reply(&mut self, said: PermissionPromptReply) -> Vec<AppAction> {
        let Some(approval) = self.permission_prompts.pop_front() else { return Vec::new() };
        let (sign, role) = match &said.answer {
            PermissionAnswer::Allow { .. } => ("allowed", TextStyle::Dim),
            PermissionAnswer::Deny { .. } => ("not allowed", TextStyle::Warning),
        };
        let line = StyledLine::from_text(format!("  {sign}: "), role)
            .with_span(approval.title(), TextStyle::Dim);
        self.push_scrollback([line.truncate_to_width(self.width)]);
        if let Some(mode) = said.mode_after_call {
            self.mode_after_call = Some((approval.call().id.clone(), mode));
        }
        let keep =
            (!said.rules_to_save.is_empty()).then_some(AppAction::SaveRules(said.rules_to_save));
        std::iter::once(AppAction::AnswerPermission(approval.ticket, said.answer))
            .chain(keep)
            .collect()
    }
}

/// Twice within this long is twice.
const DOUBLE_ESCAPE_MAX: Duration = Duration::from_millis(1_500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::TuiSessionFacts;
    use crate::permission_prompt::PermissionPrompt;
    use windlass_vocabulary::{Json, PermissionQuestion, Ticket, ToolCall};

    #[test]
    fn a_key_for_a_list_answers_no_question_behind_it() {
        let mut app = App::new(TuiSessionFacts::default(), PermissionMode::Default, (80, 24));
        let call = ToolCall {
            id: "c".into(),
            name: "Bash".into(),
            input: Json::from_checked(r#"{"command":"rm x"}"#),
            signature: None,
        };
        let question =
            PermissionQuestion { call, why: String::new(), suggestions: Vec::new(), agent: None };
        app.now = Duration::from_secs(10);
        app.picker = Some((PickerPurpose::Command, Picker::new("Which?", Vec::new())));
        app.permission_prompts.push_back(PermissionPrompt::new(
            Ticket(1),
            question,
            &TuiSessionFacts::default(),
        ));
        assert_eq!(app.handle_key(InputKey::Escape), Vec::new());
        assert!(app.picker.is_none() && !app.may_answer_prompt());
        assert_eq!(app.handle_key(InputKey::Char('2')), Vec::new(), "it follows at once");
        assert!(app.composer.is_empty());
        app.now += Duration::from_secs(2);
        let answered = app.handle_key(InputKey::Char('2'));
        assert!(matches!(
            answered.first(),
            Some(AppAction::AnswerPermission(Ticket(1), PermissionAnswer::Allow { .. }))
        ));
    }
}
