//! Completions of what is being typed: commands after a slash, files after an at sign.

use super::{App, AppAction};
use crate::file_search::FileNameMatches;
use crate::slash_command_menu::SlashCommandMenu;

#[derive(Debug, Default)]
pub struct PromptCompletion {
    pub file_matches: FileNameMatches,
    /// The index of the selected suggestion; may lie past the end of a list that became shorter.
    pub selected: usize,
    /// The text for which the user dismissed the suggestions.
    dismissed_for: Option<String>,
    /// The letters the last file search was for.
    file_query: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    pub label: String,
    pub description: String,
    /// Replaces everything between `replace_from` and the cursor.
    pub replacement: String,
    /// In bytes.
    pub replace_from: usize,
    /// It needs no argument and may be sent at once.
    pub is_complete: bool,
}

impl App {
    pub fn find_suggestions(&self) -> Vec<Suggestion> {
        if self.completion.dismissed_for.as_deref() == Some(self.input.composer.text()) {
            return Vec::new();
        }
        let menu = SlashCommandMenu::find_matching(
            self.input.composer.text(),
            &self.session.facts.commands,
        );
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
        let Some((from, query)) = self.input.composer.word_before_cursor('@') else {
            return Vec::new();
        };
        if query != self.completion.file_matches.query {
            return Vec::new();
        }
        let names = self.completion.file_matches.names.iter().filter(|name| name.as_str() != query);
        names
            .map(|name| Suggestion {
                label: format!("@{name}"),
                description: String::new(),
                // After a folder the user continues to type; a file is complete.
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

    pub(super) fn accept_suggestion(&mut self, suggestion: &Suggestion) {
        self.input.composer.complete_word(suggestion.replace_from, &suggestion.replacement);
        self.completion.selected = 0;
    }

    /// Hides the suggestions until the text changes.
    pub(super) fn dismiss_suggestions(&mut self) {
        self.completion.dismissed_for = Some(self.input.composer.text().to_owned());
    }

    /// Must run after every change of the text.
    pub(super) fn request_file_search(&mut self) -> Option<AppAction> {
        let query = self.input.composer.word_before_cursor('@').map(|(_, query)| query.to_owned());
        if query == self.completion.file_query {
            return None;
        }
        self.completion.selected = 0;
        self.completion.file_query.clone_from(&query);
        query.map(AppAction::SearchFiles)
    }
}
