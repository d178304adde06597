//! Raw mode of the terminal. The original mode is always restored at the end, even after a panic.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::screen_size::ScreenSize;

/// Dropping it restores the terminal.
#[derive(Debug)]
pub(crate) struct RawTerminal {
    /// Never write an escape sequence.
    has_no_sequences: bool,
}

/// Restores the modes of the terminal, if nothing else did. Writes nothing, because a terminal that
/// reads no more would block it.
pub(crate) fn restore_modes() {
    let original = lock_state().original.take();
    if let Some(original) = original {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &original.modes);
    }
}

/// A process has one terminal, and the panic hook must find its state from any thread.
static STATE: Mutex<TerminalState> =
    Mutex::new(TerminalState { original: None, is_alternate_screen: false });

struct TerminalState {
    /// `None` while the terminal is not in raw mode.
    original: Option<OriginalTerminal>,
    is_alternate_screen: bool,
}

struct OriginalTerminal {
    modes: Termios,
    has_no_sequences: bool,
}

fn lock_state() -> MutexGuard<'static, TerminalState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RawTerminal {
    pub(crate) fn open(has_no_sequences: bool) -> io::Result<Self> {
        static PANIC_HOOK: Once = Once::new();
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore_terminal();
                before(panic);
            }));
        });
        let terminal = Self { has_no_sequences };
        terminal.enter_raw_mode()?;
        Ok(terminal)
    }

    pub(crate) fn enter_raw_mode(&self) -> io::Result<()> {
        let mut modes = tcgetattr(io::stdin())?;
        lock_state().original.get_or_insert_with(|| OriginalTerminal {
            modes: modes.clone(),
            has_no_sequences: self.has_no_sequences,
        });
        modes.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        if !self.has_no_sequences {
            write_stdout(PASTE_ON)?;
        }
        Ok(())
    }

    pub(crate) fn leave_raw_mode(&self) {
        restore_terminal();
    }

    pub(crate) fn set_alternate_screen(&self, on: bool) -> io::Result<()> {
        let was_on = std::mem::replace(&mut lock_state().is_alternate_screen, on);
        match was_on == on {
            true => Ok(()),
            false => write_stdout(if on { ALTERNATE_SCREEN_ON } else { ALTERNATE_SCREEN_OFF }),
        }
    }

    /// 80 by 24 if the terminal does not know.
    pub(crate) fn size() -> ScreenSize {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                ScreenSize { width: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => ScreenSize { width: 80, rows: 24 },
        }
    }

    pub(crate) fn write(&self, bytes: &str) -> io::Result<()> {
        if bytes.is_empty() { Ok(()) } else { write_stdout(bytes) }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn write_stdout(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}

/// Leaves raw mode, if the terminal is in it. Errors are ignored: the terminal may be gone.
fn restore_terminal() {
    let mut state = lock_state();
    let Some(original) = state.original.take() else { return };
    let was_alternate = std::mem::take(&mut state.is_alternate_screen);
    // Writing may block; the lock must not be held meanwhile.
    drop(state);
    if was_alternate {
        let _ = write_stdout(ALTERNATE_SCREEN_OFF);
    }
    if !original.has_no_sequences {
        let _ = write_stdout(PASTE_OFF);
    }
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &original.modes);
}

const PASTE_ON: &str = "\x1b[?2004h";
/// Also shows the cursor and resets colours, in case a frame was interrupted in the middle.
const PASTE_OFF: &str = "\x1b[?2004l\x1b[0m\x1b[?25h";
const ALTERNATE_SCREEN_ON: &str = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
const ALTERNATE_SCREEN_OFF: &str = "\x1b[?1049l\x1b[?25h";

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;

    use super::*;

    const CHILD: &str = "WINDLASS_TEST_PANICS";

    /// Does nothing, unless the other test runs it as a separate process.
    #[test]
    fn child_that_panics() {
        if std::env::var_os(CHILD).is_some() {
            let terminal = RawTerminal::open(false).unwrap();
            let modes = tcgetattr(io::stdin()).unwrap();
            assert!(!modes.local_modes.contains(LocalModes::ICANON));
            terminal.set_alternate_screen(true).unwrap();
            // The hook alone must restore it, not the drop.
            std::mem::forget(terminal);
            panic!("on purpose");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal =
            OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "raw_terminal::tests::child_that_panics", "--nocapture"])
            .env(CHILD, "1")
            .stdin(Stdio::from(terminal.try_clone().unwrap()))
            .stdout(Stdio::from(terminal.try_clone().unwrap()))
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success());
        let modes = tcgetattr(&terminal).unwrap();
        assert!(modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
}
