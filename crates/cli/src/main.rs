//! The windlass command: parses the command line, runs a session or a subcommand, sets the exit code.

mod args;
mod subcommand;
mod usage_error;
mod words;

use std::ffi::OsString;
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use windlass_acp::editor_setup::Editor;
use windlass_assembly::options::RunOptions;
use windlass_assembly::report::cost;
use windlass_assembly::sandbox;
use windlass_assembly::session::trials;
use windlass_config_text::find_similar_name;
use windlass_demo::DemoOptions;
use windlass_host::command_error::CommandError;
use windlass_host::descriptors::check_free_descriptors;
use windlass_host::display::escape_control_characters;
use windlass_host::environment::process_environment;
use windlass_host::exit::Exit;
use windlass_host::free_threads::{check_free_threads, run_with_stack};
use windlass_host::process_inspection::forbid_process_inspection;
use windlass_host::signals::{
    SignalListener, run_blocking_unless_signalled, survive_file_size_limit,
};
use windlass_host::standard_streams::{StandardOutput, write_error_line};
use windlass_provider::external_program;
use windlass_trial::dry_run::{self, DryRunOptions};
use windlass_trial::session_worktree::run_in_worktree;
use windlass_trial::{apply, race};
use windlass_tui::interactive::{InteractiveOutcome, run_interactive};
use windlass_update::UpdateOptions;

use args::foreign_flags::{FOREIGN_COMMANDS, explain_foreign};
use args::{
    AcpArgs, AcpCommand, AcpSetupArgs, CliArgs, CliCommand, EditorArg, OutputFormatArg, ResumeArgs,
    RunArgs, UpdateArgs,
};
use subcommand::{
    auth, bound, completions, context, diff, doctor, fleet, fork, hooks as hooks_command, journal,
    key, mcp as mcp_command, models, pack, permission, record, rehearse, rewind, sessions, stats,
    trust,
};
use usage_error::clap_to_command_error;

