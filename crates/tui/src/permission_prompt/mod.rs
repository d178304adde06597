//! A permission prompt: what exactly would run, why it is asked, and the possible answers. "No" is
//! selected at first, so that a stray key allows nothing.

mod question_form;
mod tried_command;
mod view;

use serde_json::Value;
use windlass_vocabulary::{
    Json, PermissionAnswer, PermissionMode, PermissionQuestion, Ticket, ToolCall,
};

use crate::composer::Composer;
use crate::input::{CursorMove, InputKey};
use crate::session_facts::TuiSessionFacts;
use crate::{tool_call_view, words};
use question_form::QuestionForm;
use tried_command::TriedCommandReport;

#[derive(Debug)]
pub struct PermissionPrompt {
    /// The session matches an answer to its question by this.
    pub ticket: Ticket,
    question: PermissionQuestion,
    subject: PromptSubject,
    /// The input of the call; null if it is not valid JSON.
    input: Value,
    /// The index of the selected choice.
    selected: usize,
    /// The text entry that covers the choices.
    text_entry: Option<(PromptTextKind, Composer)>,
    /// The current content of the file that would be written.
    file_before: Option<String>,
    rules_file: Option<String>,
    working_directory: String,
}

#[derive(Debug)]
enum PromptSubject {
    ToolCall,
    /// The plan, in Markdown.
    Plan(String),
    /// Questions of the model to the user.
    Questions(QuestionForm),
    /// A command ran on trial, and what it changed may be applied.
    Trial(TriedCommandReport),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionPromptReply {
    pub answer: PermissionAnswer,
    /// Rules that outlive the session.
    pub rules_to_save: Vec<String>,
    /// The mode to switch to once the call has ended well.
    pub mode_after_call: Option<PermissionMode>,
    /// A message of the user to the model.
    pub comment: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptTextKind {
    /// Why the call is denied.
    Reason,
    /// A message to the model in addition to allowing the call.
    Comment,
    /// The command to run instead.
    Command,
    /// An answer that is not among the options.
    CustomAnswer,
}

/// In the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PermissionPromptChoice {
    Deny,
    AllowOnce,
    AllowAndAcceptEdits,
    AllowForSession,
    AllowAlways,
    /// Only this one of several rules, by its index.
    AllowPartAlways(usize),
    EditCommand,
    /// Run it on a trial copy and ask again with what it changed.
    TryFirst,
    DenyWithReason,
    AllowWithComment,
}

impl PermissionPrompt {
    pub fn new(ticket: Ticket, question: PermissionQuestion, facts: &TuiSessionFacts) -> Self {
        let input: Value = serde_json::from_str(question.call.input.as_str()).unwrap_or_default();
        Self {
            ticket,
            subject: PromptSubject::from_call(question.call.name.as_str(), &input),
            question,
            input,
            selected: 0,
            text_entry: None,
            file_before: None,
            rules_file: facts.rules_file.clone(),
            working_directory: facts.working_directory.clone(),
        }
    }

    /// The call in one line.
    pub fn title(&self) -> String {
        tool_call_view::format_title(&self.question.call, &self.working_directory)
    }

    pub fn call(&self) -> &ToolCall {
        &self.question.call
    }

    /// The file whose current content is needed to show a diff.
    pub fn file_to_read(&self) -> Option<String> {
        let changes_file =
            self.input_field("content").is_some() || self.input_field("old_string").is_some();
        self.input_field("file_path").filter(|_| changes_file).map(str::to_owned)
    }

    /// `None` means that the file does not exist or cannot be read.
    pub fn set_file_before(&mut self, before: Option<String>) {
        self.file_before = Some(before.unwrap_or_default());
    }

    fn input_field(&self, name: &str) -> Option<&str> {
        self.input.get(name).and_then(Value::as_str)
    }

    fn is_plan(&self) -> bool {
        matches!(self.subject, PromptSubject::Plan(_))
    }

    fn is_trial(&self) -> bool {
        matches!(self.subject, PromptSubject::Trial(_))
    }

