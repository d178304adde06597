//! What the TUI shows of its session: the values the host gives at startup.

use crate::slash_command_menu::SlashCommandHint;

#[derive(Clone, Debug, Default)]
pub struct TuiSessionFacts {
    pub model: String,
    /// The working directory as it is shown, for example with `~`.
    pub directory_label: String,
    pub working_directory: String,
    pub branch: Option<String>,
    /// In tokens.
    pub context_window: u64,
    /// In micro-dollars.
    pub budget: Option<u64>,
    pub commands: Vec<SlashCommandHint>,
    /// The file for rules that outlive the session; `None` if none may be saved.
    pub rules_file: Option<String>,
}
