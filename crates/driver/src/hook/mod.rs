//! Users' hooks in a session: their input, and how their answers are applied.
//!
//! `hook_tasks` runs them when the engine asks and before the user is asked for permission;
//! `prompt_intake` at the start of a session and before a prompt is accepted; `hook_input` builds the
//! JSON they read, `hook_notices` reports each run. The engine decides what a verdict means.

mod env_file;
mod hook_backend;
pub(crate) mod hook_input;
mod hook_notices;
pub(crate) mod hook_tasks;
mod observed_hooks;
pub(crate) mod prompt_intake;
mod redact_hook_result;
mod session_waker;
mod task_lists;
mod teammate_idle;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_engine::settings::Hooks;
use windlass_engine::{Event, HookSubject, Settings};
use windlass_hook::{
    CombinedHookResult, HookEnvironment, HookEvent, HookInvocation, HookSet, SelectedHooks,
};
use windlass_permission::{Policy, Rule, rule_matches_call};
use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{
    HookPoint, HookReport, Json, MicroUsd, Notice, PermissionMode, ToolCall,
};

use self::hook_backend::SessionHookBackend;
use self::hook_input::{HookFacts, SessionIdentity};
use self::hook_notices::HookNoticeWatcher;
use self::observed_hooks::ObservedHooks;
use self::redact_hook_result::redact_hook_result;
use self::session_waker::SessionWaker;
use crate::call_inspector::{CallInspector, HostFileSystem};
use crate::clock;
use crate::model::side_model::SessionSideModel;
use crate::notices::NoticeSender;
use crate::session_end_reason::SessionEndReason;

/// The hooks of one session, and the data for their input.
#[derive(Debug)]
pub(crate) struct SessionHooks {
    /// Grows when a skill with hooks is loaded.
    set: RwLock<HookSet>,
    skill_hooks: RwLock<HookSet>,
    /// Without the hooks of skills; nested sessions get these.
    base: SharedHooks,
    ground: HookEnvironment,
    facts: HookFacts,
    inspector: Arc<CallInspector>,
    notice_sender: NoticeSender,
    waker: Arc<SessionWaker>,
}

/// The hooks that nested sessions get when they start.
pub(crate) type SharedHooks = Arc<RwLock<HookSet>>;

/// Hooks that match an event and are about to run.
pub(crate) struct PendingHooks {
    chosen: SelectedHooks,
    occasion: HookInvocation,
    hooks: Arc<SessionHooks>,
}

impl PendingHooks {
    /// Runs them, and sends notices about them.
    pub(crate) async fn run(mut self) -> CombinedHookResult {
        let observed =
            ObservedHooks::begin(&self.hooks.notice_sender, &self.chosen, &self.occasion);
        if let Some(observed) = &observed {
            self.occasion.trace_context = observed.trace_context(&self.occasion);
        }
        let mut combined = self.chosen.run(self.occasion, &self.hooks.ground).await;
        if let Some(observed) = observed {
            observed.end(&combined);
        }
        redact_hook_result(&mut combined, &self.hooks.inspector.tool_context.secrets);
        for words in combined.warnings.iter().chain(&combined.messages) {
            self.hooks.notice_sender.warn(words.clone());
        }
        combined
    }

    /// Adds the files that the calls have changed.
    pub(crate) fn add_changed_files(&mut self, files: &[ChangedFile], count: usize) {
        if let Value::Object(fields) = &mut self.occasion.input {
            fields.extend(hook_input::build_changed_files(files, count));
        }
    }

    pub(crate) fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.occasion.cancel = cancel;
        self
    }
}

pub(crate) struct SessionHooksParts {
    pub(crate) base: SharedHooks,
    pub(crate) identity: SessionIdentity,
    pub(crate) inspector: Arc<CallInspector>,
    pub(crate) side_model: Arc<SessionSideModel>,
    pub(crate) notice_sender: NoticeSender,
}

impl SessionHooks {
    pub(crate) fn new(
        parts: SessionHooksParts,
        settings: &Settings,
        events: &mpsc::Sender<Event>,
    ) -> Arc<Self> {
        let SessionHooksParts { base, identity, inspector, side_model, notice_sender } = parts;
        let waker = Arc::new(SessionWaker::new(events));
        let tool_context = &inspector.tool_context;
        let cwd = tool_context.files.cwd.clone();
        let ground = HookEnvironment {
            project: identity.project.clone().unwrap_or_else(|| cwd.clone()),
            env_vars: tool_context.processes.environment.clone(),
            launcher: tool_context.processes.launcher.clone(),
            spill: tool_context.processes.spill_directory.clone(),
            background: Arc::default(),
            watcher: Some(Arc::new(HookNoticeWatcher {
                notice_sender: notice_sender.clone(),
                secrets: tool_context.secrets.clone(),
            })),
            backend: Some(Arc::new(SessionHookBackend {
                side_model,
                inspector: Arc::clone(&inspector),
                allowance: settings
                    .budget
                    .budget_max
                    .map(|most| MicroUsd(most.0 / ALLOWANCE_DIVISOR)),
            })),
            waker: Some(Arc::<SessionWaker>::clone(&waker)),
            cwd: cwd.clone(),
        };
        let facts = HookFacts {
            identity,
            cwd,
            model: settings.model.name.as_str().to_owned(),
            effort: settings.reasoning.effort,
            prompt: std::sync::Mutex::default(),
        };
        let set = RwLock::new(base.read().unwrap_or_else(PoisonError::into_inner).clone());
        let skill_hooks = RwLock::default();
        Arc::new(Self { set, skill_hooks, base, ground, facts, inspector, notice_sender, waker })
    }

