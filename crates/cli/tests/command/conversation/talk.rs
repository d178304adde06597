//! A conversation driven as a person would: keys in, screens out.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::terminal::terminal;

/// A conversation at a terminal of 24 rows and 60 columns.
pub(crate) struct Talk {
    pub(crate) child: Child,
    keys: File,
    screen: Arc<(Mutex<ScreenState>, Condvar)>,
}

/// What the terminal was sent, and what that looks like.
struct ScreenState {
    raw: Vec<u8>,
    parser: vt100::Parser,
    is_over: bool,
}

impl ScreenState {
    /// Is no frame under way?
    fn is_whole(&self) -> bool {
        let tail = self.raw.get(self.raw.len().saturating_sub(FRAME_MAX)..).unwrap_or_default();
        let last = |sign: &[u8]| tail.windows(sign.len()).rposition(|window| window == sign);
        last(b"\x1b[?2026h") <= last(b"\x1b[?2026l")
    }
}

/// Bytes of the longest frame that is looked for.
const FRAME_MAX: usize = 64 * 1024;
const DEADLINE: Duration = Duration::from_secs(240);
pub(crate) const READY: &str = "Ask for something";
/// A question can be answered.
pub(crate) const ASKED: &str = "Esc for no";

impl Talk {
    pub(crate) fn begin(command: Command) -> Self {
        Self::sized(command, 24, 60)
    }

    pub(crate) fn sized(command: Command, rows: u16, columns: u16) -> Self {
        Self::open(command, (rows, columns), None)
    }

    /// With keys from somewhere else.
    pub(crate) fn with_keys_from(command: Command, keys: Option<File>) -> Self {
        Self::open(command, (24, 60), keys)
    }

