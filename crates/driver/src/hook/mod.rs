//! Users' hooks at the moments of a session: what they are told, and what becomes of what they say.
//!
//! `errand` runs them when the engine asks, `question` before a person is asked, `door` at the start
//! and before a prompt goes in; `input` says what they read, `watch` tells people of each. What a
//! verdict means for the loop is the engine's to say.

mod counsel;
pub(crate) mod door;
pub(crate) mod errand;
mod export;
mod idle;
pub(crate) mod input;
mod lists;
mod wake;
mod watch;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_engine::settings::Hooks;
use windlass_engine::{Event, HookSubject, Settings};
use windlass_hook::{Chosen, Ground, HookEvent, HookSet, Joint, Occasion};
use windlass_permission::{Policy, Rule, speaks_of};
use windlass_vocabulary::{HookPoint, HookReport, Json, MicroUsd, Mode, Notice, ToolCall};

use self::counsel::SessionCounsel;
use self::input::{Facts, Identity};
use self::wake::Woken;
use self::watch::Told;
use crate::aside::Asides;
use crate::inspect::{Disk, Inspector};
use crate::notices::Teller;

/// The hooks of one session, with everything they are told of it.
#[derive(Debug)]
pub(crate) struct SessionHooks {
    /// Skills bring hooks along when they are loaded.
    set: RwLock<HookSet>,
    /// Those of skills.
    more: RwLock<HookSet>,
    /// The others, which nested sessions are given too.
    base: SharedHooks,
    ground: Ground,
    facts: Facts,
    inspector: Arc<Inspector>,
    teller: Teller,
    woken: Arc<Woken>,
}

/// The hooks of a session that its nested ones are given when they start.
pub(crate) type SharedHooks = Arc<RwLock<HookSet>>;

/// Hooks that are meant, about to be asked.
pub(crate) struct Asking {
    chosen: Chosen,
    occasion: Occasion,
    hooks: Arc<SessionHooks>,
}

impl Asking {
    /// Asks them, and tells people what they should know of it.
    pub(crate) async fn run(self) -> Joint {
        let joint = self.chosen.run(self.occasion, &self.hooks.ground).await;
        for words in joint.warnings.iter().chain(&joint.messages) {
            self.hooks.teller.warn(words.clone());
        }
        joint
    }

    /// Can be called off.
    pub(crate) fn until(mut self, cancel: CancellationToken) -> Self {
        self.occasion.cancel = cancel;
        self
    }
}

impl SessionHooks {
    pub(crate) fn new(
        (base, identity): (SharedHooks, Identity),
        settings: &Settings,
        inspector: &Arc<Inspector>,
        (asides, events): (&Arc<Asides>, &mpsc::Sender<Event>),
        teller: &Teller,
    ) -> Arc<Self> {
        let woken = Arc::new(Woken::new(events));
        let surroundings = &inspector.surroundings;
        let cwd = surroundings.cwd.clone();
        let ground = Ground {
            project: identity.project.clone().unwrap_or_else(|| cwd.clone()),
            environment: surroundings.environment.clone(),
            spill: surroundings.spill.clone(),
            aside: Arc::default(),
            watcher: Some(Arc::new(Told(teller.clone()))),
            counsel: Some(Arc::new(SessionCounsel {
                asides: Arc::clone(asides),
                inspector: Arc::clone(inspector),
                allowance: settings.budget_max.map(|most| MicroUsd(most.0 / ALLOWANCE_PART)),
            })),
            waker: Some(Arc::<Woken>::clone(&woken)),
            cwd: cwd.clone(),
        };
        let facts = Facts {
            identity,
            cwd,
            model: settings.model.name.as_str().to_owned(),
            effort: settings.effort,
            prompt: std::sync::Mutex::default(),
        };
        let (inspector, teller) = (Arc::clone(inspector), teller.clone());
        let set = RwLock::new(base.read().unwrap_or_else(PoisonError::into_inner).clone());
        let more = RwLock::default();
        Arc::new(Self { set, more, base, ground, facts, inspector, teller, woken })
    }

    /// What hooks say of themselves is heard there from now on.
    pub(crate) fn report_to(&self, events: &mpsc::Sender<Event>) {
        self.woken.report_to(events);
    }

