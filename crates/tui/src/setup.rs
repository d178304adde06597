//! Everything the TUI starts with.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{Notices, Session};
use windlass_vocabulary::{PermissionMode, Role};

use crate::host::TuiHost;
use crate::session_facts::TuiSessionFacts;
use crate::theme::Theme;

pub struct TuiSetup {
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
    /// Messages of earlier runs of this session, shown again.
    pub earlier_messages: Vec<EarlierMessage>,
    pub startup_notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TuiDisplayOptions {
    pub theme: Theme,
    /// Ask the terminal for its background colour, and choose the theme by it.
    pub detects_background: bool,
    /// Write line by line and never redraw, for dumb terminals and screen readers.
    pub is_linear: bool,
    /// The terminal shows notifications of programs (OSC 9).
    pub has_notifications: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierMessage {
    pub role: Role,
    pub text: String,
}