    /// Sends what hooks report about themselves to this channel.
    pub(crate) fn report_to(&self, events: &mpsc::Sender<Event>) {
        self.waker.report_to(events);
    }

    fn read_set(&self) -> RwLockReadGuard<'_, HookSet> {
        self.set.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the hooks of a skill. Returns at which points of the loop there are hooks, and whether
    /// there are any at its end.
    pub(crate) fn add_skill_hooks(&self, more: HookSet) -> (Hooks, bool) {
        let mut all = self.skill_hooks.write().unwrap_or_else(PoisonError::into_inner);
        *all = all.clone().join(more.clone());
        drop(all);
        let mut set = self.set.write().unwrap_or_else(PoisonError::into_inner);
        *set = set.clone().join(more);
        self.find_enabled_points(&set)
    }

    /// Replaces all hooks except those of skills. Returns the same as `add_skill_hooks`.
    pub(crate) fn replace_base_hooks(&self, base: HookSet) -> (Hooks, bool) {
        let more = self.skill_hooks.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut set = self.set.write().unwrap_or_else(PoisonError::into_inner);
        let base = base.with_previous_state(&set);
        *self.base.write().unwrap_or_else(PoisonError::into_inner) = base.clone();
        *set = base.join(more);
        self.find_enabled_points(&set)
    }

    fn find_enabled_points(&self, set: &HookSet) -> (Hooks, bool) {
        let stop = if self.is_nested() { HookEvent::SubagentStop } else { HookEvent::Stop };
        (find_hook_points(set), set.has_event(stop))
    }

    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.read_set().has_event(event)
    }

    pub(crate) fn is_nested(&self) -> bool {
        self.facts.identity.agent.is_some()
    }

    /// The hooks that match this event; `None` when there are none.
    pub(crate) fn select_hooks(
        self: &Arc<Self>,
        event: HookEvent,
        target: Option<&str>,
        mode: PermissionMode,
        fields: Map<String, Value>,
    ) -> Option<PendingHooks> {
        let chosen = self.read_set().select(event, target, |_| false);
        self.build_pending_hooks(
            chosen,
            target,
            self.facts.build_shared_fields(event, mode),
            fields,
        )
    }

    /// The hooks that match what the engine asks about.
    fn select_hooks_for_subject(
        self: &Arc<Self>,
        event: HookEvent,
        subject: &HookSubject,
        policy: &Policy,
    ) -> Option<PendingHooks> {
        let call = match subject {
            HookSubject::Call(call) | HookSubject::Outcome(call, _) => Some(call),
            HookSubject::Batch(_)
            | HookSubject::Stop { .. }
            | HookSubject::Failure { .. }
            | HookSubject::Compaction { .. }
            | HookSubject::Compacted { .. } => None,
        };
        let target = self.facts.matcher_target(subject);
        let speaks = |rule: &str| call.is_some_and(|call| may_rule_match(rule, policy, call));
        let chosen = self.read_set().select(event, target.as_deref(), speaks);
        let common = self.facts.build_shared_fields(event, policy.mode);
        let mut fields = self.facts.build_subject_fields(subject);
        if let Some(tasks) = fields.get_mut("background_tasks") {
            let left = self.inspector.tool_context.background.list_tasks();
            *tasks = left.iter().filter_map(hook_input::render_background_task).collect();
        }
        let pending = self.build_pending_hooks(chosen, target.as_deref(), common, fields);
        let id = call.map(|call| call.id.as_str().to_owned());
        pending.map(|mut pending| {
            pending.occasion.tool_use_id = id;
            pending
        })
    }

    fn build_pending_hooks(
        self: &Arc<Self>,
        chosen: SelectedHooks,
        target: Option<&str>,
        mut input: Map<String, Value>,
        fields: Map<String, Value>,
    ) -> Option<PendingHooks> {
        if chosen.is_empty() {
            return None;
        }
        input.extend(fields);
        let about = target.map(str::to_owned);
        let occasion = HookInvocation {
            input: Value::Object(input),
            subject: about,
            ..HookInvocation::default()
        };
        Some(PendingHooks { chosen, occasion, hooks: Arc::clone(self) })
    }

    /// Converts the combined result to a report for the engine.
    fn build_report(&self, combined: CombinedHookResult, subject: &HookSubject) -> HookReport {
        let mut updated = None;
        if let (HookSubject::Call(call), Some(input)) = (subject, &combined.updated_input) {
            let input = Json::from_checked(&input.to_string());
            let call = ToolCall { input: input.clone(), ..call.clone() };
            updated = Some((input, self.inspector.inspect(&call)));
        }
        let is_success = matches!(subject, HookSubject::Outcome(_, outcome) if !outcome.is_error);
        let output = combined.updated_output.as_ref().filter(|_| is_success);
        HookReport {
            verdict: combined.verdict,
            name: combined.decided_by,
            context: combined.context,
            updated,
            output: output.map(render_updated_output),
            spent: combined.spent,
        }
    }

    /// Generates a new prompt id for hook inputs.
    pub(crate) fn begin_prompt(&self) {
        let mut prompt = self.facts.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        *prompt = generate_uuid();
    }

    /// How long session end hooks may delay the end.
    pub(crate) fn session_end_timeout(&self) -> Duration {
        if self.is_nested() || !self.has(HookEvent::SessionEnd) {
            return Duration::ZERO;
        }
        let limit = |reason: &SessionEndReason| {
            self.read_set()
                .select(HookEvent::SessionEnd, Some(reason.name()), |_| false)
                .longest_timeout()
        };
        SessionEndReason::ALL.iter().map(limit).max().unwrap_or_default() + SESSION_END_GRACE
    }

    /// Runs session end hooks. All of them share a short deadline, after which they are killed.
    pub(crate) async fn run_session_end_hooks(self: Arc<Self>, why: SessionEndReason) {
        let fields = Map::from_iter([("reason".to_owned(), Value::from(why.name()))]);
        let mode = PermissionMode::Default;
        let pending = self.select_hooks(HookEvent::SessionEnd, Some(why.name()), mode, fields);
        if let Some(mut pending) = pending.filter(|_| !self.is_nested()) {
            pending.occasion.timeout = Some(HookEvent::SESSION_END_TIMEOUT);
            // Hooks still running at the deadline are dropped, with everything they started.
            let _ = clock::timeout(self.session_end_timeout(), pending.run()).await;
        }
        self.ground.background.close(DETACHED_HOOKS_GRACE).await;
    }

    fn warn(&self, words: String) {
        self.notice_sender.send(Notice::Warning(words));
    }
}

