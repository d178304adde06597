//! The terminal itself: taken in hand at the beginning and given back at the end, whatever happens in
//! between, a panic included.

use std::io::{self, Write};
use std::sync::Once;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::{execute, terminal};

/// A terminal in our hands. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Screen {
    _private: (),
}

impl Screen {
    /// Takes the terminal in hand.
    pub(crate) fn open() -> io::Result<Self> {
        static PANIC: Once = Once::new();
        PANIC.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        terminal::enable_raw_mode()?;
        let screen = Self { _private: () };
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(screen)
    }

    /// Columns and rows.
    pub(crate) fn size() -> (usize, usize) {
        match terminal::size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
            _ => (80, 24),
        }
    }

    /// Writes bytes that are meant for a terminal.
    pub(crate) fn write(&mut self, bytes: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Nothing can be done about a terminal that is gone.
fn restore() {
    let _ = execute!(io::stdout(), DisableBracketedPaste);
    let _ = io::stdout().write_all(b"\x1b[0m\x1b[?25h");
    let _ = io::stdout().flush();
    let _ = terminal::disable_raw_mode();
}
