//! Assembles a session from its parts, ready to start.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::{mpsc, watch};
use windlass_engine::Settings;
use windlass_hook::HookEvent;
use windlass_tool::{Secrets, ToolSessionContext};
use windlass_vocabulary::{Effort, MicroUsd, ModelName};

use super::{ModelAccess, SessionBuilder};
use crate::attachment::AttachmentSources;
use crate::attachment::path_instructions::PathInstructions;
use crate::call_inspector::CallInspector;
use crate::client_questions::ClientQuestions;
use crate::effect_performer::{EffectPerformer, EffectPerformerParts};
use crate::error::SessionStartError;
use crate::hook::{self, SessionHooks, SessionHooksParts, SharedHooks};
use crate::memory_file::MemoryFile;
use crate::model::side_model::SessionSideModel;
use crate::model::{AnswerIdSource, Endpoint, ModelClient, ModelRoutes};
use crate::model_spending::{ModelSpending, SpendingRecorder};
use crate::notices::{self, NoticeSender, Notices};
use crate::observer::{ModelServer, ObservedSession};
use crate::rewind::FileHistory;
use crate::scratch_directory::create_scratch_directory;
use crate::session::WeakSessionResources;
use crate::session_command::SessionCommand;
use crate::session_end_reason::SessionEndReason;
use crate::session_journal::{OpenedJournal, SessionJournal};
use crate::session_loop::{
    self, LoopInbox, LoopLifecycle, LoopOverrides, LoopRewind, LoopWaiters, SessionLoop,
};
use crate::session_watch::SessionWatch;
use crate::shared_budget::SharedBudget;
use crate::snapshot::{
    ChangeNotices, RecorderThread, SharedWorkspace, SnapshotOutage, SnapshotRecorder,
};
use crate::subagent::{
    AgentTool, NestedSessionFactory, ParentSession, SubagentConfig, agent_workspace,
};
use crate::transcript_writer::SessionTranscriptWriter;
use crate::trial::SessionTrials;

impl SessionBuilder {
    pub(crate) fn assemble(mut self) -> Result<AssembledSession, SessionStartError> {
        self.check_models()?;
        self.add_web_search();
        self.apply_hooks_to_settings();
        let secrets = self.register_secrets();
        let model = &self.model;
        let routes = ModelRoutes::new(&model.endpoint, &model.endpoints, model.timeouts)?;
        let (notice_sender, notices) = self.open_notices(&secrets);
        let client_questions = ClientQuestions::new(notice_sender.clone());
        let AssembledToolContext { tool_context, scratch, file_history } =
            self.prepare_tool_context(secrets, &client_questions)?;
        let snapshots = self.start_snapshots(file_history.as_ref(), &tool_context, &notice_sender);
        let base_hooks = SharedHooks::new(RwLock::new(std::mem::take(&mut self.hooks.set)));
        if let Some(subagents) = self.tools.subagents.take() {
            self.insert_agent_tool(subagents, &tool_context, &notice_sender, &base_hooks);
        }
        let outage = snapshots.as_ref().map(|snapshots| Arc::clone(snapshots.outage()));
        let inspector = self.build_inspector(&tool_context, outage.unwrap_or_default());
        let model_client = self.build_model_client(routes, &inspector, &notice_sender);
        let Self { settings, model, tools: _, context, record, hooks: hook_setup, nesting } = self;
        let settings = Arc::new(settings);
        let side_model =
            Arc::new(SessionSideModel::new(&model_client, &settings, &model.named_models));
        let (event_sender, events) = mpsc::channel(session_loop::EVENTS_MAX);
        let hooks = SessionHooks::new(
            SessionHooksParts {
                base: base_hooks,
                identity: hook_setup.identity,
                inspector: Arc::clone(&inspector),
                side_model: Arc::clone(&side_model),
                notice_sender: notice_sender.clone(),
            },
            &settings,
            &event_sender,
        );
        let mut transcript = SessionTranscriptWriter::new(record.transcript);
        let leftover_worktrees =
            record.journal.as_ref().map(agent_workspace::find_leftover_worktrees);
        let OpenedJournal { journal, state, spent_before_rewind } =
            SessionJournal::open(record.journal, &settings, &notice_sender, &mut transcript)?;
        let resources = WeakSessionResources::new(&model_client, &tool_context);
        let mut performer = EffectPerformer::new(EffectPerformerParts {
            side_model,
            model: model_client,
            registry: Arc::clone(&inspector.registry),
            inspector,
            attachments: AttachmentSources {
                tool_context,
                memory: context.memory,
                skills: context.skills,
                path_instructions: Arc::new(PathInstructions::new(context.path_instructions)),
            },
            hooks: Arc::clone(&hooks),
            memory_file: context.memory_file.map(|path| Arc::new(MemoryFile::new(path))),
            snapshots: snapshots.clone(),
            notice_sender: notice_sender.clone(),
            events: event_sender,
        });
        spawn_worktree_clean_up(&mut performer, leftover_worktrees, &notice_sender);
        let (command_sender, commands) = mpsc::channel(session_loop::COMMANDS_MAX);
        let (waiting_sender, waiting_prompts) = watch::channel(0);
        let spending = nesting.tree.spending;
        let settings = reduce_budget(settings, spent_before_rewind);
        let limit = settings.budget.budget_max;
        let shared_budget = SharedBudget::start(record.shared_budget, &state.ledger, limit);
        let session_loop = SessionLoop {
            spending: SpendingRecorder::new(&state, spending.clone()),
            shared_budget,
            performer: performer.with_task_lists(&state),
            state,
            settings,
            journal,
            transcript,
            nested_questions: nesting.tree.questions,
            inbox: LoopInbox::new(commands, events, &hooks, waiting_sender),
            hooks,
            overrides: LoopOverrides {
                active: None,
                skill_hooks: hook_setup.skill_hooks,
                named_models: model.named_models,
            },
            rewind: LoopRewind { file_history: file_history.clone(), snapshots, pending: None },
            waiters: LoopWaiters::default(),
            lifecycle: LoopLifecycle {
                resumes_run: record.resumes_run,
                start_source: hook_setup.start_source,
                end_reason: SessionEndReason::Other,
            },
        };
        Ok(AssembledSession {
            session_loop,
            notice_sender,
            scratch,
            commands: command_sender,
            notices,
            file_history,
            resources,
            waiting_prompts,
            spending,
            client_questions,
        })
    }

