//! `windlass rehearse --cassette`: answers from a recording, and only what was recorded.
//!
//! A request that differs from the recording is refused, and exchanges that were not requested are
//! reported; both make the exit code 1, so that a recorded bug becomes a test.

use std::path::Path;

use windlass_rehearsal::cassette::ReplaySummary;
use windlass_rehearsal::{Cassette, Replay, ReplayOptions};

use super::provider_redirect;
use super::rehearse::render_greeting;
use crate::args::RehearseArgs;
use crate::words;
use windlass_host::child_command;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_counted;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::await_unless_signalled;
use windlass_provider::config::Config;
use windlass_stream_json::output_writer::{OutputTarget, OutputWriter};

/// Replays until a signal arrives or the command ends.
pub(super) async fn run(
    args: &RehearseArgs,
    cassette: &Path,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let cassette =
        Cassette::load(cassette).map_err(|error| CommandError::usage(error.to_string()))?;
    let mut signals = SignalListener::listen()?;
    let scrub = provider_redirect::build_scrub_options(config, lookup);
    let options = ReplayOptions { port: args.port, scrub, ..ReplayOptions::default() };
    let replay = Replay::start(cassette, options)
        .await
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let mut output = OutputWriter::new(OutputTarget::Stderr);
    let exit = match child_command::build_command(&args.command) {
        Some(mut command) => {
            provider_redirect::redirect_all_providers(&mut command, config, &replay.url());
            child_command::run(command, &mut signals, std::future::pending()).await?
        }
        None => {
            let mut stdout = OutputWriter::new(OutputTarget::Stdout);
            let _ = stdout.write(render_greeting(words::THE_RECORDING, &replay.url()));
            let signal = signals.next().await;
            let _ = await_unless_signalled(&mut signals, stdout.finish()).await;
            signal.exit()
        }
    };
    let summary = replay.finish().await;
    let is_exact = report_differences(&summary, &mut output, args.verbose);
    let _ = await_unless_signalled(&mut signals, output.finish()).await;
    Ok(if is_exact || exit != Exit::SUCCESS { exit } else { Exit::FAILURE })
}

/// Returns whether every request and every answer was as recorded.
fn report_differences(summary: &ReplaySummary, output: &mut OutputWriter, verbose: bool) -> bool {
    let mut report = |line: String| {
        // If standard error is closed, the exit code still reports it.
        let _ = output.write(format!("windlass: {}\n", to_single_line(&line)));
    };
    for refusal in &summary.refusals {
        report(words::describe_cassette_difference(refusal));
    }
    if let Some(first) = summary.unused.first() {
        let unused = format_counted(summary.unused.len(), "recorded exchange");
        report(words::describe_unused_exchanges(&unused, first));
    }
    if verbose {
        report(format!(
            "{}, {} answered",
            format_counted(summary.requests, "request"),
            summary.used
        ));
    }
    summary.is_exact()
}