    /// A command that runs here and ends can be tried on an overlay, which only Linux has.
    fn can_be_tried(&self) -> bool {
        let is_set = |name: &str| self.input.get(name).and_then(Value::as_bool).unwrap_or(false);
        cfg!(target_os = "linux")
            && self.question.call.name.as_str() == "Bash"
            && !is_set("run_in_background")
            && !is_set("dry_run")
    }

    fn form(&self) -> Option<&QuestionForm> {
        match &self.subject {
            PromptSubject::Questions(form) => Some(form),
            PromptSubject::ToolCall | PromptSubject::Plan(_) | PromptSubject::Trial(_) => None,
        }
    }

    fn form_mut(&mut self) -> Option<&mut QuestionForm> {
        match &mut self.subject {
            PromptSubject::Questions(form) => Some(form),
            PromptSubject::ToolCall | PromptSubject::Plan(_) | PromptSubject::Trial(_) => None,
        }
    }

    fn list_choices(&self) -> Vec<PermissionPromptChoice> {
        if self.is_trial() {
            return vec![
                PermissionPromptChoice::Deny,
                PermissionPromptChoice::AllowOnce,
                PermissionPromptChoice::DenyWithReason,
            ];
        }
        let mut choices = vec![PermissionPromptChoice::Deny, PermissionPromptChoice::AllowOnce];
        let mut parts = Vec::new();
        if self.is_plan() {
            choices.push(PermissionPromptChoice::AllowAndAcceptEdits);
        } else if !self.question.suggestions.is_empty() {
            choices.push(PermissionPromptChoice::AllowForSession);
            if self.rules_file.is_some() {
                choices.push(PermissionPromptChoice::AllowAlways);
                parts = self.list_part_choices();
                let numbered = NUMBERED_PARTS_MAX - usize::from(self.can_be_tried());
                choices.extend(parts.drain(..parts.len().min(numbered)));
            }
        }
        choices.extend(self.input_field("command").map(|_| PermissionPromptChoice::EditCommand));
        choices.extend(self.can_be_tried().then_some(PermissionPromptChoice::TryFirst));
        choices.push(PermissionPromptChoice::DenyWithReason);
        choices.push(PermissionPromptChoice::AllowWithComment);
        // Beyond the ten number keys: chosen with the arrows.
        choices.extend(parts);
        choices
    }

    /// A command of several parts suggests a rule for each; one may be trusted and another not.
    fn list_part_choices(&self) -> Vec<PermissionPromptChoice> {
        match self.question.suggestions.len() {
            0 | 1 => Vec::new(),
            count => (0..count).map(PermissionPromptChoice::AllowPartAlways).collect(),
        }
    }

    /// Returns the reply once the user has decided.
    pub fn handle_key(&mut self, key: InputKey) -> Option<PermissionPromptReply> {
        if let Some((kind, composer)) = self.text_entry.take() {
            return self.handle_text_key(kind, composer, key);
        }
        let last = self.choice_count().saturating_sub(1);
        match key {
            InputKey::Move(CursorMove::Up) => self.selected = self.selected.saturating_sub(1),
            InputKey::Move(CursorMove::Down) | InputKey::Tab => {
                self.selected = (self.selected + 1).min(last);
            }
            InputKey::Char(digit @ '0'..='9') => {
                // The key after 9 is 0, for the tenth choice.
                let number = match digit {
                    '0' => 9,
                    digit => usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0),
                };
                if number <= last {
                    self.selected = number;
                    return self.confirm_selected();
                }
            }
            InputKey::Char('y') if self.form().is_none() => {
                self.selected = 1;
                return self.confirm_selected();
            }
            InputKey::Char('t') if self.form().is_none() => {
                let choices = self.list_choices();
                let tries = choices.iter().position(|it| *it == PermissionPromptChoice::TryFirst);
                self.selected = tries?;
                return self.confirm_selected();
            }
            InputKey::Char(' ') => {
                let selected = self.selected;
                if let Some(form) = self.form_mut() {
                    form.toggle_mark(selected);
                }
            }
            InputKey::Char('n') | InputKey::Escape => return Some(build_deny("", false)),
            InputKey::Enter => return self.confirm_selected(),
            InputKey::Cancel => return Some(build_deny("", true)),
            InputKey::Move(_)
            | InputKey::Char(_)
            | InputKey::NewLine
            | InputKey::EndOfInput
            | InputKey::BackTab
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Shortcut(_) => {}
        }
        None
    }

