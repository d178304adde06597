//! The real command at a terminal: the time to its first frame; what it costs while nothing happens; and
//! the time from a key to its echo, in a session of ten thousand messages, while an answer streams as fast
//! as it can be sent. `cargo bench -p windlass --bench echo`
//!
//! Prints the median, the 99th percentile and the maximum, of wall time and of CPU time of the terminal
//! thread; the latter does not depend on the load of the machine and says whether that was the cause.
//! Fails when the median first frame, the wakes or the memory of an idle session, or the 99th percentile
//! of the time to an echo under a streaming answer is over its limit: run it on a quiet machine, in
//! release. `WINDLASS_BENCH_BINARY` names another program to measure, for example the one that is shipped.
//! With `--short` behind `--bench` the session is shorter and the limits are wide, for every change on a
//! machine that others share. Without `--bench` a small session runs once and nothing is held to a limit.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a bench says no")]

use std::collections::BTreeMap;
use std::ffi::OsString;
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

/// What a run measures, and what it is held to.
struct RunSize {
    starts: usize,
    turns: usize,
    keys: usize,
    parts: usize,
    is_judged: bool,
    echo_max: Duration,
    first_frame_max: Duration,
    idle_kilobytes_max: u64,
}

const FULL: RunSize = RunSize {
    starts: 20,
    turns: 5_000,
    keys: 600,
    parts: 60_000,
    is_judged: true,
    echo_max: Duration::from_millis(10),
    first_frame_max: Duration::from_millis(10),
    idle_kilobytes_max: 20 * 1024,
};
/// Limits that no noise of a shared machine reaches.
const SHORT: RunSize = RunSize {
    starts: 10,
    turns: 500,
    keys: 200,
    parts: 20_000,
    echo_max: Duration::from_millis(50),
    first_frame_max: Duration::from_millis(50),
    idle_kilobytes_max: 25 * 1024,
    ..FULL
};
const TRIED: RunSize =
    RunSize { starts: 2, turns: 3, keys: 20, parts: 200, is_judged: false, ..FULL };

impl RunSize {
    fn from_arguments() -> Self {
        let has = |word: &str| std::env::args().any(|argument| argument == word);
        match (has("--bench"), has("--short")) {
            (true, true) => SHORT,
            (true, false) => FULL,
            (false, _) => TRIED,
        }
    }
}

const IDLE_SPAN: Duration = Duration::from_secs(5);
/// Longer than idle threads of the runtime are kept.
const SETTLE_SPAN: Duration = Duration::from_secs(12);
/// Between two keys.
const PAUSE: Duration = Duration::from_millis(13);
const DEADLINE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let size = RunSize::from_arguments();
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..size.parts).map(|part| format!("Part {part} of *it*, in words.\n\n")).collect();
    let script = Script::new()
        .answer(ScriptedAnswer::text(text).chunk(6).when("STORM").repeat(0))
        .answer(ScriptedAnswer::text("ok").repeat(0));
    let server = Rehearsal::start_blocking(script, RehearsalOptions::default()).unwrap();
    let mut is_fine = measure_start(folder.path(), &server.url(), &size);
    let session = record_session(folder.path(), &server.url(), size.turns);
    println!("{} messages behind it", size.turns * 2);
    let mut screen = Screen::open(folder.path(), &server.url(), &["--resume", &session]);
    screen.wait_for(READY);
    let idle = screen.measure_keys(size.keys / 3);
    report("nothing else happens", &idle);
    screen.press(b"STORM\r");
    screen.wait_for(b"Part ");
    let busy = screen.measure_keys(size.keys);
    let echo = report("an answer pours in", &busy);
    is_fine &= echo <= size.echo_max;
    println!("limits: {}", if is_fine { "held" } else { "not held" });
    match size.is_judged && !is_fine {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Returns whether a session starts, and then does nothing, within its limits.
fn measure_start(folder: &Path, url: &str, size: &RunSize) -> bool {
    let mut times: Vec<Duration> = (0..size.starts)
        .map(|_| {
            let began = Instant::now();
            Screen::open(folder, url, &[]).wait_for(READY);
            began.elapsed()
        })
        .collect();
    times.sort();
    println!("first frame: fastest {:.1?}  p50 {:.1?}", times[0], times[size.starts / 2]);
    let mut screen = Screen::open(folder, url, &["hello"]);
    screen.wait_for(b"ok");
    // What belongs to the start and to the run settles.
    std::thread::sleep(SETTLE_SPAN);
    let before = screen.count_wakes_by_thread();
    std::thread::sleep(IDLE_SPAN);
    let after = screen.count_wakes_by_thread();
    let wakes: u64 =
        after.iter().map(|(thread, count)| count - before.get(thread).copied().unwrap_or(0)).sum();
    let kilobytes = screen.resident_kilobytes();
    println!("idle for {IDLE_SPAN:?}: {wakes} wakes, {kilobytes} kB resident");
    times[size.starts / 2] <= size.first_frame_max
        && wakes == 0
        && kilobytes <= size.idle_kilobytes_max
}

/// The empty composer.
const READY: &[u8] = b"Ask for something";

struct KeyLatency {
    time: Duration,
    /// CPU time of the terminal thread.
    work: Duration,
}

/// Returns the 99th percentile of the time to the echo.
fn report(what: &str, latencies: &[KeyLatency]) -> Duration {
    let percentiles = |durations: fn(&KeyLatency) -> Duration| {
        let mut sorted: Vec<Duration> = latencies.iter().map(durations).collect();
        sorted.sort();
        [50, 99, 100].map(|percent| sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)])
    };
    let time = percentiles(|latency| latency.time);
    let work = percentiles(|latency| latency.work);
    println!("{what}: {} keys", latencies.len());
    println!("  time to the echo   p50 {:.1?}  p99 {:.1?}  max {:.1?}", time[0], time[1], time[2]);
    println!("  work of the thread p50 {:.1?}  p99 {:.1?}  max {:.1?}", work[0], work[1], work[2]);
    time[1]
}

