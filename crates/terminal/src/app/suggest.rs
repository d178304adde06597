//! What may be meant by what is being typed: commands after a slash, files after an at sign.

use super::{App, Wish};
use crate::menu::Menu;

/// Something that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What is shown.
    pub label: String,
    /// What it is.
    pub about: String,
    /// What is typed instead, from there.
    pub text: String,
    /// In bytes.
    pub from: usize,
    /// It is whole and may be sent at once.
    pub is_whole: bool,
}

impl App {
    /// What may be meant by what is typed.
    #[must_use]
    pub fn suggestions(&self) -> Vec<Suggestion> {
        if self.dismissed.as_deref() == Some(self.composer.text()) {
            return Vec::new();
        }
        let menu = Menu::of(self.composer.text(), &self.about.commands);
        let commands: Vec<Suggestion> = menu
            .iter()
            .map(|hint| Suggestion {
                label: format!("/{} {}", hint.name, hint.words).trim_end().to_owned(),
                about: hint.about.clone(),
                text: format!("/{} ", hint.name),
                from: 0,
                is_whole: hint.words.is_empty() || hint.words.starts_with('['),
            })
            .collect();
        if !commands.is_empty() {
            return commands;
        }
        let Some((from, wanted)) = self.composer.word('@') else { return Vec::new() };
        if wanted != self.found.wanted {
            return Vec::new();
        }
        let names = self.found.names.iter().filter(|name| name.as_str() != wanted);
        names
            .map(|name| Suggestion {
                label: format!("@{name}"),
                about: String::new(),
                // A folder is gone into; a file is done with.
                text: match name.ends_with('/') {
                    true => format!("@{name}"),
                    false if name.contains(char::is_whitespace) => format!("@\"{name}\" "),
                    false => format!("@{name} "),
                },
                from,
                is_whole: false,
            })
            .collect()
    }

    /// Puts a suggestion in the place of what is typed.
    pub(super) fn take(&mut self, suggestion: &Suggestion) {
        self.composer.complete(suggestion.from, &suggestion.text);
        self.chosen = 0;
    }

    /// Suggestions are not wanted until something else is typed.
    pub(super) fn dismiss(&mut self) {
        self.dismissed = Some(self.composer.text().to_owned());
    }

    /// The text changed: files may be meant.
    pub(super) fn seek(&mut self) -> Option<Wish> {
        let wanted = self.composer.word('@').map(|(_, wanted)| wanted.to_owned());
        if wanted == self.sought {
            return None;
        }
        self.chosen = 0;
        self.sought.clone_from(&wanted);
        wanted.map(Wish::Find)
    }
}
