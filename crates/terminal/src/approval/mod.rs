//! One question: what exactly would run, why it is asked, and the answers there are. No is chosen at
//! first, so that a key pressed for something else allows nothing.

mod poll;
mod view;

use serde_json::Value;
use windlass_vocabulary::{Answer, Json, Mode, PermissionQuestion, Ticket, ToolCall};

use crate::app::About;
use crate::composer::{Composer, Move};
use crate::input::Key;
use crate::{text, tool};
use poll::Poll;

/// A question and the answer that is being chosen.
#[derive(Debug)]
pub struct Approval {
    /// Names the question, so that an answer cannot hit another.
    pub ticket: Ticket,
    question: PermissionQuestion,
    /// Its input, if it is an object.
    input: Value,
    chosen: usize,
    /// What is being written, once somebody writes it.
    writing: Option<(Writing, Composer)>,
    /// What the file that would be written holds now.
    before: Option<String>,
    /// Questions to a person and what was answered so far.
    poll: Option<Poll>,
    /// Where a rule would be kept.
    kept_in: Option<String>,
    folder: String,
}

/// An answer, and what else follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// For the session.
    pub answer: Answer,
    /// Rules to keep for other sessions.
    pub keep: Vec<String>,
    /// The mode to be in once the call has ended.
    pub mode: Option<Mode>,
}

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    /// Why not.
    Reason,
    /// Another command.
    Command,
    /// An answer of one's own.
    Own,
}

/// The answers, in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    No,
    Once,
    AndEdits,
    Session,
    Always,
    EditCommand,
    NoBecause,
}

impl Approval {
    /// A question that was just asked.
    #[must_use]
    pub fn new(ticket: Ticket, question: PermissionQuestion, about: &About) -> Self {
        let input: Value = serde_json::from_str(question.call.input.as_str()).unwrap_or_default();
        let is_poll = question.call.name.as_str() == "AskUserQuestion";
        let poll = is_poll.then(|| Poll::of(&input)).flatten();
        let (chosen, writing, before) = (0, None, None);
        let (kept_in, folder) = (about.rules_file.clone(), about.folder.clone());
        Self { ticket, question, input, chosen, writing, before, poll, kept_in, folder }
    }

    /// The call in a line.
    #[must_use]
    pub fn title(&self) -> String {
        tool::title(&self.question.call, &self.folder)
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.question.call
    }

    /// The file that must be read to show what would become of it.
    #[must_use]
    pub fn wants(&self) -> Option<String> {
        let path = self.field("file_path").filter(|_| self.field("content").is_some());
        path.map(str::to_owned)
    }

    /// What it holds; nothing if it is not there.
    pub fn looked(&mut self, before: Option<String>) {
        self.before = Some(before.unwrap_or_default());
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.input.get(name).and_then(Value::as_str)
    }

    fn is_plan(&self) -> bool {
        self.question.call.name.as_str() == "ExitPlanMode" && self.field("plan").is_some()
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = vec![Choice::No, Choice::Once];
        if self.is_plan() {
            choices.push(Choice::AndEdits);
        } else if !self.question.suggestions.is_empty() {
            choices.push(Choice::Session);
            choices.extend(self.kept_in.is_some().then_some(Choice::Always));
        }
        choices.extend(self.field("command").map(|_| Choice::EditCommand));
        choices.push(Choice::NoBecause);
        choices
    }