    /// Opens the notice channel; notices also go to the observer, if there is one.
    fn open_notices(&self, secrets: &Secrets) -> (NoticeSender, Notices) {
        let (notice_sender, notices) = notices::channel(self.model.separate_deltas);
        (notice_sender.with_watch(self.build_watch(secrets)), notices)
    }

    fn build_watch(&self, secrets: &Secrets) -> Option<Arc<SessionWatch>> {
        let observer = Arc::clone(self.nesting.observer.as_ref()?);
        let identity = &self.hooks.identity;
        let describe = |endpoint: &Endpoint| ModelServer {
            wire: endpoint.wire,
            base_url: endpoint.base_url.clone(),
        };
        let others = self.model.endpoints.iter();
        let session = ObservedSession {
            id: identity.session.clone(),
            agent: self.settings.agent.id.clone(),
            agent_kind: identity.agent.as_ref().map(|agent| agent.kind.clone()),
            started_by: self.nesting.started_by.clone(),
            secrets: secrets.clone(),
            server: describe(&self.model.endpoint),
            other_servers: others.map(|(model, it)| (model.clone(), describe(it))).collect(),
        };
        Some(Arc::new(SessionWatch { observer, session }))
    }

    /// Registers the keys of all endpoints, so that they are redacted everywhere.
    fn register_secrets(&mut self) -> Secrets {
        let secrets =
            self.tools.tool_context.as_ref().map(|it| it.secrets.clone()).unwrap_or_default();
        self.model.endpoint = self.model.endpoint.clone().with_registered_secrets(&secrets);
        for (_, endpoint) in &mut self.model.endpoints {
            *endpoint = endpoint.clone().with_registered_secrets(&secrets);
        }
        secrets
    }

    fn build_inspector(
        &self,
        tool_context: &Arc<ToolSessionContext>,
        outage: Arc<SnapshotOutage>,
    ) -> Arc<CallInspector> {
        Arc::new(CallInspector {
            registry: Arc::new(self.tools.registry.clone()),
            tool_context: Arc::clone(tool_context),
            policy: self.settings.policy.clone(),
            outage,
        })
    }

    fn build_model_client(
        &self,
        routes: ModelRoutes,
        inspector: &Arc<CallInspector>,
        notice_sender: &NoticeSender,
    ) -> Arc<ModelClient> {
        Arc::new(ModelClient {
            routes,
            timeouts: self.model.timeouts,
            keeps_raw: self.model.raw_events,
            separate_deltas: self.model.separate_deltas,
            inspector: Arc::clone(inspector),
            notice_sender: notice_sender.clone(),
            answer_ids: AnswerIdSource::default(),
            warned_notes: Mutex::default(),
        })
    }

