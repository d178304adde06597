//! One question before there is a session: which one, whether to trust, what to do without a key.

use std::io;

use tokio::time::Instant;

use super::terminal_renderer::TerminalRenderer;
use super::{SEQUENCE_WAIT, TuiDisplayOptions, wait_until};
use crate::input::terminal_reader::TerminalReader;
use crate::input::{InputParser, TerminalInput};
use crate::picker::{Picker, PickerItem, PickerOutcome};

/// Lets somebody choose; nothing if they would rather not.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run_picker(
    looks: TuiDisplayOptions,
    words: &str,
    mut picker: Picker,
) -> io::Result<Option<PickerItem>> {
    let mut canvas = TerminalRenderer::open(looks)?;
    let mut reader = TerminalReader::start()?;
    let mut parser = InputParser::default();
    let chosen = loop {
        let (width, rows) = canvas.size();
        let mut lines =
            crate::text::render_plain(words, crate::styled_line::TextStyle::Plain, width);
        let room = rows.saturating_sub(8);
        if lines.len() > room {
            lines.truncate(room);
            let more = "… (there is more; make the window larger)";
            lines.push(crate::styled_line::StyledLine::from_text(
                more,
                crate::styled_line::TextStyle::Warning,
            ));
        }
        let left = rows.saturating_sub(lines.len() + 2);
        lines.extend(picker.render(width, left));
        canvas.draw_lines(&lines, "")?;
        let settles = parser.has_partial_sequence().then(|| Instant::now() + SEQUENCE_WAIT);
        let typed = tokio::select! {
            bytes = reader.next_bytes() => match bytes {
                Some(bytes) => parser.feed(&bytes),
                None => break None,
            },
            () = wait_until(settles) => parser.flush_pending(),
        };
        let mut picked = PickerOutcome::Pending;
        for typed in typed {
            if let (TerminalInput::Key(key), PickerOutcome::Pending) = (typed, &picked) {
                picked = picker.handle_key(&key);
            }
        }
        match picked {
            PickerOutcome::Pending => {}
            PickerOutcome::Cancelled => break None,
            PickerOutcome::Chosen(item) => break Some(item),
        }
    };
    reader.stop();
    canvas.clear()?;
    Ok(chosen)
}