    fn open(mut command: Command, (rows, columns): (u16, u16), keys: Option<File>) -> Self {
        let (ours, theirs) = terminal();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).expect("a size");
        let share = |file: &File| Stdio::from(file.try_clone().expect("a copy"));
        let stdin = keys.map_or_else(|| share(&theirs), Stdio::from);
        command.stdin(stdin).stdout(share(&theirs)).stderr(Stdio::from(theirs));
        let has_term = command.get_envs().any(|(name, _)| name == "TERM");
        if !has_term {
            command.env("TERM", "xterm-256color");
        }
        let child = command.spawn().expect("the command starts");
        // The other end closes with the child only if nobody else holds it.
        drop(command);
        let parser = vt100::Parser::new(rows, columns, 1_000);
        let shown = ScreenState { raw: Vec::new(), parser, is_over: false };
        let screen = Arc::new((Mutex::new(shown), Condvar::new()));
        let keys = File::from(ours);
        let mut output = keys.try_clone().expect("a copy");
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                let mut screen = shown.0.lock().expect("a screen");
                screen.raw.extend_from_slice(&chunk[..count]);
                screen.parser.process(&chunk[..count]);
                drop(screen);
                shown.1.notify_all();
            }
            shown.0.lock().expect("a screen").is_over = true;
            shown.1.notify_all();
        });
        Self { child, keys, screen }
    }

    pub(crate) fn key(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
    }

    /// Our end of the terminal.
    pub(crate) fn terminal(&self) -> &File {
        &self.keys
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is still there");
    }

    /// The window gets another size.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut now = self.screen.0.lock().expect("a screen");
        now.parser.screen_mut().set_size(rows, columns);
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keys, size).expect("a size");
        drop(now);
        self.signal(Signal::WINCH);
    }

    /// Waits until the screen is like this, and gives it.
    pub(crate) fn when(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) -> String {
        let (screen, changed) = &*self.screen;
        let limit = Instant::now() + DEADLINE;
        let mut now = screen.lock().expect("a screen");
        loop {
            let shown = now.parser.screen().contents();
            // Half a frame is not a screen.
            if now.is_whole() && is_so(now.parser.screen()) {
                return shown;
            }
            let left = limit.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !now.is_over, "`{what}` never came:\n{shown}");
            now = changed.wait_timeout(now, left).expect("a screen").0;
        }
    }

    /// Waits until the screen shows this, and gives it.
    pub(crate) fn until(&self, words: &str) -> String {
        self.when(words, |screen| screen.contents().contains(words))
    }

    /// The screen once no frame is under way: half a frame is not a screen.
    fn lock_whole_screen(&self) -> MutexGuard<'_, ScreenState> {
        let (screen, changed) = &*self.screen;
        let now = screen.lock().expect("a screen");
        let is_partial = |shown: &mut ScreenState| !shown.is_whole() && !shown.is_over;
        let (now, waited) =
            changed.wait_timeout_while(now, DEADLINE, is_partial).expect("a screen");
        assert!(!waited.timed_out(), "a frame never ended:\n{}", now.parser.screen().contents());
        now
    }

    /// Waits until the screen no longer shows this, and gives it.
    pub(crate) fn until_gone(&self, words: &str) -> String {
        self.when(&format!("no {words}"), |screen| !screen.contents().contains(words))
    }

    /// Waits until these bytes were sent.
    pub(crate) fn until_sent(&self, bytes: &str) {
        self.when(&format!("{bytes:?}"), |_| true);
        let (screen, changed) = &*self.screen;
        let limit = Instant::now() + DEADLINE;
        let mut now = screen.lock().expect("a screen");
        while !now.raw.windows(bytes.len()).any(|window| window == bytes.as_bytes()) {
            let left = limit.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{bytes:?} was never sent");
            now = changed.wait_timeout(now, left).expect("a screen").0;
        }
    }

    /// Looks at the screen with its last line at the bottom, however far it has scrolled.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        let mut now = self.lock_whole_screen();
        let screen = now.parser.screen_mut();
        let rows: Vec<String> = screen.rows(0, u16::MAX).collect();
        let blank = rows.iter().rev().take_while(|row| row.trim().is_empty()).count();
        screen.set_scrollback(blank);
        let seen = look(screen);
        screen.set_scrollback(0);
        seen
    }

    /// Everything that was sent.
    pub(crate) fn sent(&self) -> String {
        String::from_utf8_lossy(&self.screen.0.lock().expect("a screen").raw).into_owned()
    }

    /// How much was sent.
    pub(crate) fn sent_bytes(&self) -> usize {
        self.screen.0.lock().expect("a screen").raw.len()
    }

    /// Waits this long, in which nothing may be sent.
    pub(crate) fn silent(&self, span: Duration) {
        let (screen, changed) = &*self.screen;
        let now = screen.lock().expect("a screen");
        let before = now.raw.len();
        let is_same = |shown: &mut ScreenState| shown.raw.len() == before;
        let (now, timed_out) = changed.wait_timeout_while(now, span, is_same).expect("a screen");
        assert!(timed_out.timed_out(), "{:?}", now.raw.get(before..));
    }

    /// What has scrolled up, and the screen.
    pub(crate) fn scrolled(&self) -> String {
        let mut now = self.lock_whole_screen();
        let mut text = String::new();
        now.parser.screen_mut().set_scrollback(usize::MAX);
        let most = now.parser.screen().scrollback();
        for back in (1..=most).rev() {
            now.parser.screen_mut().set_scrollback(back);
            text.push_str(&now.parser.screen().rows(0, u16::MAX).next().unwrap_or_default());
            text.push('\n');
        }
        now.parser.screen_mut().set_scrollback(0);
        text.push_str(&now.parser.screen().contents());
        text
    }

    /// Waits for the end without asking for it.
    pub(crate) fn over(mut self) -> ExitStatus {
        let limit = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            if Instant::now() >= limit {
                let _ = self.child.kill();
                panic!("it does not leave:\n{}", self.look(vt100::Screen::contents));
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Ends it with something typed, and gives the code.
    pub(crate) fn end_after_clear(mut self) -> Option<i32> {
        // While something runs, the key would stop that.
        self.until_gone("· turn ");
        self.key("\u{3}");
        self.until(READY);
        self.end()
    }

    /// Ends it, and gives the code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.key("\u{4}");
        self.over().code()
    }
}
