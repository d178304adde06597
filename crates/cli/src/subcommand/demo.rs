//! `windlass demo`: the real engine, tools and HTTP client mend a small broken project, against a
//! model server that follows a script. Says at the beginning and at the end what was rehearsed.

use std::fs::DirBuilder;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_rehearsal::{Rehearsal, StartOptions, demo};
use windlass_vocabulary::notice::Ending;

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::front::output::Closed;
use crate::front::watch::{Screen, Style, Watcher};
use crate::front::{Curtain, close, conduct, unless_signalled};
use crate::refusal::Refusal;
use crate::signals::Signals;
use crate::{chance, compose};

/// Shows it.
pub(crate) async fn run(args: &DemoArgs) -> Result<Exit, Refusal> {
    let mut signals = Signals::listen()?;
    let project = Project::lay_out(args.keep)?;
    let mut script = demo::script(&project.directory);
    // Slowness is for people who watch.
    if args.fast || !std::io::stdout().is_terminal() {
        script = script.pace(Duration::ZERO);
    }
    let rehearsal = Rehearsal::start(script, StartOptions::default())
        .await
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let (builder, spill) = compose::demo(&project.directory, &rehearsal.url());
    let screen = Screen::of_stdout(|name| std::env::var_os(name));
    let mut watcher = Watcher::new(screen, &project.directory);
    let exit = match prologue(&mut watcher.screen, &project.directory, &rehearsal.url()) {
        Err(Closed) => Exit::DONE,
        Ok(()) => {
            let (session, mut notices) =
                builder.start().map_err(|error| Refusal::failed(error.to_string()))?;
            session.submit(demo::prompt()).map_err(|error| Refusal::failed(error.to_string()))?;
            let curtain = conduct(&session, &mut notices, &mut signals, &mut watcher).await;
            let exit = epilogue(&mut watcher, curtain, &project);
            let _ = unless_signalled(&mut signals, watcher.screen.finish()).await;
            close(&session, &mut signals).await;
            exit
        }
    };
    // Both are ours alone; the first may never have been made.
    let _ = std::fs::remove_dir_all(spill);
    Ok(exit)
}

/// The folder of the project, removed in the end unless it is to be kept.
struct Project {
    directory: PathBuf,
    is_kept: bool,
}

impl Project {
    fn lay_out(is_kept: bool) -> Result<Self, Refusal> {
        let parent = std::env::temp_dir();
        let refuse = |error: std::io::Error| {
            Refusal::failed(format!(
                "the demo project cannot be made in {}: {error}; set TMPDIR to a folder that can be \
                 written",
                parent.display()
            ))
        };
        let directory = parent.join(format!("windlass-demo-{}", chance::name()));
        DirBuilder::new().mode(0o700).create(&directory).map_err(refuse)?;
        let project = Self { directory, is_kept };
        demo::lay_out(&project.directory).map_err(refuse)?;
        Ok(project)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

fn prologue(screen: &mut Screen, project: &Path, url: &str) -> Result<(), Closed> {
    screen.line(Style::Strong, "windlass demo: a rehearsed session")?;
    screen.line(
        Style::Dim,
        "The model is rehearsed: its words come from a script. The engine, the tools, the HTTP \
         requests and the two faults on the way are real.",
    )?;
    screen.line(Style::Dim, &format!("project  {}", project.display()))?;
    screen.line(Style::Dim, &format!("model    {url}"))?;
    screen.line(Style::Plain, "")?;
    screen.line(Style::Strong, &format!("> {}", demo::prompt()))
}

/// The last words, and how it went.
fn epilogue(watcher: &mut Watcher, curtain: Curtain, project: &Project) -> Exit {
    let (ending, signal) = match curtain {
        Curtain::Ended(ending, signal) => (ending, signal),
        Curtain::Forced(signal) => return signal.exit(),
        Curtain::Unread => return Exit::DONE,
        Curtain::Broken => return Exit::FAILED,
    };
    let is_told = last_words(watcher, &ending, project);
    match (signal, is_told) {
        (Some(signal), _) => signal.exit(),
        (None, Err(Closed)) => Exit::DONE,
        (None, Ok(())) => Exit::of(&ending),
    }
}

fn last_words(watcher: &mut Watcher, ending: &Ending, project: &Project) -> Result<(), Closed> {
    let tally = watcher.tally;
    let screen = &mut watcher.screen;
    screen.end_stream()?;
    screen.line(Style::Plain, "")?;
    if Exit::of(ending) != Exit::DONE {
        return screen.line(Style::Warning, &format!("The demo ended early: {}", ending.why));
    }
    let summary = format!(
        "Done: {} turns, {} requests, {} tool calls, {}, cost 0.",
        ending.turns,
        tally.requests,
        tally.tools,
        tally.faults()
    );
    screen.line(Style::Strong, &summary)?;
    let place = project.directory.display();
    let kept = match project.is_kept {
        true => format!("The mended project is in {place}."),
        false => "The project was removed; `windlass demo --keep` leaves it there.".to_owned(),
    };
    screen
        .line(Style::Dim, &format!("The model was rehearsed; everything else was real. {kept}"))?;
    screen.line(Style::Plain, "")?;
    screen.line(Style::Plain, "With a real model, in a project of yours:")?;
    screen.line(Style::Plain, "  export ANTHROPIC_API_KEY=...")?;
    screen.line(Style::Plain, "  windlass -p \"run the tests and tell me what fails\"")
}
