//! `windlass rehearse --cassette`: answers from a recording, and only what was recorded.
//!
//! A request that differs from the recording is refused, and a recording that was not used up is
//! told; both make the exit code 1, so that a recorded bug becomes a test.

use std::path::Path;

use windlass_rehearsal::cassette::ReplaySummary;
use windlass_rehearsal::{Cassette, Replay, ReplayOptions};

use super::rehearse::greeting;
use super::{child, scene};
use crate::args::RehearseArgs;
use crate::config::Config;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::front::output::{Output, Target};
use crate::front::unless_signalled;
use crate::refusal::{Refusal, one_line};
use crate::signals::Signals;

/// Replays until told to stop, or until the command has ended.
pub(super) async fn run(
    args: &RehearseArgs,
    cassette: &Path,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Exit, Refusal> {
    let cassette = Cassette::load(cassette).map_err(|error| Refusal::usage(error.to_string()))?;
    let mut signals = Signals::listen()?;
    let scrub = scene::scrub(config, lookup);
    let options = ReplayOptions { port: args.port, scrub, ..ReplayOptions::default() };
    let replay = Replay::start(cassette, options)
        .await
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let mut output = Output::new(Target::Stderr);
    let exit = match child::command(&args.command) {
        Some(mut command) => {
            scene::play_all(&mut command, config, &replay.url());
            child::run(command, &mut signals, std::future::pending()).await?
        }
        None => {
            let mut stdout = Output::new(Target::Stdout);
            let _ = stdout.write(greeting("the recording", &replay.url()));
            let signal = signals.next().await;
            let _ = unless_signalled(&mut signals, stdout.finish()).await;
            signal.exit()
        }
    };
    let summary = replay.finished().await;
    let is_exact = told(&summary, &mut output, args.verbose);
    let _ = unless_signalled(&mut signals, output.finish()).await;
    Ok(if is_exact || exit != Exit::DONE { exit } else { Exit::FAILED })
}

/// Says where it went another way than it was recorded.
fn told(summary: &ReplaySummary, output: &mut Output, verbose: bool) -> bool {
    let mut say = |line: String| {
        // If nobody reads it, the code still tells.
        let _ = output.write(format!("windlass: {}\n", one_line(&line)));
    };
    for refusal in &summary.refusals {
        say(format!("not as it was recorded: {refusal}"));
    }
    if let Some(first) = summary.unused.first() {
        let count = summary.unused.len();
        say(format!("{count} recorded exchanges were not asked for, the first is {first}"));
    }
    if verbose {
        say(format!("{} requests, {} answered", summary.requests, summary.used));
    }
    summary.is_exact()
}