    fn prepare_tool_context(
        &mut self,
        secrets: Secrets,
        client_questions: &Arc<ClientQuestions>,
    ) -> Result<AssembledToolContext, SessionStartError> {
        let journal = self.record.journal.as_ref();
        let (mut tool_context, scratch) = match self.tools.tool_context.take() {
            Some(tool_context) => (tool_context, None),
            None => build_default_tool_context(journal.map(|place| place.path.as_path()))?,
        };
        tool_context.secrets = secrets;
        set_effort_variable(&mut tool_context, self.settings.reasoning.effort);
        // The model must get the path under which it can read spilled results.
        let spill = tool_context.processes.spill_directory.to_string_lossy();
        self.settings.context.spill_directory = Arc::from(spill.as_ref());
        let file_history = match journal {
            // Files of a nested session are undone by its parent.
            Some(location)
                if tool_context.files.backup.is_none() && !self.settings.agent.is_subagent =>
            {
                let transcript = self.record.transcript.as_ref();
                let session = transcript.map(|transcript| transcript.about.session.clone());
                let settings = self.settings.clone();
                let snapshots = self.record.snapshots.take();
                let added = std::mem::take(&mut self.record.added_snapshots);
                let snapshots = snapshots.map(|config| {
                    let own = SharedWorkspace::new(&tool_context.files.cwd, config)
                        .with_secrets(tool_context.secrets.clone());
                    added.into_iter().fold(own, |own, (root, config)| own.with_added(&root, config))
                });
                let opened =
                    FileHistory::open(location, session.unwrap_or_default(), settings, snapshots)?;
                Some(Arc::new(opened))
            }
            _ => None,
        };
        if let Some(history) = file_history.as_ref().filter(|_| self.record.keeps_file_history) {
            tool_context.files.backup = Some(Arc::<FileHistory>::clone(history));
        }
        if let Some(history) = file_history.as_ref().filter(|history| history.has_snapshots())
            && let Some(config) = self.record.trials.take()
        {
            tool_context.processes.trials = Some(Arc::new(SessionTrials {
                config,
                history: Arc::clone(history),
                questions: Arc::clone(client_questions),
                secrets: tool_context.secrets.clone(),
            }));
        }
        Ok(AssembledToolContext { tool_context: Arc::new(tool_context), scratch, file_history })
    }

    /// Only the first session takes snapshots: those around the call that starts a nested session
    /// cover its changes.
    fn start_snapshots(
        &self,
        file_history: Option<&Arc<FileHistory>>,
        tool_context: &Arc<ToolSessionContext>,
        notice_sender: &NoticeSender,
    ) -> Option<Arc<SnapshotRecorder>> {
        let history = file_history.filter(|_| self.record.keeps_file_history)?;
        if !history.has_snapshots() {
            return None;
        }
        let thread = RecorderThread {
            history: Arc::clone(history),
            tool_context: Arc::downgrade(tool_context),
            notices: Arc::new(ChangeNotices::new(notice_sender.clone())),
            outage: Arc::default(),
        };
        match SnapshotRecorder::start(thread) {
            Ok(recorder) => Some(Arc::new(recorder)),
            Err(error) => {
                notice_sender.warn(format!("no snapshots of files are taken: {error}"));
                None
            }
        }
    }

    /// Adds the `Agent` tool, which starts nested sessions with this session's parts.
    fn insert_agent_tool(
        &mut self,
        subagents: SubagentConfig,
        tool_context: &Arc<ToolSessionContext>,
        notice_sender: &NoticeSender,
        base_hooks: &SharedHooks,
    ) {
        let parent = ParentSession {
            settings: self.settings.clone(),
            // Raw events are streamed for the parent only, not for nested sessions.
            model: ModelAccess { raw_events: false, ..self.model.clone() },
            registry: self.tools.registry.clone(),
            tool_context: Arc::clone(tool_context),
            hooks: Arc::clone(base_hooks),
            identity: self.hooks.identity.clone(),
            path_instructions: self.context.path_instructions.clone(),
            journal: self.record.journal.clone(),
            transcript: self.record.transcript.clone(),
        };
        let factory = NestedSessionFactory {
            subagents,
            parent,
            depth: self.nesting.depth + 1,
            tree: self.nesting.tree.clone(),
            observer: self.nesting.observer.clone(),
            notice_sender: notice_sender.clone(),
        };
        self.tools.registry.insert(Arc::new(AgentTool::new(Arc::new(factory))));
        self.settings.tools = self.tools.registry.specs().into();
    }

    fn add_web_search(&mut self) {
        if self.tools.web_search && self.model.endpoint.can_search() {
            self.tools.registry.insert_web_search();
            self.settings.tools = self.tools.registry.specs().into();
        }
    }

