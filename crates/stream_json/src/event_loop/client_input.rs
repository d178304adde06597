//! What is read from the client, and whether more prompts may come.

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::input_reader::InputLine;

pub(crate) struct ClientInput {
    pub(super) lines: mpsc::Receiver<InputLine>,
    /// A line that was read before the event loop began.
    pub(super) early_line: Option<InputLine>,
    /// There will be no more lines, so requests to the client are not answered either.
    pub(super) is_over: bool,
    /// There will be no more prompts, though requests to the client are answered.
    pub(super) is_last_prompt_sent: bool,
    /// How long to wait for background agents after the end of input; `None` means without limit.
    pub(super) background_deadline: Option<Instant>,
}

impl ClientInput {
    pub(super) fn new(lines: mpsc::Receiver<InputLine>, early_line: Option<InputLine>) -> Self {
        Self {
            lines,
            early_line,
            is_over: false,
            is_last_prompt_sent: false,
            background_deadline: None,
        }
    }

    pub(super) fn expects_no_prompts(&self) -> bool {
        self.is_over || self.is_last_prompt_sent
    }
}
