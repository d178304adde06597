//! Everything the TUI starts with.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{Notices, Session};
use windlass_vocabulary::{Notice, PermissionMode};

use crate::host::TuiHost;
use crate::session_facts::TuiSessionFacts;
use crate::theme::Theme;

pub(crate) struct TuiSetup {
    pub session: Session,
    pub notices: Notices,
    pub facts: TuiSessionFacts,
    pub mode: PermissionMode,
    pub display: TuiDisplayOptions,
    pub host: Arc<dyn TuiHost>,
    pub working_directory: PathBuf,
    /// For files that the session may read, for example pasted images. Created on demand.
    pub scratch_directory: PathBuf,
    /// Prompts of all sessions, the oldest first.
    pub prompt_history: Vec<String>,
    pub has_vim_keys: bool,
    /// Sent at once.
    pub first_prompt: Option<String>,
    /// Put into the composer.
    pub unsent_text: String,
    /// What happened in earlier runs of this session, shown again.
    pub earlier_notices: Vec<Notice>,
    pub startup_notes: Vec<String>,
    /// What earlier runs of this session cost, in micro-dollars.
    pub spent_before: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TuiDisplayOptions {
    pub theme: Theme,
    /// Ask the terminal for its background colour, and choose the theme by it.
    pub detects_background: bool,
    /// Write line by line and never redraw, for dumb terminals and screen readers.
    pub is_linear: bool,
    pub notification: NotificationChannel,
    /// The title of the terminal says when the user is needed.
    pub has_title: bool,
}

/// How the user is called when a question comes or a long run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NotificationChannel {
    Off,
    #[default]
    Bell,
    /// A desktop notification, as iTerm2, WezTerm, Ghostty and kitty show it.
    Osc9,
    /// The same for foot and urxvt.
    Osc777,
}
