//! What the sessions reached, counted by name. A storm that never reaches a rule says nothing about
//! it, so a test asks that every member of every list was there.

use std::collections::BTreeMap;

use windlass_engine::control::Phase;
use windlass_engine::{Effect, Event};
use windlass_vocabulary::{HookPoint, Notice, Outcome, Source, Terminal, Transition};

/// How often each thing was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    counts: BTreeMap<String, u64>,
}

impl Reach {
    /// Takes in one step.
    pub fn take(&mut self, before: Phase, event: &Event, effects: &[Effect]) {
        if matches!(event, Event::Interrupted(_)) && before.is_running() {
            self.count(&format!("interrupt in {}", phase_name(before)));
        }
        for effect in effects {
            match effect {
                Effect::Finish(ending) => {
                    self.count(&format!("terminal {}", ending.terminal));
                    if let Some(outcome) = ending.outcome {
                        self.count(&format!("outcome {outcome}"));
                    }
                }
                Effect::RunHook { point, .. } => self.count(&format!("hook {point:?}")),
                Effect::AskPermission { .. } => self.count("question"),
                Effect::Spill { .. } => self.count("spill"),
                Effect::Summarize { request, .. } => match request.source {
                    Source::ToolLabel => self.count("label"),
                    Source::Chore(chore) => self.count(chore.name()),
                    _ => self.count("summary"),
                },
                Effect::Tell(notice) => self.told(notice),
                _ => {}
            }
        }
    }

    fn told(&mut self, notice: &Notice) {
        match notice {
            Notice::Continued { transition, .. } => self.count(&format!("transition {transition}")),
            Notice::ContextShrunk { level, .. } => self.count(&format!("level {level}")),
            Notice::Sealed { .. } => self.count("sealed"),
            Notice::Retracted { .. } => self.count("retracted"),
            Notice::ModelSwitched { .. } => self.count("switched"),
            Notice::Repaired { .. } => self.count("repaired"),
            Notice::Waiting { .. } => self.count("waited"),
            Notice::InputQueued(_) => self.count("queued"),
            Notice::ToolsLabelled(_) => self.count("labelled"),
            Notice::ToolDenied { .. } => self.count("denied"),
            Notice::PermissionWithdrawn(_) => self.count("withdrawn"),
            _ => {}
        }
    }

    fn count(&mut self, name: &str) {
        match self.counts.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(name.to_owned(), 1);
            }
        }
    }

    /// Adds what another reached.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.counts {
            *self.counts.entry(name.clone()).or_default() += count;
        }
    }

    /// Everything reached, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// What should have been reached and was not.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        // A disk that fails is the driver's to notice: the loop never ends for that.
        let decided = Outcome::ALL.iter().filter(|it| **it != Outcome::StorageFailed);
        let wanted = Transition::ALL
            .iter()
            .map(|transition| format!("transition {transition}"))
            .chain(Terminal::ALL.iter().map(|terminal| format!("terminal {terminal}")))
            .chain(decided.map(|outcome| format!("outcome {outcome}")))
            .chain((1..=5).map(|level| format!("level {level}")))
            .chain(HOOKS.iter().map(|point| format!("hook {point:?}")))
            .chain(PHASES.iter().map(|phase| format!("interrupt in {phase}")))
            .chain(REST.iter().map(|name| (*name).to_owned()));
        wanted.filter(|name| !self.counts.contains_key(name)).collect()
    }
}

/// Phases a step can end in while a run goes on.
const PHASES: [&str; 6] =
    ["Compacting", "Streaming", "Waiting", "RunningTools", "Settling", "Stopping"];

const HOOKS: [HookPoint; 8] = [
    HookPoint::PreToolUse,
    HookPoint::PostToolUse,
    HookPoint::PostToolUseFailure,
    HookPoint::Stop,
    HookPoint::SubagentStop,
    HookPoint::StopFailure,
    HookPoint::PreCompact,
    HookPoint::PostCompact,
];

const REST: [&str; 13] = [
    "sealed",
    "retracted",
    "switched",
    "repaired",
    "waited",
    "queued",
    "label",
    "labelled",
    "denied",
    "withdrawn",
    "question",
    "spill",
    "summary",
];

/// The phase without what is inside it.
fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "Idle",
        Phase::Preparing => "Preparing",
        Phase::Compacting(_) => "Compacting",
        Phase::Streaming => "Streaming",
        Phase::Waiting => "Waiting",
        Phase::RunningTools => "RunningTools",
        Phase::Settling(_) => "Settling",
        Phase::Attaching => "Attaching",
        Phase::Stopping => "Stopping",
        Phase::Ended(_) => "Ended",
    }
}
