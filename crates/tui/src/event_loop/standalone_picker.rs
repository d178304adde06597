//! A picker before there is a session: which one to resume, whether to trust, what to do without a key.

use std::io;

use tokio::time::Instant;

use super::terminal_renderer::TerminalRenderer;
use super::{SEQUENCE_WAIT, wait_until};
use crate::input::terminal_reader::TerminalReader;
use crate::input::{InputParser, TerminalInput};
use crate::picker::{Picker, PickerItem, PickerOutcome};
use crate::screen_size::ScreenSize;
use crate::setup::TuiDisplayOptions;
use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

/// Lets the user choose; `None` if they cancel.
///
/// # Errors
/// When the terminal cannot be used.
pub(crate) async fn run_picker(
    display: TuiDisplayOptions,
    words: &str,
    mut picker: Picker,
) -> io::Result<Option<PickerItem>> {
    let mut renderer = TerminalRenderer::open(display)?;
    let mut reader = TerminalReader::start()?;
    let mut parser = InputParser::default();
    let chosen = loop {
        let ScreenSize { width, rows } = renderer.size();
        let mut lines = text::render_plain(words, TextStyle::Plain, width);
        let room = rows.saturating_sub(8);
        if lines.len() > room {
            lines.truncate(room);
            let more = words::MORE_IN_LARGER_WINDOW;
            lines.push(StyledLine::from_text(more, TextStyle::Warning));
        }
        let left = rows.saturating_sub(lines.len() + 2);
        lines.extend(picker.render(width, left));
        renderer.draw_lines(&lines, "")?;
        let settles = parser.has_partial_sequence().then(|| Instant::now() + SEQUENCE_WAIT);
        let typed = tokio::select! {
            bytes = reader.next_bytes() => match bytes {
                Some(bytes) => parser.feed(&bytes),
                None => break None,
            },
            () = wait_until(settles) => parser.flush_pending(),
        };
        let mut outcome = PickerOutcome::Pending;
        for typed in typed {
            if let (TerminalInput::Key(key), PickerOutcome::Pending) = (typed, &outcome) {
                outcome = picker.handle_key(&key);
            }
        }
        match outcome {
            PickerOutcome::Pending => {}
            PickerOutcome::Cancelled => break None,
            PickerOutcome::Chosen(item) => break Some(item),
        }
    };
    reader.stop();
    renderer.clear()?;
    Ok(chosen)
}
