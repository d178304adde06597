//! Kills and resumes, thousands of times: a process with a real session is ended by the kernel in
//! the middle of a write, inside its tool before and behind its effect, and from outside at any
//! moment; the next one goes on. After every death an outside judge looks at the journal's bytes, the
//! log the tools wrote and what the server was asked.
//!
//! `WINDLASS_KILLS=10000` asks for more than the usual number.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod child;
mod judge;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use judge::Judge;
use serde_json::json;
use windlass_rehearsal::{Answer, Rehearsal, Script, StartOptions};

/// The longest one life may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn life() {
    if child::is_here() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(child::live());
        // Whatever is still there goes with us.
        std::process::exit(0);
    }
}

fn server() -> Rehearsal {
    let script = Script::new()
        .answer(Answer::text("Done.").when("finish").repeat(0))
        .answer(Answer::text("I append.").tool("Append", json!({})).repeat(0));
    Rehearsal::start_blocking(script, StartOptions::default()).unwrap()
}

/// A way to die.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// In the write that would make the journal longer than it is by so many bytes.
    Write(u64),
    /// In the call of the tool: before its effect if odd, behind it if even.
    Call(usize),
    /// From outside, when so many more requests have come, and a moment later.
    Request(usize, u32),
    /// Not at all.
    Never,
}

/// Numbers that look like chance and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn death(&mut self) -> Death {
        match self.roll(4) {
            0 | 1 => Death::Write(self.roll(9_000)),
            2 => Death::Call(usize::try_from(self.roll(4)).unwrap() + 1),
            _ => {
                let requests = usize::try_from(self.roll(3)).unwrap();
                Death::Request(requests, u32::try_from(self.roll(4_000)).unwrap())
            }
        }
    }
}

/// One session and its judge.
struct Session<'a> {
    folder: &'a Path,
    server: &'a Rehearsal,
    judge: Judge,
    /// Requests that were judged.
    seen: usize,
    lives: u64,
}

impl Session<'_> {
    /// One more life. Was it killed?
    fn live(&mut self, death: Death) -> bool {
        self.lives += 1;
        let path = self.folder.join("session.jsonl");
        let size = path.metadata().map_or(0, |found| found.len());
        let words = match death {
            Death::Never => "finish".to_owned(),
            _ => format!("message {}", self.lives),
        };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["life", "--exact", "--nocapture", "--test-threads=1"])
            .env(child::FOLDER, self.folder)
            .env(child::URL, self.server.url())
            .env(child::WORDS, words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        match death {
            Death::Write(more) => drop(command.env(child::LIMIT, (size + more).to_string())),
            Death::Call(number) => drop(command.env(child::CALL, number.to_string())),
            Death::Request(..) | Death::Never => {}
        }
        let count = self.server.request_count();
        let mut process = command.spawn().unwrap();
        if let Death::Request(more, later) = death {
            assert!(self.server.wait_for_requests_blocking(count + more, PATIENCE), "no request");
            for _ in 0..later {
                std::hint::spin_loop();
            }
            process.kill().unwrap();
        }
        let status = wait(&mut process);
        assert!(status.code().is_none_or(|code| code == 0), "{death:?}: {status}");
        self.look(&path);
        status.code().is_none()
    }

    /// What must hold after every life.
    fn look(&mut self, path: &Path) {
        let journal = std::fs::read(path).unwrap_or_default();
        self.judge.journal(&journal);
        self.judge.log(&std::fs::read_to_string(self.folder.join("log")).unwrap_or_default());
        let requests = self.server.requests();
        let new = requests.iter().filter(|request| request.number > self.seen);
        for body in new.map(|request| request.json().expect("JSON")) {
            self.judge.request(&body);
        }
        self.seen = self.server.request_count();
    }
}

fn wait(process: &mut Child) -> std::process::ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            let _ = process.kill();
            panic!("a life does not end");
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Kills a session so many times in a row, lets it end, and gives deaths, effects and unknown ends.
fn killed(server: &Rehearsal, times: u64, dice: &mut Dice) -> (u64, usize, usize, u64) {
    let folder = tempfile::tempdir().unwrap();
    let (judge, seen) = (Judge::default(), server.request_count());
    let mut session = Session { folder: folder.path(), server, judge, seen, lives: 0 };
    let mut kills = 0;
    while kills < times {
        kills += u64::from(session.live(dice.death()));
    }
    assert!(!session.live(Death::Never), "the last life must end by itself");
    let (effects, unknown) = session.judge.end();
    (kills, effects, unknown, session.judge.torn)
}

#[test]
fn sessions_killed_anywhere_go_on_without_loss_or_repetition() {
    let asked = std::env::var("WINDLASS_KILLS").ok().and_then(|kills| kills.parse().ok());
    let wanted: u64 = asked.unwrap_or(500);
    let (server, mut dice) = (server(), Dice(0x2026_1115));
    let began = Instant::now();
    let (mut kills, mut effects, mut unknown, mut torn, mut sessions) = (0, 0, 0, 0, 0);
    while kills < wanted {
        let (killed, happened, unclear, cut) = killed(&server, 25, &mut dice);
        kills += killed;
        effects += happened;
        unknown += unclear;
        torn += cut;
        sessions += 1;
    }
    println!(
        "{kills} kill/resume cycles in {sessions} sessions in {:.0?}: nothing lost, nothing twice; \
         {effects} effects, {unknown} calls of unknown outcome, {torn} torn ends",
        began.elapsed()
    );
    assert!(unknown > 0 && torn > 0, "the deaths were too gentle");
}

#[test]
fn one_session_is_killed_again_and_again() {
    let asked = std::env::var("WINDLASS_KILLS_IN_A_ROW").ok().and_then(|kills| kills.parse().ok());
    let (server, mut dice) = (server(), Dice(0x5EED));
    let began = Instant::now();
    let (kills, effects, unknown, torn) = killed(&server, asked.unwrap_or(150), &mut dice);
    println!(
        "one session killed and resumed {kills} times in {:.0?}: {effects} effects, \
         {unknown} calls of unknown outcome, {torn} torn ends",
        began.elapsed()
    );
}