fn main() -> ExitCode {
    if let Some(code) = sandbox::enter_if_requested() {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    if let Some(code) = trials::look_if_requested() {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    forbid_process_inspection();
    let exit = check_free_descriptors().and_then(|()| check_free_threads()).and_then(|()| {
        survive_file_size_limit();
        run_with_stack(parse_and_run)?
    });
    exit.unwrap_or_else(|error| {
        // If standard error is closed, the exit code still reports it.
        write_error_line(&error.to_string());
        error.exit
    })
    .into()
}

fn parse_and_run() -> Result<Exit, CommandError> {
    if let Some(error) = fleet::run_on_store(std::env::args_os().skip(1)) {
        return Err(error);
    }
    match CliArgs::try_parse_from(args::move_settings_behind_auth(args::split_variables(
        std::env::args_os(),
    ))) {
        Ok(args) => run_command(args),
        Err(error) if error.use_stderr() && is_key_subcommand() => {
            Err(key::unreadable_arguments_error())
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Ok(print_answer(&error.render().to_string()))
        }
        Err(error) if error.use_stderr() => Err(first_word()
            .and_then(|word| unknown_command_error(&word))
            .unwrap_or_else(|| clap_to_command_error(&error))),
        // Help and version are answers, not errors.
        Err(answer) => Ok(print_answer(&answer.to_string())),
    }
}

fn run_command(args: CliArgs) -> Result<Exit, CommandError> {
    let environment = process_environment;
    match args.command {
        Some(CliCommand::Demo(args)) => block_on_runtime(windlass_demo::run(args.to_options())),
        Some(CliCommand::Update(args)) => run_update(args),
        Some(CliCommand::Completions { shell }) => {
            Ok(print_answer(completions::render_script(shell)))
        }
        Some(CliCommand::Complete { words }) => {
            Ok(print_answer(&completions::complete(&words, &environment)))
        }
        Some(CliCommand::Rehearse(args)) if args.example => {
            Ok(print_answer(rehearse::EXAMPLE_SCRIPT))
        }
        Some(CliCommand::Rehearse(args)) => block_on_runtime(rehearse::run(args, &environment)),
        Some(CliCommand::Record(args)) => block_on_runtime(record::run(args, environment)),
        Some(CliCommand::Bound(args)) => Ok(print_answer(&bound::run(&args, &environment)?)),
        Some(CliCommand::Sessions(args)) => {
            Ok(print_answer(&sessions::run(args.command, &environment)?))
        }
        Some(CliCommand::View(args)) => block_on_runtime(async {
            windlass_web::run_viewer((*args).try_into()?, SignalListener::listen()?).await
        }),
        Some(CliCommand::Export(args)) => {
            let options = args.to_options();
            let options = options.ok_or_else(|| CommandError::usage(words::NO_EXPORT_FILE))?;
            // Standard output may be the file.
            eprint_lines(&windlass_web::run_export(&options)?);
            Ok(Exit::SUCCESS)
        }
        Some(CliCommand::Resume(args)) => run_command(to_resume_args(args)?),
        Some(CliCommand::Diff(args)) => Ok(print_contents(&diff::run(&args, &environment)?)),
        Some(CliCommand::Fork(args)) => Ok(print_contents(&fork::run(&args, &environment)?)),
        Some(CliCommand::Apply(args)) => {
            Ok(print_contents(&apply::run(&args.into(), &environment)?))
        }
        Some(CliCommand::Race(args)) => block_on_runtime(race::run(args.into(), &environment)),
        Some(CliCommand::Pack(args)) => Ok(print_contents(&pack::run_pack(&args, &environment)?)),
        Some(CliCommand::Unpack(args)) => {
            Ok(print_contents(&pack::run_unpack(&args, &environment)?))
        }
        Some(CliCommand::Rewind(args)) => {
            let (text, exit) = rewind::run(&args, &environment)?;
            Ok(if print_contents(&text) == Exit::SUCCESS { exit } else { Exit::FAILURE })
        }
        Some(CliCommand::Replay(args)) => {
            let (text, exit) = journal::replay::run(&args, &environment)?;
            Ok(print_result(&text, exit))
        }
        Some(CliCommand::Why(args)) => Ok(print_answer(&journal::why::run(&args, &environment)?)),
        Some(CliCommand::Bugreport(args)) => {
            Ok(print_answer(&journal::bugreport::run(&args, &environment)?))
        }
        Some(CliCommand::Context(args)) => Ok(print_answer(&context::run(&args, &environment)?)),
        Some(CliCommand::Stats(args)) => Ok(print_answer(&stats::run(&args, &environment)?)),
        Some(CliCommand::Cost(args)) => Ok(print_answer(&cost::run(&args.into(), &environment)?)),
        Some(CliCommand::Permission(args)) => permission::run(&args, &environment),
        Some(CliCommand::Trust(args)) => Ok(print_answer(&trust::run(&args, &environment)?)),
        Some(CliCommand::Hooks(args)) => {
            block_on_runtime(hooks_command::run(args.command, &environment))
        }
        Some(CliCommand::Doctor(args)) => {
            print_unless_signalled(move || doctor::run(&args, &process_environment))
        }
        Some(CliCommand::Acp(args)) => run_acp(*args),
        Some(CliCommand::Fleet(command)) => Err(fleet::run(command)),
        Some(CliCommand::Auth(args)) => {
            let (text, exit) = auth::run(&args, &environment)?;
            Ok(print_result(&text, exit))
        }
        Some(CliCommand::Key(args)) => block_on_runtime(key::run(args, environment)),
        Some(CliCommand::McpConformance { url }) => block_on_runtime(async {
            Ok(print_answer(&mcp_command::run_conformance(&url, &environment).await?))
        }),
        Some(CliCommand::Mcp(args)) => {
            block_on_runtime(async { mcp_command::run(args.command, &environment).await })
        }
        Some(CliCommand::Models(args)) => print_unless_signalled(move || {
            Ok((models::run(&args, &process_environment)?, Exit::SUCCESS))
        }),
        None if args.run.reads_stream_json()
            && args.run.output_format != OutputFormatArg::StreamJson =>
        {
            Err(CommandError::usage(words::STREAM_NEEDS_STREAM))
        }
        None if args.run.session.trial.dry_run => {
            let options = DryRunOptions {
                prints_text: args.run.output_format == OutputFormatArg::Text,
                applies: args.run.session.trial.apply,
                session: RunOptions::try_from(args.run)?.session,
            };
            let arguments = dry_run::remove_flags(std::env::args_os().skip(1));
            block_on_runtime(dry_run::run(options, arguments, &environment))
        }
        None if args.run.is_headless() => run_headless(args.run),
        None if is_interactive(&args.run) => run_terminal(args.run),
        None => Err(missing_prompt_error(&args.run)),
    }
}

fn run_headless(args: RunArgs) -> Result<Exit, CommandError> {
    block_on_runtime(async {
        let worktree = args.session.worktree.clone();
        let options = RunOptions::try_from(args)?;
        let session = async { windlass_stream_json::run(options, SignalListener::listen()?).await };
        run_in_worktree(worktree, session).await
    })
}

fn run_terminal(args: RunArgs) -> Result<Exit, CommandError> {
    block_on_runtime(async {
        let worktree = args.session.worktree.clone();
        match run_in_worktree(worktree, run_interactive(args.try_into()?)).await? {
            InteractiveOutcome::Exit(exit) => Ok(exit),
            InteractiveOutcome::RunDemo => {
                windlass_demo::run(DemoOptions { is_fast: false, should_keep: false }).await
            }
        }
    })
}

/// Prints what takes a while to find out, unless a signal ends it.
fn print_unless_signalled(
    work: impl FnOnce() -> Result<(String, Exit), CommandError> + Send + 'static,
) -> Result<Exit, CommandError> {
    block_on_runtime(async {
        let mut signals = SignalListener::listen()?;
        match run_blocking_unless_signalled(&mut signals, work).await? {
            Ok((text, exit)) => Ok(print_result(&text, exit)),
            Err(signal) => Ok(signal.exit()),
        }
    })
}

fn run_update(args: UpdateArgs) -> Result<Exit, CommandError> {
    let options = UpdateOptions { is_check: args.check, version: args.version };
    let running = env!("CARGO_PKG_VERSION");
    block_on_runtime(async {
        Ok(print_answer(&windlass_update::run(options, running, &process_environment).await?))
    })
}

/// `windlass acp`: serves an editor, or sets one up.
fn run_acp(args: AcpArgs) -> Result<Exit, CommandError> {
    if let Some(AcpCommand::Setup(AcpSetupArgs { editor, yes })) = args.command {
        let editor = match editor {
            EditorArg::Zed => Editor::Zed,
            EditorArg::Jetbrains => Editor::Jetbrains,
            EditorArg::Nvim => Editor::Neovim,
        };
        let environment = process_environment;
        return Ok(print_answer(&windlass_acp::editor_setup::run(editor, yes, &environment)?));
    }
    block_on_runtime(async {
        windlass_acp::serve(RunOptions::try_from(args)?, SignalListener::listen()?).await
    })
}

/// `windlass resume` is `-p -r` under another name.
fn to_resume_args(args: ResumeArgs) -> Result<CliArgs, CommandError> {
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
    CliArgs::try_parse_from(words).map_err(|error| clap_to_command_error(&error))
}

/// True on a terminal, unless the prompt looks like a mistyped subcommand.
fn is_interactive(args: &RunArgs) -> bool {
    let word = args.prompt.as_ref().map(|prompt| prompt.to_string_lossy());
    let is_mistyped = word.is_some_and(|word| unknown_command_error(&word).is_some());
    !is_mistyped && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// The arguments of `windlass key` may contain a key, so an error must not repeat them.
fn is_key_subcommand() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "key")
}

/// Runs the task on one thread. Tasks that are still running afterwards are dropped, and programs are
/// killed with their process group.
fn block_on_runtime(
    task: impl Future<Output = Result<Exit, CommandError>>,
) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::failure(words::describe_no_event_queue(&error)))?;
    let exit = runtime.block_on(task);
    external_program::kill_all_programs();
    runtime.shutdown_background();
    exit
}

