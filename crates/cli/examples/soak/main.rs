//! `cargo soak`: many sessions of the real binary at once, against a server that misbehaves, killed,
//! stopped, starved, left without room on the disk and not listened to by chance. After each life of a process the journal is held
//! against the simulator's checkers, and what tools did is looked at for doubles.
//!
//! A seed decides what each session meets; it is printed first. What the machine is busy with decides
//! when, so the same seed finds the same kind of trouble, not the same byte.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a panic is how a check says no"
)]

mod disk;
mod life;
mod session;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use session::{SessionTotals, SoakedSession};

const USAGE: &str = "usage: cargo soak [--seed N] [--minutes M] [--sessions N] [--binary FILE]";

struct SoakOptions {
    seed: u64,
    minutes: f64,
    sessions: u64,
    /// One that is built already.
    binary: Option<PathBuf>,
}

impl SoakOptions {
    fn parse(words: &[String]) -> Option<Self> {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().ok()?;
        let mut options = Self { seed: now.as_secs(), minutes: 1.0, sessions: 50, binary: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next()?;
            match word.as_str() {
                "--seed" => options.seed = value.parse().ok()?,
                "--minutes" => options.minutes = value.parse().ok()?,
                "--sessions" => options.sessions = value.parse().ok()?,
                "--binary" => options.binary = Some(std::fs::canonicalize(value).ok()?),
                _ => return None,
            }
        }
        Some(options)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = SoakOptions::parse(&words) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let SoakOptions { seed, minutes, sessions, binary } = options;
    let binary = binary.unwrap_or_else(build_binary);
    println!("cargo soak --seed {seed} --minutes {minutes} --sessions {sessions}");
    let until = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let broken = Mutex::new(Vec::new());
    let totals = Mutex::new(SessionTotals::default());
    std::thread::scope(|scope| {
        for number in 0..sessions {
            let (binary, broken, totals) = (&binary, &broken, &totals);
            scope.spawn(move || {
                // One session after the other, so that checking a journal stays a small part of the work.
                for round in 0.. {
                    let mut session = SoakedSession::begin(binary, seed, round * sessions + number);
                    let told = session.live_until(until);
                    totals.lock().expect("no session panicked").add(&session.totals);
                    if let Err(words) = told {
                        let place = session.keep_files();
                        let words = format!("session {number}: {words}; its files: {place}");
                        broken.lock().expect("no session panicked").push(words);
                        break;
                    }
                    if Instant::now() >= until {
                        break;
                    }
                }
            });
        }
    });
    println!("{}", totals.into_inner().expect("no session panicked"));
    let broken = broken.into_inner().expect("no session panicked");
    for words in &broken {
        println!("{words}");
    }
    match broken.is_empty() {
        true => ExitCode::SUCCESS,
        false => {
            println!("again: cargo soak --seed {seed} --minutes {minutes} --sessions {sessions}");
            ExitCode::FAILURE
        }
    }
}

/// The binary of the same profile as this program.
fn build_binary() -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    let folder = own.parent().and_then(|examples| examples.parent()).expect("a folder");
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--locked", "--package", "windlass"]);
    if folder.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    assert!(command.status().expect("cargo").success(), "the binary could not be built");
    folder.join("windlass")
}
