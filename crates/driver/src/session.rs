//! The handle a front end or an embedder holds: submit, answer, interrupt, close.
//!
//! A [`Builder`] starts a session on the tokio runtime it is called in (one thread is enough) and
//! gives two ends: a [`Session`] to speak into and [`Notices`] to read from. Speaking never waits;
//! whatever comes of it is told as a notice. Nothing is decided here.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use windlass_engine::{Interrupt, Settings};
use windlass_hook::{HookEvent, HookSet};
use windlass_journal::{Durability, Head};
use windlass_tool::{Registry, Secrets, Surroundings};
use windlass_vocabulary::inventory::Inventory;
use windlass_vocabulary::{Answer, Block, Effort, ModelName, PermissionQuestion, Ticket};

use crate::aside::Asides;
use crate::attachment::nearby::{Nearby, Neighbours};
use crate::attachment::{Attachments, Finder};
use crate::error::{SendError, StartError};
use crate::hook::door::Door;
use crate::hook::input::Identity;
use crate::hook::{self, Parting, SessionHooks};
use crate::inspect::Inspector;
use crate::journal::{Journal, Place};
use crate::late::Late;
use crate::model::{Endpoint, ModelPort, Routes, Timeouts};
use crate::notebook::Notebook;
use crate::notices::{self, Notices, Teller};
use crate::outside::Outside;
use crate::perform::{Parts, Performer};
use crate::run::{self, Change, Command, Run};
use crate::tool::subagent::{AgentTool, Nest, Parent, Subagents, Tree};
use crate::transcript::{Heard, Pen, Transcript};
use crate::undo::{FileBack, RewindError, Undo, Wish};
use crate::waits::Waits;

