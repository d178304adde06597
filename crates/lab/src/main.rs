//! The `lab` command: `cargo lab check` walks every reachable state, `cargo lab sim` plays seeded
//! worlds. A seed that breaks a promise is printed as the one command that plays it again.

use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use windlass_lab::sim::{self, SimWatch};

const USAGE: &str = "usage: lab check
       lab sim [--seeds N] [--from N]      fixed seeds (2000 from 1 unless said otherwise)
       lab sim --fresh N                   seeds that were never used
       lab sim --seed N [--trace]          one seed, event by event";

/// One seed in this many is run twice, to check that it is deterministic.
const REPLAY_EVERY: u64 = 16;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => run_check(),
        ["sim", options @ ..] => match SimOptions::parse(options) {
            Some(options) => simulate(&options),
            None => print_usage(),
        },
        _ => print_usage(),
    }
}

fn print_usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn run_check() -> ExitCode {
    match windlass_lab::check::run_check() {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// What `sim` was asked for.
struct SimOptions {
    first: u64,
    seeds: u64,
    single_seed: Option<u64>,
    trace: bool,
}

impl SimOptions {
    fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self { first: 1, seeds: 2_000, single_seed: None, trace: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--trace" {
                options.trace = true;
                continue;
            }
            let number: u64 = words.next()?.parse().ok()?;
            match *word {
                "--seeds" => options.seeds = number,
                "--from" => options.first = number,
                "--seed" => options.single_seed = Some(number),
                "--fresh" => {
                    options.first = fresh_seed();
                    options.seeds = number;
                }
                _ => return None,
            }
        }
        Some(options)
    }
}

/// A number that was never a first seed before.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(0)
}

fn simulate(options: &SimOptions) -> ExitCode {
    if let Some(seed) = options.single_seed {
        let watch = SimWatch { trace: options.trace, fingerprint: false };
        return match sim::play_seed(seed, watch) {
            Ok(played) => {
                println!("seed {seed}: {} events, {} runs", played.events, played.runs);
                ExitCode::SUCCESS
            }
            Err(words) => report_broken_seed(seed, &words),
        };
    }
    let began = Instant::now();
    let fleet = sim::play_seeds(options.first, options.seeds, REPLAY_EVERY);
    if let Some((seed, words)) = fleet.broken.first() {
        for (seed, words) in fleet.broken.iter().skip(1) {
            eprintln!("also seed {seed}: {}", words.chars().take(120).collect::<String>());
        }
        return report_broken_seed(*seed, words);
    }
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    println!(
        "{} sessions from seed {}, {} runs, {} events in {seconds:.1} s ({:.0} runs a minute)",
        fleet.seeds,
        options.first,
        fleet.runs,
        fleet.events,
        fleet.runs as f64 * 60.0 / seconds
    );
    for (name, count) in fleet.coverage.iter() {
        println!("{count:>9}  {name}");
    }
    ExitCode::SUCCESS
}

fn report_broken_seed(seed: u64, words: &str) -> ExitCode {
    eprintln!("seed {seed}: {words}");
    eprintln!("cargo run --release -p windlass-lab -- sim --seed {seed} --trace");
    ExitCode::FAILURE
}
