//! One question: what exactly would run, why it is asked, and the answers there are. No is chosen at
//! first, so that a key pressed for something else allows nothing.

mod question_form;
mod view;

use serde_json::Value;
use windlass_vocabulary::{
    Json, PermissionAnswer, PermissionMode, PermissionQuestion, Ticket, ToolCall,
};

use crate::composer::Composer;
use crate::input::{CursorMove, InputKey};
use crate::session_facts::TuiSessionFacts;
use crate::{text, tool_call_view};
use question_form::QuestionForm;

/// A question and the answer that is being chosen.
#[derive(Debug)]
pub struct PermissionPrompt {
    /// Names the question, so that an answer cannot hit another.
    pub ticket: Ticket,
    question: PermissionQuestion,
    /// Its input, if it is an object.
    input: Value,
    selected: usize,
    /// What is being written, once somebody writes it.
    text_entry: Option<(PromptTextKind, Composer)>,
    /// What the file that would be written holds now.
    file_before: Option<String>,
    /// Questions to a person and what was answered so far.
    form: Option<QuestionForm>,
    /// Where a rule would be kept.
    rules_file: Option<String>,
    working_directory: String,
}

/// An answer, and what else follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionPromptReply {
    /// For the session.
    pub answer: PermissionAnswer,
    /// Rules to keep for other sessions.
    pub rules_to_save: Vec<String>,
    /// The mode to be in once the call has ended.
    pub mode_after_call: Option<PermissionMode>,
}

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptTextKind {
    /// Why not.
    Reason,
    /// Another command.
    Command,
    /// An answer of one's own.
    CustomAnswer,
}

/// The answers, in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PermissionPromptChoice {
    Deny,
    AllowOnce,
    AllowAndAcceptEdits,
    AllowForSession,
    AllowAlways,
    EditCommand,
    DenyWithReason,
}

impl PermissionPrompt {
    /// A question that was just asked.
    #[must_use]
    pub fn new(ticket: Ticket, question: PermissionQuestion, about: &TuiSessionFacts) -> Self {
        let input: Value = serde_json::from_str(question.call.input.as_str()).unwrap_or_default();
        let is_poll = question.call.name.as_str() == "AskUserQuestion";
        let form = is_poll.then(|| QuestionForm::from_input(&input)).flatten();
        let (selected, text_entry, file_before) = (0, None, None);
        let (rules_file, working_directory) =
            (about.rules_file.clone(), about.working_directory.clone());
        Self {
            ticket,
            question,
            input,
            selected,
            text_entry,
            file_before,
            form,
            rules_file,
            working_directory,
        }
    }

    /// The call in a line.
    #[must_use]
    pub fn title(&self) -> String {
        tool_call_view::format_title(&self.question.call, &self.working_directory)
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.question.call
    }

    /// The file that must be read to show what would become of it.
    #[must_use]
    pub fn file_to_read(&self) -> Option<String> {
        let path = self.input_field("file_path").filter(|_| self.input_field("content").is_some());
        path.map(str::to_owned)
    }

    /// What it holds; nothing if it is not there.
    pub fn set_file_before(&mut self, before: Option<String>) {
        self.file_before = Some(before.unwrap_or_default());
    }

    fn input_field(&self, name: &str) -> Option<&str> {
        self.input.get(name).and_then(Value::as_str)
    }

    fn is_plan(&self) -> bool {
        self.question.call.name.as_str() == "ExitPlanMode" && self.input_field("plan").is_some()
    }

    fn list_choices(&self) -> Vec<PermissionPromptChoice> {
        let mut choices = vec![PermissionPromptChoice::Deny, PermissionPromptChoice::AllowOnce];
        if self.is_plan() {
            choices.push(PermissionPromptChoice::AllowAndAcceptEdits);
        } else if !self.question.suggestions.is_empty() {
            choices.push(PermissionPromptChoice::AllowForSession);
            choices
                .extend(self.rules_file.is_some().then_some(PermissionPromptChoice::AllowAlways));
        }
        choices.extend(self.input_field("command").map(|_| PermissionPromptChoice::EditCommand));
        choices.push(PermissionPromptChoice::DenyWithReason);
        choices
    }

