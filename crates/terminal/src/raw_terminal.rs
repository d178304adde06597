//! The terminal itself: taken in hand at the beginning and given back at the end, whatever happens in
//! between, a panic included.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::screen_size::ScreenSize;

/// A terminal in our hands. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct RawTerminal {
    /// Without any sequence that steers it.
    has_no_sequences: bool,
}

/// Gives the modes of the terminal back, if nobody did. Writes nothing: it may be that nobody reads.
pub(crate) fn restore_modes() {
    if let Some((before, _)) = ORIGINAL_MODES.lock().unwrap_or_else(PoisonError::into_inner).take()
    {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// How the terminal was before we came, and whether no sequence steers it. There is one terminal, so
/// there is one place for it; a panic anywhere finds it here.
static ORIGINAL_MODES: Mutex<Option<(Termios, bool)>> = Mutex::new(None);
/// Is the other screen shown, on which nothing stays?
static IS_ALTERNATE_SCREEN: AtomicBool = AtomicBool::new(false);

impl RawTerminal {
    /// Takes the terminal in hand.
    pub(crate) fn open(is_bare: bool) -> io::Result<Self> {
        static PANIC_HOOK: Once = Once::new();
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore_terminal();
                before(panic);
            }));
        });
        let screen = Self { has_no_sequences: is_bare };
        screen.enter_raw_mode()?;
        Ok(screen)
    }

    /// Takes it in hand again.
    pub(crate) fn enter_raw_mode(&self) -> io::Result<()> {
        let mut modes = tcgetattr(io::stdin())?;
        let mut before = ORIGINAL_MODES.lock().unwrap_or_else(PoisonError::into_inner);
        before.get_or_insert_with(|| (modes.clone(), self.has_no_sequences));
        drop(before);
        modes.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        if !self.has_no_sequences {
            write_stdout(PASTE_ON)?;
        }
        Ok(())
    }

    /// Gives it back for a while.
    pub(crate) fn leave_raw_mode(&self) {
        restore_terminal();
    }

    /// Shows the other screen, or ours again.
    pub(crate) fn set_alternate_screen(&self, on: bool) -> io::Result<()> {
        match IS_ALTERNATE_SCREEN.swap(on, Ordering::Relaxed) == on {
            true => Ok(()),
            false => write_stdout(if on { ALTERNATE_SCREEN_ON } else { ALTERNATE_SCREEN_OFF }),
        }
    }

    /// Columns and rows.
    pub(crate) fn size() -> ScreenSize {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                ScreenSize { width: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => ScreenSize { width: 80, rows: 24 },
        }
    }

    /// Writes bytes that are meant for a terminal.
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

/// Gives the terminal back, if it is in our hands. Nothing can be done about a terminal that is gone.
fn restore_terminal() {
    let Some((before, is_bare)) =
        ORIGINAL_MODES.lock().unwrap_or_else(PoisonError::into_inner).take()
    else {
        return;
    };
    if IS_ALTERNATE_SCREEN.swap(false, Ordering::Relaxed) {
        let _ = write_stdout(ALTERNATE_SCREEN_OFF);
    }
    if !is_bare {
        let _ = write_stdout(PASTE_OFF);
    }
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
}

const PASTE_ON: &str = "\x1b[?2004h";
/// Also shows the cursor and ends colours, in case we were interrupted in the middle.
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

    /// Runs in a process of its own, at a terminal; otherwise it does nothing.
    #[test]
    fn child_that_panics() {
        if std::env::var_os(CHILD).is_some() {
            let screen = RawTerminal::open(false).unwrap();
            let modes = tcgetattr(io::stdin()).unwrap();
            assert!(!modes.local_modes.contains(LocalModes::ICANON));
            screen.set_alternate_screen(true).unwrap();
            // Not even dropped: the hook alone must do it.
            std::mem::forget(screen);
            panic!("on purpose");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs =
            OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "raw_terminal::tests::child_that_panics", "--nocapture"])
            .env(CHILD, "1")
            .stdin(Stdio::from(theirs.try_clone().unwrap()))
            .stdout(Stdio::from(theirs.try_clone().unwrap()))
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success());
        let modes = tcgetattr(&theirs).unwrap();
        assert!(modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
}
