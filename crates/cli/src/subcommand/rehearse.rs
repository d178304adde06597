//! `windlass rehearse`: a local model server that follows a script or a recording, alone or for one
//! command.

use std::path::Path;
use std::time::Duration;

use windlass_rehearsal::{ReceivedRequest, Rehearsal, RehearsalOptions, Script};

use super::{provider_redirect, rehearse_cassette};
use crate::args::RehearseArgs;
use crate::words;
use windlass_host::child_command;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::await_unless_signalled;
use windlass_provider::config::Config;
use windlass_stream_json::output_writer::{OutputTarget, OutputWriter};

pub(crate) const EXAMPLE_SCRIPT: &str = include_str!("../text/example_script.toml");

/// Serves until a signal arrives or the command ends.
pub(crate) async fn run(args: RehearseArgs, lookup: &impl EnvLookup) -> Result<Exit, CommandError> {
    let config = Config::load(lookup)?;
    if let Some(cassette) = &args.cassette {
        return rehearse_cassette::run(&args, cassette, &config, lookup).await;
    }
    let script = load_script(args.script.as_deref().unwrap_or(Path::new("")))?;
    let mut signals = SignalListener::listen()?;
    let options = RehearsalOptions { port: args.port };
    let rehearsal = Rehearsal::start(script, options)
        .await
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let exit = match child_command::build_command(&args.command) {
        None => serve(&rehearsal, &mut signals).await,
        Some(mut command) => {
            provider_redirect::redirect_all_providers(&mut command, &config, &rehearsal.url());
            let mut output = OutputWriter::new(OutputTarget::Stderr);
            let request_log = async {
                if args.verbose {
                    log_requests(&rehearsal, &mut output).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            let exit = child_command::run(command, &mut signals, request_log).await?;
            output.finish().await;
            exit
        }
    };
    rehearsal.stop().await;
    Ok(exit)
}

fn load_script(path: &Path) -> Result<Script, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CommandError::usage(words::describe_unreadable_script(&path.display(), &error))
    })?;
    Script::parse(&text)
        .map_err(|error| CommandError::usage(words::describe_bad_script(&path.display(), &error)))
}

/// Serves until a signal arrives or the output is closed.
async fn serve(rehearsal: &Rehearsal, signals: &mut SignalListener) -> Exit {
    let mut output = OutputWriter::new(OutputTarget::Stdout);
    if output.write(render_greeting(words::THE_SCRIPT, &rehearsal.url())).is_err() {
        return Exit::SUCCESS;
    }
    let request_log = log_requests(rehearsal, &mut output);
    match await_unless_signalled(signals, request_log).await {
        Err(signal) => {
            let _ = await_unless_signalled(signals, output.finish()).await;
            signal.exit()
        }
        Ok(()) => Exit::SUCCESS,
    }
}

pub(super) fn render_greeting(what: &str, url: &str) -> String {
    words::introduce_server(&what, &url)
}

/// Writes one line per request, until the output is closed.
async fn log_requests(rehearsal: &Rehearsal, output: &mut OutputWriter) {
    let mut seen = 0;
    loop {
        if !rehearsal.wait_for_requests(seen + 1, REQUEST_POLL_INTERVAL).await {
            continue;
        }
        let requests = rehearsal.requests();
        for request in requests.iter().filter(|request| request.number > seen) {
            if output.write(render_request_line(request)).is_err() {
                return;
            }
        }
        seen = requests.last().map_or(seen, |request| request.number);
    }
}

fn render_request_line(request: &ReceivedRequest) -> String {
    let answer = match request.answer {
        Some(answer) => format!("answer {answer}"),
        None => words::NO_ANSWER_FITS.to_owned(),
    };
    let body = request.json();
    let model = body.as_ref().and_then(|body| body.get("model")?.as_str()).unwrap_or("-");
    let ReceivedRequest { number, method, path, body_bytes, .. } = request;
    let line = format!("{number} {method} {path} {model} {body_bytes} bytes -> {answer}");
    format!("{}\n", to_single_line(&line))
}

/// After this the wait starts again.
const REQUEST_POLL_INTERVAL: Duration = Duration::from_secs(3_600);
