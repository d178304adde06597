//! From the pieces of a session to one that only has to be set going.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::mpsc;
use windlass_engine::Settings;
use windlass_hook::HookEvent;
use windlass_tool::{Secrets, ToolSessionContext};
use windlass_vocabulary::{MicroUsd, ModelName};

use super::SessionBuilder;
use crate::attachment::AttachmentSources;
use crate::attachment::path_instructions::PathInstructions;
use crate::call_inspector::CallInspector;
use crate::effect_performer::{EffectPerformer, EffectPerformerParts};
use crate::error::SessionStartError;
use crate::hook::prompt_intake::PromptIntake;
use crate::hook::{self, SessionHooks, SharedHooks};
use crate::memory_file::MemoryFile;
use crate::model::side_model::SessionSideModel;
use crate::model::{ModelClient, ModelRoutes};
use crate::notices::{self, NoticeSender, Notices};
use crate::rewind::FileHistory;
use crate::scratch_directory::create_scratch_directory;
use crate::session::WeakSessionResources;
use crate::session_command::SessionCommand;
use crate::session_end_reason::SessionEndReason;
use crate::session_journal::{OpenedJournal, SessionJournal};
use crate::session_loop::{self, SessionLoop};
use crate::subagent::{
    AgentTool, NestedSessionFactory, ParentSession, SubagentConfig, agent_workspace,
};
use crate::transcript_writer::SessionTranscriptWriter;

impl SessionBuilder {
    pub(crate) fn assemble(mut self) -> Result<AssembledSession, SessionStartError> {
        self.check_models()?;
        self.add_web_search();
        self.apply_hooks_to_settings();
        let secrets = self.register_secrets();
        let routes = ModelRoutes::new(&self.endpoint, &self.endpoints, self.timeouts)?;
        let (surroundings, scratch, undo) = self.prepare_tool_context(secrets)?;
        let (teller, notices) = notices::channel();
        let base = SharedHooks::new(RwLock::new(std::mem::take(&mut self.hooks)));
        if let Some(subagents) = self.subagents.take() {
            self.insert_agent_tool(subagents, &surroundings, (&teller, &base));
        }
        let model = self.build_model_client(routes, &surroundings, &teller);
        let (settings, inspector) = (Arc::new(self.settings), Arc::clone(&model.inspector));
        let registry = Arc::clone(&inspector.registry);
        let asides = Arc::new(SessionSideModel::new(&model, &settings, &self.named_models));
        let (report, events) = mpsc::channel(session_loop::EVENTS_MAX);
        let who = (base, self.identity);
        let hooks = SessionHooks::new(who, &settings, &inspector, (&asides, &report), &teller);
        let mut pen = SessionTranscriptWriter::new(self.transcript);
        let left =
            self.journal.as_ref().map(agent_workspace::find_leftover_worktrees).unwrap_or_default();
        let opened = SessionJournal::open(self.journal, &settings, &teller, &mut pen)?;
        let OpenedJournal { journal, state, spent_before_rewind: spent_beside } = opened;
        let settings = reduce_budget(settings, spent_beside);
        let (orders, commands) = mpsc::channel(session_loop::COMMANDS_MAX);
        let late = WeakSessionResources::new(&model, &surroundings);
        let mut performer = EffectPerformer::new(EffectPerformerParts {
            side_model: asides,
            model,
            inspector,
            registry,
            attachments: AttachmentSources {
                tool_context: surroundings,
                memory: self.memory,
                skills: self.skills,
                path_instructions: Arc::new(PathInstructions::new(self.path_instructions)),
            },
            hooks: Arc::clone(&hooks),
            memory_file: self.memory_file.map(|path| Arc::new(MemoryFile::new(path))),
            notice_sender: teller.clone(),
            events: report,
        });
        if !left.is_empty() {
            performer.spawn_detached(agent_workspace::clean_up_leftovers(left, teller.clone()));
        }
        let questions = self.tree.questions;
        let run = SessionLoop {
            state,
            settings,
            journal,
            transcript: pen,
            performer,
            commands,
            events,
            nested_questions: questions,
            resumes_run: self.resumes_run,
            record_waiter: None,
            drain_waiters: Vec::new(),
            prompt_intake: PromptIntake::new(Arc::clone(&hooks)),
            hooks,
            ready_items: VecDeque::new(),
            start_source: self.start_source,
            end_reason: SessionEndReason::Other,
            run_overrides: None,
            skill_hooks: self.skill_hooks,
            named_models: self.named_models,
            file_history: undo.clone(),
            pending_rewind: None,
        };
        Ok(AssembledSession {
            session_loop: run,
            notice_sender: teller,
            scratch,
            commands: orders,
            notices,
            file_history: undo,
            resources: late,
        })
    }

    /// Lets every endpoint say what its keys are, so that they are taken out of everything.
    fn register_secrets(&mut self) -> Secrets {
        let secrets = self.tool_context.as_ref().map(|it| it.secrets.clone()).unwrap_or_default();
        self.endpoint = self.endpoint.clone().with_registered_secrets(&secrets);
        for (_, endpoint) in &mut self.endpoints {
            *endpoint = endpoint.clone().with_registered_secrets(&secrets);
        }
        secrets
    }