/// The error for a command line with neither a subcommand nor `-p`.
fn missing_prompt_error(args: &RunArgs) -> CommandError {
    let Some(word) = args.prompt.as_ref().map(|prompt| prompt.to_string_lossy()) else {
        return match std::env::args_os().len() {
            0 | 1 => CommandError::welcome(),
            _ => CommandError::usage(words::NO_PROMPT),
        };
    };
    unknown_command_error(&word)
        .unwrap_or_else(|| CommandError::usage(words::describe_no_terminal(&word)))
}

/// The error for a single word that looks like a mistyped subcommand. As a prompt it would start a
/// session and cost money; `windlass -p WORD` sends it anyway.
fn unknown_command_error(word: &str) -> Option<CommandError> {
    let names = CliCommand::SUBCOMMAND_NAMES;
    if word.contains(char::is_whitespace) || word.starts_with('-') || names.contains(&word) {
        return None;
    }
    if let Some(advice) = explain_foreign(FOREIGN_COMMANDS, word) {
        return Some(CommandError::usage(words::describe_foreign_subcommand(word, advice)));
    }
    let near = find_similar_name(word, names.iter().copied())?;
    Some(CommandError::usage(words::describe_unknown_subcommand(word, near)))
}

fn first_word() -> Option<String> {
    std::env::args_os().nth(1).map(|word| word.to_string_lossy().into_owned())
}

fn eprint_lines(text: &str) {
    // A closed standard error changes nothing.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Contents and names of files must not control a terminal; a file or a pipe gets every byte unchanged.
fn print_contents(text: &str) -> Exit {
    match std::io::stdout().is_terminal() {
        true => print_answer(&escape_control_characters(text)),
        false => print_answer(text),
    }
}

/// Prints a text that comes with an exit code; one that cannot be written is a failure.
fn print_result(text: &str, exit: Exit) -> Exit {
    if print_answer(text) == Exit::SUCCESS { exit } else { Exit::FAILURE }
}

/// A reader that closes the pipe early is not an error.
fn print_answer(text: &str) -> Exit {
    match StandardOutput::Stdout.write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let line = words::describe_unwritable_output(&error);
            write_error_line(&CommandError::failure(line).to_string());
            Exit::FAILURE
        }
        _ => Exit::SUCCESS,
    }
}
