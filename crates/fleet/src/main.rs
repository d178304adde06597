//! The `windlass-fleet` command. `windlass` runs it by name, so that it need not link a database
//! client.

mod args;
mod client;
mod store_clean;
mod store_command;
mod store_run;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use windlass_fleet::gateway::{self, GatewayOptions, TlsFiles};
use windlass_fleet::live::LiveOption;
use windlass_fleet::local_command;
use windlass_fleet::worker::guard::{self, GuardOptions};
use windlass_fleet::worker::{self, WorkerOptions};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::process_inspection::forbid_process_inspection;
use windlass_host::standard_streams::write_error_line;
use windlass_host::user_directories;

use args::{FleetArgs, FleetCommand, RunningArgs, ServeArgs, WorkerArgs};

fn main() -> ExitCode {
    forbid_process_inspection();
    let exit = match FleetArgs::try_parse() {
        Ok(args) => run(args.command),
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let text = text.split("\n\n").next().unwrap_or_default();
            let line = text.trim().trim_start_matches("error: ");
            Err(CommandError::usage(format!("{line}; see `windlass-fleet --help`")))
        }
        Err(answer) => {
            print!("{answer}");
            Ok(Exit::SUCCESS)
        }
    };
    exit.unwrap_or_else(|error| {
        write_error_line(&error.to_string());
        error.exit
    })
    .into()
}

fn run(command: FleetCommand) -> Result<Exit, CommandError> {
    match command {
        // Runs before any thread starts: the guard must work even when the machine can start none.
        FleetCommand::Guard(args) => guard::run(&GuardOptions {
            socket: args.socket,
            command: args.command,
            is_foreground: args.foreground,
        }),
        FleetCommand::Local(args) => {
            block_on(local_command::run(&args.store.store, find_windlass(), args.words))
        }
        FleetCommand::Worker(WorkerArgs { store, lease, live, running }) => {
            let options =
                WorkerOptions { live: live.load()?, ..to_worker_options(running, lease)? };
            block_on(async { worker::run(&store.store, options).await })
        }
        FleetCommand::Store(args) => block_on(store_command::run(args.command)),
        FleetCommand::Serve(args) => serve(args),
        FleetCommand::Submit(args) => block_on(client::submit(args)),
        FleetCommand::Batch(args) => block_on(client::batch::run(args)),
        FleetCommand::Ps(args) => block_on(client::ps(args)),
        FleetCommand::Attach(args) => block_on(client::attach::run(args)),
        FleetCommand::Answer(args) => block_on(client::answer(args)),
        FleetCommand::Cancel(args) => block_on(client::cancel(args)),
        FleetCommand::Logs(args) => block_on(client::attach::logs(args)),
        FleetCommand::Patch(args) => block_on(client::patch(args)),
    }
}

fn serve(args: ServeArgs) -> Result<Exit, CommandError> {
    let connections = args.connections.clamp(1, 100_000);
    let tls = args.tls_cert.zip(args.tls_key);
    let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key });
    let streams = args.streams.clamp(1, connections);
    let live = args.live.load()?;
    let options = GatewayOptions { listen: args.listen, connections, streams, tls, live };
    match args.store {
        Some(url) => block_on(async { gateway::serve(&url, options).await }),
        None => {
            let worker = to_worker_options(args.running, EMBEDDED_LEASE)?;
            block_on(gateway::serve_embedded(options, worker))
        }
    }
}

fn block_on(task: impl Future<Output = Result<Exit, CommandError>>) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::failure(format!("cannot start threads: {error}")))?;
    let exit = runtime.block_on(task);
    runtime.shutdown_timeout(SHUTDOWN_WAIT);
    exit
}

fn to_worker_options(args: RunningArgs, lease: f64) -> Result<WorkerOptions, CommandError> {
    if !(1.0..=3600.0).contains(&lease) {
        return Err(CommandError::usage("--lease must be between 1 and 3600 seconds"));
    }
    if !(1..=1000).contains(&args.capacity) {
        return Err(CommandError::usage("--capacity must be between 1 and 1000"));
    }
    let lookup = windlass_host::environment::process_environment;
    let directory = match args.directory {
        Some(path) => std::path::absolute(path)
            .map_err(|error| CommandError::usage(format!("--dir cannot be used: {error}")))?,
        None => user_directories::state_directory(&lookup)
            .ok_or_else(|| CommandError::usage("HOME is not set; name a folder with --dir"))?
            .join("fleet"),
    };
    Ok(WorkerOptions {
        capacity: args.capacity,
        memory_min: args.memory_min.unwrap_or(MEMORY_MIN_MIB) << 20,
        lease: Duration::from_secs_f64(lease),
        directory,
        windlass: args.windlass.unwrap_or_else(find_windlass),
        is_unsandboxed: args.allow_unsandboxed,
        attempts_max: args.attempts.max(1),
        drain: Duration::from_secs(args.drain),
        question_wait: Duration::from_secs(args.question_wait.clamp(1, QUESTION_WAIT_MAX)),
        live: LiveOption::default(),
    })
}

/// The `windlass` command next to this one, else the one on PATH.
pub(crate) fn find_windlass() -> PathBuf {
    let beside = std::env::current_exe().ok();
    let beside = beside.as_deref().and_then(Path::parent).map(|folder| folder.join("windlass"));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("windlass"))
}

/// Nobody takes over, so it only has to outlast a pause of the host.
const EMBEDDED_LEASE: f64 = 60.0;
/// A year, so that times can be added.
const QUESTION_WAIT_MAX: u64 = 365 * 24 * 3600;
const MEMORY_MIN_MIB: u64 = 256;
const SHUTDOWN_WAIT: Duration = Duration::from_secs(5);
