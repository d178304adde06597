//! Everything a session is made of, piece by piece, until it is started.
//!
//! Only gathers; how the pieces are put together is in `assemble`.

mod assemble;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;
use windlass_engine::Settings;
use windlass_hook::HookSet;
use windlass_journal::{Durability, Head};
use windlass_tool::{Registry, Surroundings};
use windlass_vocabulary::{Effort, ModelFacts, ModelName};

use crate::attachment::Finder;
use crate::attachment::nearby::Nearby;
use crate::error::StartError;
use crate::hook::input::Identity;
use crate::journal::Place;
use crate::model::{Endpoint, Timeouts};
use crate::notices::Notices;
use crate::outside::Outside;
use crate::run;
use crate::session::{CLOSE_GRACE, Session};
use crate::tool::subagent::{Subagents, Tree};
use crate::transcript::{Heard, Transcript};
use crate::waits::Waits;

pub(crate) use assemble::{Assembled, scratch_directory};

/// Puts a session together, piece by piece, and starts it. Every piece has a usual value; the quick start
/// stands at the head of this crate.
#[derive(Debug)]
pub struct Builder {
    settings: Settings,
    endpoint: Endpoint,
    endpoints: Vec<(ModelName, Endpoint)>,
    registry: Registry,
    surroundings: Option<Surroundings>,
    hooks: HookSet,
    memory: Option<Arc<dyn Finder>>,
    skills: Option<Arc<dyn Finder>>,
    nearby: Option<Arc<dyn Nearby>>,
    journal: Option<Place>,
    transcript: Option<Transcript>,
    timeouts: Timeouts,
    raw_events: bool,
    agents: Option<Subagents>,
    depth: u8,
    tree: Tree,
    continues_run: bool,
    web_search: bool,
    identity: Identity,
    source: Option<String>,
    notebook: Option<PathBuf>,
    skill_hooks: Vec<(String, HookSet)>,
    models: Arc<[(String, ModelFacts)]>,
    keeps_files: bool,
}

impl Builder {
    /// A session with these settings at this endpoint, without tools and without a journal.
    #[must_use]
    pub fn new(settings: Settings, endpoint: Endpoint) -> Self {
        Self {
            settings,
            endpoint,
            endpoints: Vec::new(),
            registry: Registry::empty(),
            surroundings: None,
            hooks: HookSet::default(),
            memory: None,
            skills: None,
            nearby: None,
            journal: None,
            transcript: None,
            timeouts: Timeouts::default(),
            raw_events: false,
            agents: None,
            depth: 0,
            tree: Tree::default(),
            continues_run: false,
            web_search: false,
            identity: Identity::default(),
            source: None,
            notebook: None,
            skill_hooks: Vec::new(),
            models: Arc::default(),
            keeps_files: true,
        }
    }

    /// What the session will go by.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// With more tools than it was given, or fewer.
    #[must_use]
    pub fn change_registry(self, change: impl FnOnce(&mut Registry)) -> Self {
        let mut registry = self.registry.clone();
        change(&mut registry);
        self.registry(registry)
    }

    /// The same, to be changed before the session starts.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Whether somebody answers questions, told as `Notice::PermissionAsked`. Without this nobody is
    /// asked, and what would have to be is denied.
    #[must_use]
    pub fn asks(mut self, on: bool) -> Self {
        self.settings.policy.can_ask = on;
        self
    }

    /// Asks this model there, over that endpoint's wire, with that endpoint's credential; all
    /// others live where the session was built. So a fallback or the small model may be another
    /// provider's, and a conversation changes its wire where the model changes.
    #[must_use]
    pub fn endpoint_for(mut self, model: ModelName, endpoint: Endpoint) -> Self {
        self.endpoints.push((model, endpoint));
        self
    }

    /// Models that agents and single prompts may ask for, each by a name people have for it; they live
    /// where the session was built. Without this only the session's own can be asked for.
    #[must_use]
    pub fn models(mut self, models: impl IntoIterator<Item = (String, ModelFacts)>) -> Self {
        self.models = models.into_iter().collect();
        self
    }

