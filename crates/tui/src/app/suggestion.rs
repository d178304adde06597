//! What may be meant by what is being typed: commands after a slash, files after an at sign.

use super::{App, AppAction};
use crate::slash_command_menu::SlashCommandMenu;

/// Something that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What is shown.
    pub label: String,
    /// What it is.
    pub description: String,
    /// What is typed instead, from there.
    pub replacement: String,
    /// In bytes.
    pub replace_from: usize,
    /// It is whole and may be sent at once.
    pub is_complete: bool,
}

impl App {
    /// What may be meant by what is typed.
    #[must_use]
    pub fn find_suggestions(&self) -> Vec<Suggestion> {
        if self.dismissed_for.as_deref() == Some(self.composer.text()) {
            return Vec::new();
        }
        let menu = SlashCommandMenu::find_matching(self.composer.text(), &self.facts.commands);
        let commands: Vec<Suggestion> = menu
            .iter()
            .map(|hint| Suggestion {
                label: format!("/{} {}", hint.name, hint.arguments).trim_end().to_owned(),
                description: hint.description.clone(),
                replacement: format!("/{} ", hint.name),
                replace_from: 0,
                is_complete: hint.arguments.is_empty() || hint.arguments.starts_with('['),
            })
            .collect();
        if !commands.is_empty() {
            return commands;
        }
        let Some((from, wanted)) = self.composer.word_before_cursor('@') else { return Vec::new() };
        if wanted != self.file_matches.query {
            return Vec::new();
        }
        let names = self.file_matches.names.iter().filter(|name| name.as_str() != wanted);
        names
            .map(|name| Suggestion {
                label: format!("@{name}"),
                description: String::new(),
                // A folder is gone into; a file is done with.
                replacement: match name.ends_with('/') {
                    true => format!("@{name}"),
                    false if name.contains(char::is_whitespace) => format!("@\"{name}\" "),
                    false => format!("@{name} "),
                },
                replace_from: from,
                is_complete: false,
            })
            .collect()
    }

    /// Puts a suggestion in the place of what is typed.
    pub(super) fn accept_suggestion(&mut self, suggestion: &Suggestion) {
        self.composer.complete_word(suggestion.replace_from, &suggestion.replacement);
        self.selected_suggestion = 0;
    }

    /// Suggestions are not wanted until something else is typed.
    pub(super) fn dismiss_suggestions(&mut self) {
        self.dismissed_for = Some(self.composer.text().to_owned());
    }

    /// The text changed: files may be meant.
    pub(super) fn request_file_search(&mut self) -> Option<AppAction> {
        let wanted = self.composer.word_before_cursor('@').map(|(_, wanted)| wanted.to_owned());
        if wanted == self.file_query {
            return None;
        }
        self.selected_suggestion = 0;
        self.file_query.clone_from(&wanted);
        wanted.map(AppAction::SearchFiles)
    }
}