    fn set(&self) -> RwLockReadGuard<'_, HookSet> {
        self.set.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// More are asked from now on. Says at which points of the loop there are any, and whether at its
    /// end.
    pub(crate) fn add(&self, more: HookSet) -> (Hooks, bool) {
        let mut all = self.more.write().unwrap_or_else(PoisonError::into_inner);
        *all = all.clone().join(more.clone());
        drop(all);
        let mut set = self.set.write().unwrap_or_else(PoisonError::into_inner);
        *set = set.clone().join(more);
        self.heeded(&set)
    }

    /// Others are asked from now on; those of skills stay. Says what `add` says.
    pub(crate) fn replace(&self, base: HookSet) -> (Hooks, bool) {
        let more = self.more.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut set = self.set.write().unwrap_or_else(PoisonError::into_inner);
        let base = base.after(&set);
        *self.base.write().unwrap_or_else(PoisonError::into_inner) = base.clone();
        *set = base.join(more);
        self.heeded(&set)
    }

    fn heeded(&self, set: &HookSet) -> (Hooks, bool) {
        let stop = if self.is_nested() { HookEvent::SubagentStop } else { HookEvent::Stop };
        (points(set), set.has(stop))
    }

    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.set().has(event)
    }

    pub(crate) fn is_nested(&self) -> bool {
        self.facts.identity.agent.is_some()
    }

    /// Those that are meant when this happens; `None` when there are none.
    pub(crate) fn meant(
        self: &Arc<Self>,
        event: HookEvent,
        target: Option<&str>,
        mode: Mode,
        fields: Map<String, Value>,
    ) -> Option<Asking> {
        let chosen = self.set().chosen(event, target, |_| false);
        self.asking(chosen, target, self.facts.common(event, mode), fields)
    }

    /// Those that are meant by what the engine asks about.
    fn about(
        self: &Arc<Self>,
        event: HookEvent,
        subject: &HookSubject,
        policy: &Policy,
    ) -> Option<Asking> {
        let call = match subject {
            HookSubject::Call(call) | HookSubject::Outcome(call, _) => Some(call),
            _ => None,
        };
        let target = self.facts.target(subject);
        let speaks = |rule: &str| call.is_some_and(|call| speaks(rule, policy, call));
        let chosen = self.set().chosen(event, target.as_deref(), speaks);
        let common = self.facts.common(event, policy.mode);
        let mut fields = self.facts.subject(subject);
        if let Some(tasks) = fields.get_mut("background_tasks") {
            let left = self.inspector.surroundings.background().tasks();
            *tasks = left.iter().filter_map(input::left).collect();
        }
        let asking = self.asking(chosen, target.as_deref(), common, fields);
        let id = call.map(|call| call.id.as_str().to_owned());
        asking.map(|mut asking| {
            asking.occasion.tool_use_id = id;
            asking
        })
    }

    fn asking(
        self: &Arc<Self>,
        chosen: Chosen,
        target: Option<&str>,
        mut input: Map<String, Value>,
        fields: Map<String, Value>,
    ) -> Option<Asking> {
        if chosen.is_empty() {
            return None;
        }
        input.extend(fields);
        let about = target.map(str::to_owned);
        let occasion = Occasion { input: Value::Object(input), about, ..Occasion::default() };
        Some(Asking { chosen, occasion, hooks: Arc::clone(self) })
    }

    /// What the engine is told of a joint verdict.
    fn report(&self, joint: Joint, subject: &HookSubject) -> HookReport {
        let updated = match (subject, &joint.updated_input) {
            (HookSubject::Call(call), Some(input)) => {
                let input = Json::from_checked(&input.to_string());
                let call = ToolCall { input: input.clone(), ..call.clone() };
                Some((input, self.inspector.inspect(&call)))
            }
            _ => None,
        };
        let output = match subject {
            HookSubject::Outcome(_, outcome) if !outcome.is_error => joint.updated_output.as_ref(),
            _ => None,
        };
        HookReport {
            verdict: joint.verdict,
            name: joint.name,
            context: joint.context,
            updated,
            output: output.map(shown),
            spent: joint.spent,
        }
    }

    /// A new prompt is worked on from now on.
    pub(crate) fn new_prompt(&self) {
        let mut prompt = self.facts.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        *prompt = unique();
    }

    /// The longest the end of the session may take because of hooks.
    pub(crate) fn parting_time(&self) -> Duration {
        if self.is_nested() || !self.has(HookEvent::SessionEnd) {
            return Duration::ZERO;
        }
        let limit = |reason: &Parting| {
            self.set().chosen(HookEvent::SessionEnd, Some(reason.name()), |_| false).limit()
        };
        Parting::ALL.iter().map(limit).max().unwrap_or_default() + PARTING_GRACE
    }

    /// The session ends. All hooks share a short time; what is still there then is ended.
    pub(crate) async fn part(self: Arc<Self>, why: Parting) {
        let fields = Map::from_iter([("reason".to_owned(), Value::from(why.name()))]);
        let mode = Mode::Default;
        let asking = self.meant(HookEvent::SessionEnd, Some(why.name()), mode, fields);
        if let Some(mut asking) = asking.filter(|_| !self.is_nested()) {
            asking.occasion.limit = Some(HookEvent::PARTING_TIME);
            // What does not heed the end of its time is dropped, and with it all it started.
            let _ = tokio::time::timeout(self.parting_time(), asking.run()).await;
        }
        self.ground.aside.close(ASIDE_PATIENCE).await;
    }

    fn warn(&self, words: String) {
        self.teller.tell(Notice::Warning(words));
    }
}

