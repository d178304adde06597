//! Kills and resumes, thousands of times: a process with a real session is ended by the kernel in
//! the middle of a write, inside its tool before and behind its effect, and from outside at any
//! moment; the next one goes on. After every death an outside judge looks at the journal's bytes, the
//! log the tools wrote and what the server was asked.
//!
//! `WINDLASS_KILLS=10000` asks for more than the usual number, `WINDLASS_KILLS_IN_A_ROW=1000` for more
//! of one session.
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
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use judge::Judge;
use serde_json::json;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer};

/// The longest one life may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// In the child: one life of a session. Otherwise: a child that nothing kills lives to its end.
#[test]
fn life() {
    if child::is_here() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(child::live());
        // Whatever is still there goes with us.
        std::process::exit(0);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session { folder: folder.path(), judge: Judge::default(), lives: 0 };
    assert!(!session.live(Death::Never), "nothing kills it, so it ends by itself");
    let run_end = session.judge.run_end.as_deref();
    assert_eq!(run_end, Some("completed"), "the journal does not end with a finished run");
}

/// What the last life is told. Nothing the engine itself writes into a request may contain it.
const LAST_WORDS: &str = "say-farewell";

fn server() -> Rehearsal {
    let script = Script::new()
        .answer(ScriptedAnswer::text("Done.").when(LAST_WORDS).repeat(0))
        .answer(ScriptedAnswer::text("I append.").tool("Append", json!({})).repeat(0));
    Rehearsal::start_blocking(script, RehearsalOptions::default()).unwrap()
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
    judge: Judge,
    lives: u64,
}

impl Session<'_> {
    /// One more life. Was it killed?
    fn live(&mut self, death: Death) -> bool {
        self.lives += 1;
        let path = self.folder.join("session.jsonl");
        let size = path.metadata().map_or(0, |found| found.len());
        let words = match death {
            Death::Never => LAST_WORDS.to_owned(),
            _ => format!("message {}", self.lives),
        };
        // Another server for every life: what it was asked is looked at once and forgotten.
        let server = server();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["life", "--exact", "--nocapture", "--test-threads=1"])
            .env(child::FOLDER, self.folder)
            .env(child::URL, server.url())
            .env(child::WORDS, words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        match death {
            Death::Write(more) => drop(command.env(child::LIMIT, (size + more).to_string())),
            Death::Call(number) => drop(command.env(child::CALL, number.to_string())),
            Death::Request(..) | Death::Never => {}
        }
        let mut process = command.spawn().unwrap();
        if let Death::Request(more, later) = death {
            self.until_asked(&server, more, &mut process);
            for _ in 0..later {
                std::hint::spin_loop();
            }
            process.kill().unwrap();
        }
        let status = wait(&mut process);
        assert!(status.code().is_none_or(|code| code == 0), "{death:?}: {status}");
        self.look(&path, &server);
        status.code().is_none()
    }

    /// Waits for so many requests, or for a life that ends by itself before: the run it went on with
    /// may have been at its end.
    fn until_asked(&self, server: &Rehearsal, requests: usize, process: &mut Child) {
        let deadline = Instant::now() + PATIENCE;
        while !server.wait_for_requests_blocking(requests, Duration::from_millis(50))
            && process.try_wait().unwrap().is_none()
        {
            let asked = server.requests().len();
            let life = self.lives;
            assert!(Instant::now() < deadline, "life {life}: {asked} of {requests} requests came");
        }
    }

    /// What must hold after every life.
    fn look(&mut self, path: &Path, server: &Rehearsal) {
        let journal = std::fs::read(path).unwrap_or_default();
        self.judge.journal(&journal);
        self.judge.log(&std::fs::read_to_string(self.folder.join("log")).unwrap_or_default());
        for request in server.requests() {
            self.judge.request(&request.json().expect("JSON"));
        }
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

/// What came of some kills.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    sessions: u64,
    effects: usize,
    unknown: usize,
    torn: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.sessions += other.sessions;
        self.effects += other.effects;
        self.unknown += other.unknown;
        self.torn += other.torn;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kills, sessions, effects, unknown, torn } = self;
        write!(
            f,
            "{kills} kill/resume cycles, sessions: {sessions}, effects: {effects}, calls of unknown \
             outcome: {unknown}, torn ends: {torn}; nothing lost, nothing twice"
        )
    }
}

/// Kills a session so many times in a row and lets it end.
fn killed(times: u64, dice: &mut Dice) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session { folder: folder.path(), judge: Judge::default(), lives: 0 };
    let mut kills = 0;
    while kills < times {
        kills += u64::from(session.live(dice.death()));
    }
    assert!(!session.live(Death::Never), "the last life must end by itself");
    let (effects, unknown) = session.judge.end();
    Tally { kills, sessions: 1, effects, unknown, torn: session.judge.torn }
}

fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|kills| kills.parse().ok()).unwrap_or(usual)
}

/// Sessions at once: most of a life is waiting for the disk and for what is said.
const AT_ONCE: u64 = 4;
const KILLS_PER_SESSION: u64 = 10;

#[test]
fn sessions_killed_anywhere_go_on_without_loss_or_repetition() {
    let wanted = asked("WINDLASS_KILLS", 400);
    let began = Instant::now();
    let total = Mutex::new(Tally::default());
    let left = AtomicU64::new(wanted.div_ceil(KILLS_PER_SESSION));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let one_less = |left: u64| left.checked_sub(1);
                while let Ok(number) = left.fetch_update(Relaxed, Relaxed, one_less) {
                    let mut dice = Dice(0x2026_1115 + number * 0x9E37_79B9);
                    let tally = killed(KILLS_PER_SESSION, &mut dice);
                    total.lock().unwrap().add(&tally);
                }
            });
        }
    });
    let total = total.into_inner().unwrap();
    println!("{total}; {:.0?}", began.elapsed());
    assert!(total.kills >= wanted && total.unknown > 0 && total.torn > 0, "too gentle: {total}");
}

#[test]
fn one_session_is_killed_again_and_again() {
    let began = Instant::now();
    let tally = killed(asked("WINDLASS_KILLS_IN_A_ROW", 100), &mut Dice(0x5EED));
    println!("in a row: {tally}; {:.0?}", began.elapsed());
}
