//! Everything a session is made of, piece by piece, until it is started.
//!
//! Only gathers; how the pieces are put together is in `assemble`.

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

/// Collects what a session is made of, and starts it. Everything but the settings and the endpoint has
/// a default; the quick start is at the head of this crate.
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
    /// A session with these settings at this endpoint, without tools and without a journal.
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

    /// The settings the session will start with.
    #[must_use]
    pub fn settings(&self) -> SessionSettingsView {
        SessionSettingsView::from(&self.settings)
    }

    /// The policy the session will start with, to be changed.
    pub fn policy_mut(&mut self) -> &mut Policy {
        &mut self.settings.policy
    }

    /// Replaces the system prompt.
    pub fn set_system_prompt(&mut self, prompt: impl Into<Arc<str>>) {
        self.settings.prompt.system_prompt = prompt.into();
    }

    /// Whether hooks may defer a call. Only where the session can be continued by a later process,
    /// because a deferred call ends the run.
    pub fn set_deferrable_calls(&mut self, on: bool) {
        self.settings.hooks.can_defer = on;
    }

    /// Keeps what [`Session::ask_side_question`] needs, which costs memory.
    pub fn enable_side_questions(&mut self) {
        self.settings.after.questions = true;
    }

    /// Asks the model after each run what the user may want to say next.
    pub fn enable_prompt_suggestions(&mut self) {
        self.settings.after.suggestion = true;
    }

    /// Changes the tools, and what the model is told of them.
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

    /// Asks this model there, over that endpoint's wire, with that endpoint's credential; all
    /// others live where the session was built. So a fallback or the small model may be another
    /// provider's, and a conversation changes its wire where the model changes.
    #[must_use]
    pub fn endpoint_for(mut self, model: ModelName, endpoint: Endpoint) -> Self {
        self.model.endpoints.push((model, endpoint));
        self
    }

    /// Models that agents and single prompts may ask for, each by a name people have for it; they live
    /// where the session was built. Without this only the session's own can be asked for.
    #[must_use]
    pub fn named_models(mut self, models: impl IntoIterator<Item = (String, ModelFacts)>) -> Self {
        self.model.named_models = models.into_iter().collect();
        self
    }

    /// With these tools. What the model is told of them replaces `Settings::tools`.
    #[must_use]
    pub fn registry(mut self, registry: ToolRegistry) -> Self {
        self.settings.tools = registry.specs().into();
        self.tools.registry = registry;
        self
    }

    /// Where tools work. Without this: the current directory, with a spill directory beside the
    /// journal, or else below the system's temporary directory and removed when the session ends.
    /// The model is told the name of the spill directory, whatever `Settings` says.
    #[must_use]
    pub fn tool_context(mut self, tool_context: ToolSessionContext) -> Self {
        self.tools.tool_context = Some(tool_context);
        self
    }

    /// The session's name and the project's root, as hooks are told them.
    #[must_use]
    pub fn identity(mut self, session: impl Into<String>, project: Option<PathBuf>) -> Self {
        self.hooks.identity.session = session.into();
        self.hooks.identity.project = project;
        self
    }

    /// Why the session starts, as hooks are told: `clear`, `fork`. Without this it follows from the
    /// journal.
    #[must_use]
    pub fn start_source(mut self, source: impl Into<String>) -> Self {
        self.hooks.start_source = Some(source.into());
        self
    }

    /// With these hooks, after those it has. Which points of the loop have hooks follows from them.
    #[must_use]
    pub fn hooks(mut self, hooks: HookSet) -> Self {
        self.hooks.set = self.hooks.set.join(hooks);
        self
    }

    /// With other tools than it has.
    #[must_use]
    pub fn change_tools(mut self, change: impl FnOnce(&mut ToolRegistry)) -> Self {
        change(&mut self.tools.registry);
        self.settings.tools = self.tools.registry.specs().into();
        self
    }

    /// Looks here for memories beside the first call of a run, if `Settings::prefetch` is on.
    #[must_use]
    pub fn memory(mut self, finder: impl AttachmentFinder + 'static) -> Self {
        self.context.memory = Some(Arc::new(finder));
        self
    }

    /// Writes what is worth knowing in later sessions into this file, if `Settings::after` says so.
    #[must_use]
    pub fn memory_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.context.memory_file = Some(path.into());
        self
    }

    /// Hooks that are asked once the skill of this name was loaded, as long as the session lives.
    #[must_use]
    pub fn skill_hooks(mut self, hooks: Vec<(String, HookSet)>) -> Self {
        self.hooks.skill_hooks = hooks;
        self
    }

    /// Looks here for skills beside the first call of a run, if `Settings::prefetch` is on.
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

    /// Writes every event down before its effects are performed. A journal that already holds a
    /// session is continued: its events are replayed, and a run that was cut off is closed as
    /// interrupted.
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

    /// Refuses to start when the journal is not there, instead of beginning a new one. Means nothing
    /// without a journal.
    #[must_use]
    pub fn journal_must_exist(mut self, on: bool) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.must_exist = on;
        }
        self
    }

    /// Writes the journal, and those of nested sessions, to this disk. Means nothing without a journal.
    #[must_use]
    pub fn journal_disk(mut self, disk: Arc<dyn JournalDisk>) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.disk = disk;
        }
        self
    }

    /// Also writes the transcript that other programs read, behind the journal.
    #[must_use]
    pub fn transcript(mut self, transcript: TranscriptConfig) -> Self {
        self.record.transcript = Some(transcript);
        self
    }

    /// Calls this function with every line of the transcript right after it was written, and before the
    /// notice of the message it belongs to; also for nested sessions.
    #[must_use]
    pub fn transcript_listener(mut self, heard: TranscriptListener) -> Self {
        self.record.transcript.get_or_insert_default().listener = Some(heard);
        self
    }

    /// Goes on with a run that the last process left unfinished, instead of closing it: with its turn
    /// count, its guards and its reservations. A call that was running then is not run again; its
    /// outcome is told as unknown.
    #[must_use]
    pub fn resume_run(mut self, on: bool) -> Self {
        self.record.resumes_run = on;
        self
    }

    /// What the journal says of the session, for those who look for it: written when the journal is
    /// new. Means nothing without a journal.
    #[must_use]
    pub fn journal_head(mut self, head: JournalHead) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.head = head;
        }
        self
    }

    /// Counts how long requests and tools waited for the disk, nested sessions' too. Means nothing
    /// without a journal.
    #[must_use]
    pub fn disk_latency(mut self, waits: Arc<LatencyHistogram>) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.latency = waits;
        }
        self
    }

    /// The version of the price table, for the rows of the account. Means nothing without a journal.
    #[must_use]
    pub fn price_table(mut self, version: impl Into<String>) -> Self {
        if let Some(place) = &mut self.record.journal {
            place.price_table = Some(version.into());
        }
        self
    }

    /// Whether the former content of edited files is kept, so that they can be restored. On by default
    /// where there is a journal.
    #[must_use]
    pub fn keep_file_history(mut self, on: bool) -> Self {
        self.record.keeps_file_history = on;
        self
    }

    /// Takes snapshots of a further directory, too, as [`SessionBuilder::snapshots`] does of the first.
    #[must_use]
    pub fn added_snapshots(mut self, root: impl Into<PathBuf>, config: SnapshotConfig) -> Self {
        self.record.added_snapshots.push((root.into(), config));
        self
    }

    /// Lets the user try commands before they are applied, on an overlay of the working directory. Needs
    /// snapshots.
    #[must_use]
    pub fn trials(mut self, config: TrialConfig) -> Self {
        self.record.trials = Some(config);
        self
    }

    /// Draws on a budget that several sessions share, kept in this file, beside the session's own limit.
    /// `session` tells it apart there.
    #[must_use]
    pub fn shared_budget(mut self, path: impl Into<PathBuf>, session: impl Into<String>) -> Self {
        self.record.shared_budget = Some((path.into(), session.into()));
        self
    }

    /// Takes snapshots of the working directory around calls that may change files, so that what
    /// commands do can be taken back too. Needs a journal.
    #[must_use]
    pub fn snapshots(mut self, config: SnapshotConfig) -> Self {
        self.record.snapshots = Some(config);
        self
    }

    /// How long to wait for the model server.
    #[must_use]
    pub fn timeouts(mut self, timeouts: ModelTimeouts) -> Self {
        self.model.timeouts = timeouts;
        self
    }

    /// Also streams every event of the wire, verbatim, as `Delta::Raw`.
    #[must_use]
    pub fn raw_events(mut self, on: bool) -> Self {
        self.model.raw_events = on;
        self
    }

    /// Streams every piece of text as the server cut it. Otherwise pieces that arrive together are joined.
    #[must_use]
    pub fn separate_deltas(mut self, on: bool) -> Self {
        self.model.separate_deltas = on;
        self
    }

    /// With a tool that searches the web, if the first endpoint's provider does that.
    #[must_use]
    pub fn web_search(mut self, on: bool) -> Self {
        self.tools.web_search = on;
        self
    }

    /// With nested sessions: the model is offered the tool `Agent`.
    #[must_use]
    pub fn subagents(mut self, agents: SubagentConfig) -> Self {
        self.tools.subagents = Some(agents);
        self
    }

    /// Lets an observer see what this session and those nested in it do.
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

    /// Starts the session's task on the current tokio runtime. No request goes out before the
    /// first message is submitted.
    ///
    /// # Errors
    ///
    /// When an endpoint, a directory or the journal cannot be used, an endpoint is for a model the
    /// settings do not name, or no runtime is here.
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
