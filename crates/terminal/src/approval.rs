//! One question: what exactly would run, why it is asked, and the answers there are. No is chosen at
//! first, so that a key pressed for something else allows nothing.

use windlass_permission::display;
use windlass_vocabulary::{Answer, PermissionQuestion, Ticket};

use crate::composer::{Composer, Move};
use crate::key::Key;
use crate::line::{Line, Role};
use crate::{text, tool};

/// A question and the answer that is being chosen.
#[derive(Debug)]
pub struct Approval {
    /// Names the question, so that an answer cannot hit another.
    pub ticket: Ticket,
    question: PermissionQuestion,
    chosen: usize,
    /// What the model is told with a no, once somebody writes it.
    message: Option<Composer>,
}

/// The answers, in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    No,
    Once,
    Session,
    NoBecause,
}

impl Approval {
    /// A question that was just asked.
    #[must_use]
    pub fn new(ticket: Ticket, question: PermissionQuestion) -> Self {
        Self { ticket, question, chosen: 0, message: None }
    }

    /// The call in a line.
    #[must_use]
    pub fn title(&self) -> String {
        tool::title(&self.question.call)
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = vec![Choice::No, Choice::Once];
        if !self.question.suggestions.is_empty() {
            choices.push(Choice::Session);
        }
        choices.push(Choice::NoBecause);
        choices
    }

    /// A key was pressed; gives the answer once there is one.
    pub fn key(&mut self, key: Key) -> Option<Answer> {
        if let Some(composer) = &mut self.message {
            match key {
                Key::Enter => return Some(deny(&composer.submit(), false)),
                Key::Escape => self.message = None,
                Key::Letter(letter) => composer.insert(letter.encode_utf8(&mut [0; 4])),
                Key::Paste(text) => composer.insert(&text::one_line(&text)),
                Key::Backspace => composer.backspace(),
                Key::DeleteWord => composer.delete_word(),
                Key::Move(to @ (Move::Left | Move::Right)) => composer.go(to),
                _ => {}
            }
            return None;
        }
        let last = self.choices().len() - 1;
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
            Key::Letter('y') => {
                self.chosen = 1;
                return self.choose();
            }
            Key::Letter('n') => return Some(deny("", false)),
            Key::Enter => return self.choose(),
            Key::Escape => return Some(deny("", false)),
            Key::Cancel => return Some(deny("", true)),
            _ => {}
        }
        None
    }

    fn choose(&mut self) -> Option<Answer> {
        let allow = |remember| Answer::Allow { updated_input: None, remember };
        match self.choices().get(self.chosen)? {
            Choice::No => Some(deny("", false)),
            Choice::Once => Some(allow(Vec::new())),
            Choice::Session => Some(allow(self.question.suggestions.clone())),
            Choice::NoBecause => {
                self.message = Some(Composer::default());
                None
            }
        }
    }

    /// What is shown.
    #[must_use]
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines =
            vec![Line::of(format!("May {} run this?", self.question.call.name), Role::Warning)];
        for line in tool::shown(&self.question.call).lines() {
            let line = display::visible(line);
            lines.extend(Line::of(format!("  {line}"), Role::Code).wrapped(width, 2));
        }
        lines.extend(text::plain(&format!("  {}", self.question.why), Role::Quiet, width));
        if let Some(composer) = &self.message {
            let words = format!("  No, because: {}▏", composer.text());
            lines.extend(Line::of(words, Role::Plain).wrapped(width, 2));
            return lines;
        }
        for (number, choice) in self.choices().iter().enumerate() {
            let words = match choice {
                Choice::No => "No".to_owned(),
                Choice::Once => "Yes, this once".to_owned(),
                Choice::Session => {
                    format!("Yes, and for this session: {}", self.question.suggestions.join(", "))
                }
                Choice::NoBecause => "No, and say why".to_owned(),
            };
            let role = if number == self.chosen { Role::Chosen } else { Role::Plain };
            lines.push(Line::of(format!("  {}. {words}", number + 1), role));
        }
        lines
    }
}

fn deny(message: &str, interrupt: bool) -> Answer {
    let message = match message.trim() {
        "" => "The user said no.".to_owned(),
        words => format!("The user said no: {words}"),
    };
    Answer::Deny { message, interrupt }
}