    /// With these tools. What the model is told of them replaces `Settings::tools`.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.settings.tools = registry.specs().into();
        self.registry = registry;
        self
    }

    /// Where tools work. Without this: the current directory, with a spill directory beside the
    /// journal, or else below the system's temporary directory and removed when the session ends.
    /// The model is told the name of the spill directory, whatever `Settings` says.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = Some(surroundings);
        self
    }

    /// The session's name and the project's root, as hooks are told them.
    #[must_use]
    pub fn identity(mut self, session: impl Into<String>, project: Option<PathBuf>) -> Self {
        self.identity.session = session.into();
        self.identity.project = project;
        self
    }

    /// Why the session starts, as hooks are told: `clear`, `fork`. Without this it follows from the
    /// journal.
    #[must_use]
    pub fn start_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// With these hooks, after those it has. Which points of the loop have hooks follows from them.
    #[must_use]
    pub fn hooks(mut self, hooks: HookSet) -> Self {
        self.hooks = self.hooks.join(hooks);
        self
    }

    /// With other tools than it has.
    #[must_use]
    pub fn change_tools(mut self, change: impl FnOnce(&mut Registry)) -> Self {
        change(&mut self.registry);
        self.settings.tools = self.registry.specs().into();
        self
    }

    /// Looks here for memories beside the first call of a run, if `Settings::prefetch` is on.
    #[must_use]
    pub fn memory(mut self, finder: impl Finder + 'static) -> Self {
        self.memory = Some(Arc::new(finder));
        self
    }

    /// Writes what is worth knowing in later sessions into this file, if `Settings::after` says so.
    #[must_use]
    pub fn notebook(mut self, path: impl Into<PathBuf>) -> Self {
        self.notebook = Some(path.into());
        self
    }

    /// Hooks that are asked once the skill of this name was loaded, as long as the session lives.
    #[must_use]
    pub fn skill_hooks(mut self, hooks: Vec<(String, HookSet)>) -> Self {
        self.skill_hooks = hooks;
        self
    }

    /// Looks here for skills beside the first call of a run, if `Settings::prefetch` is on.
    #[must_use]
    pub fn skills(mut self, finder: impl Finder + 'static) -> Self {
        self.skills = Some(Arc::new(finder));
        self
    }

    /// Says what counts for a file when the model first holds it, here and in nested sessions.
    #[must_use]
    pub fn nearby(mut self, nearby: Arc<dyn Nearby>) -> Self {
        self.nearby = Some(nearby);
        self
    }

    /// Writes every event down before its effects are performed. A journal that already holds a
    /// session is continued: its events are replayed, and a run that was cut off is closed as
    /// interrupted.
    #[must_use]
    pub fn journal(mut self, path: impl Into<PathBuf>, durability: Durability) -> Self {
        let path = path.into();
        let (head, prices, count, waits) = (Head::default(), None, Arc::default(), Arc::default());
        self.journal = Some(Place { path, durability, head, prices, count, waits });
        self
    }

    /// Also writes the transcript that other programs read, behind the journal.
    #[must_use]
    pub fn transcript(mut self, transcript: Transcript) -> Self {
        self.transcript = Some(transcript);
        self
    }

    /// Lets somebody hear of every line of the transcript right after it was written, and before the
    /// message it belongs to is told; of those of nested sessions too.
    #[must_use]
    pub fn hear_transcript(mut self, heard: Heard) -> Self {
        self.transcript.get_or_insert_default().heard = Some(heard);
        self
    }

    /// Goes on with a run that the last process left unfinished, instead of closing it: with its turn
    /// count, its guards and its reservations. A call that was running then is not run again; its
    /// outcome is told as unknown.
    #[must_use]
    pub fn continue_run(mut self, on: bool) -> Self {
        self.continues_run = on;
        self
    }

    /// What the journal says of the session, for those who look for it: written when the journal is
    /// new. Means nothing without a journal.
    #[must_use]
    pub fn journal_head(mut self, head: Head) -> Self {
        if let Some(place) = &mut self.journal {
            place.head = head;
        }
        self
    }

    /// Counts how long requests and tools waited for the disk, nested sessions' too. Means nothing
    /// without a journal.
    #[must_use]
    pub fn disk_waits(mut self, waits: Arc<Waits>) -> Self {
        if let Some(place) = &mut self.journal {
            place.waits = waits;
        }
        self
    }

    /// The version of the price table, for the rows of the account. Means nothing without a journal.
    #[must_use]
    pub fn price_table(mut self, version: impl Into<String>) -> Self {
        if let Some(place) = &mut self.journal {
            place.prices = Some(version.into());
        }
        self
    }

    /// Whether what edits replace is kept, so that files can be taken back; it is, where there is a
    /// journal.
    #[must_use]
    pub fn keep_files(mut self, on: bool) -> Self {
        self.keeps_files = on;
        self
    }

    /// Waits this long for the model server.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Also tells every event of the wire, verbatim, as `Delta::Raw`.
    #[must_use]
    pub fn raw_events(mut self, on: bool) -> Self {
        self.raw_events = on;
        self
    }

    /// With a tool that searches the web, if the first endpoint's provider does that.
    #[must_use]
    pub fn web_search(mut self, on: bool) -> Self {
        self.web_search = on;
        self
    }

    /// With nested sessions: the model is offered the tool `Agent`.
    #[must_use]
    pub fn agents(mut self, agents: Subagents) -> Self {
        self.agents = Some(agents);
        self
    }

    /// With this effort, if one is given.
    pub(crate) fn effort(mut self, effort: Option<Effort>) -> Self {
        self.settings.effort = effort.or(self.settings.effort);
        self
    }

    /// As a nested session of this identity, so deep in this tree.
    pub(crate) fn beneath(mut self, identity: Identity, depth: u8, tree: Tree) -> Self {
        self.identity = identity;
        self.depth = depth;
        self.tree = tree;
        self
    }

    /// Starts the session's task on the current tokio runtime. No request goes out before the
    /// first message is submitted.
    ///
    /// # Errors
    ///
    /// When an endpoint, a directory or the journal cannot be used, an endpoint is for a model the
    /// settings do not name, or no runtime is here.
    pub fn start(self) -> Result<(Session, Notices), StartError> {
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let Assembled { run, teller, scratch, commands, notices, undo, late } = self.assemble()?;
        let (over, closed) = watch::channel(false);
        let close_max = crate::CLOSE_MAX.max(run.hooks.parting_time() + CLOSE_GRACE);
        let outside = Outside::new(teller.clone());
        runtime.spawn(run::supervise(run.until_closed(), teller, scratch, over));
        Ok((Session { commands, closed, close_max, undo, outside, late }, notices))
    }
}