/// Does the rule of an `if` match the call? An unreadable rule matches: running a hook too often is
/// the safe side.
fn may_rule_match(rule: &str, policy: &Policy, call: &ToolCall) -> bool {
    Rule::parse(rule)
        .map_or(true, |rule| rule_matches_call(&rule, policy, call, &HostFileSystem::new()))
}

/// Renders a value that replaces a tool result, for the model: text as it is, a list of text blocks
/// as their text, anything else as JSON.
fn render_updated_output(value: &Value) -> String {
    let text = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    let list = value.get("content").unwrap_or(value);
    let list = list.as_array().filter(|list| !list.is_empty());
    let blocks = list.and_then(|list| list.iter().map(text).collect::<Option<Vec<String>>>());
    match (value, blocks) {
        (Value::String(text), _) => text.clone(),
        (_, Some(blocks)) => blocks.join("\n"),
        (value, None) => value.to_string(),
    }
}

/// The engine asks only at points that have hooks. `can_defer` is not changed: whether a session
/// may defer calls does not depend on its hooks.
pub(crate) fn apply_hook_points(settings: &mut Settings, points: Hooks) {
    settings.hooks = Hooks { can_defer: settings.hooks.can_defer, ..points };
}

pub(crate) fn find_hook_points(set: &HookSet) -> Hooks {
    let has = |point: HookPoint| set.has_event(point.into());
    Hooks {
        can_defer: false,
        pre_tool_use: has(HookPoint::PreToolUse),
        post_tool_use: has(HookPoint::PostToolUse),
        post_tool_use_failure: has(HookPoint::PostToolUseFailure),
        post_tool_batch: has(HookPoint::PostToolBatch),
        stop_failure: has(HookPoint::StopFailure),
        pre_compact: has(HookPoint::PreCompact),
        // After a compaction, session start hooks run too.
        post_compact: has(HookPoint::PostCompact) || set.has_event(HookEvent::SessionStart),
    }
}

/// With a budget, one question of a hook may cost this fraction of it.
const ALLOWANCE_DIVISOR: u64 = 100;
/// Time for killed hooks to exit at the end of a session.
const SESSION_END_GRACE: Duration = Duration::from_millis(200);
/// Time for detached hooks to end by themselves.
const DETACHED_HOOKS_GRACE: Duration = Duration::from_millis(500);

fn generate_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}
