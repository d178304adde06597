//! `windlass rehearse`: serves a script, or a recording, as a model server on this machine, by
//! itself or around a command.

use std::path::Path;
use std::time::Duration;

use windlass_rehearsal::{Recorded, Rehearsal, Script, StartOptions};

use super::{child, replay, scene};
use crate::args::RehearseArgs;
use crate::config::Config;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::front::output::{Output, Target};
use crate::front::unless_signalled;
use crate::refusal::{Refusal, one_line};
use crate::signals::Signals;

/// A script to begin with.
pub(crate) const EXAMPLE: &str = include_str!("../text/example_script.toml");

/// Serves until told to stop, or until the command has ended.
pub(crate) async fn run(args: RehearseArgs, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    let config = Config::load(lookup)?;
    if let Some(cassette) = &args.cassette {
        return replay::run(&args, cassette, &config, lookup).await;
    }
    let script = read(args.script.as_deref().unwrap_or(Path::new("")))?;
    let mut signals = Signals::listen()?;
    let options = StartOptions { port: args.port };
    let rehearsal = Rehearsal::start(script, options)
        .await
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let exit = match child::command(&args.command) {
        None => serve(&rehearsal, &mut signals).await,
        Some(mut command) => {
            scene::play_all(&mut command, &config, &rehearsal.url());
            let mut output = Output::new(Target::Stderr);
            let logged = async {
                if args.verbose {
                    log(&rehearsal, &mut output).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            let exit = child::run(command, &mut signals, logged).await?;
            output.finish().await;
            exit
        }
    };
    rehearsal.stop().await;
    Ok(exit)
}

fn read(path: &Path) -> Result<Script, Refusal> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Refusal::usage(format!(
            "the script {} cannot be read: {error}; for one to begin with: windlass rehearse \
             --example > script.toml",
            path.display()
        ))
    })?;
    Script::parse(&text)
        .map_err(|error| Refusal::usage(format!("the script {}: {error}", path.display())))
}

/// Until a signal, or until nobody reads the log.
async fn serve(rehearsal: &Rehearsal, signals: &mut Signals) -> Exit {
    let mut output = Output::new(Target::Stdout);
    if output.write(greeting("the script", &rehearsal.url())).is_err() {
        return Exit::DONE;
    }
    let logged = log(rehearsal, &mut output);
    match unless_signalled(signals, logged).await {
        Err(signal) => {
            let _ = unless_signalled(signals, output.finish()).await;
            signal.exit()
        }
        Ok(()) => Exit::DONE,
    }
}

/// Where it is, and what to set.
pub(super) fn greeting(what: &str, url: &str) -> String {
    format!(
        "Serving {what} at {url}. Ctrl-C ends it. In another terminal:\n\
         export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=rehearsal\n"
    )
}

/// One line for each request, until nobody reads them.
async fn log(rehearsal: &Rehearsal, output: &mut Output) {
    let mut seen = 0;
    loop {
        if !rehearsal.wait_for_requests(seen + 1, LOOK_AGAIN).await {
            continue;
        }
        let requests = rehearsal.requests();
        for request in requests.iter().filter(|request| request.number > seen) {
            if output.write(line(request)).is_err() {
                return;
            }
        }
        seen = requests.last().map_or(seen, |request| request.number);
    }
}

fn line(request: &Recorded) -> String {
    let answer = match request.answer {
        Some(answer) => format!("answer {answer}"),
        None => "no answer fits".to_owned(),
    };
    let body = request.json();
    let model = body.as_ref().and_then(|body| body.get("model")?.as_str()).unwrap_or("-");
    let Recorded { number, method, path, body_bytes, .. } = request;
    let line = format!("{number} {method} {path} {model} {body_bytes} bytes -> {answer}");
    format!("{}\n", one_line(&line))
}

/// A wait without news is simply begun again.
const LOOK_AGAIN: Duration = Duration::from_secs(3_600);