/// Does the rule of an `if` speak of the call? One that cannot be read does: a hook too many is the
/// safe side.
fn speaks(rule: &str, policy: &Policy, call: &ToolCall) -> bool {
    Rule::parse(rule).map_or(true, |rule| speaks_of(&rule, policy, call, &Disk::new()))
}

/// What the model sees of a value that takes the place of a result: text as it is, a list of text
/// blocks as their text, anything else as JSON.
fn shown(value: &Value) -> String {
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

/// The engine asks only at points where there are hooks. Whether they may put calls off is not theirs to
/// say.
pub(crate) fn heed(settings: &mut Settings, points: Hooks) {
    settings.hooks = Hooks { can_defer: settings.hooks.can_defer, ..points };
}

/// Which points of the loop have hooks.
pub(crate) fn points(set: &HookSet) -> Hooks {
    let has = |point: HookPoint| set.has(point.into());
    Hooks {
        can_defer: false,
        pre_tool_use: has(HookPoint::PreToolUse),
        post_tool_use: has(HookPoint::PostToolUse),
        post_tool_use_failure: has(HookPoint::PostToolUseFailure),
        post_tool_batch: has(HookPoint::PostToolBatch),
        stop_failure: has(HookPoint::StopFailure),
        pre_compact: has(HookPoint::PreCompact),
        // A session starts anew, for hooks, when its history was compacted.
        post_compact: has(HookPoint::PostCompact) || set.has(HookEvent::SessionStart),
    }
}

/// Why a session ends, as hooks are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parting {
    /// What was said is forgotten, and another begins.
    Clear,
    /// An earlier one is taken up in its place.
    Resume,
    /// The user logs out.
    Logout,
    /// The user left the prompt.
    PromptInputExit,
    /// Anything else.
    #[default]
    Other,
}

impl Parting {
    /// Every one there is.
    pub const ALL: &'static [Self] =
        &[Self::Clear, Self::Resume, Self::Logout, Self::PromptInputExit, Self::Other];

    /// Its name in configuration and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Logout => "logout",
            Self::PromptInputExit => "prompt_input_exit",
            Self::Other => "other",
        }
    }
}

/// Where money is limited, one question of a hook may cost this part of the whole.
const ALLOWANCE_PART: u64 = 100;
/// How long hooks at the end may take to end when their time is up.
const PARTING_GRACE: Duration = Duration::from_millis(200);
/// What hooks nobody waits for get to end by themselves.
const ASIDE_PATIENCE: Duration = Duration::from_millis(500);

/// A name nobody else has, in the form of a UUID of version 4.
fn unique() -> String {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(crate::clock::unix_millis());
    let (high, low) = (half(), half());
    let version = (high & 0x0fff) | 0x4000;
    let variant = (low >> 48 & 0x3fff) | 0x8000;
    let (a, b) = (high >> 32, high >> 16 & 0xffff);
    format!("{a:08x}-{b:04x}-{version:04x}-{variant:04x}-{:012x}", low & 0xffff_ffff_ffff)
}
