//! What every test needs: the binary with its own directories, and waits with a deadline.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// What nothing is waited for takes less, on a busy machine too; what must not be waited for takes longer.
pub(crate) const NO_WAIT_MAX: Duration = Duration::from_secs(120);

/// The directories of one test. The binary sees nothing of the user's own.
pub(crate) struct TestDirs {
    folder: TempDir,
}

impl TestDirs {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "home", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder }
    }

    /// Where the command runs.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Every entry of the directories, for tests that must leave nothing behind.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        for name in ["work", "home", "tmp"] {
            for entry in std::fs::read_dir(self.folder.path().join(name)).expect("the folder") {
                let entry = entry.expect("an entry").file_name();
                if entry == ".claude" {
                    // Transcripts for other programs are kept like journals are.
                    continue;
                }
                found.push(format!("{name}/{}", entry.to_string_lossy()));
            }
        }
        found.sort();
        found
    }

    /// The journals of all persisted sessions.
    pub(crate) fn journals(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let root = self.folder.path().join("state/windlass/sessions");
        for project in std::fs::read_dir(root).into_iter().flatten().flatten() {
            let entries = std::fs::read_dir(project.path()).into_iter().flatten().flatten();
            let paths = entries.map(|entry| entry.path());
            found.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")));
        }
        found.sort();
        found
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes the user's configuration.
    pub(crate) fn config(&self, text: &str) -> PathBuf {
        let folder = self.folder.path().join("home/.config/windlass");
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("config.toml");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// The command in a clean environment.
    pub(crate) fn windlass<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a path"))
            .env("HOME", self.folder.path().join("home"))
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The command against a server.
    pub(crate) fn asking<S: AsRef<std::ffi::OsStr>>(&self, url: &str, arguments: &[S]) -> Command {
        let mut command = self.windlass(arguments);
        command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "test-key");
        command
    }
}

/// A server with a script.
pub(crate) fn play(script: Script) -> Rehearsal {
    Rehearsal::start_blocking(script, RehearsalOptions::default()).expect("a server")
}

#[derive(Debug)]
pub(crate) struct FinishedCommand {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl FinishedCommand {
    /// Exactly one line on standard error and nothing on standard output.
    pub(crate) fn error_line(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("windlass: "), "{self:?}");
        self.stderr.trim_end()
    }

    /// Standard output of a command that succeeded without a word on standard error.
    pub(crate) fn answer(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        &self.stdout
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> FinishedCommand {
    RunningCommand::start(command).finish()
}

/// Runs a command with this on its standard input.
pub(crate) fn run_with_input(command: &mut Command, input: &[u8]) -> FinishedCommand {
    command.stdin(Stdio::piped());
    let mut running = RunningCommand::start(command);
    let mut stdin = running.child.stdin.take().expect("an input");
    let input = input.to_vec();
    std::thread::spawn(move || {
        // A command that refuses its input early closes the pipe.
        let _ = stdin.write_all(&input);
    });
    running.finish()
}

pub(crate) struct RunningCommand {
    child: Child,
    began: Instant,
    stdout: PipeLines,
    stderr: PipeLines,
}

impl RunningCommand {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the command starts");
        let stdout = child.stdout.take();
        Self::watch(child, stdout)
    }

    /// With standard output closed at the reading end.
    pub(crate) fn start_unread(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the command starts");
        drop(child.stdout.take());
        Self::watch(child, None)
    }

    fn watch(mut child: Child, stdout: Option<std::process::ChildStdout>) -> Self {
        let stdout = PipeLines::of(stdout);
        let stderr = PipeLines::of(child.stderr.take());
        Self { child, began: Instant::now(), stdout, stderr }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it is still there");
    }

    /// Waits for a line of standard output with these words.
    pub(crate) fn wait_for_stdout(&mut self, words: &str) {
        self.stdout.wait_for(words);
    }

    /// Standard output as far as `wait_for_stdout` has read it.
    pub(crate) fn seen_stdout(&self) -> &str {
        &self.stdout.seen
    }

    /// Waits for a line of standard error with these words.
    pub(crate) fn wait_for_stderr(&mut self, words: &str) {
        self.stderr.wait_for(words);
    }

    /// Standard error as far as `wait_for_stderr` has read it.
    pub(crate) fn seen_stderr(&self) -> &str {
        &self.stderr.seen
    }

    pub(crate) fn finish(mut self) -> FinishedCommand {
        let (done, over) = mpsc::channel();
        let pid = Pid::from_child(&self.child);
        std::thread::spawn(move || {
            let _ = done.send(self.child.wait());
        });
        let status = over.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            let stderr = self.stderr.rest();
            panic!("it does not end; standard error: {stderr:?}");
        });
        let took = self.began.elapsed();
        FinishedCommand {
            code: status.expect("a status").code(),
            stdout: self.stdout.rest(),
            stderr: self.stderr.rest(),
            took,
        }
    }
}

