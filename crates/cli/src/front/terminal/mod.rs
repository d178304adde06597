//! The interactive session: `windlass` in a terminal. What is shown and typed is the terminal crate's;
//! here it is told what prompts mean and what the session is. Going to another session ends this one
//! and begins again.

mod back;
mod desk;
mod help;
mod looks;
mod past;
mod question;
mod screen;
mod status;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use windlass_driver::{Parting, Settings};
use windlass_terminal::{About, Hint, Stage, run as converse};

use super::{beside, close_for};
use crate::args::{RunArgs, SettingsArgs};
use crate::command::{self, Front};
use crate::compose::{self, Plan};
use crate::exit::Exit;
use crate::expansion::Expander;
use crate::prompt;
use crate::refusal::Refusal;
use crate::remote::InFront;
use crate::session::branch;
use crate::signals::Signals;
use desk::{Desk, Prompts};
use question::Answered;

/// Where to go when a conversation is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To this session.
    Resume(String),
    /// To a new one.
    New,
}

/// Holds conversations until somebody has had enough.
pub(crate) async fn talk(mut args: RunArgs) -> Result<Exit, Refusal> {
    let mut signals = Signals::listen()?;
    let mut first = prompt::on_command_line(&args)?;
    let environment = |name: &str| std::env::var_os(name);
    let looks = looks::looks(args.screen_reader);
    let mut typed = String::new();
    loop {
        match question::before(&mut args, looks).await? {
            Answered::Go => {}
            Answered::Leave(exit) => return Ok(exit),
        }
        let wanted = args.clone();
        let composed =
            beside(&mut signals, move || compose::interactive(&wanted, &environment)).await;
        let plan = match composed {
            Ok(Ok(plan)) => plan,
            Ok(Err(signal)) => return Ok(signal.exit()),
            Err(refusal) if refusal.lacks_key => {
                match question::without_key(&mut args, looks, refusal).await? {
                    Answered::Go => continue,
                    Answered::Leave(exit) => return Ok(exit),
                }
            }
            Err(refusal) => return Err(refusal),
        };
        let is_older = args.session.resume.is_some() || args.session.goes_on;
        let begun = Begun {
            first: first.take(),
            typed: std::mem::take(&mut typed),
            is_older,
            looks,
            settings: args.settings.clone(),
        };
        let ended = run(plan, begun, &mut signals).await?;
        typed = ended.typed;
        match ended.next {
            None => return Ok(ended.exit),
            Some(next) => {
                args.session.goes_on = false;
                args.session.session_id = None;
                args.session.name = None;
                args.session.journal = None;
                args.session.fork_session = false;
                args.session.resume_session_at = None;
                args.session.resume = match next {
                    Next::Resume(id) => Some(Some(id)),
                    Next::New => None,
                };
            }
        }
    }
}

/// How a conversation begins.
struct Begun {
    first: Option<String>,
    /// What is typed already.
    typed: String,
    /// Something was said in it before.
    is_older: bool,
    looks: windlass_terminal::Looks,
    /// Which settings were asked for.
    settings: SettingsArgs,
}

/// How it ended.
struct Ended {
    exit: Exit,
    next: Option<Next>,
    /// What was typed and not sent.
    typed: String,
}