/// Puts a session together.
///
/// ```no_run
/// # async fn example(facts: windlass_vocabulary::ModelFacts) -> Result<(), Box<dyn std::error::Error>> {
/// use windlass_driver::{Builder, Endpoint, Registry, Settings};
/// use windlass_vocabulary::Wire;
///
/// let endpoint = Endpoint::new(Wire::AnthropicMessages, "http://127.0.0.1:8080");
/// let (session, mut notices) = Builder::new(Settings::new(facts), endpoint)
///     .registry(Registry::builtin())
///     .start()?;
/// session.submit("What does this project do?")?;
/// let ending = notices.ending().await;
/// session.close().await;
/// # Ok(())
/// # }
/// ```
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

    /// Asks this model there, over that endpoint's wire, with that endpoint's credential; all
    /// others live where the session was built. So a fallback or the small model may be another
    /// provider's, and a conversation changes its wire where the model changes.
    #[must_use]
    pub fn endpoint_for(mut self, model: ModelName, endpoint: Endpoint) -> Self {
        self.endpoints.push((model, endpoint));
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

    pub(crate) fn assemble(mut self) -> Result<Assembled, StartError> {
        self.check_models()?;
        self.add_search();
        self.heed_hooks();
        let secrets = self.tell_secrets();
        let routes = Routes::new(&self.endpoint, &self.endpoints, self.timeouts)?;
        let (surroundings, scratch, undo) = self.place(secrets)?;
        let (teller, notices) = notices::channel();
        if let Some(subagents) = self.agents.take() {
            self.insert_agents(subagents, &surroundings, &teller);
        }
        let settings = Arc::new(self.settings);
        let registry = Arc::new(self.registry);
        let inspector = Arc::new(Inspector {
            registry: Arc::clone(&registry),
            surroundings: Arc::clone(&surroundings),
            policy: settings.policy.clone(),
        });
        let model = ModelPort {
            routes,
            timeouts: self.timeouts,
            keeps_raw: self.raw_events,
            inspector: Arc::clone(&inspector),
            teller: teller.clone(),
            notes: Mutex::default(),
        };
        let model = Arc::new(model);
        let asides = Arc::new(Asides::new(&model, &settings));
        let (report, events) = mpsc::channel(run::EVENTS_MAX);
        let who = (self.hooks, self.identity);
        let hooks = SessionHooks::new(who, &settings, &inspector, (&asides, &report), &teller);
        let mut pen = Pen::new(self.transcript);
        let (journal, state) = Journal::open(self.journal, &settings, &teller, &mut pen)?;
        let (orders, commands) = mpsc::channel(run::COMMANDS_MAX);
        let late = Late::new(&model, &surroundings);
        let performer = Performer::new(Parts {
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
        };
        Ok(Assembled { run, teller, scratch, commands: orders, notices, undo, late })
    }

    /// Everybody who is told a key tells it on to whoever takes keys out of what is written.
    fn tell_secrets(&mut self) -> Secrets {
        let secrets = self.surroundings.as_ref().map(|it| it.secrets.clone()).unwrap_or_default();
        self.endpoint = self.endpoint.clone().telling(&secrets);
        let told = |(model, endpoint): (ModelName, Endpoint)| (model, endpoint.telling(&secrets));
        self.endpoints = std::mem::take(&mut self.endpoints).into_iter().map(told).collect();
        secrets
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
            Some(place) if surroundings.keeper.is_none() => {
                let session = self.transcript.as_ref().map(|kept| kept.about.session.clone());
                let settings = self.settings.clone();
                Some(Arc::new(Undo::open(place, session.unwrap_or_default(), settings)?))
            }
            _ => None,
        };
        if let Some(undo) = &undo {
            surroundings.keeper = Some(Arc::<Undo>::clone(undo));
        }
        Ok((Arc::new(surroundings), scratch, undo))
    }

    /// Offers nested sessions, made of everything this one has.
    fn insert_agents(
        &mut self,
        subagents: Subagents,
        surroundings: &Arc<Surroundings>,
        teller: &Teller,
    ) {
        let parent = Parent {
            settings: self.settings.clone(),
            endpoint: self.endpoint.clone(),
            endpoints: self.endpoints.clone(),
            registry: self.registry.clone(),
            surroundings: Arc::clone(surroundings),
            hooks: self.hooks.clone(),
            identity: self.identity.clone(),
            nearby: self.nearby.clone(),
            journal: self.journal.clone(),
            transcript: self.transcript.clone(),
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
        if self.hooks.is_empty() {
            return;
        }
        self.settings.hooks = hook::points(&self.hooks);
        let is_nested = self.settings.agent.is_subagent;
        let stop = if is_nested { HookEvent::SubagentStop } else { HookEvent::Stop };
        self.settings.limits.stop_hooks = self.hooks.has(stop);
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

/// The handle of a running session. Clones speak to the same session; when the last one is
/// dropped, the session closes.
#[derive(Clone, Debug)]
pub struct Session {
    commands: mpsc::Sender<Command>,
    closed: watch::Receiver<bool>,
    close_max: Duration,
    undo: Option<Arc<Undo>>,
    outside: Arc<Outside>,
    pub(crate) late: Late,
}

/// What closing takes besides hooks that are given a long time.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

impl Session {
    /// Sends a message. Between runs it starts one; during a run it is kept and delivered at the
    /// next tool boundary.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn submit(&self, message: impl Into<Submission>) -> Result<(), SendError> {
        self.send(Command::Submit(message.into()))
    }

    /// Answers a question told as `Notice::PermissionAsked`. An answer to a question that is no
    /// longer open changes nothing.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn answer(&self, ticket: Ticket, answer: Answer) -> Result<(), SendError> {
        if Outside::is_ours(ticket) {
            self.outside.answer(ticket, answer);
            return Ok(());
        }
        self.send(Command::Answer(ticket, answer))
    }

    /// Puts a question that is no part of the conversation to whoever answers this session's, as
    /// `Notice::PermissionAsked`. `None` when nobody will answer; dropped, it is withdrawn.
    pub fn ask(
        &self,
        question: PermissionQuestion,
    ) -> impl Future<Output = Option<Answer>> + Send + 'static {
        Arc::clone(&self.outside).ask(question)
    }

    /// Ends what is going on, whatever it is. The end is told as `Notice::RunEnded`.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn interrupt(&self, why: Interrupt) -> Result<(), SendError> {
        self.send(Command::Interrupt(why))
    }

    /// Ends the pause before the next try, if there is one; for a person who knows that the network
    /// is back.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn retry_now(&self) -> Result<(), SendError> {
        self.send(Command::RetryNow)
    }

    /// Changes the settings from now on: the mode, rules, the model, how it thinks. The change is
    /// given the settings of this moment, with everything that was allowed on the way. The number of
    /// models must stay as it is while a run is going on.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn configure(
        &self,
        change: impl FnOnce(&mut Settings) + Send + 'static,
    ) -> Result<(), SendError> {
        self.send(Command::Configure(Change(Box::new(change))))
    }

    /// Compacts history now, perhaps with a view to something. A run of its own, told like any
    /// other; while a run is going on it is refused with a warning.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn compact(&self, focus: Option<String>) -> Result<(), SendError> {
        self.send(Command::Compact(focus))
    }

    /// Asks something about the conversation that is no part of it: of what was said up to the end of
    /// the last run. Answered as `Notice::QuestionAnswered`, also while a run is going on.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn ask_aside(&self, question: impl Into<String>) -> Result<(), SendError> {
        self.send(Command::Ask(question.into()))
    }

    /// Gives the session a name, for lists. None is asked for then.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn rename(&self, title: impl Into<String>) -> Result<(), SendError> {
        self.send(Command::Rename(title.into()))
    }

    /// Waits until everything that is seen to after a run is done and kept, at most so long. For
    /// those who leave at once; a session that is closed drops what is under way.
    pub async fn drain(&self, limit: Duration) {
        let (reply, done) = oneshot::channel();
        let drained = async {
            if self.commands.send(Command::Drain(reply)).await.is_ok() {
                let _ = done.await;
            }
        };
        let _ = tokio::time::timeout(limit, drained).await;
    }

    /// What fills the window now, and what was dropped to make room; `None` when the session is
    /// over.
    pub async fn inventory(&self) -> Option<Inventory> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Inventory(reply)).await.ok()?;
        answer.await.ok()
    }

    /// The messages that wait for the next tool boundary, the next to be delivered first; `None`
    /// when the session is over.
    pub async fn queued(&self) -> Option<Vec<Queued>> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Queued(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Changes a message that waits, or takes it back if it is to say nothing. Says whether it was
    /// still waiting; when it returns, the change is kept like the message was.
    pub async fn change_queued(&self, queued: Queued, content: Option<Vec<Block>>) -> bool {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(Command::ChangeQueued { queued, content, reply }).await;
        sent.is_ok() && answer.await.unwrap_or(false)
    }

    /// Takes files back to where they were before this message, called by its name in the
    /// transcript; or says what that would change. Meant for the time between runs.
    ///
    /// # Errors
    ///
    /// When nothing is kept, there is no such message, others changed files since and may not be
    /// overwritten, or the disk says no.
    pub async fn rewind_files(
        &self,
        message: impl Into<String>,
        wish: Wish,
    ) -> Result<Vec<FileBack>, RewindError> {
        let (undo, message) = (self.undo.clone().ok_or(RewindError::NotKept)?, message.into());
        let done = tokio::task::spawn_blocking(move || undo.rewind(&message, wish)).await;
        done.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(RewindError::NotKept),
        })
    }

    /// Interrupts what is going on, waits until every process of every tool is gone, and closes
    /// the session. Done within [`CLOSE_MAX`](crate::CLOSE_MAX), unless a hook at the end is
    /// configured to take longer. May be called again.
    pub async fn close(&self) {
        self.close_for(Parting::Other).await;
    }

    /// The same, and hooks are told why.
    pub async fn close_for(&self, why: Parting) {
        let mut closed = self.closed.clone();
        let done = async {
            // An error means that the session is closing already.
            let _ = self.commands.send(Command::Close(why)).await;
            let _ = closed.wait_for(|is_closed| *is_closed).await;
        };
        // A session that does not end by then is past helping; its tasks die with the runtime.
        let _ = tokio::time::timeout(self.close_max, done).await;
    }

    /// Do both speak to the same session?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.commands.same_channel(&other.commands)
    }

    /// Is the session over?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    fn send(&self, command: Command) -> Result<(), SendError> {
        self.commands.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SendError::Full,
            mpsc::error::TrySendError::Closed(_) => SendError::Closed,
        })
    }
}

/// A message for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What it says.
    pub content: Vec<Block>,
    /// It survives every context level word for word.
    pub pinned: bool,
    /// What the transcript calls it: a UUID of the sender's. One is made up if there is none.
    pub name: Option<String>,
}

/// A message that waits for the next tool boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its place among those that wait, counted from 0.
    pub place: usize,
    /// What its sender calls it.
    pub name: Option<String>,
    /// What it says.
    pub content: Vec<Block>,
    /// It survives every context level word for word.
    pub pinned: bool,
}

impl Submission {
    /// Calls it this in the transcript.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes it survive every context level.
    #[must_use]
    pub fn pinned(mut self) -> Self {
        self.pinned = true;
        self
    }
}

impl From<Vec<Block>> for Submission {
    fn from(content: Vec<Block>) -> Self {
        Self { content, pinned: false, name: None }
    }
}

impl From<String> for Submission {
    fn from(text: String) -> Self {
        Self::from(vec![Block::Text(text)])
    }
}

impl From<&str> for Submission {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
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
