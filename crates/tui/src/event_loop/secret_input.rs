//! A line that is not shown, before there is a session: an API key.

use std::io;

use tokio::time::Instant;

use super::terminal_renderer::TerminalRenderer;
use super::{SEQUENCE_WAIT, wait_until};
use crate::composer::Composer;
use crate::input::terminal_reader::TerminalReader;
use crate::input::{InputKey, InputParser, TerminalInput};
use crate::setup::TuiDisplayOptions;
use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

/// Lets the user type or paste a secret; `None` if they cancel. Only its length is shown, and what
/// `check` says is wrong with it.
///
/// # Errors
/// When the terminal cannot be used.
pub(crate) async fn run_secret_input(
    display: TuiDisplayOptions,
    title: &str,
    check: fn(&str) -> Result<&str, &'static str>,
) -> io::Result<Option<String>> {
    let mut renderer = TerminalRenderer::open(display)?;
    let mut reader = TerminalReader::start()?;
    let mut parser = InputParser::default();
    let mut composer = Composer::default();
    let mut problem = "";
    let secret = 'typing: loop {
        let width = renderer.size().width;
        let mut lines = text::render_plain(title, TextStyle::Heading, width);
        let dots = "•".repeat(composer.text().chars().count().min(DOTS_MAX));
        lines.push(StyledLine::from_text(format!("  {dots}▏"), TextStyle::Plain));
        lines.extend(text::render_plain(problem, TextStyle::Warning, width));
        let hint = StyledLine::from_text(words::INPUT_KEYS, TextStyle::Dim);
        lines.push(hint.truncate_to_width(width));
        renderer.draw_lines(&lines, "")?;
        let settles = parser.has_partial_sequence().then(|| Instant::now() + SEQUENCE_WAIT);
        let typed = tokio::select! {
            bytes = reader.next_bytes() => match bytes {
                Some(bytes) => parser.feed(&bytes),
                None => break None,
            },
            () = wait_until(settles) => parser.flush_pending(),
        };
        for typed in typed {
            match typed {
                TerminalInput::Key(InputKey::Enter) => match check(composer.text()) {
                    Ok(secret) => break 'typing Some(secret.to_owned()),
                    Err(why) => problem = why,
                },
                TerminalInput::Key(InputKey::Escape | InputKey::Cancel | InputKey::EndOfInput) => {
                    break 'typing None;
                }
                TerminalInput::Key(key) => {
                    problem = "";
                    composer.handle_line_key(&key);
                }
                TerminalInput::Background { .. } => {}
            }
        }
    };
    reader.stop();
    renderer.clear()?;
    Ok(secret)
}

const DOTS_MAX: usize = 30;