/// Holds one conversation.
async fn run(plan: Plan, begun: Begun, signals: &mut Signals) -> Result<Ended, Refusal> {
    let warnings = plan.layers.warnings();
    let Plan { mut builder, agents, portrait, expander, journal, scratch, mut notes, .. } = plan;
    notes.extend(warnings);
    let definitions = agents.as_ref().map(|agents| agents.definitions.clone()).unwrap_or_default();
    if let Some(agents) = agents {
        builder = builder.agents(agents);
    }
    let settings = builder.settings().clone();
    let about = about(&settings, &portrait.cwd, &expander);
    let mode = settings.policy.mode;
    let older = journal.as_deref().filter(|_| begun.is_older);
    let earlier = older.map(|journal| past::earlier(journal, &expander.names.session_id));
    let looks = looks::wanted(begun.looks, plan.layers.loaded.settings.theme.as_deref());
    let past = past::Past::new(journal.is_some(), &portrait.cwd);
    let (session, notices) = builder
        .start()
        .map_err(|error| Refusal::failed(format!("{error}; correct it and try again")))?;
    plan.remote.seat(InFront::new(session.clone()));
    let next = Arc::new(Mutex::new(None));
    let said = past.said();
    let desk = Desk {
        session: session.clone(),
        journal,
        expander,
        settings,
        agents: definitions,
        layers: plan.layers,
        live: tokio::sync::Mutex::new(plan.live),
        policy: Mutex::new(None),
        heard: Default::default(),
        config: plan.atlas.config.clone(),
        atlas: Mutex::new(plan.atlas),
        args: begun.settings,
        cwd: portrait.cwd.clone(),
        past,
        next: Arc::clone(&next),
        aside: Mutex::new(Vec::new()),
    };
    let stage = Stage {
        session: session.clone(),
        notices,
        about,
        mode,
        looks,
        aside: desk.expander.hands.surroundings.spill.clone(),
        host: Arc::new(Prompts { desk: Arc::new(desk) }),
        folder: portrait.cwd,
        said,
        vim: looks::is_vim(),
        first: begun.first,
        typed: begun.typed,
        earlier: earlier.unwrap_or_default(),
        notes,
    };
    let (held, is_signalled) = tokio::select! {
        held = converse(stage) => (held.map(|typed| (Exit::DONE, typed)), false),
        signal = signals.next() => (Ok((signal.exit(), String::new())), true),
    };
    let next = next.lock().ok().and_then(|mut next| next.take());
    close_for(&session, parting(next.as_ref(), is_signalled), signals).await;
    plan.remote.close().await;
    forget(scratch.as_deref());
    let (exit, typed) = held.map_err(|error| {
        Refusal::failed(format!("the terminal cannot be used: {error}; ask with -p instead"))
    })?;
    Ok(Ended { exit, next, typed })
}

/// How hooks are told that it is over.
fn parting(next: Option<&Next>, is_signalled: bool) -> Parting {
    match (next, is_signalled) {
        (_, true) => Parting::Other,
        (Some(Next::New), _) => Parting::Clear,
        (Some(Next::Resume(_)), _) => Parting::Resume,
        (None, _) => Parting::PromptInputExit,
    }
}

/// What is shown of the session.
fn about(settings: &Settings, cwd: &Path, expander: &Expander) -> About {
    About {
        model: settings.model.name.as_str().to_owned(),
        directory: looks::short(cwd),
        folder: cwd.to_string_lossy().into_owned(),
        branch: branch::current(cwd),
        window: settings.model.window.0,
        budget: settings.budget_max.map(|budget| budget.0),
        commands: hints(expander),
        rules_file: Some(RULES_FILE.to_owned()),
    }
}

/// Where rules for a project on this machine are kept, from its root.
const RULES_FILE: &str = ".claude/settings.local.json";

/// Ours alone and perhaps never made.
fn forget(scratch: Option<&Path>) {
    if let Some(scratch) = scratch {
        let _ = std::fs::remove_dir_all(scratch);
    }
}

fn hints(expander: &Expander) -> Vec<Hint> {
    let hint = |name: &str, words: &str, about: &str| Hint {
        name: name.to_owned(),
        words: words.to_owned(),
        about: about.to_owned(),
    };
    let own = command::shown(Front::Terminal).map(|one| hint(one.name, one.hint, one.about));
    let mut hints: Vec<Hint> = own.collect();
    hints.extend(expander.commands().into_iter().map(|one| Hint {
        name: one.name,
        words: one.hint,
        about: one.description,
    }));
    hints
}

/// Where our own state lies, for whoever keeps something in it.
fn state() -> Option<PathBuf> {
    crate::folder::state(&|name: &str| std::env::var_os(name))
}
