//! `windlass rehearse`: serves a script as a model server on this machine, by itself or around a
//! command.
//!
//! Around a command, the command keeps our terminal and our process group, or it could not read
//! from the terminal; so Ctrl-C reaches it without us, and only signals meant for us alone are
//! passed on.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use windlass_rehearsal::{Recorded, Rehearsal, Script, StartOptions};

use crate::args::RehearseArgs;
use crate::exit::Exit;
use crate::front::output::{Output, Target};
use crate::front::unless_signalled;
use crate::refusal::{Refusal, one_line};
use crate::signals::{Caught, Signals};

/// A script to begin with.
pub(crate) const EXAMPLE: &str = include_str!("../text/example_script.toml");

/// Serves until told to stop, or until the command has ended.
pub(crate) async fn run(args: RehearseArgs) -> Result<Exit, Refusal> {
    let script = read(args.script.as_deref().unwrap_or(Path::new("")))?;
    let mut signals = Signals::listen()
        .map_err(|error| Refusal::failed(format!("signals cannot be caught: {error}")))?;
    let options = StartOptions { port: args.port };
    let rehearsal = Rehearsal::start(script, options)
        .await
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let exit = match args.command.split_first() {
        None => serve(&rehearsal, &mut signals).await,
        Some((program, arguments)) => {
            let command = command(program, arguments, &rehearsal);
            around(command, &rehearsal, &mut signals, args.verbose).await?
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
    let url = rehearsal.url();
    let greeting = format!(
        "Serving the script at {url}. Ctrl-C ends it. In another terminal:\n\
         export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=rehearsal\n"
    );
    if output.write(greeting).is_err() {
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

fn command(program: &OsString, arguments: &[OsString], rehearsal: &Rehearsal) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("ANTHROPIC_BASE_URL", rehearsal.url())
        .env("ANTHROPIC_API_KEY", "rehearsal")
        .env_remove("ANTHROPIC_AUTH_TOKEN")
        .kill_on_drop(true);
    command
}

async fn around(
    mut command: Command,
    rehearsal: &Rehearsal,
    signals: &mut Signals,
    verbose: bool,
) -> Result<Exit, Refusal> {
    let mut child = command.spawn().map_err(|error| {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        Refusal::new(
            Exit::NO_COMMAND,
            format!("`{program}` cannot be started: {error}; check its name and the PATH"),
        )
    })?;
    let mut output = Output::new(Target::Stderr);
    let logged = async {
        if verbose {
            log(rehearsal, &mut output).await;
        }
        std::future::pending::<()>().await;
    };
    let status = tokio::select! {
        status = ended(&mut child, signals) => status,
        () = logged => None,
    };
    output.finish().await;
    Ok(status.map_or(Exit::FAILED, Exit::passed_on))
}

/// Waits for the command; signals are passed on, and one that does not end is killed in the end.
async fn ended(child: &mut Child, signals: &mut Signals) -> Option<ExitStatus> {
    loop {
        match unless_signalled(signals, child.wait()).await {
            Ok(status) => return status.ok(),
            // The terminal has sent it to the command as well, who knows best what it means.
            Err(Caught::Interrupt) if std::io::stdin().is_terminal() => {}
            Err(Caught::Interrupt) => signal(child, Signal::INT),
            Err(Caught::Terminate | Caught::HangUp) => {
                signal(child, Signal::TERM);
                let end = tokio::time::timeout(GRACE, child.wait()).await;
                return match end {
                    Ok(status) => status.ok(),
                    Err(_) => {
                        let _ = child.kill().await;
                        child.wait().await.ok()
                    }
                };
            }
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = id.and_then(Pid::from_raw) {
        // It has not been waited for, so the number is still its own.
        let _ = kill_process(pid, signal);
    }
}

/// How long a command gets to end by itself.
const GRACE: Duration = Duration::from_secs(5);
/// A wait without news is simply begun again.
const LOOK_AGAIN: Duration = Duration::from_secs(3_600);