    /// The way to the models.
    fn build_model_client(
        &self,
        routes: ModelRoutes,
        surroundings: &Arc<ToolSessionContext>,
        teller: &NoticeSender,
    ) -> Arc<ModelClient> {
        let inspector = Arc::new(CallInspector {
            registry: Arc::new(self.registry.clone()),
            tool_context: Arc::clone(surroundings),
            policy: self.settings.policy.clone(),
        });
        Arc::new(ModelClient {
            routes,
            timeouts: self.timeouts,
            keeps_raw: self.raw_events,
            inspector,
            notice_sender: teller.clone(),
            warned_notes: Mutex::default(),
        })
    }

    /// Where tools work, the directory to remove at the end, and who keeps what they change.
    fn prepare_tool_context(
        &mut self,
        secrets: Secrets,
    ) -> Result<PreparedToolContext, SessionStartError> {
        let journal = self.journal.as_ref();
        let (mut surroundings, scratch) = match self.tool_context.take() {
            Some(surroundings) => (surroundings, None),
            None => build_default_tool_context(journal.map(|place| place.path.as_path()))?,
        };
        surroundings.secrets = secrets;
        // The model must be told the name under which it can really read things back.
        let spill = surroundings.spill_directory.to_string_lossy();
        self.settings.context.spill_directory = Arc::from(spill.as_ref());
        let undo = match journal {
            // A nested session's files are its parent's to take back.
            Some(place)
                if surroundings.file_backup.is_none() && !self.settings.agent.is_subagent =>
            {
                let session = self.transcript.as_ref().map(|kept| kept.about.session.clone());
                let settings = self.settings.clone();
                Some(Arc::new(FileHistory::open(place, session.unwrap_or_default(), settings)?))
            }
            _ => None,
        };
        if let Some(undo) = undo.as_ref().filter(|_| self.keeps_file_history) {
            surroundings.file_backup = Some(Arc::<FileHistory>::clone(undo));
        }
        Ok((Arc::new(surroundings), scratch, undo))
    }

    /// Offers nested sessions, made of everything this one has.
    fn insert_agent_tool(
        &mut self,
        subagents: SubagentConfig,
        surroundings: &Arc<ToolSessionContext>,
        (teller, base): (&NoticeSender, &SharedHooks),
    ) {
        let parent = ParentSession {
            settings: self.settings.clone(),
            endpoint: self.endpoint.clone(),
            endpoints: self.endpoints.clone(),
            registry: self.registry.clone(),
            tool_context: Arc::clone(surroundings),
            hooks: Arc::clone(base),
            identity: self.identity.clone(),
            nearby: self.path_instructions.clone(),
            journal: self.journal.clone(),
            transcript: self.transcript.clone(),
            models: Arc::clone(&self.named_models),
            timeouts: self.timeouts,
        };
        let (tree, teller) = (self.tree.clone(), teller.clone());
        let nest = NestedSessionFactory {
            subagents,
            parent,
            depth: self.depth + 1,
            tree,
            notice_sender: teller,
        };
        self.registry.insert(Arc::new(AgentTool::new(Arc::new(nest))));
        self.settings.tools = self.registry.specs().into();
    }

    fn add_web_search(&mut self) {
        if self.web_search && self.endpoint.can_search() {
            self.registry.insert_web_search();
            self.settings.tools = self.registry.specs().into();
        }
    }

    /// The engine asks only at points where there are hooks, and hooks are told who we are.
    fn apply_hooks_to_settings(&mut self) {
        let is_nested = self.settings.agent.is_subagent;
        if !self.hooks.is_empty() {
            hook::apply_hook_points(&mut self.settings, hook::find_hook_points(&self.hooks));
            let stop = if is_nested { HookEvent::SubagentStop } else { HookEvent::Stop };
            self.settings.limits.stop_hooks = self.hooks.has_event(stop);
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
    fn check_models(&self) -> Result<(), SessionStartError> {
        let Settings { model, fallbacks, small_model, .. } = &self.settings;
        let is_known = |name: &ModelName| {
            let mut all = std::iter::once(model).chain(fallbacks).chain(small_model);
            all.any(|model| model.name == *name)
        };
        match self.endpoints.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(SessionStartError::Model { name: name.clone() }),
            None => Ok(()),
        }
    }
}

type PreparedToolContext = (Arc<ToolSessionContext>, Option<PathBuf>, Option<Arc<FileHistory>>);

/// A session that only has to be set going.
pub(crate) struct AssembledSession {
    pub(crate) session_loop: SessionLoop,
    pub(crate) notice_sender: NoticeSender,
    /// A directory to remove when the session is over.
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) commands: mpsc::Sender<SessionCommand>,
    pub(crate) notices: Notices,
    pub(crate) file_history: Option<Arc<FileHistory>>,
    pub(crate) resources: WeakSessionResources,
}

/// The settings, with less to spend: what the conversation went back from was paid for all the same.
fn reduce_budget(settings: Arc<Settings>, spent: MicroUsd) -> Arc<Settings> {
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