    /// The engine asks only at points that have hooks; hook inputs get the session's identity.
    fn apply_hooks_to_settings(&mut self) {
        let is_nested = self.settings.agent.is_subagent;
        if !self.hooks.set.is_empty() {
            hook::apply_hook_points(&mut self.settings, hook::find_hook_points(&self.hooks.set));
            let stop = if is_nested { HookEvent::SubagentStop } else { HookEvent::Stop };
            self.settings.limits.stop_hooks = self.hooks.set.has_event(stop);
        }
        if let Some(place) = self.record.journal.as_ref().filter(|_| !is_nested) {
            let read_by_others = self.record.transcript.as_ref().and_then(|kept| kept.path.clone());
            self.hooks.identity.transcript = read_by_others.or_else(|| Some(place.path.clone()));
            let session =
                place.head.session.as_ref().filter(|_| self.hooks.identity.session.is_empty());
            if let Some(session) = session {
                self.hooks.identity.session = session.as_str().to_owned();
            }
        }
    }

    /// An endpoint for a model that is never used is probably a typing error, and the intended
    /// model would be called elsewhere. So it is an error.
    fn check_models(&self) -> Result<(), SessionStartError> {
        let Settings { model, fallbacks, small_model, .. } = &self.settings;
        let is_known = |name: &ModelName| {
            let mut all = std::iter::once(model).chain(fallbacks).chain(small_model);
            all.any(|model| model.name == *name)
        };
        match self.model.endpoints.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(SessionStartError::Model { name: name.clone() }),
            None => Ok(()),
        }
    }
}

struct AssembledToolContext {
    tool_context: Arc<ToolSessionContext>,
    /// A directory to remove when the session ends.
    scratch: Option<PathBuf>,
    file_history: Option<Arc<FileHistory>>,
}

/// A session that is ready to start.
pub(crate) struct AssembledSession {
    pub(crate) session_loop: SessionLoop,
    pub(crate) notice_sender: NoticeSender,
    /// A directory to remove when the session ends.
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) commands: mpsc::Sender<SessionCommand>,
    pub(crate) notices: Notices,
    pub(crate) file_history: Option<Arc<FileHistory>>,
    pub(crate) resources: WeakSessionResources,
    pub(crate) waiting_prompts: watch::Receiver<usize>,
    pub(crate) spending: ModelSpending,
    pub(crate) client_questions: Arc<ClientQuestions>,
}

/// Removes worktrees left by an earlier process in the background, if no work would be lost.
fn spawn_worktree_clean_up(
    performer: &mut EffectPerformer,
    leftovers: Option<Vec<PathBuf>>,
    notice_sender: &NoticeSender,
) {
    if let Some(leftovers) = leftovers.filter(|found| !found.is_empty()) {
        let cleaning = agent_workspace::clean_up_leftovers(leftovers, notice_sender.clone());
        performer.spawn_detached(cleaning);
    }
}

/// Reduces the budget by what was spent on messages that were rewound.
fn reduce_budget(settings: Arc<Settings>, spent: MicroUsd) -> Arc<Settings> {
    match settings.budget.budget_max {
        Some(limit) if spent > MicroUsd(0) => {
            let mut reduced = Settings::clone(&settings);
            reduced.budget.budget_max = Some(limit.less(spent));
            Arc::new(reduced)
        }
        _ => settings,
    }
}

/// Sets an environment variable with the effort for commands and hooks, as other agents do.
fn set_effort_variable(tool_context: &mut ToolSessionContext, effort: Option<Effort>) {
    let environment = &mut tool_context.processes.environment;
    environment.retain(|(name, _)| name != EFFORT_VARIABLE);
    environment.extend(effort.map(|effort| (EFFORT_VARIABLE.into(), effort.name().into())));
}

const EFFORT_VARIABLE: &str = "CLAUDE_EFFORT";

/// The default tool context in the current directory, and the scratch directory to remove at the
/// end. With a journal nothing is removed: a resumed session must find the files the model was told
/// about.
fn build_default_tool_context(
    journal: Option<&Path>,
) -> Result<(ToolSessionContext, Option<PathBuf>), SessionStartError> {
    let cwd = std::env::current_dir()
        .map_err(|source| SessionStartError::Directory { path: PathBuf::from("."), source })?;
    if let Some(journal) = journal {
        let spill = cwd.join(journal).with_extension("spill");
        return Ok((ToolSessionContext::new(cwd, spill), None));
    }
    let scratch = create_scratch_directory()?;
    Ok((ToolSessionContext::new(cwd, &scratch), Some(scratch)))
}
