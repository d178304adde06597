//! Collects the parts of a session, and starts it.
//!
//! Only stores them; `assemble` puts them together.

mod assemble;
mod session_parts;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;
use windlass_engine::Settings;
use windlass_hook::HookSet;
use windlass_journal::disk::{JournalDisk, RealDisk};
use windlass_journal::{Durability, JournalHead};
use windlass_permission::Policy;
use windlass_tool::{ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{Effort, ModelFacts, ModelName};

use crate::attachment::AttachmentFinder;
use crate::attachment::path_instructions::PathInstructionSource;
use crate::error::SessionStartError;
use crate::hook::hook_input::SessionIdentity;
use crate::journal_location::JournalLocation;
use crate::latency::LatencyHistogram;
use crate::model::{Endpoint, ModelTimeouts};
use crate::notices::Notices;
use crate::observer::SessionObserver;
use crate::session::{CLOSE_GRACE, Session};
use crate::session_loop;
use crate::session_settings::SessionSettingsView;
use crate::snapshot::SnapshotConfig;
use crate::subagent::SubagentConfig;
use crate::transcript_writer::{TranscriptConfig, TranscriptListener};
use crate::trial::TrialConfig;

pub(crate) use assemble::AssembledSession;
use session_parts::{BuilderTools, ContextSources, HookSetup, SessionRecord};
pub(crate) use session_parts::{ModelAccess, SessionNesting};

/// Configures and starts a session. Everything except the settings and the endpoint has a default;
/// see the quick start of this crate.
#[derive(Debug)]
pub struct SessionBuilder {
    settings: Settings,
    model: ModelAccess,
    tools: BuilderTools,
    context: ContextSources,
    record: SessionRecord,
    hooks: HookSetup,
    nesting: SessionNesting,
}

impl SessionBuilder {
    /// A session without tools and journal.
    #[must_use]
    pub fn new(settings: Settings, endpoint: Endpoint) -> Self {
        Self {
            settings,
            model: ModelAccess::new(endpoint),
            tools: BuilderTools::default(),
            context: ContextSources::default(),
            record: SessionRecord::default(),
            hooks: HookSetup::default(),
            nesting: SessionNesting::default(),
        }
    }

    /// The initial settings.
    #[must_use]
    pub fn settings(&self) -> SessionSettingsView {
        SessionSettingsView::from(&self.settings)
    }

    /// The initial policy, to be changed.
    pub fn policy_mut(&mut self) -> &mut Policy {
        &mut self.settings.policy
    }

    /// Replaces the system prompt.
    pub fn set_system_prompt(&mut self, prompt: impl Into<Arc<str>>) {
        self.settings.prompt.system_prompt = prompt.into();
    }

    /// Whether hooks may defer a call. Only useful if a later process can continue the session,
    /// because a deferred call ends the run.
    pub fn set_deferrable_calls(&mut self, on: bool) {
        self.settings.hooks.can_defer = on;
    }

    /// Keeps the data that [`Session::ask_side_question`] needs, which costs memory.
    pub fn enable_side_questions(&mut self) {
        self.settings.after.questions = true;
    }

    /// Asks the model after each run for a suggestion of the next prompt.
    pub fn enable_prompt_suggestions(&mut self) {
        self.settings.after.suggestion = true;
    }

    /// Changes the tools, and their descriptions for the model.
    #[must_use]
    pub fn change_registry(self, change: impl FnOnce(&mut ToolRegistry)) -> Self {
        let mut registry = self.tools.registry.clone();
        change(&mut registry);
        self.registry(registry)
    }

    /// Whether the caller answers permission questions, which arrive as `Notice::PermissionAsked`.
    /// Without this, a call that would need a question is denied.
    #[must_use]
    pub fn permission_prompts(mut self, on: bool) -> Self {
        self.settings.policy.can_ask = on;
        self
    }

    /// Uses this endpoint for a model, with its wire and credential; all other models use the
    /// session's endpoint. So a fallback or the small model may be another provider's, and the
    /// conversation changes its wire when the model changes.
    #[must_use]
    pub fn endpoint_for(mut self, model: ModelName, endpoint: Endpoint) -> Self {
        self.model.endpoints.push((model, endpoint));
        self
    }

    /// Models that agents and prompts may request by name; they use the session's endpoint. Without
    /// this, only the session's own models can be requested.
    #[must_use]
    pub fn named_models(mut self, models: impl IntoIterator<Item = (String, ModelFacts)>) -> Self {
        self.model.named_models = models.into_iter().collect();
        self
    }

    /// Sets the tools. Their descriptions replace `Settings::tools`.
    #[must_use]
    pub fn registry(mut self, registry: ToolRegistry) -> Self {
        self.settings.tools = registry.specs().into();
        self.tools.registry = registry;
        self
    }

    /// Sets where tools work. The default is the current directory, with a spill directory beside
    /// the journal, or else in the system's temporary directory and removed when the session ends.
    /// The path of the spill directory overrides the one in `Settings`.
    #[must_use]
    pub fn tool_context(mut self, tool_context: ToolSessionContext) -> Self {
        self.tools.tool_context = Some(tool_context);
        self
    }

    /// Sets the session's id and the project's root for hook inputs.
    #[must_use]
    pub fn identity(mut self, session: impl Into<String>, project: Option<PathBuf>) -> Self {
        self.hooks.identity.session = session.into();
        self.hooks.identity.project = project;
        self
    }

    /// Sets the start source for session start hooks: `clear` or `fork`. The default depends on the
    /// journal.
    #[must_use]
    pub fn start_source(mut self, source: impl Into<String>) -> Self {
        self.hooks.start_source = Some(source.into());
        self
    }

    /// Adds hooks. They determine at which points the engine asks for hooks.
    #[must_use]
    pub fn hooks(mut self, hooks: HookSet) -> Self {
        self.hooks.set = self.hooks.set.join(hooks);
        self
    }

    /// Adds, wraps or removes tools of the registry before the session starts.
    #[must_use]
    pub fn change_tools(mut self, change: impl FnOnce(&mut ToolRegistry)) -> Self {
        change(&mut self.tools.registry);
        self.settings.tools = self.tools.registry.specs().into();
        self
    }

    /// Finds memories during the first model call of a run, if `Settings::prefetch` is on.
    #[must_use]
    pub fn memory(mut self, finder: impl AttachmentFinder + 'static) -> Self {
        self.context.memory = Some(Arc::new(finder));
        self
    }

    /// Saves notes for later sessions to this file, if `Settings::after` asks for them.
    #[must_use]
    pub fn memory_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.context.memory_file = Some(path.into());
        self
    }

    /// Hooks that become active when the skill of this name is loaded, until the session ends.
    #[must_use]
    pub fn skill_hooks(mut self, hooks: Vec<(String, HookSet)>) -> Self {
        self.hooks.skill_hooks = hooks;
        self
    }

    /// Finds skills during the first model call of a run, if `Settings::prefetch` is on.
    #[must_use]
    pub fn skills(mut self, finder: impl AttachmentFinder + 'static) -> Self {
        self.context.skills = Some(Arc::new(finder));
        self
    }

    /// Adds instructions for a file when the model first reads or writes it, also in nested sessions.
    #[must_use]
    pub fn path_instructions(mut self, path_instructions: Arc<dyn PathInstructionSource>) -> Self {
        self.context.path_instructions = Some(path_instructions);
        self
    }

    /// Writes every event to this journal before its effects are performed. An existing journal is
    /// resumed: its events are replayed, and an unfinished run is closed as interrupted.
    #[must_use]
    pub fn journal(mut self, path: impl Into<PathBuf>, durability: Durability) -> Self {
        self.record.journal = Some(JournalLocation {
            path: path.into(),
            durability,
            disk: Arc::new(RealDisk),
            must_exist: false,
            head: JournalHead::default(),
            price_table: None,
            last_seq: Arc::default(),
            latency: Arc::default(),
        });
        self
    }

    /// Fails if the journal does not exist, instead of creating it. No effect without a journal.
    #[must_use]
    pub fn journal_must_exist(mut self, on: bool) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.must_exist = on;
        }
        self
    }

    /// Writes the journal, and those of nested sessions, to this disk. No effect without a journal.
    #[must_use]
    pub fn journal_disk(mut self, disk: Arc<dyn JournalDisk>) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.disk = disk;
        }
        self
    }

    /// Also writes the transcript that other programs read, after the journal.
    #[must_use]
    pub fn transcript(mut self, transcript: TranscriptConfig) -> Self {
        self.record.transcript = Some(transcript);
        self
    }

    /// Calls this function with each line of the transcript right after it was written, and before
    /// the notice of its message; also for nested sessions.
    #[must_use]
    pub fn transcript_listener(mut self, listener: TranscriptListener) -> Self {
        self.record.transcript.get_or_insert_default().listener = Some(listener);
        self
    }

    /// Continues a run that the last process left unfinished, instead of closing it: with its turn
    /// count, guards and reservations. A call that was running is not repeated; its outcome is
    /// reported as unknown.
    #[must_use]
    pub fn resume_run(mut self, on: bool) -> Self {
        self.record.resumes_run = on;
        self
    }

    /// Describes the session in a new journal, for lists of sessions. No effect without a journal.
    #[must_use]
    pub fn journal_head(mut self, head: JournalHead) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.head = head;
        }
        self
    }

    /// Measures how long requests and tools waited for the disk, including nested sessions. No
    /// effect without a journal.
    #[must_use]
    pub fn disk_latency(mut self, waits: Arc<LatencyHistogram>) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.latency = waits;
        }
        self
    }

    /// The version of the price table, recorded with costs. No effect without a journal.
    #[must_use]
    pub fn price_table(mut self, version: impl Into<String>) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.price_table = Some(version.into());
        }
        self
    }

    /// Whether the previous content of edited files is kept for rewinding. The default is on if
    /// there is a journal.
    #[must_use]
    pub fn keep_file_history(mut self, on: bool) -> Self {
        self.record.keeps_file_history = on;
        self
    }

    /// Takes snapshots of a further directory too, like [`SessionBuilder::snapshots`].
    #[must_use]
    pub fn added_snapshots(mut self, root: impl Into<PathBuf>, config: SnapshotConfig) -> Self {
        self.record.added_snapshots.push((root.into(), config));
        self
    }

    /// Runs commands on an overlay of the working directory, so that the user can review changes
    /// before they are applied. Needs snapshots.
    #[must_use]
    pub fn trials(mut self, config: TrialConfig) -> Self {
        self.record.trials = Some(config);
        self
    }

    /// Uses a budget that several sessions share through this file, in addition to the session's
    /// own limit. `session` identifies this session in the file.
    #[must_use]
    pub fn shared_budget(mut self, path: impl Into<PathBuf>, session: impl Into<String>) -> Self {
        self.record.shared_budget = Some((path.into(), session.into()));
        self
    }

    /// Takes snapshots of the working directory around calls that may change files, so that changes
    /// by commands can be undone too. Needs a journal.
    #[must_use]
    pub fn snapshots(mut self, config: SnapshotConfig) -> Self {
        self.record.snapshots = Some(config);
        self
    }

    /// Sets how long to wait for model servers.
    #[must_use]
    pub fn timeouts(mut self, timeouts: ModelTimeouts) -> Self {
        self.model.timeouts = timeouts;
        self
    }

    /// Also streams every event of the wire, unchanged, as `Delta::Raw`.
    #[must_use]
    pub fn raw_events(mut self, on: bool) -> Self {
        self.model.raw_events = on;
        self
    }

    /// Streams every piece of text as the server sent it. By default, pieces that arrive together
    /// are joined.
    #[must_use]
    pub fn separate_deltas(mut self, on: bool) -> Self {
        self.model.separate_deltas = on;
        self
    }

    /// Adds a web search tool, if the first endpoint's provider offers search.
    #[must_use]
    pub fn web_search(mut self, on: bool) -> Self {
        self.tools.web_search = on;
        self
    }

    /// Adds the `Agent` tool for nested sessions.
    #[must_use]
    pub fn subagents(mut self, agents: SubagentConfig) -> Self {
        self.tools.subagents = Some(agents);
        self
    }

    /// Sets an observer for this session and its nested sessions.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn SessionObserver>) -> Self {
        self.nesting.observer = Some(observer);
        self
    }

    pub(crate) fn effort(mut self, effort: Option<Effort>) -> Self {
        self.settings.reasoning.effort = effort.or(self.settings.reasoning.effort);
        self
    }

    pub(crate) fn model_access(mut self, model: ModelAccess) -> Self {
        self.model = model;
        self
    }

    pub(crate) fn journal_location(mut self, location: JournalLocation) -> Self {
        self.record.journal = Some(location);
        self
    }

    pub(crate) fn nested_in(mut self, identity: SessionIdentity, nesting: SessionNesting) -> Self {
        self.hooks.identity = identity;
        self.nesting = nesting;
        self
    }

    /// Starts the session's task on the current tokio runtime. No request is sent before the first
    /// prompt.
    ///
    /// # Errors
    ///
    /// An endpoint, a directory or the journal cannot be used, an endpoint is for a model that the
    /// settings do not name, or there is no runtime.
    pub fn start(self) -> Result<(Session, Notices), SessionStartError> {
        let runtime = Handle::try_current().map_err(|_| SessionStartError::NoRuntime)?;
        let AssembledSession {
            session_loop: run,
            notice_sender,
            scratch,
            commands,
            notices,
            file_history,
            resources: late,
            waiting_prompts,
            spending,
            client_questions,
        } = self.assemble()?;
        let (over, closed) = watch::channel(false);
        let close_max = crate::CLOSE_MAX.max(run.hooks.session_end_timeout() + CLOSE_GRACE)
            + notice_sender.watch().map(|watch| watch.finish_max()).unwrap_or_default();
        runtime.spawn(session_loop::supervise(
            run.run_until_closed(),
            notice_sender,
            scratch,
            over,
        ));
        Ok((
            Session {
                commands,
                closed,
                close_max,
                file_history,
                client_questions,
                resources: late,
                waiting_prompts,
                spending,
            },
            notices,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_command::SessionCommand;
    use crate::{Credential, SessionEndReason};
    use serde_json::json;
    use std::time::Duration;
    use windlass_engine::Interrupt;
    use windlass_rehearsal::{
        Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says, ScriptedFault,
    };
    use windlass_vocabulary::{Notice, PermissionMode, Prices, Terminal, Tokens, WireFormat};

    fn settings() -> Settings {
        let mut settings = Settings::new(ModelFacts {
            name: "rehearsed-model".into(),
            window: Tokens(200_000),
            output_default: Tokens(8_000),
            output_max: Tokens(64_000),
            prices: Prices { input: 3_000_000, output: 15_000_000, ..Prices::default() },
        });
        settings.policy.mode = PermissionMode::BypassPermissions;
        settings.tools = ToolRegistry::with_builtin_tools().specs().into();
        settings
    }

    #[tokio::test]
    async fn the_journal_replays_to_the_state_that_was_left() {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("session.jsonl");
        let script = Script::new()
            .answer(Says::text("cut").thinking("hm").fault(ScriptedFault::cut_after_event(6)))
            .answer(Says::text("go").tool("Bash", json!({ "command": "echo one" })).chunk(1))
            .answer(
                Says::text("a longer text, cut by the user")
                    .fault(ScriptedFault::stall_after_event(5)),
            );
        let server = Rehearsal::start(script, RehearsalOptions::default()).await.unwrap();
        let endpoint = Endpoint::new(WireFormat::AnthropicMessages, server.url())
            .credential(Credential::Key("key".to_owned()));
        let builder = SessionBuilder::new(settings(), endpoint)
            .registry(ToolRegistry::with_builtin_tools())
            .journal(&journal, Durability::Written);
        let AssembledSession { session_loop, commands, mut notices, .. } =
            builder.assemble().unwrap();
        let mut settings = settings();
        settings.context.spill_directory = session_loop.settings.context.spill_directory.clone();
        let run = tokio::spawn(session_loop.run_until_closed());
        commands.send(SessionCommand::Submit("do it".into())).await.unwrap();
        assert!(server.wait_for_requests(3, Duration::from_secs(240)).await);
        while !matches!(notices.next().await, Some(Notice::Continued { turn: 2, .. })) {}
        while !matches!(notices.next().await, Some(Notice::Streamed { .. })) {}
        commands.send(SessionCommand::Interrupt(Interrupt::User)).await.unwrap();
        let ending = notices.wait_for_run_end().await.unwrap();
        assert_eq!(ending.terminal, Terminal::AbortedStreaming);
        commands.send(SessionCommand::Close(SessionEndReason::Other)).await.unwrap();
        let left = run.await.unwrap();
        let replayed = windlass_journal::fold(&journal, &settings).unwrap();
        assert_eq!(format!("{left:#?}"), format!("{:#?}", replayed.state));
        assert!(replayed.seq > 10);
    }
}
