//! `windlass demo`: the real engine, tools and HTTP client mend a small broken project, against a
//! model server that follows a script. Says at the beginning and at the end what was rehearsed.

use std::fs::DirBuilder;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_driver::engine_settings::Settings;
use windlass_driver::{Endpoint, SessionBuilder, ToolRegistry, ToolSessionContext};
use windlass_permission::Policy;
use windlass_rehearsal::{Rehearsal, RehearsalOptions, demo};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{PermissionMode, WireFormat};

use crate::args::DemoArgs;
use crate::run_display::run_to_end::{RunEnd, run_to_end};
use crate::run_display::{ConsoleOutput, ConsoleStyle, RunDisplay};
use windlass_assembly::directories::build_scratch_path;
use windlass_assembly::resolved::{SYSTEM_PROMPT, build_system_context};
use windlass_assembly::session_close::close_session;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::SignalListener;
use windlass_host::signals::await_unless_signalled;
use windlass_provider::config::model::ModelConfig;
use windlass_stream_json::output_writer::OutputClosed;

/// Shows it.
pub(crate) async fn run(args: &DemoArgs) -> Result<Exit, CommandError> {
    let mut signals = SignalListener::listen()?;
    let project = DemoProject::create(args.keep)?;
    let mut script = demo::build_script(&project.directory);
    // Slowness is for people who watch.
    if args.fast || !std::io::stdout().is_terminal() {
        script = script.pace(Duration::ZERO);
    }
    let rehearsal = Rehearsal::start(script, RehearsalOptions::default())
        .await
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let (builder, spill) = build_demo_session(&project.directory, &rehearsal.url());
    let screen = ConsoleOutput::for_stdout(|name| std::env::var_os(name));
    let mut watcher = RunDisplay::new(screen, &project.directory);
    let exit = match print_introduction(&mut watcher.console, &project.directory, &rehearsal.url())
    {
        Err(OutputClosed) => Exit::SUCCESS,
        Ok(()) => {
            let (session, mut notices) =
                builder.start().map_err(|error| CommandError::failure(error.to_string()))?;
            session
                .submit(demo::prompt())
                .map_err(|error| CommandError::failure(error.to_string()))?;
            let curtain = run_to_end(&session, &mut notices, &mut signals, &mut watcher).await;
            let exit = print_ending(&mut watcher, curtain, &project);
            let _ = await_unless_signalled(&mut signals, watcher.console.finish()).await;
            close_session(&session, &mut signals).await;
            exit
        }
    };
    // Both are ours alone; the first may never have been made.
    let _ = std::fs::remove_dir_all(spill);
    Ok(exit)
}

/// The same engine, tools and HTTP client as in any session, in a folder made for it, where everything
/// the script asks for may run. Also returns the folder for long outputs.
fn build_demo_session(project: &Path, base_url: &str) -> (SessionBuilder, PathBuf) {
    let mut settings = Settings::new(ModelConfig::default().to_model_facts("rehearsed"));
    settings.policy = Policy {
        mode: PermissionMode::BypassPermissions,
        directories: vec![project.to_string_lossy().into_owned()],
        ..Policy::default()
    };
    settings.prompt.system_prompt = Arc::from(SYSTEM_PROMPT);
    settings.prompt.system_context = build_system_context(project);
    settings.limits.turns_max = 20;
    settings.retry.jitter_seed = random::generate_seed();
    let spill = build_scratch_path();
    let builder =
        SessionBuilder::new(settings, Endpoint::new(WireFormat::AnthropicMessages, base_url))
            .registry(ToolRegistry::with_builtin_tools())
            .tool_context(ToolSessionContext::new(project, &spill));
    (builder, spill)
}

/// The folder of the project, removed in the end unless it is to be kept.
struct DemoProject {
    directory: PathBuf,
    should_keep: bool,
}

impl DemoProject {
    fn create(is_kept: bool) -> Result<Self, CommandError> {
        let parent = std::env::temp_dir();
        let refuse = |error: std::io::Error| {
            CommandError::failure(format!(
                "the demo project cannot be made in {}: {error}; set TMPDIR to a folder that can be \
                 written",
                parent.display()
            ))
        };
        let directory = parent.join(format!("windlass-demo-{}", random::generate_name()));
        DirBuilder::new().mode(0o700).create(&directory).map_err(refuse)?;
        let project = Self { directory, should_keep: is_kept };
        demo::write_project(&project.directory).map_err(refuse)?;
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
    screen: &mut ConsoleOutput,
    project: &Path,
    url: &str,
) -> Result<(), OutputClosed> {
    screen.write_line(ConsoleStyle::Strong, "windlass demo: a rehearsed session")?;
    screen.write_line(
        ConsoleStyle::Dim,
        "The model is rehearsed: its words come from a script. The engine, the tools, the HTTP \
         requests and the two faults on the way are real.",
    )?;
    screen.write_line(ConsoleStyle::Dim, &format!("project  {}", project.display()))?;
    screen.write_line(ConsoleStyle::Dim, &format!("model    {url}"))?;
    screen.write_line(ConsoleStyle::Plain, "")?;
    screen.write_line(ConsoleStyle::Strong, &format!("> {}", demo::prompt()))
}

/// The last words, and how it went.
fn print_ending(watcher: &mut RunDisplay, curtain: RunEnd, project: &DemoProject) -> Exit {
    let (ending, signal) = match curtain {
        RunEnd::Ended(ending, signal) => (ending, signal),
        RunEnd::Forced(signal) => return signal.exit(),
        RunEnd::ReaderGone => return Exit::SUCCESS,
        RunEnd::SessionLost => return Exit::FAILURE,
    };
    let is_told = print_summary(watcher, &ending, project);
    match (signal, is_told) {
        (Some(signal), _) => signal.exit(),
        (None, Err(OutputClosed)) => Exit::SUCCESS,
        (None, Ok(())) => Exit::from_ending(&ending),
    }
}

fn print_summary(
    watcher: &mut RunDisplay,
    ending: &RunEnding,
    project: &DemoProject,
) -> Result<(), OutputClosed> {
    let tally = watcher.counters;
    let screen = &mut watcher.console;
    screen.end_stream()?;
    screen.write_line(ConsoleStyle::Plain, "")?;
    if Exit::from_ending(ending) != Exit::SUCCESS {
        return screen
            .write_line(ConsoleStyle::Warning, &format!("The demo ended early: {}", ending.why));
    }
    let summary = format!(
        "Done: {} turns, {} requests, {} tool calls, {}, cost 0.",
        ending.turns,
        tally.requests,
        tally.tools,
        tally.describe_faults()
    );
    screen.write_line(ConsoleStyle::Strong, &summary)?;
    let place = project.directory.display();
    let kept = match project.should_keep {
        true => format!("The mended project is in {place}."),
        false => "The project was removed; `windlass demo --keep` leaves it there.".to_owned(),
    };
    screen.write_line(
        ConsoleStyle::Dim,
        &format!("The model was rehearsed; everything else was real. {kept}"),
    )?;
    screen.write_line(ConsoleStyle::Plain, "")?;
    screen.write_line(ConsoleStyle::Plain, "With a real model, in a project of yours:")?;
    screen.write_line(ConsoleStyle::Plain, "  export ANTHROPIC_API_KEY=...")?;
    screen.write_line(ConsoleStyle::Plain, "  windlass -p \"run the tests and tell me what fails\"")
}