    /// A key was pressed; gives the answer once there is one.
    pub fn key(&mut self, key: Key) -> Option<Said> {
        if let Some((writing, composer)) = &mut self.writing {
            let writing = *writing;
            match key {
                Key::Enter => {
                    let words = composer.submit();
                    self.writing = None;
                    return self.wrote(writing, &words);
                }
                Key::Escape | Key::Cancel => self.writing = None,
                Key::Letter(letter) => composer.insert(letter.encode_utf8(&mut [0; 4])),
                Key::Paste(text) if writing == Writing::Command => composer.insert(&text),
                Key::Paste(text) => composer.insert(&text::one_line(&text)),
                Key::NewLine => composer.insert("\n"),
                Key::Backspace => composer.backspace(),
                Key::Delete => composer.delete(),
                Key::DeleteWord => composer.delete_word(),
                Key::DeleteToHome => composer.delete_to_home(),
                Key::DeleteToEnd => composer.delete_to_end(),
                Key::Move(Move::Up | Move::Down) => {}
                Key::Move(to) => composer.go(to),
                _ => {}
            }
            return None;
        }
        let last = self.count().saturating_sub(1);
        match key {
            Key::Move(Move::Up) => self.chosen = self.chosen.saturating_sub(1),
            Key::Move(Move::Down) | Key::Tab => self.chosen = (self.chosen + 1).min(last),
            Key::Letter(digit @ '1'..='9') => {
                let number = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0);
                if number <= last {
                    self.chosen = number;
                    return self.choose();
                }
            }
            Key::Letter('y') if self.poll.is_none() => {
                self.chosen = 1;
                return self.choose();
            }
            Key::Letter(' ') => {
                if let Some(poll) = &mut self.poll {
                    poll.mark(self.chosen);
                }
            }
            Key::Letter('n') | Key::Escape => return Some(deny("", false)),
            Key::Enter => return self.choose(),
            Key::Cancel => return Some(deny("", true)),
            _ => {}
        }
        None
    }

    fn count(&self) -> usize {
        match &self.poll {
            Some(poll) => poll.count(),
            None => self.choices().len(),
        }
    }

    fn choose(&mut self) -> Option<Said> {
        if let Some(poll) = &mut self.poll {
            if poll.is_own(self.chosen) {
                self.writing = Some((Writing::Own, Composer::default()));
                return None;
            }
            let is_over = poll.choose(self.chosen);
            self.chosen = 0;
            return is_over.then(|| self.polled()).flatten();
        }
        let rules = || self.question.suggestions.clone();
        match self.choices().get(self.chosen)? {
            Choice::No => Some(deny("", false)),
            Choice::Once => Some(allow(None, Vec::new())),
            Choice::AndEdits => {
                Some(Said { mode: Some(Mode::AcceptEdits), ..allow(None, Vec::new()) })
            }
            Choice::Session => Some(allow(None, rules())),
            Choice::Always => Some(Said { keep: rules(), ..allow(None, rules()) }),
            Choice::EditCommand => {
                let mut composer = Composer::default();
                composer.insert(self.field("command").unwrap_or_default());
                self.writing = Some((Writing::Command, composer));
                None
            }
            Choice::NoBecause => {
                self.writing = Some((Writing::Reason, Composer::default()));
                None
            }
        }
    }

    fn wrote(&mut self, writing: Writing, words: &str) -> Option<Said> {
        match writing {
            Writing::Reason => Some(deny(words, false)),
            Writing::Command if words.trim().is_empty() => None,
            Writing::Command => {
                let mut input = self.input.clone();
                *input.get_mut("command")? = Value::from(words);
                Some(allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
            }
            Writing::Own => {
                let is_over = self.poll.as_mut()?.say(words);
                self.chosen = 0;
                is_over.then(|| self.polled()).flatten()
            }
        }
    }

    fn polled(&self) -> Option<Said> {
        let mut input = self.input.clone();
        let fields = input.as_object_mut()?;
        fields.insert("answers".to_owned(), self.poll.as_ref()?.answers());
        Some(allow(Some(Json::from_checked(&input.to_string())), Vec::new()))
    }
}

fn allow(updated_input: Option<Json>, remember: Vec<String>) -> Said {
    let answer = Answer::Allow { updated_input, remember };
    Said { answer, keep: Vec::new(), mode: None }
}

fn deny(message: &str, interrupt: bool) -> Said {
    let message = match message.trim() {
        "" => "The user said no.".to_owned(),
        words => format!("The user said no: {words}"),
    };
    Said { answer: Answer::Deny { message, interrupt }, keep: Vec::new(), mode: None }
}