    fn handle_text_key(
        &mut self,
        kind: PromptTextKind,
        mut composer: Composer,
        key: InputKey,
    ) -> Option<PermissionPromptReply> {
        match key {
            InputKey::Enter => return self.submit_text(kind, &composer.submit().text),
            InputKey::Escape | InputKey::Cancel => return None,
            InputKey::Paste(text) if kind == PromptTextKind::Command => composer.insert(&text),
            InputKey::NewLine => composer.insert("\n"),
            InputKey::EndOfInput
            | InputKey::Tab
            | InputKey::BackTab
            | InputKey::Char(_)
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::Move(_)
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Shortcut(_) => composer.handle_line_key(&key),
        }
        self.text_entry = Some((kind, composer));
        None
    }

    fn choice_count(&self) -> usize {
        match self.form() {
            Some(form) => form.choice_count(),
            None => self.list_choices().len(),
        }
    }

    fn confirm_selected(&mut self) -> Option<PermissionPromptReply> {
        let selected = self.selected;
        if let Some(form) = self.form_mut() {
            if form.is_custom_answer(selected) {
                self.text_entry = Some((PromptTextKind::CustomAnswer, Composer::default()));
                return None;
            }
            let is_over = form.answer_with_choice(selected);
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
            PermissionPromptChoice::AllowPartAlways(at) => {
                let rule: Vec<String> =
                    self.question.suggestions.get(*at).cloned().into_iter().collect();
                Some(PermissionPromptReply {
                    rules_to_save: rule.clone(),
                    ..build_allow(None, rule)
                })
            }
            PermissionPromptChoice::AllowWithComment => {
                self.text_entry = Some((PromptTextKind::Comment, Composer::default()));
                None
            }
            PermissionPromptChoice::EditCommand => {
                let mut composer = Composer::default();
                composer.insert(self.input_field("command").unwrap_or_default());
                self.text_entry = Some((PromptTextKind::Command, composer));
                None
            }
            PermissionPromptChoice::TryFirst => {
                let mut input = self.input.clone();
                input.as_object_mut()?.insert("dry_run".to_owned(), Value::Bool(true));
                Some(build_allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
            }
            PermissionPromptChoice::DenyWithReason => {
                self.text_entry = Some((PromptTextKind::Reason, Composer::default()));
                None
            }
        }
    }

    fn submit_text(&mut self, kind: PromptTextKind, words: &str) -> Option<PermissionPromptReply> {
        match kind {
            PromptTextKind::Reason => Some(build_deny(words, false)),
            PromptTextKind::Comment => {
                let comment = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
                Some(PermissionPromptReply { comment, ..build_allow(None, Vec::new()) })
            }
            PromptTextKind::Command if words.trim().is_empty() => None,
            PromptTextKind::Command => {
                let mut input = self.input.clone();
                *input.get_mut("command")? = Value::from(words);
                Some(build_allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
            }
            PromptTextKind::CustomAnswer => {
                let is_over = self.form_mut()?.answer_with_text(words);
                self.selected = 0;
                is_over.then(|| self.build_form_reply()).flatten()
            }
        }
    }

    fn build_form_reply(&self) -> Option<PermissionPromptReply> {
        let mut input = self.input.clone();
        let fields = input.as_object_mut()?;
        fields.insert("answers".to_owned(), self.form()?.answers());
        Some(build_allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
    }
}

impl PromptSubject {
    /// The tool's name decides: the question carries the call and nothing typed about it.
    fn from_call(tool: &str, input: &Value) -> Self {
        let subject = match tool {
            "AskUserQuestion" => QuestionForm::from_input(input).map(Self::Questions),
            "ExitPlanMode" => {
                let plan = input.get("plan").and_then(Value::as_str);
                plan.map(|plan| Self::Plan(plan.to_owned()))
            }
            "ApplyTrial" => Some(Self::Trial(TriedCommandReport::from_input(input))),
            _ => None,
        };
        subject.unwrap_or(Self::ToolCall)
    }
}

fn build_allow(updated_input: Option<Json>, remember: Vec<String>) -> PermissionPromptReply {
    let answer = PermissionAnswer::Allow { updated_input, remember };
    PermissionPromptReply {
        answer,
        rules_to_save: Vec::new(),
        mode_after_call: None,
        comment: None,
    }
}

fn build_deny(message: &str, interrupt: bool) -> PermissionPromptReply {
    let message = match message.trim() {
        "" => words::USER_SAID_NO.to_owned(),
        reason => words::describe_denial(reason),
    };
    PermissionPromptReply {
        answer: PermissionAnswer::Deny { message, interrupt },
        rules_to_save: Vec::new(),
        mode_after_call: None,
        comment: None,
    }
}

/// Limit on choices for single parts, which come before the last ones; one less if a command can be
/// tried. These ten choices have a number key.
const NUMBERED_PARTS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use windlass_vocabulary::{ToolCallId, ToolName};

    use super::*;

    #[test]
    fn every_part_of_a_command_can_be_allowed_for_good() {
        let rules = ["a:*", "b:*", "c:*", "d:*", "e:*"].map(|rule| format!("Bash({rule})"));
        let question = PermissionQuestion {
            call: ToolCall {
                id: ToolCallId::from("c1"),
                name: ToolName::from("Bash"),
                input: Json::from_checked(r#"{"command":"a && b && c && d && e"}"#),
                signature: None,
            },
            why: String::new(),
            suggestions: rules.to_vec(),
            agent: None,
        };
        let facts = TuiSessionFacts {
            rules_file: Some("settings.local.json".to_owned()),
            ..TuiSessionFacts::default()
        };
        let mut prompt = PermissionPrompt::new(Ticket(1), question, &facts);
        let choices = prompt.list_choices();
        for at in 0..rules.len() {
            assert!(choices.contains(&PermissionPromptChoice::AllowPartAlways(at)), "{choices:?}");
        }
        assert_eq!(choices.get(9), Some(&PermissionPromptChoice::AllowWithComment));
        for _ in 0..choices.len() {
            prompt.handle_key(InputKey::Move(CursorMove::Down));
        }
        let reply = prompt.handle_key(InputKey::Enter).expect("an answer");
        assert_eq!(reply.rules_to_save, [rules[4].clone()]);
    }
    /// On a small screen the reason gives way, and never the command or a choice.
    #[test]
    fn the_command_and_every_choice_stay_on_a_small_screen() {
        let command = "cargo build --release && npm test -- --watch=false; rm -rf cache | tee out";
        let rules = ["cargo build:*", "npm test:*", "rm -rf cache", "tee out"];
        let question = PermissionQuestion {
            call: ToolCall {
                id: ToolCallId::from("c1"),
                name: ToolName::from("Bash"),
                input: Json::from_checked(&serde_json::json!({ "command": command }).to_string()),
                signature: None,
            },
            why: "because of this and that; ".repeat(12),
            suggestions: rules.map(|rule| format!("Bash({rule})")).to_vec(),
            agent: None,
        };
        let facts = TuiSessionFacts {
            rules_file: Some(".claude/settings.local.json".to_owned()),
            ..TuiSessionFacts::default()
        };
        let prompt = PermissionPrompt::new(Ticket(1), question, &facts);
        for rows in [26, 30, 40, 60] {
            let lines = prompt.render(40, rows, true);
            assert!(lines.len() <= rows, "{rows}: {lines:#?}");
            let words: Vec<String> = lines.iter().map(|line| line.plain_text()).collect();
            let words = words.join(" ").split_whitespace().collect::<Vec<&str>>().join(" ");
            assert!(words.contains(command), "{rows}: {words}");
            for rule in rules {
                assert!(words.contains(&format!("only Bash({rule})")), "{rows}: {words}");
            }
            assert_eq!(words.contains("not shown"), rows < 40, "{rows}: {words}");
        }
    }
}
