//! How long a key takes to its echo: the real command at a terminal, ten thousand messages behind it,
//! while an answer pours in as fast as it can be sent. `cargo bench -p windlass --bench echo`
//!
//! Says the median, the 99th percentile and the longest, in time and in work of the terminal's thread;
//! the work is what the program can be blamed for on a busy machine. Fails when the work of the 99th
//! key is over the limit. Without `--bench` a small session is tried once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a bench says no")]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer};

const LIMIT: Duration = Duration::from_millis(16);
/// Between two keys.
const PAUSE: Duration = Duration::from_millis(13);
const DEADLINE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (turns, keys, parts) = if is_measured { (5_000, 600, 60_000) } else { (3, 20, 200) };
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..parts).map(|part| format!("Part {part} of *it*, in words.\n\n")).collect();
    let script = Script::new()
        .answer(ScriptedAnswer::text(text).chunk(6).when("STORM").repeat(0))
        .answer(ScriptedAnswer::text("ok").repeat(0));
    let server = Rehearsal::start_blocking(script, RehearsalOptions::default()).unwrap();
    let session = history(folder.path(), &server.url(), turns);
    println!("{} messages behind it", turns * 2);
    let mut screen = Screen::open(folder.path(), &server.url(), &session);
    screen.until(b"ask for");
    let quiet = screen.keys(keys / 3);
    report("nothing else happens", quiet);
    screen.press(b"STORM\r");
    screen.until(b"Part ");
    let busy = screen.keys(keys);
    let (_, work) = report("an answer pours in", busy);
    match is_measured && work > LIMIT {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Says the numbers; gives the 99th of time and of work.
fn report(what: &str, mut spans: Vec<(Duration, Duration)>) -> (Duration, Duration) {
    let at = |spans: &[(Duration, Duration)], percent: usize| {
        spans.get((spans.len() * percent / 100).min(spans.len() - 1)).copied().unwrap()
    };
    spans.sort();
    let time = [50, 99, 100].map(|percent| at(&spans, percent).0);
    spans.sort_by_key(|(_, work)| *work);
    let work = [50, 99, 100].map(|percent| at(&spans, percent).1);
    println!("{what}: {} keys", spans.len());
    println!("  time to the echo   p50 {:.1?}  p99 {:.1?}  max {:.1?}", time[0], time[1], time[2]);
    println!("  work of the thread p50 {:.1?}  p99 {:.1?}  max {:.1?}", work[0], work[1], work[2]);
    (time[1], work[1])
}

fn windlass(folder: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "test-key")
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1")
        .current_dir(folder);
    command
}

/// A session of so many prompts and answers; gives its name.
fn history(folder: &Path, url: &str, turns: usize) -> String {
    let id = "0c0ffee0-0000-4000-8000-000000000001";
    let mut command = windlass(folder, url);
    command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
    command.args(["--verbose", "--session-id", id]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for turn in 0..turns {
        let words = format!("message {turn} with some words");
        let message =
            format!(r#"{{"type":"user","message":{{"role":"user","content":"{words}"}}}}"#);
        writeln!(input, "{message}").unwrap();
        while !lines.next().unwrap().unwrap().contains(r#""type":"result""#) {}
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    id.to_owned()
}

/// The command at a terminal.
struct Screen {
    child: Child,
    terminal: File,
    /// What it wrote last.
    tail: Vec<u8>,
}

impl Screen {
    fn open(folder: &Path, url: &str, session: &str) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        fcntl_setfd(&ours, FdFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let name = name.to_str().unwrap();
        let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let share = || Stdio::from(theirs.try_clone().unwrap());
        let mut command = windlass(folder, url);
        command.args(["--resume", session]).stdin(share()).stdout(share()).stderr(share());
        let child = command.spawn().unwrap();
        Self { child, terminal: File::from(ours), tail: Vec::new() }
    }

    fn press(&mut self, keys: &[u8]) {
        self.tail.clear();
        self.terminal.write_all(keys).unwrap();
    }

    /// Reads until then at the latest; says whether something came.
    fn read(&mut self, limit: Instant) -> bool {
        let left = limit.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.min(PAUSE).as_nanos().try_into().unwrap() };
        let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
        if poll(&mut ready, Some(&left)).unwrap() == 0 {
            return false;
        }
        let mut chunk = [0; 64 * 1024];
        let count = self.terminal.read(&mut chunk).unwrap();
        self.tail.extend_from_slice(&chunk[..count]);
        true
    }

    fn until(&mut self, words: &[u8]) {
        let limit = Instant::now() + DEADLINE;
        while !self.tail.windows(words.len()).any(|window| window == words) {
            assert!(Instant::now() < limit, "{}", String::from_utf8_lossy(&self.tail));
            self.read(limit);
        }
    }

    /// Presses so many keys; gives for each the time to its echo and the work until then.
    fn keys(&mut self, count: usize) -> Vec<(Duration, Duration)> {
        let mut typed = String::from("> ");
        let spans = (0..count).map(|number| {
            if typed.len() > 60 {
                self.press(b"\x15");
                self.until(b"\x1b[2m");
                typed.truncate(2);
            }
            let letter = char::from(b'a' + u8::try_from(number % 26).unwrap());
            typed.push(letter);
            let before = self.worked();
            let began = Instant::now();
            self.press(letter.to_string().as_bytes());
            self.until(typed.as_bytes());
            let span = (began.elapsed(), self.worked().saturating_sub(before));
            let next = began + PAUSE;
            while Instant::now() < next {
                self.read(next);
            }
            span
        });
        let spans = spans.collect();
        self.press(b"\x15");
        spans
    }

    /// What the terminal's thread has worked so far; nothing where nobody counts.
    fn worked(&self) -> Duration {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        let is_terminal = |path: &Path| {
            std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "terminal")
        };
        let nanos = tasks.map(|task| task.path()).find(|path| is_terminal(path)).and_then(|path| {
            let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        });
        Duration::from_nanos(nanos.unwrap_or(0))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
