//! What follows from keys.

use std::time::Duration;

use windlass_vocabulary::{Answer, Mode};

use super::{App, Purpose, Wish};
use crate::approval::Said;
use crate::composer::vim::Meant;
use crate::composer::{Move, dragged};
use crate::field::Filled;
use crate::input::Key;
use crate::line::{Line, Role};
use crate::pager::Pager;
use crate::picker::{Item, Picked, Picker};
use crate::text;

impl App {
    /// A key was pressed.
    pub fn key(&mut self, key: Key) -> Vec<Wish> {
        self.hint = None;
        if self.pager.is_some() || self.picker.is_some() || self.field.is_some() {
            // What was meant for this answers no question that stands behind it.
            self.pressed = Some((self.now, false));
        }
        if let Some(pager) = &mut self.pager {
            if !pager.key(&key, self.rows) {
                self.pager = None;
            }
            return Vec::new();
        }
        match key {
            Key::Suspend => return vec![Wish::Suspend],
            Key::Redraw => return vec![Wish::Redraw],
            Key::Unfold => {
                self.unfold();
                return Vec::new();
            }
            _ => {}
        }
        if let Some((purpose, picker)) = &mut self.picker {
            let purpose = *purpose;
            return match picker.key(&key) {
                Picked::Going => Vec::new(),
                Picked::Nothing => {
                    self.picker = None;
                    Vec::new()
                }
                Picked::Item(item) => {
                    self.picker = None;
                    self.picked(purpose, item)
                }
            };
        }
        if let Some(field) = &mut self.field {
            let filled = field.key(&key);
            if filled != Filled::Going {
                self.field = None;
            }
            return match filled {
                Filled::Prompt(prompt) => vec![Wish::Choose(prompt)],
                Filled::Going | Filled::Nothing => Vec::new(),
            };
        }
        let is_armed = self.is_armed();
        let is_composing = self.is_composing();
        self.pressed = Some((self.now, is_composing));
        match self.approvals.front_mut() {
            Some(approval) if is_armed => {
                // Whoever answers does not type a prompt, and one answer is one key.
                match approval.key(key) {
                    None => {
                        self.pressed = None;
                        Vec::new()
                    }
                    Some(said) => self.answered(said),
                }
            }
            // A key that follows an answer was meant for that.
            Some(_) if !is_composing => Vec::new(),
            _ => self.composed(key),
        }
    }

    /// Opens the page on which everything stands unfolded.
    fn unfold(&mut self) {
        let size = (self.width, self.rows);
        self.pager = Some(Pager::at_end(&self.entries, &self.about.folder, size));
    }

    /// Draws more of an open page, or all of it anew for another width.
    pub fn leaf(&mut self) {
        if self.pager.as_ref().is_some_and(|pager| pager.width() != self.width) {
            self.unfold();
        }
        if let Some(pager) = &mut self.pager {
            pager.load(&self.entries, &self.about.folder, self.rows);
        }
    }

    fn picked(&mut self, purpose: Purpose, item: Item) -> Vec<Wish> {
        match purpose {
            Purpose::History => {
                self.composer.set(item.value);
                Vec::new()
            }
            Purpose::Command => vec![Wish::Choose(item.value)],
        }
    }

    /// A key for the composer.
    fn composed(&mut self, key: Key) -> Vec<Wish> {
        let mut key = key;
        if let Some(vim) = &mut self.vim {
            match vim.key(key, &mut self.composer) {
                Meant::Done => return self.seek().into_iter().collect(),
                Meant::Key(other) => key = other,
            }
        }
        let suggestions = self.suggestions();
        if let Some(wishes) = self.suggested(&key, &suggestions) {
            return wishes;
        }
        let escaped = self.escaped.take();
        match key {
            Key::Enter => return self.submit(),
            Key::Escape => return self.escape(escaped),
            Key::Cancel if self.is_busy => return vec![Wish::Interrupt],
            Key::Cancel if !self.composer.is_empty() => self.composer.set(""),
            Key::Cancel => return vec![Wish::Quit],
            Key::EndOfInput if self.composer.is_empty() => return vec![Wish::Quit],
            Key::EndOfInput | Key::Delete => self.composer.delete(),
            Key::BackTab => return vec![self.next_mode()],
            Key::Edit => return vec![Wish::Edit],
            Key::Image => return vec![Wish::Image],
            Key::Search => self.search(),
            Key::Tasks => self.hides_tasks = !self.hides_tasks,
            Key::Letter(letter) => self.composer.insert(letter.encode_utf8(&mut [0; 4])),
            Key::NewLine => self.composer.insert("\n"),
            Key::Paste(text) => return self.pasted(&text),
            Key::Backspace => self.composer.backspace(),
            Key::DeleteWord => self.composer.delete_word(),
            Key::DeleteToHome => self.composer.delete_to_home(),
            Key::DeleteToEnd => self.composer.delete_to_end(),
            // What waits is taken back before what was said comes back.
            Key::Move(Move::Up) if self.composer.is_empty() && !self.queued.is_empty() => {
                return vec![Wish::TakeBack];
            }
            Key::Move(to) => self.composer.go(to),
            Key::Tab if self.composer.is_empty() && !self.suggested.is_empty() => {
                self.composer.set(std::mem::take(&mut self.suggested));
            }
            Key::Tab | Key::PageUp | Key::PageDown | Key::Suspend | Key::Redraw | Key::Unfold => {}
        }
        self.seek().into_iter().collect()
    }

