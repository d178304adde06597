//! The interactive session: `windlass` in a terminal. What is shown and typed is the terminal crate's;
//! here it is told what prompts mean and what the session is.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{AgentDefinition, Parting, Session, Settings};
use windlass_terminal::{
    About, Hint, Host, Order as Meant, Ordering, Stage, Theme, run as converse,
};

use super::{close_for, window};
use crate::args::Division;
use crate::command::{self, Order};
use crate::compose::Plan;
use crate::exit::Exit;
use crate::expansion::Expander;
use crate::refusal::Refusal;
use crate::remote::InFront;
use crate::session::branch;
use crate::signals::Signals;
use crate::subcommand::rewind::Wanted;
use crate::subcommand::{cost, rewind};
use crate::topic::InForce;

/// Holds the conversation.
pub(crate) async fn run(
    plan: Plan,
    first: Option<String>,
    mut signals: Signals,
) -> Result<Exit, Refusal> {
    let Plan { mut builder, agents, portrait, expander, journal, scratch, notes, .. } = plan;
    let definitions = agents.as_ref().map(|agents| agents.definitions.clone()).unwrap_or_default();
    if let Some(agents) = agents {
        builder = builder.agents(agents);
    }
    let settings = builder.settings().clone();
    let about = About {
        model: settings.model.name.as_str().to_owned(),
        directory: short(&portrait.cwd),
        branch: branch::current(&portrait.cwd),
        window: settings.model.window.0,
        budget: settings.budget_max.map(|budget| budget.0),
        commands: hints(&expander),
    };
    let mode = settings.policy.mode;
    let (session, notices) = builder
        .start()
        .map_err(|error| Refusal::failed(format!("{error}; correct it and try again")))?;
    plan.remote.seat(InFront::new(session.clone()));
    let desk = Desk { session: session.clone(), journal, expander, settings, agents: definitions };
    let stage = Stage {
        session: session.clone(),
        notices,
        about,
        mode,
        theme: theme(),
        host: Arc::new(Prompts { desk: Arc::new(desk) }),
        first,
        notes,
    };
    let (held, why) = tokio::select! {
        held = converse(stage) => (held.map(|()| Exit::DONE), Parting::PromptInputExit),
        signal = signals.next() => (Ok(signal.exit()), Parting::Other),
    };
    close_for(&session, why, &mut signals).await;
    plan.remote.close().await;
    if let Some(scratch) = scratch {
        // Ours alone and perhaps never made.
        let _ = std::fs::remove_dir_all(scratch);
    }
    held.map_err(|error| {
        Refusal::failed(format!("the terminal cannot be used: {error}; ask with -p instead"))
    })
}

/// Knows what prompts mean.
struct Prompts {
    desk: Arc<Desk>,
}

impl Host for Prompts {
    fn order(&self, prompt: String) -> Ordering {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { desk.order(prompt).await.map_err(|refusal| refusal.to_string()) })
    }
}

/// Everything prompts may be about.
struct Desk {
    session: Session,
    journal: Option<PathBuf>,
    expander: Expander,
    settings: Settings,
    agents: Vec<AgentDefinition>,
}

impl Desk {
    async fn order(&self, prompt: String) -> Result<Meant, Refusal> {
        if matches!(prompt.trim(), "/exit" | "/quit") {
            return Ok(Meant::Quit);
        }
        Ok(match command::order(prompt)? {
            Order::Say(submission) if submission.pinned => Meant::Say(submission),
            Order::Say(submission) => Meant::Say(self.expander.expand(submission).await?.0),
            Order::Compact(focus) => Meant::Compact(focus),
            Order::Context => match self.session.inventory().await {
                Some(found) => Meant::Show(window::drawn(&found)),
                None => return Err(Refusal::failed("the session ended")),
            },
            Order::Cost => match &self.journal {
                Some(journal) => {
                    Meant::Show(cost::drawn(&cost::of_one(journal, None)?, Division::Model))
                }
                None => Meant::Show("This session is not written down.".to_owned()),
            },
            Order::Rewind(wanted) => self.rewind(&wanted).await?,
            Order::GoOn => Meant::Show("Nothing was left unfinished here.".to_owned()),
            Order::Show { topic, .. } => {
                let (settings, pages) = (&self.settings, &self.expander.pages);
                Meant::Show(InForce { settings, agents: &self.agents, pages }.words(topic))
            }
        })
    }
}

impl Desk {
    /// Goes back in the open session, or lists the prompts to go back to.
    async fn rewind(&self, wanted: &Wanted) -> Result<Meant, Refusal> {
        let Some(journal) = &self.journal else {
            return Ok(Meant::Show("This session is not written down.".to_owned()));
        };
        let id = &self.expander.names.session_id;
        let (text, _) = rewind::go_open(&self.session, journal, id, wanted).await?;
        Ok(Meant::Show(text))
    }
}

fn hints(expander: &Expander) -> Vec<Hint> {
    let own = command::ALL.iter().map(|one| Hint {
        name: one.name.to_owned(),
        words: one.hint.to_owned(),
        about: one.about.to_owned(),
    });
    let quit = Hint {
        name: "exit".to_owned(),
        words: String::new(),
        about: "end the session; Ctrl-D does too".to_owned(),
    };
    let listed = expander.commands().into_iter().map(|one| Hint {
        name: one.name,
        words: one.hint,
        about: one.description,
    });
    own.chain([quit]).chain(listed).collect()
}

/// The folder's name, from the home where it lies there.
fn short(cwd: &std::path::Path) -> String {
    let home = std::env::home_dir();
    match home.and_then(|home| cwd.strip_prefix(home).ok().map(|rest| rest.to_owned())) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => cwd.display().to_string(),
    }
}

/// No colours where somebody does not want them; a light ground where the terminal says so.
fn theme() -> Theme {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") || std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        return Theme::Plain;
    }
    // `COLORFGBG` names the ground last: 7 and 15 are white.
    match std::env::var("COLORFGBG").ok().as_deref().and_then(|pair| pair.rsplit(';').next()) {
        Some("7" | "15") => Theme::Light,
        _ => Theme::Dark,
    }
}