fn windlass(folder: &Path, url: &str) -> Command {
    let given = std::env::var_os("WINDLASS_BENCH_BINARY");
    let mut command = Command::new(given.unwrap_or_else(|| env!("CARGO_BIN_EXE_windlass").into()));
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

/// Records a session with this many prompts, and returns its id.
fn record_session(folder: &Path, url: &str, turns: usize) -> String {
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
    /// Output since the last key.
    tail: Vec<u8>,
}

impl Screen {
    fn open(folder: &Path, url: &str, arguments: &[&str]) -> Self {
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
        command.args(arguments).stdin(share()).stdout(share()).stderr(share());
        let child = command.spawn().unwrap();
        Self { child, terminal: File::from(ours), tail: Vec::new() }
    }

    fn press(&mut self, keys: &[u8]) {
        self.tail.clear();
        self.terminal.write_all(keys).unwrap();
    }

    fn read(&mut self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.min(PAUSE).as_nanos().try_into().unwrap() };
        let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
        if poll(&mut ready, Some(&left)).unwrap() == 0 {
            return;
        }
        let mut chunk = [0; 64 * 1024];
        let count = self.terminal.read(&mut chunk).unwrap();
        self.tail.extend_from_slice(&chunk[..count]);
    }

    fn wait_for(&mut self, words: &[u8]) {
        let deadline = Instant::now() + DEADLINE;
        while !self.tail.windows(words.len()).any(|window| window == words) {
            assert!(Instant::now() < deadline, "{}", String::from_utf8_lossy(&self.tail));
            self.read(deadline);
        }
    }

    fn measure_keys(&mut self, count: usize) -> Vec<KeyLatency> {
        let mut line = String::from("> ");
        let latencies = (0..count).map(|number| {
            if line.len() > 60 {
                self.press(b"\x15");
                self.wait_for(b"\x1b[2m");
                line.truncate(2);
            }
            let letter = char::from(b'a' + u8::try_from(number % 26).unwrap());
            line.push(letter);
            let before = self.terminal_thread_time();
            let began = Instant::now();
            self.press(letter.to_string().as_bytes());
            self.wait_for(line.as_bytes());
            let time = began.elapsed();
            let work = self.terminal_thread_time().saturating_sub(before);
            let next = began + PAUSE;
            while Instant::now() < next {
                self.read(next);
            }
            KeyLatency { time, work }
        });
        let latencies = latencies.collect();
        self.press(b"\x15");
        latencies
    }

    /// How often each thread gave up the processor by itself, which is how often it woke. Empty where the
    /// system has no `/proc`.
    fn count_wakes_by_thread(&self) -> BTreeMap<OsString, u64> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        let count = |path: &Path| read_status(path, "voluntary_ctxt_switches:");
        tasks.map(|task| (task.file_name(), count(&task.path()))).collect()
    }

    fn resident_kilobytes(&self) -> u64 {
        read_status(Path::new(&format!("/proc/{}", self.child.id())), "VmRSS:")
    }

    /// Zero where the system has no `/proc`.
    fn terminal_thread_time(&self) -> Duration {
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

/// A number of a `status` file.
fn read_status(folder: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(folder.join("status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