    /// A key was pressed; gives the answer once there is one.
    pub fn handle_key(&mut self, key: InputKey) -> Option<PermissionPromptReply> {
        if let Some((writing, composer)) = &mut self.text_entry {
            let writing = *writing;
            match key {
                InputKey::Enter => {
                    let words = composer.submit();
                    self.text_entry = None;
                    return self.submit_text(writing, &words);
                }
                InputKey::Escape | InputKey::Cancel => self.text_entry = None,
                InputKey::Char(letter) => composer.insert(letter.encode_utf8(&mut [0; 4])),
                InputKey::Paste(text) if writing == PromptTextKind::Command => {
                    composer.insert(&text);
                }
                InputKey::Paste(text) => composer.insert(&text::to_one_line(&text)),
                InputKey::NewLine => composer.insert("\n"),
                InputKey::Backspace => composer.backspace(),
                InputKey::Delete => composer.delete(),
                InputKey::DeleteWord => composer.delete_word(),
                InputKey::DeleteToHome => composer.delete_to_home(),
                InputKey::DeleteToEnd => composer.delete_to_end(),
                InputKey::Move(CursorMove::Up | CursorMove::Down) => {}
                InputKey::Move(to) => composer.move_cursor(to),
                _ => {}
            }
            return None;
        }
        let last = self.choice_count().saturating_sub(1);
        match key {
            InputKey::Move(CursorMove::Up) => self.selected = self.selected.saturating_sub(1),
            InputKey::Move(CursorMove::Down) | InputKey::Tab => {
                self.selected = (self.selected + 1).min(last);
            }
            InputKey::Char(digit @ '1'..='9') => {
                let number = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0);
                if number <= last {
                    self.selected = number;
                    return self.confirm_selected();
                }
            }
            InputKey::Char('y') if self.form.is_none() => {
                self.selected = 1;
                return self.confirm_selected();
            }
            InputKey::Char(' ') => {
                if let Some(poll) = &mut self.form {
                    poll.toggle_mark(self.selected);
                }
            }
            InputKey::Char('n') | InputKey::Escape => return Some(build_deny("", false)),
            InputKey::Enter => return self.confirm_selected(),
            InputKey::Cancel => return Some(build_deny("", true)),
            _ => {}
        }
        None
    }

    fn choice_count(&self) -> usize {
        match &self.form {
            Some(poll) => poll.choice_count(),
            None => self.list_choices().len(),
        }
    }

    fn confirm_selected(&mut self) -> Option<PermissionPromptReply> {
        if let Some(poll) = &mut self.form {
            if poll.is_custom_answer(self.selected) {
                self.text_entry = Some((PromptTextKind::CustomAnswer, Composer::default()));
                return None;
            }
            let is_over = poll.answer_with_choice(self.selected);
            self.selected = 0;
            return is_over.then(|| self.build_form_reply()).flatten();
        }
        let rules = || self.question.suggestions.clone();
        match self.list_choices().get(self.selected)? {
            PermissionPromptChoice::Deny => Some(build_deny("", false)),
            PermissionPromptChoice::AllowOnce => Some(build_allow(None, Vec::new())),
            PermissionPromptChoice::AllowAndAcceptEdits => Some(PermissionPromptReply {
                mode_after_call: Some(PermissionMode::AcceptEdits),
                ..build_allow(None, Vec::new())
            }),
            PermissionPromptChoice::AllowForSession => Some(build_allow(None, rules())),
            PermissionPromptChoice::AllowAlways => {
                Some(PermissionPromptReply { rules_to_save: rules(), ..build_allow(None, rules()) })
            }
            PermissionPromptChoice::EditCommand => {
                let mut composer = Composer::default();
                composer.insert(self.input_field("command").unwrap_or_default());
                self.text_entry = Some((PromptTextKind::Command, composer));
                None
            }
            PermissionPromptChoice::DenyWithReason => {
                self.text_entry = Some((PromptTextKind::Reason, Composer::default()));
                None
            }
        }
    }

    fn submit_text(
        &mut self,
        writing: PromptTextKind,
        words: &str,
    ) -> Option<PermissionPromptReply> {
        match writing {
            PromptTextKind::Reason => Some(build_deny(words, false)),
            PromptTextKind::Command if words.trim().is_empty() => None,
            PromptTextKind::Command => {
                let mut input = self.input.clone();
                *input.get_mut("command")? = Value::from(words);
                Some(build_allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
            }
            PromptTextKind::CustomAnswer => {
                let is_over = self.form.as_mut()?.answer_with_text(words);
                self.selected = 0;
                is_over.then(|| self.build_form_reply()).flatten()
            }
        }
    }

    fn build_form_reply(&self) -> Option<PermissionPromptReply> {
        let mut input = self.input.clone();
        let fields = input.as_object_mut()?;
        fields.insert("answers".to_owned(), self.form.as_ref()?.answers());
        Some(build_allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
    }
}

fn build_allow(updated_input: Option<Json>, remember: Vec<String>) -> PermissionPromptReply {
    let answer = PermissionAnswer::Allow { updated_input, remember };
    PermissionPromptReply { answer, rules_to_save: Vec::new(), mode_after_call: None }
}

fn build_deny(message: &str, interrupt: bool) -> PermissionPromptReply {
    let message = match message.trim() {
        "" => "The user said no.".to_owned(),
        words => format!("The user said no: {words}"),
    };
    PermissionPromptReply {
        answer: PermissionAnswer::Deny { message, interrupt },
        rules_to_save: Vec::new(),
        mode_after_call: None,
    }
}
