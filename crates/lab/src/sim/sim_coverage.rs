//! What the sessions reached, counted by name. A storm that never reaches a rule says nothing about
//! it, so a test asks that every member of every list was there.

use std::collections::BTreeMap;

use windlass_engine::control::Phase;
use windlass_engine::{Effect, Event};
use windlass_vocabulary::{HookPoint, Notice, Outcome, RequestSource, Terminal, Transition};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimCoverage {
    counts: BTreeMap<String, u64>,
}

impl SimCoverage {
    pub fn record_step(&mut self, before: Phase, event: &Event, effects: &[Effect]) {
        if matches!(event, Event::Interrupted(_)) && before.is_running() {
            self.increment(&format!("interrupt in {}", phase_name(before)));
        }
        for effect in effects {
            match effect {
                Effect::Finish(ending) => {
                    self.increment(&format!("terminal {}", ending.terminal));
                    if let Some(outcome) = ending.outcome {
                        self.increment(&format!("outcome {outcome}"));
                    }
                }
                Effect::RunHook { point, .. } => self.increment(&format!("hook {point:?}")),
                Effect::AskPermission { .. } => self.increment("question"),
                Effect::Spill { .. } => self.increment("spill"),
                Effect::Summarize { request, .. } => match request.source {
                    RequestSource::ToolLabel => self.increment("label"),
                    RequestSource::Chore(chore) => self.increment(chore.name()),
                    RequestSource::Main | RequestSource::Compaction | RequestSource::Aside => {
                        self.increment("summary");
                    }
                },
                Effect::Tell(notice) => self.record_notice(notice),
                Effect::CallModel(_)
                | Effect::CancelModel { .. }
                | Effect::StartTool { .. }
                | Effect::CancelTool { .. }
                | Effect::Keep { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. } => {}
            }
        }
    }

    fn record_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Continued { transition, .. } => {
                self.increment(&format!("transition {transition}"));
            }
            Notice::ContextShrunk { level, .. } => self.increment(&format!("level {level}")),
            Notice::Sealed { .. } => self.increment("sealed"),
            Notice::Retracted { .. } => self.increment("retracted"),
            Notice::ModelSwitched { .. } => self.increment("switched"),
            Notice::Repaired { .. } => self.increment("repaired"),
            Notice::RetryScheduled { .. } => self.increment("waited"),
            Notice::InputQueued(_) => self.increment("queued"),
            Notice::ToolsLabelled(_) => self.increment("labelled"),
            Notice::ToolDenied { .. } => self.increment("denied"),
            Notice::PermissionWithdrawn(_) => self.increment("withdrawn"),
            Notice::RunStarted
            | Notice::RequestStarted { .. }
            | Notice::Streamed { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolEnded { .. }
            | Notice::PermissionAsked { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::Billed { .. }
            | Notice::Warning(_)
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::AnswerStarted { .. }
            | Notice::RunEnded(_) => {}
        }
    }

    fn increment(&mut self, name: &str) {
        match self.counts.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(name.to_owned(), 1);
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (name, count) in &other.counts {
            *self.counts.entry(name.clone()).or_default() += count;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, count)| (name.as_str(), *count))
    }

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
            .chain(OTHER_COUNTERS.iter().map(|name| (*name).to_owned()));
        wanted.filter(|name| !self.counts.contains_key(name)).collect()
    }
}

/// The phases in which a step can end during a run.
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

const OTHER_COUNTERS: [&str; 13] = [
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
