//! The windlass command: parse, compose, run, exit code.

mod agents;
mod args;
mod browser;
mod chance;
mod choice;
mod command;
mod compose;
mod config;
mod date;
mod environment;
mod exit;
mod expansion;
mod folder;
mod front;
mod frontmatter;
mod hooks;
mod keyring;
mod layers;
mod memory;
mod nearest;
mod offer;
mod plugins;
mod program;
mod prompt;
mod refusal;
mod remote;
mod rules;
mod sandbox;
mod schema;
mod server;
mod session;
mod settings;
mod signals;
mod skills;
mod style;
mod subcommand;
mod topic;

use std::ffi::OsString;
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Args, Command, OutputFormat, ResumeArgs, RunArgs};
use exit::Exit;
use front::beside;
use refusal::Refusal;
use signals::Signals;
use subcommand::{
    bound, context, cost, demo, doctor, hooks as hooks_command, journal, key, mcp, models,
    permission, record, rehearse, rewind, sessions, stats, trust,
};

fn main() -> ExitCode {
    if let Some(code) = sandbox::enter() {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    keep_to_ourselves();
    let exit = match Args::try_parse() {
        Ok(args) => run(args),
        Err(error) if error.use_stderr() && is_about_keys() => Err(key::misread()),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Ok(say(&error.render().to_string()))
        }
        Err(error) if error.use_stderr() => Err(Refusal::from_clap(&error)),
        // Help and version are answers, not errors.
        Err(answer) => Ok(say(&answer.to_string())),
    };
    exit.unwrap_or_else(|refusal| {
        // If nobody reads standard error, the code still tells.
        let _ = writeln!(std::io::stderr(), "{refusal}");
        refusal.exit
    })
    .into()
}

/// The environment we were started with may hold keys. Other processes of the same user, commands of
/// a model among them, may neither read it nor our memory, and no core file holds them.
fn keep_to_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Where the system does not let us, we go on: nothing else rests on it.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

fn run(args: Args) -> Result<Exit, Refusal> {
    let environment = |name: &str| std::env::var_os(name);
    match args.command {
        Some(Command::Demo(args)) => inside(demo::run(&args)),
        Some(Command::Rehearse(args)) if args.example => Ok(say(rehearse::EXAMPLE)),
        Some(Command::Rehearse(args)) => inside(rehearse::run(args, &environment)),
        Some(Command::Record(args)) => inside(record::run(args, environment)),
        Some(Command::Bound(args)) => Ok(say(&bound::run(&args, &environment)?)),
        Some(Command::Sessions(args)) => Ok(say(&sessions::run(args.command, &environment)?)),
        Some(Command::Resume(args)) => run(resumed(args)?),
        Some(Command::Rewind(args)) => Ok(say(&rewind::run(&args, &environment)?)),
        Some(Command::Replay(args)) => {
            let (text, exit) = journal::replay::run(&args, &environment)?;
            Ok(if say(&text) == Exit::DONE { exit } else { Exit::FAILED })
        }
        Some(Command::Why(args)) => Ok(say(&journal::why::run(&args, &environment)?)),
        Some(Command::Bugreport(args)) => Ok(say(&journal::bugreport::run(&args, &environment)?)),
        Some(Command::Context(args)) => Ok(say(&context::run(&args, &environment)?)),
        Some(Command::Stats(args)) => Ok(say(&stats::run(&args, &environment)?)),
        Some(Command::Cost(args)) => Ok(say(&cost::run(&args, &environment)?)),
        Some(Command::Permission(args)) => permission::run(&args, &environment),
        Some(Command::Trust(args)) => Ok(say(&trust::run(&args, &environment)?)),
        Some(Command::Hooks(args)) => inside(hooks_command::run(args.command, &environment)),
        Some(Command::Doctor(args)) => inside(async {
            let mut signals = Signals::listen()?;
            match beside(&mut signals, move || doctor::run(&args, &environment)).await? {
                Ok((text, exit)) => match say(&text) {
                    Exit::DONE => Ok(exit),
                    failed => Ok(failed),
                },
                Err(signal) => Ok(signal.exit()),
            }
        }),
        Some(Command::Key(args)) => inside(key::run(args, environment)),
        Some(Command::McpConformance { url }) => {
            inside(async { Ok(say(&mcp::conform(&url, &environment).await?)) })
        }
        Some(Command::Mcp(args)) => inside(async { mcp::run(args.command, &environment).await }),
        Some(Command::Models(args)) => inside(async {
            let mut signals = Signals::listen()?;
            match beside(&mut signals, move || models::run(&args, &environment)).await? {
                Ok(text) => Ok(say(&text)),
                Err(signal) => Ok(signal.exit()),
            }
        }),
        None if args.run.is_stream_in() && args.run.output_format != OutputFormat::StreamJson => {
            Err(Refusal::usage(
                "--input-format stream-json is answered in kind; add --output-format stream-json",
            ))
        }
        None if args.run.is_headless() => {
            inside(async { front::stream_json::run(args.run, Signals::listen()?).await })
        }
        None if is_for_people(&args.run) => inside(front::terminal::talk(args.run)),
        None => Err(not_asked(&args.run)),
    }
}

