//! The title of the terminal: whether it works, and whether it needs the user. The title before is kept on
//! the terminal's own stack and restored.

use crate::app::App;
use crate::words;

#[derive(Debug)]
pub(super) struct TerminalTitle {
    is_enabled: bool,
    /// `None` while the terminal has its own title.
    shown: Option<&'static str>,
}

impl TerminalTitle {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { is_enabled, shown: None }
    }

    /// Returns the bytes that change the title; none if it stays. A session that was only opened leaves
    /// the title alone.
    pub(super) fn update(&mut self, app: &App) -> String {
        let title = if !app.dialogs.permission_prompts.is_empty() {
            words::TITLE_NEEDS_ANSWER
        } else if app.run.is_busy() {
            words::TITLE_WORKING
        } else {
            words::TITLE_IDLE
        };
        let is_same = self.shown == Some(title);
        let is_fresh = self.shown.is_none() && title == words::TITLE_IDLE;
        if !self.is_enabled || is_same || is_fresh {
            return String::new();
        }
        let save = if self.shown.is_none() { SAVE_TITLE } else { "" };
        self.shown = Some(title);
        format!("{save}\x1b]2;{title}\x07")
    }

    pub(super) fn restore(&mut self) -> &'static str {
        match self.shown.take() {
            Some(_) => RESTORE_TITLE,
            None => "",
        }
    }
}

const SAVE_TITLE: &str = "\x1b[22;2t";
const RESTORE_TITLE: &str = "\x1b[23;2t";
