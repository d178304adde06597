//! A mistyped command: sent as a prompt it would cost a request, so it is refused.

use std::path::Path;

use super::SLASH_COMMANDS;
use windlass_config_text::find_similar_name;
use windlass_host::command_error::CommandError;

/// The error for a prompt that begins with the name of a command that is not among our own nor the
/// `custom` ones. What is a path, or has a blank before it, is text.
pub fn check_command_name(prompt: &str, custom: &[&str]) -> Option<CommandError> {
    let word = prompt.split_whitespace().next().filter(|word| prompt.starts_with(word))?;
    let name = word.strip_prefix('/')?;
    let is_letter = |letter: char| letter.is_alphanumeric() || "-_:.".contains(letter);
    let looks_like_command = name.starts_with(char::is_alphabetic) && name.chars().all(is_letter);
    if !looks_like_command || Path::new(word).exists() {
        return None;
    }
    let own = SLASH_COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(&command.name).chain(command.aliases));
    let names = || own.clone().copied().chain(custom.iter().copied());
    if names().any(|known| known == name) {
        return None;
    }
    let suggestion = match find_similar_name(name, names()) {
        Some(near) => format!("did you mean /{near}?"),
        None => "/help lists the commands".to_owned(),
    };
    Some(CommandError::usage(format!(
        "unknown command /{name}; {suggestion} (put a space before it to send it as text)"
    )))
}