    /// A paste. Images that were dragged in are mentioned; those from elsewhere are brought first.
    fn pasted(&mut self, text: &str) -> Vec<Wish> {
        let images = dragged::images(text);
        if images.is_empty() {
            self.composer.paste(text);
            return self.seek().into_iter().collect();
        }
        let folder = &self.about.folder;
        let is_here = |path: &str| {
            let below = path.strip_prefix(folder.as_str());
            !path.starts_with('/') || below.is_some_and(|rest| rest.starts_with('/'))
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            images.into_iter().partition(|path| is_here(path));
        here.iter().for_each(|path| self.composer.mention(path));
        elsewhere.into_iter().map(Wish::Bring).collect()
    }

    /// A key for the suggestions, if there are any and it is one.
    fn suggested(&mut self, key: &Key, suggestions: &[super::Suggestion]) -> Option<Vec<Wish>> {
        let chosen = suggestions.get(self.chosen.min(suggestions.len().checked_sub(1)?))?;
        match key {
            Key::Tab => self.take(chosen),
            Key::Enter if chosen.from == 0 && chosen.text.starts_with('/') => {
                let is_named = chosen.text.trim_end() == self.composer.text();
                self.take(chosen);
                if chosen.is_whole || is_named {
                    return Some(self.submit());
                }
            }
            Key::Enter => self.take(chosen),
            Key::Move(Move::Down) => self.chosen = (self.chosen + 1).min(suggestions.len() - 1),
            Key::Move(Move::Up) => self.chosen = self.chosen.saturating_sub(1),
            Key::Escape => self.dismiss(),
            _ => return None,
        }
        Some(self.seek().into_iter().collect())
    }

    fn escape(&mut self, escaped: Option<Duration>) -> Vec<Wish> {
        if self.is_busy {
            self.hint = Some("stopping");
            return vec![Wish::Interrupt];
        }
        if !self.composer.is_empty() {
            self.composer.set("");
            return Vec::new();
        }
        match escaped {
            Some(at) if self.now.saturating_sub(at) < TWICE => {
                vec![Wish::Submit("/rewind".to_owned())]
            }
            _ => {
                self.escaped = Some(self.now);
                self.hint = Some("Esc again goes back to an earlier prompt");
                Vec::new()
            }
        }
    }

    fn search(&mut self) {
        let items = self.composer.said().iter().rev().map(|said| Item {
            value: said.clone(),
            label: text::one_line(said),
            about: String::new(),
        });
        let items: Vec<Item> = items.collect();
        if items.is_empty() {
            self.hint = Some("nothing was said before");
            return;
        }
        self.picker = Some((Purpose::History, Picker::new("What was said before", items)));
    }

    fn next_mode(&mut self) -> Wish {
        self.mode = match self.mode {
            Mode::Default => Mode::AcceptEdits,
            Mode::AcceptEdits => Mode::Plan,
            _ => Mode::Default,
        };
        Wish::Mode(self.mode)
    }

    fn submit(&mut self) -> Vec<Wish> {
        // A sign before the end of the line asks for another one.
        if self.composer.text().ends_with('\\') {
            self.composer.go(Move::End);
            self.composer.backspace();
            self.composer.insert("\n");
            return Vec::new();
        }
        let said = self.composer.submit();
        match said.trim().is_empty() {
            true => Vec::new(),
            false => vec![Wish::Submit(said)],
        }
    }

    fn answered(&mut self, said: Said) -> Vec<Wish> {
        let Some(approval) = self.approvals.pop_front() else { return Vec::new() };
        let (sign, role) = match &said.answer {
            Answer::Allow { .. } => ("allowed", Role::Quiet),
            Answer::Deny { .. } => ("not allowed", Role::Warning),
        };
        let line = Line::of(format!("  {sign}: "), role).and(approval.title(), Role::Quiet);
        self.finish([line.cut(self.width)]);
        if let Some(mode) = said.mode {
            self.later = Some((approval.call().id.clone(), mode));
        }
        let keep = (!said.keep.is_empty()).then_some(Wish::Keep(said.keep));
        std::iter::once(Wish::Answer(approval.ticket, said.answer)).chain(keep).collect()
    }
}

/// Twice within this long is twice.
const TWICE: Duration = Duration::from_millis(1_500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::About;
    use crate::approval::Approval;
    use windlass_vocabulary::{Json, PermissionQuestion, Ticket, ToolCall};

    #[test]
    fn a_key_for_a_list_answers_no_question_behind_it() {
        let mut app = App::new(About::default(), Mode::Default, (80, 24));
        let call = ToolCall {
            id: "c".into(),
            name: "Bash".into(),
            input: Json::from_checked(r#"{"command":"rm x"}"#),
            signature: None,
        };
        let question =
            PermissionQuestion { call, why: String::new(), suggestions: Vec::new(), agent: None };
        app.now = Duration::from_secs(10);
        app.picker = Some((Purpose::Command, Picker::new("Which?", Vec::new())));
        app.approvals.push_back(Approval::new(Ticket(1), question, &About::default()));
        assert_eq!(app.key(Key::Escape), Vec::new());
        assert!(app.picker.is_none() && !app.is_armed());
        assert_eq!(app.key(Key::Letter('2')), Vec::new(), "it follows at once");
        assert!(app.composer.is_empty());
        app.now += Duration::from_secs(2);
        let answered = app.key(Key::Letter('2'));
        assert!(matches!(answered.first(), Some(Wish::Answer(Ticket(1), Answer::Allow { .. }))));
    }
}
