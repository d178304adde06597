//! From the pieces of a session to one that only has to be set going.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::mpsc;
use windlass_engine::Settings;
use windlass_hook::HookEvent;
use windlass_tool::{Secrets, Surroundings};
use windlass_vocabulary::{MicroUsd, ModelName};

use super::Builder;
use crate::aside::Asides;
use crate::attachment::Attachments;
use crate::attachment::nearby::Neighbours;
use crate::error::StartError;
use crate::hook::door::Door;
use crate::hook::{self, Parting, SessionHooks, SharedHooks};
use crate::inspect::Inspector;
use crate::journal::{Journal, Opened};
use crate::late::Late;
use crate::model::{ModelPort, Routes};
use crate::notebook::Notebook;
use crate::notices::{self, Notices, Teller};
use crate::perform::{Parts, Performer};
use crate::run::{self, Command, Run};
use crate::tool::subagent::{AgentTool, Nest, Parent, Subagents, place};
use crate::transcript::Pen;
use crate::undo::Undo;

impl Builder {
    pub(crate) fn assemble(mut self) -> Result<Assembled, StartError> {
        self.check_models()?;
        self.add_search();
        self.heed_hooks();
        let secrets = self.tell_secrets();
        let routes = Routes::new(&self.endpoint, &self.endpoints, self.timeouts)?;
        let (surroundings, scratch, undo) = self.place(secrets)?;
        let (teller, notices) = notices::channel();
        let base = SharedHooks::new(RwLock::new(std::mem::take(&mut self.hooks)));
        if let Some(subagents) = self.agents.take() {
            self.insert_agents(subagents, &surroundings, (&teller, &base));
        }
        let model = self.port(routes, &surroundings, &teller);
        let (settings, inspector) = (Arc::new(self.settings), Arc::clone(&model.inspector));
        let registry = Arc::clone(&inspector.registry);
        let asides = Arc::new(Asides::new(&model, &settings, &self.models));
        let (report, events) = mpsc::channel(run::EVENTS_MAX);
        let who = (base, self.identity);
        let hooks = SessionHooks::new(who, &settings, &inspector, (&asides, &report), &teller);
        let mut pen = Pen::new(self.transcript);
        let left = self.journal.as_ref().map(place::left).unwrap_or_default();
        let opened = Journal::open(self.journal, &settings, &teller, &mut pen)?;
        let Opened { journal, state, spent_beside } = opened;
        let settings = less(settings, spent_beside);
        let (orders, commands) = mpsc::channel(run::COMMANDS_MAX);
        let late = Late::new(&model, &surroundings);
        let mut performer = Performer::new(Parts {
            aside: asides,
            model,
            inspector,
            registry,
            attachments: Attachments {
                surroundings,
                memory: self.memory,
                skills: self.skills,
                neighbours: Arc::new(Neighbours::new(self.nearby)),
            },
            hooks: Arc::clone(&hooks),
            notebook: self.notebook.map(|path| Arc::new(Notebook::new(path))),
            teller: teller.clone(),
            events: report,
        });
        if !left.is_empty() {
            performer.beside(place::settle_left(left, teller.clone()));
        }
        let questions = self.tree.questions;
        let run = Run {
            state,
            settings,
            journal,
            pen,
            performer,
            commands,
            events,
            questions,
            continues_run: self.continues_run,
            awaited: None,
            drained: Vec::new(),
            door: Door::new(Arc::clone(&hooks)),
            hooks,
            ready: VecDeque::new(),
            source: self.source,
            parting: Parting::Other,
            lent: None,
            skill_hooks: self.skill_hooks,
            models: self.models,
            undo: undo.clone(),
            back: None,
        };
        Ok(Assembled { run, teller, scratch, commands: orders, notices, undo, late })
    }

    /// Lets every endpoint say what its keys are, so that they are taken out of everything.
    fn tell_secrets(&mut self) -> Secrets {
        let secrets = self.surroundings.as_ref().map(|it| it.secrets.clone()).unwrap_or_default();
        self.endpoint = self.endpoint.clone().telling(&secrets);
        for (_, endpoint) in &mut self.endpoints {
            *endpoint = endpoint.clone().telling(&secrets);
        }
        secrets
    }

    /// The way to the models.
    fn port(
        &self,
        routes: Routes,
        surroundings: &Arc<Surroundings>,
        teller: &Teller,
    ) -> Arc<ModelPort> {
        let inspector = Arc::new(Inspector {
            registry: Arc::new(self.registry.clone()),
            surroundings: Arc::clone(surroundings),
            policy: self.settings.policy.clone(),
        });
        Arc::new(ModelPort {
            routes,
            timeouts: self.timeouts,
            keeps_raw: self.raw_events,
            inspector,
            teller: teller.clone(),
            notes: Mutex::default(),
        })
    }

