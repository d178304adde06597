//! What the TUI needs from the owner of the session, above all what a prompt means.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use windlass_driver::PromptSubmission;
use windlass_vocabulary::Notice;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::notice::RunEnding;

use crate::file_changes::FileChangeView;
use crate::picker::Picker;
use crate::slash_command_menu::SlashCommandHint;
use crate::theme::Theme;
use crate::typed_prompt::TypedPrompt;
use crate::validated_input::ValidatedInput;

/// What a prompt asks for.
pub(crate) enum PromptAction {
    SendToModel(PromptSubmission),
    /// Summarise the history, with this focus.
    Compact(Option<String>),
    ShowText(String),
    /// Show changed files between two texts, and perhaps let the user choose below.
    ShowChanges {
        lead: String,
        files: Vec<FileChangeView>,
        rest: String,
        picker: Option<Picker>,
    },
    /// Copy the last answer to the clipboard.
    CopyAnswer,
    /// Open the page with all commands and keys.
    OpenHelp,
    /// Show the first text that is not wider than the screen, or the last.
    ShowFirstFitting(Vec<String>),
    /// Show what fills the context window.
    ShowContext(Box<ContextUsage>),
    /// Let the user choose; each item is a prompt.
    OpenPicker(Picker),
    /// Let the user write a line; it becomes a prompt.
    OpenInput(ValidatedInput),
    /// Show what was done, and perhaps another picker.
    ShowResult(String, Option<Picker>),
    /// Show a text now, and perform the action once it is there.
    ShowThenAwait(String, PromptActionFuture),
    /// Open a file of the user in an editor.
    EditFile(PathBuf),
    SideQuestion(String),
    /// The name of the new model, and its context window in tokens.
    ModelChanged(String, u64),
    ToggleVim,
    /// `None` follows the background of the terminal.
    SetTheme(Option<Theme>),
    /// The session went back to before a prompt.
    Rewound {
        /// Says what was done.
        words: String,
        /// Put into the composer, so that it can be changed and sent again.
        prompt: String,
        /// The task list as it was then, as the task tools write it.
        tasks: String,
    },
    Quit,
}

pub(crate) type PromptActionFuture =
    Pin<Box<dyn Future<Output = Result<PromptAction, String>> + Send>>;

/// Implemented by the owner of the session.
pub(crate) trait TuiHost: Send + Sync {
    /// Resolves what a prompt asks for, or says what is wrong with it. May take long.
    fn resolve_prompt(&self, prompt: TypedPrompt) -> PromptActionFuture;

    /// The list may grow during a session, for example when an MCP server connects.
    fn list_commands(&self) -> Vec<SlashCommandHint>;

    fn observe_notice(&self, notice: &Notice);

    /// Says why a run failed, where, and what to do about it. May block.
    fn explain_ending(&self, ending: &RunEnding) -> String;

    /// Adds a prompt to the history of all sessions. May block.
    fn remember_prompt(&self, prompt: &str);

    /// Saves rules that outlive the session, and returns a text that says where. May block.
    ///
    /// # Errors
    /// Why they could not be saved.
    fn save_rules(&self, rules: &[String]) -> Result<String, String>;

    /// The user's own status line; `None` if none is configured. Called repeatedly, one call at a
    /// time; the TUI does not wait for the result.
    fn request_status_line(&self, _facts: StatusLineFacts) -> Option<StatusLineFuture> {
        None
    }
}

/// Resolves to `None` if the line could not be made.
pub(crate) type StatusLineFuture = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// What the user's own status line may show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatusLineFacts {
    pub model: String,
    /// In micro-dollars.
    pub cost: u64,
    /// Tokens of the last request.
    pub context_tokens: u64,
    pub context_window: u64,
    /// Since the session began.
    pub elapsed: Duration,
}
