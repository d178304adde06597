//! `windlass demo`: the real engine, tools and HTTP client repair a small broken project against a scripted
//! model server. The output says at the beginning and at the end what was scripted.

mod run_display;

use std::fs::DirBuilder;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_host::environment::process_environment;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, demo as script};
use windlass_vocabulary::notice::RunEnding;

use crate::run_display::run_to_end::{RunEnd, run_to_end};
use crate::run_display::{ConsoleOutput, ConsoleStyle, RunDisplay};
use windlass_assembly::demo_session::build_demo_session;
use windlass_assembly::session_close::close_session;
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::format_counted;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::SignalListener;
use windlass_host::signals::await_unless_signalled;
use windlass_stream_json::output_writer::OutputClosed;

/// How `windlass demo` was asked for.
#[derive(Debug, Clone, Copy)]
pub struct DemoOptions {
    /// At full speed, without the pauses for people who watch.
    pub is_fast: bool,
    pub should_keep: bool,
}

/// Runs the demo to its end.
///
/// # Errors
/// When its project, its model server or its session cannot be made.
pub async fn run(options: DemoOptions) -> Result<Exit, CommandError> {
    let mut signals = SignalListener::listen()?;
    let project = DemoProject::create(options.should_keep)?;
    let mut rehearsed = script::build_script(&project.directory);
    // Pacing is for people who watch.
    if options.is_fast || !std::io::stdout().is_terminal() {
        rehearsed = rehearsed.pace(Duration::ZERO);
    }
    let rehearsal = Rehearsal::start(rehearsed, RehearsalOptions::default())
        .await
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let (builder, spill_directory) = build_demo_session(&project.directory, &rehearsal.url());
    let console = ConsoleOutput::for_stdout(process_environment);
    let mut display = RunDisplay::new(console, &project.directory);
    let exit = match print_introduction(&mut display.console, &project.directory, &rehearsal.url())
    {
        Err(OutputClosed) => Exit::SUCCESS,
        Ok(()) => {
            let (session, mut notices) =
                builder.start().map_err(|error| CommandError::failure(error.to_string()))?;
            session
                .submit(script::prompt())
                .map_err(|error| CommandError::failure(error.to_string()))?;
            let run_end = run_to_end(&session, &mut notices, &mut signals, &mut display).await;
            let exit = print_ending(&mut display, run_end, &project);
            let _ = await_unless_signalled(&mut signals, display.console.finish()).await;
            close_session(&session, &mut signals).await;
            exit
        }
    };
    // Belongs to the demo alone; it may never have been created.
    let _ = std::fs::remove_dir_all(spill_directory);
    Ok(exit)
}

/// Removes its directory on drop, unless it is kept.
struct DemoProject {
    directory: PathBuf,
    should_keep: bool,
}

impl DemoProject {
    fn create(should_keep: bool) -> Result<Self, CommandError> {
        let parent = std::env::temp_dir();
        let create_error = |error: std::io::Error| {
            CommandError::failure(format!(
                "the demo project cannot be made in {}: {error}; set TMPDIR to a folder that can be \
                 written",
                parent.display()
            ))
        };
        let directory = parent.join(format!("windlass-demo-{}", random::generate_name()));
        DirBuilder::new().mode(0o700).create(&directory).map_err(create_error)?;
        let project = Self { directory, should_keep };
        script::write_project(&project.directory).map_err(create_error)?;
        Ok(project)
    }
}

impl Drop for DemoProject {
    fn drop(&mut self) {
        if !self.should_keep {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

fn print_introduction(
    console: &mut ConsoleOutput,
    project: &Path,
    url: &str,
) -> Result<(), OutputClosed> {
    console.write_line(ConsoleStyle::Strong, "windlass demo: a rehearsed session")?;
    console.write_line(
        ConsoleStyle::Dim,
        "The model is rehearsed: its words come from a script. The engine, the tools, the HTTP \
         requests and the two faults on the way are real.",
    )?;
    console.write_line(ConsoleStyle::Dim, &format!("project  {}", project.display()))?;
    console.write_line(ConsoleStyle::Dim, &format!("model    {url}"))?;
    console.write_line(ConsoleStyle::Plain, "")?;
    console.write_line(ConsoleStyle::Strong, &format!("> {}", script::prompt()))
}

fn print_ending(display: &mut RunDisplay, run_end: RunEnd, project: &DemoProject) -> Exit {
    let (ending, signal) = match run_end {
        RunEnd::Ended(ending, signal) => (ending, signal),
        RunEnd::Forced(signal) => return signal.exit(),
        RunEnd::ReaderGone => return Exit::SUCCESS,
        RunEnd::SessionLost => return Exit::FAILURE,
    };
    let printed = print_summary(display, &ending, project);
    match (signal, printed) {
        (Some(signal), _) => signal.exit(),
        (None, Err(OutputClosed)) => Exit::SUCCESS,
        (None, Ok(())) => Exit::from_ending(&ending),
    }
}

fn print_summary(
    display: &mut RunDisplay,
    ending: &RunEnding,
    project: &DemoProject,
) -> Result<(), OutputClosed> {
    let counters = display.counters;
    let console = &mut display.console;
    console.end_stream()?;
    console.write_line(ConsoleStyle::Plain, "")?;
    if Exit::from_ending(ending) != Exit::SUCCESS {
        return console
            .write_line(ConsoleStyle::Warning, &format!("The demo ended early: {}", ending.why));
    }
    let summary = format!(
        "Done: {}, {}, {}, {}, cost 0.",
        format_counted(ending.turns, "turn"),
        format_counted(counters.requests, "request"),
        format_counted(counters.tools, "tool call"),
        counters.describe_faults()
    );
    console.write_line(ConsoleStyle::Strong, &summary)?;
    let directory = project.directory.display();
    let project_note = match project.should_keep {
        true => format!("The fixed project is in {directory}."),
        false => "The project was removed; `windlass demo --keep` leaves it there.".to_owned(),
    };
    console.write_line(
        ConsoleStyle::Dim,
        &format!("The model was rehearsed; everything else was real. {project_note}"),
    )?;
    console.write_line(ConsoleStyle::Plain, "")?;
    console.write_line(ConsoleStyle::Plain, "With a real model, in a project of yours:")?;
    console.write_line(ConsoleStyle::Plain, "  export ANTHROPIC_API_KEY=...")?;
    console
        .write_line(ConsoleStyle::Plain, "  windlass -p \"run the tests and tell me what fails\"")
}