    /// Where tools work, the directory to remove at the end, and who keeps what they change.
    fn place(&mut self, secrets: Secrets) -> Result<Placed, StartError> {
        let journal = self.journal.as_ref();
        let (mut surroundings, scratch) = match self.surroundings.take() {
            Some(surroundings) => (surroundings, None),
            None => own_surroundings(journal.map(|place| place.path.as_path()))?,
        };
        surroundings.secrets = secrets;
        // The model must be told the name under which it can really read things back.
        let spill = surroundings.spill.to_string_lossy();
        self.settings.context.spill_directory = Arc::from(spill.as_ref());
        let undo = match journal {
            // A nested session's files are its parent's to take back.
            Some(place) if surroundings.keeper.is_none() && !self.settings.agent.is_subagent => {
                let session = self.transcript.as_ref().map(|kept| kept.about.session.clone());
                let settings = self.settings.clone();
                Some(Arc::new(Undo::open(place, session.unwrap_or_default(), settings)?))
            }
            _ => None,
        };
        if let Some(undo) = undo.as_ref().filter(|_| self.keeps_files) {
            surroundings.keeper = Some(Arc::<Undo>::clone(undo));
        }
        Ok((Arc::new(surroundings), scratch, undo))
    }

    /// Offers nested sessions, made of everything this one has.
    fn insert_agents(
        &mut self,
        subagents: Subagents,
        surroundings: &Arc<Surroundings>,
        (teller, base): (&Teller, &SharedHooks),
    ) {
        let parent = Parent {
            settings: self.settings.clone(),
            endpoint: self.endpoint.clone(),
            endpoints: self.endpoints.clone(),
            registry: self.registry.clone(),
            surroundings: Arc::clone(surroundings),
            hooks: Arc::clone(base),
            identity: self.identity.clone(),
            nearby: self.nearby.clone(),
            journal: self.journal.clone(),
            transcript: self.transcript.clone(),
            models: Arc::clone(&self.models),
            timeouts: self.timeouts,
        };
        let (tree, teller) = (self.tree.clone(), teller.clone());
        let nest = Nest { subagents, parent, depth: self.depth + 1, tree, teller };
        self.registry.insert(Arc::new(AgentTool::new(Arc::new(nest))));
        self.settings.tools = self.registry.specs().into();
    }

    fn add_search(&mut self) {
        if self.web_search && self.endpoint.can_search() {
            self.registry.insert_web_search();
            self.settings.tools = self.registry.specs().into();
        }
    }

    /// The engine asks only at points where there are hooks, and hooks are told who we are.
    fn heed_hooks(&mut self) {
        let is_nested = self.settings.agent.is_subagent;
        if !self.hooks.is_empty() {
            hook::heed(&mut self.settings, hook::points(&self.hooks));
            let stop = if is_nested { HookEvent::SubagentStop } else { HookEvent::Stop };
            self.settings.limits.stop_hooks = self.hooks.has(stop);
        }
        if let Some(place) = self.journal.as_ref().filter(|_| !is_nested) {
            let read_by_others = self.transcript.as_ref().and_then(|kept| kept.path.clone());
            self.identity.transcript = read_by_others.or_else(|| Some(place.path.clone()));
            let session = place.head.session.as_ref().filter(|_| self.identity.session.is_empty());
            if let Some(session) = session {
                self.identity.session = session.as_str().to_owned();
            }
        }
    }

    /// An endpoint for a model that is never asked is a slip of the pen, and the model that was
    /// meant would be asked elsewhere.
    fn check_models(&self) -> Result<(), StartError> {
        let Settings { model, fallbacks, small_model, .. } = &self.settings;
        let is_known = |name: &ModelName| {
            let mut all = std::iter::once(model).chain(fallbacks).chain(small_model);
            all.any(|model| model.name == *name)
        };
        match self.endpoints.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(StartError::Model { name: name.clone() }),
            None => Ok(()),
        }
    }
}

type Placed = (Arc<Surroundings>, Option<PathBuf>, Option<Arc<Undo>>);

/// A session that only has to be set going.
pub(crate) struct Assembled {
    pub(crate) run: Run,
    pub(crate) teller: Teller,
    /// A directory to remove when the session is over.
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) notices: Notices,
    pub(crate) undo: Option<Arc<Undo>>,
    pub(crate) late: Late,
}

/// The settings, with less to spend: what the conversation went back from was paid for all the same.
fn less(settings: Arc<Settings>, spent: MicroUsd) -> Arc<Settings> {
    match settings.budget_max {
        Some(limit) if spent > MicroUsd(0) => {
            let budget_max = Some(limit.less(spent));
            Arc::new(Settings { budget_max, ..Settings::clone(&settings) })
        }
        _ => settings,
    }
}

/// Surroundings in the current directory, and the scratch directory to remove at the end. Beside a
/// journal nothing is removed: a session that is continued must find what it was told it can read.
fn own_surroundings(journal: Option<&Path>) -> Result<(Surroundings, Option<PathBuf>), StartError> {
    let cwd = std::env::current_dir()
        .map_err(|source| StartError::Directory { path: PathBuf::from("."), source })?;
    if let Some(journal) = journal {
        let spill = cwd.join(journal).with_extension("spill");
        return Ok((Surroundings::new(cwd, spill), None));
    }
    let scratch = scratch_directory()?;
    Ok((Surroundings::new(cwd, &scratch), Some(scratch)))
}

/// A new directory for this user alone. Names of the temporary directory can be guessed, so one that
/// is already there is somebody else's and never used.
pub(crate) fn scratch_directory() -> Result<PathBuf, StartError> {
    static SESSIONS: AtomicU64 = AtomicU64::new(0);
    let mut tries_left = 100_u8;
    loop {
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries_left > 0 => {
                tries_left -= 1;
            }
            Err(source) => return Err(StartError::Directory { path, source }),
        }
    }
}