/// `windlass resume` is another way to say `-p -r`.
fn resumed(args: ResumeArgs) -> Result<Args, Refusal> {
    let mut words: Vec<OsString> = vec!["windlass".into()];
    match args.session {
        Some(session) => words.push(format!("--resume={session}").into()),
        None => words.push("--continue".into()),
    }
    if args.continue_run {
        words.push("--continue-run".into());
    }
    let has_print = args.rest.iter().any(|word| word == "-p" || word == "--print");
    words.extend(args.rest);
    if !has_print {
        words.push("--print".into());
    }
    Args::try_parse_from(words).map_err(|error| Refusal::from_clap(&error))
}

/// Is somebody there to talk to, who did not just mistype the name of a command?
fn is_for_people(args: &RunArgs) -> bool {
    let word = args.prompt.as_ref().map(|prompt| prompt.to_string_lossy());
    let is_slip = word.is_some_and(|word| {
        !word.contains(char::is_whitespace)
            && nearest::nearest(&word, Command::NAMES.iter().copied()).is_some()
    });
    !is_slip && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Is a mistake on the command line one that must not be repeated?
fn is_about_keys() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "key")
}

/// Runs it on one thread. What is still under way when it is done is dropped: tools and programs
/// that are left are killed with their whole process group.
fn inside(task: impl Future<Output = Result<Exit, Refusal>>) -> Result<Exit, Refusal> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            Refusal::failed(format!(
                "the system gives no event queue: {error}; close some programs and try again"
            ))
        })?;
    let exit = runtime.block_on(task);
    program::end_all();
    runtime.shutdown_background();
    exit
}

/// Neither a command nor `-p`.
fn not_asked(args: &RunArgs) -> Refusal {
    let Some(word) = args.prompt.as_ref().map(|prompt| prompt.to_string_lossy()) else {
        return match std::env::args_os().len() {
            0 | 1 => Refusal::welcome(),
            _ => Refusal::usage("there is no prompt; ask with -p \"your task\""),
        };
    };
    match nearest::nearest(&word, Command::NAMES.iter().copied()) {
        Some(name) => {
            Refusal::usage(format!("there is no command `{word}`; did you mean `windlass {name}`?"))
        }
        None => Refusal::usage(format!(
            "there is no terminal to talk in; ask with -p: windlass -p \"{word}\""
        )),
    }
}

/// Prints an answer. A reader that went away early had enough.
fn say(text: &str) -> Exit {
    let mut stdout = std::io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let line = format!("it could not be written to standard output: {error}");
            let _ = writeln!(std::io::stderr(), "{}", Refusal::failed(line));
            Exit::FAILED
        }
        // A closed pipe means that nobody wants to read on.
        _ => Exit::DONE,
    }
}