/// The lines of a pipe, read by a thread so that waiting for one can end.
struct PipeLines {
    lines: mpsc::Receiver<String>,
    seen: String,
}

impl PipeLines {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let (sender, lines) = mpsc::channel();
        if let Some(pipe) = pipe {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(pipe);
                let mut line = Vec::new();
                while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    if sender.send(text).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
        Self { lines, seen: String::new() }
    }

    fn wait_for(&mut self, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.seen.contains(words) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push_str(&line),
                Err(_) => panic!("`{words}` never came; there was {:?}", self.seen),
            }
        }
    }

    /// Reads to the end of the pipe.
    fn rest(&mut self) -> String {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push_str(&line);
        }
        std::mem::take(&mut self.seen)
    }
}

/// Polls until a file ends with a newline, and returns its text. A tool writes it, so there is no
/// event to wait for.
pub(crate) fn wait_for_file(path: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(Instant::now() < deadline, "{} never came", path.display()),
        }
        std::thread::yield_now();
    }
}

/// Waits until a process catches interrupts, so that one does not end it as it ends every process.
pub(crate) fn wait_until_listening(pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask & 2 != 0) {
            return;
        }
        assert!(Instant::now() < deadline, "it never listened: {status}");
        std::thread::yield_now();
    }
}

/// Waits until a process is gone or a zombie.
pub(crate) fn wait_until_gone(pid: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        match stat {
            Err(_) => return,
            Ok(stat) if stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")) => {
                return;
            }
            Ok(stat) => assert!(Instant::now() < deadline, "still there: {stat}"),
        }
        std::thread::yield_now();
    }
}

/// A server whose test answers each request by hand.
pub(crate) struct ManualServer {
    listener: TcpListener,
}

impl ManualServer {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self { listener }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().expect("an address"))
    }

    /// Waits for a request, whole to the end of its body.
    pub(crate) fn request(&self) -> TcpStream {
        let (mut stream, _) = self.listener.accept().expect("a request");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut bytes = Vec::new();
        let mut chunk = [0; 64 * 1024];
        loop {
            let read = stream.read(&mut chunk).expect("a request");
            assert!(read > 0, "the request broke off");
            bytes.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&bytes);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head
                    .lines()
                    .find_map(|line| {
                        line.to_lowercase().strip_prefix("content-length: ")?.parse().ok()
                    })
                    .unwrap_or(0);
                if body.len() >= length {
                    return stream;
                }
            }
        }
    }

    /// Answers with a piece of text and a proper end.
    pub(crate) fn answer(stream: &mut TcpStream, text: &str) {
        stream.write_all(Self::answer_text(text).as_bytes()).expect("an answer");
    }

    /// Such an answer as it goes over the wire.
    pub(crate) fn answer_text(text: &str) -> String {
        let events = [
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}"#.to_owned(),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#),
            r#"{"type":"content_block_stop","index":0}"#.to_owned(),
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#.to_owned(),
            r#"{"type":"message_stop"}"#.to_owned(),
        ];
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }
}
