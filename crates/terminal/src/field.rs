//! A line to write in that says at every key what it would mean. Pure, as far as whoever says it is.

use std::fmt;
use std::sync::Arc;

use windlass_permission::display;

use crate::composer::{Composer, Move};
use crate::input::Key;
use crate::line::{Line, Role};
use crate::text;

/// What is said of what is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// In a few lines.
    pub words: String,
    /// It may be sent.
    pub is_good: bool,
}

/// Says it. Asked at every key, so it must be quick.
pub type Check = Arc<dyn Fn(&str) -> Remark + Send + Sync>;

/// A line that is being written.
pub struct Field {
    title: String,
    /// What stands before the words in the prompt that they become.
    lead: String,
    composer: Composer,
    check: Check,
    remark: Remark,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Nothing yet.
    Going,
    /// Nothing is wanted.
    Nothing,
    /// This prompt.
    Prompt(String),
}

impl Field {
    /// An empty line, which becomes a prompt with this before it.
    pub fn new(title: impl Into<String>, lead: impl Into<String>, check: Check) -> Self {
        let remark = check("");
        let (title, lead, composer) = (title.into(), lead.into(), Composer::default());
        Self { title, lead, composer, check, remark }
    }

    /// A key was pressed.
    pub fn key(&mut self, key: &Key) -> Filled {
        match key {
            Key::Escape | Key::Cancel => return Filled::Nothing,
            Key::Enter if self.remark.is_good => {
                return Filled::Prompt(format!("{}{}", self.lead, self.composer.text().trim()));
            }
            Key::Letter(letter) => self.composer.insert(letter.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.composer.insert(&text::one_line(text)),
            Key::Backspace => self.composer.backspace(),
            Key::Delete => self.composer.delete(),
            Key::DeleteWord => self.composer.delete_word(),
            Key::DeleteToHome => self.composer.delete_to_home(),
            Key::DeleteToEnd => self.composer.delete_to_end(),
            Key::Move(Move::Up | Move::Down) => {}
            Key::Move(to) => self.composer.go(*to),
            _ => {}
        }
        self.remark = (self.check)(self.composer.text().trim());
        Filled::Going
    }

    /// What is shown, in at most so many rows.
    #[must_use]
    pub fn lines(&self, width: usize, rows: usize) -> Vec<Line> {
        let mut lines = vec![Line::of(self.title.clone(), Role::Heading).cut(width)];
        let (before, after) = self.composer.text().split_at(self.composer.place());
        let words = display::visible(&format!("> {before}▏{after}"));
        lines.extend(text::plain(&words, Role::Plain, width));
        let role = match (self.remark.is_good, self.composer.is_empty()) {
            (true, _) => Role::Good,
            (false, true) => Role::Quiet,
            (false, false) => Role::Warning,
        };
        let mut remark = text::plain(&self.remark.words, role, width);
        remark.truncate(rows.saturating_sub(lines.len() + 1).max(1));
        lines.extend(remark);
        lines.push(Line::of("Enter takes it · Esc leaves it", Role::Quiet).cut(width));
        lines
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("lead", &self.lead).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_good_is_taken() {
        let check: Check = Arc::new(|text| Remark {
            words: format!("{} letters", text.len()),
            is_good: text.len() == 3,
        });
        let mut field = Field::new("Three letters", "/take ", check);
        let mut typed = |keys: &[Key]| keys.iter().map(|key| field.key(key)).last();
        let letter = |letter| Key::Letter(letter);
        assert_eq!(typed(&[letter('a'), letter('b'), Key::Enter]), Some(Filled::Going));
        let taken = typed(&[letter('c'), Key::Enter]);
        assert_eq!(taken, Some(Filled::Prompt("/take abc".to_owned())));
        assert_eq!(typed(&[Key::Backspace, Key::Enter]), Some(Filled::Going));
        assert_eq!(typed(&[Key::Escape]), Some(Filled::Nothing));
        for width in [8, 40] {
            let lines = field.lines(width, 6);
            assert!(lines.iter().all(|line| line.width() <= width));
            assert!(lines.iter().any(|line| line.words().contains('2')));
        }
    }
}
