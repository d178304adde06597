//! The async loop: event, journal, step, perform.
//!
//! One task owns the engine's state, so there is no lock. Commands of front ends are handled before
//! events of tasks, so an interrupt never waits behind a fast stream. The loop ends on a close
//! command, when all handles are dropped, or when the disk fails: without a journal no further
//! effect may start.

mod apply_command;
mod config_change;
mod disk_failure;
mod perform_rewind;
mod redact_event;
mod settings_in_force;
mod supervise;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep_until, timeout_at};
use windlass_engine::revival::{Revival, revival};
use windlass_engine::{Effect, Event, Interrupt, Settings, State, Step, step};
use windlass_hook::HookSet;
use windlass_journal::JournalNote;
use windlass_vocabulary::{Chore, MicroUsd, ModelFacts};

use crate::clock;
use crate::effect_performer::EffectPerformer;
use crate::hook::SessionHooks;
use crate::hook::prompt_intake::{IntakeItem, PromptIntake, RunStatus};
use crate::model_spending::SpendingRecorder;
use crate::nested_questions::NestedQuestions;
use crate::observer::{Observation, TracePosition};
use crate::rewind::FileHistory;
use crate::session_command::{RewindRequest, SessionCommand};
use crate::session_end_reason::SessionEndReason;
use crate::session_journal::journal_notes::find_inspection;
use crate::session_journal::{DecidedStep, SessionJournal};
use crate::shared_budget::SharedBudget;
use crate::snapshot::SnapshotRecorder;
use crate::tool::StartConditions;
use crate::transcript_writer::{SessionTranscriptWriter, TitleSource};

use redact_event::redact_event;
pub(crate) use settings_in_force::RunOverrides;
pub(crate) use supervise::supervise;

enum LoopStep {
    Event(Event),
    /// The run has ended, so the session can be rewound.
    Rewind(RewindRequest),
    /// A sync of the journal failed.
    DiskFailed,
    Close,
}

/// A running session: the engine's state, its inputs, and what performs its effects.
pub(crate) struct SessionLoop {
    pub(crate) state: State,
    pub(crate) spending: SpendingRecorder,
    pub(crate) shared_budget: Option<SharedBudget>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) journal: SessionJournal,
    pub(crate) transcript: SessionTranscriptWriter,
    pub(crate) performer: EffectPerformer,
    pub(crate) hooks: Arc<SessionHooks>,
    pub(crate) nested_questions: Arc<NestedQuestions>,
    pub(crate) inbox: LoopInbox,
    pub(crate) overrides: LoopOverrides,
    pub(crate) rewind: LoopRewind,
    pub(crate) waiters: LoopWaiters,
    pub(crate) lifecycle: LoopLifecycle,
}

/// The inputs of the loop.
pub(crate) struct LoopInbox {
    pub(crate) commands: mpsc::Receiver<SessionCommand>,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) prompt_intake: PromptIntake,
    /// Items that left the prompt intake and are not processed yet.
    pub(crate) ready_items: VecDeque<IntakeItem>,
    /// The number of prompts that wait anywhere in the session, for callers that wait for room.
    pub(crate) waiting_prompts: watch::Sender<usize>,
}

impl LoopInbox {
    pub(crate) fn new(
        commands: mpsc::Receiver<SessionCommand>,
        events: mpsc::Receiver<Event>,
        hooks: &Arc<SessionHooks>,
        waiting_prompts: watch::Sender<usize>,
    ) -> Self {
        let prompt_intake = PromptIntake::new(Arc::clone(hooks));
        Self { commands, events, prompt_intake, ready_items: VecDeque::new(), waiting_prompts }
    }
}

/// Settings that a prompt or a skill overrides for a time.
pub(crate) struct LoopOverrides {
    pub(crate) active: Option<RunOverrides>,
    /// Hooks by skill, until the skill is loaded.
    pub(crate) skill_hooks: Vec<(String, HookSet)>,
    /// Models that a prompt may request, by name.
    pub(crate) named_models: Arc<[(String, ModelFacts)]>,
}

pub(crate) struct LoopRewind {
    pub(crate) file_history: Option<Arc<FileHistory>>,
    pub(crate) snapshots: Option<Arc<SnapshotRecorder>>,
    /// A rewind that waits for the current run to end.
    pub(crate) pending: Option<RewindRequest>,
}

/// Callers that wait for a reply of the loop.
#[derive(Default)]
pub(crate) struct LoopWaiters {
    /// Receives a reply when the current event is recorded.
    pub(crate) recorded: Option<oneshot::Sender<bool>>,
    /// Receive a reply when no chore is running any more.
    pub(crate) drained: Vec<oneshot::Sender<()>>,
}

pub(crate) struct LoopLifecycle {
    /// Continue a run that the last process left unfinished, instead of closing it.
    pub(crate) resumes_run: bool,
    /// The start source, if it does not follow from the journal.
    pub(crate) start_source: Option<String>,
    pub(crate) end_reason: SessionEndReason,
}

impl SessionLoop {
    pub(crate) async fn run_until_closed(mut self) -> State {
        if self.journal.is_on() {
            // Every process records the settings with which it decides.
            let settings = Box::new(Settings::clone(&self.settings));
            self = self.process_event(Event::Configured(settings)).await;
        }
        if self.journal.is_continued() {
            self = self.resume_unfinished().await;
        }
        self.run_start_hooks();
        while !self.journal.has_failed() {
            match self.next().await {
                LoopStep::Event(event) => self = self.process_event(event).await,
                LoopStep::Rewind(request) => self = self.perform_rewind(request).await,
                LoopStep::DiskFailed => self = self.recover_journal().await,
                LoopStep::Close => break,
            }
        }
        self.close().await
    }

    /// Runs session start hooks.
    fn run_start_hooks(&mut self) {
        let source = match (&self.lifecycle.start_source, self.journal.is_continued()) {
            (Some(source), _) => source.as_str(),
            (None, true) => "resume",
            (None, false) => "startup",
        };
        self.performer.notice_sender().observe(Observation::SessionStarted { source });
        self.inbox.prompt_intake.run_start_hooks(source, self.state.tool_context.policy.mode);
    }

    /// Nothing that the last process started is still running: its run is continued without it, or
    /// closed.
    async fn resume_unfinished(mut self) -> Self {
        for left in self.performer.tool_context().processes.end_orphaned_commands() {
            let words = "a command that the last process left running was ended";
            let wrote = match left.exists() {
                true => format!("; what it wrote is in {}", left.display()),
                false => String::new(),
            };
            self.performer.warn(format!("{words}{wrote}"));
        }
        if !self.lifecycle.resumes_run {
            return self.process_event(Event::Interrupted(Interrupt::Crashed)).await;
        }
        let Revival { effects, events } = revival(&self.state);
        self.perform_effects(effects);
        for event in events {
            if self.journal.has_failed() {
                break;
            }
            self = self.process_event(event).await;
        }
        self
    }

    async fn next(&mut self) -> LoopStep {
        loop {
            self.publish_waiting_prompts();
            if let Some(request) = self.take_ready_rewind() {
                return LoopStep::Rewind(request);
            }
            match self.inbox.ready_items.pop_front() {
                Some(IntakeItem::Event(event)) => return LoopStep::Event(event),
                Some(IntakeItem::Title(title)) => {
                    return LoopStep::Event(self.set_title(title, TitleSource::Person));
                }
                Some(IntakeItem::Prompt(submission)) => {
                    return LoopStep::Event(self.accept_prompt(submission));
                }
                None => {}
            }
            let status = self.run_status();
            let until = self.rewind_deadline();
            let is_ending = until.is_some() && self.performer.is_busy();
            tokio::select! {
                biased;
                command = self.inbox.commands.recv() => match command {
                    None => return LoopStep::Close,
                    Some(SessionCommand::Close(why)) => {
                        self.lifecycle.end_reason = why;
                        return LoopStep::Close;
                    }
                    Some(command) => {
                        if let Some(event) = self.apply_command(command) {
                            return LoopStep::Event(event);
                        }
                    }
                },
                () = self.journal.wait_for_failure() => return LoopStep::DiskFailed,
                // Must come before events: a refused request is decided again by the new limit.
                limit = wait_for_limit(self.shared_budget.as_mut()) => {
                    let change = |settings: &mut Settings| settings.budget.budget_max = limit;
                    return LoopStep::Event(self.change_settings(change));
                }
                Some(event) = self.inbox.events.recv() => return LoopStep::Event(event),
                () = self.performer.wait_for_change(is_ending) => self.notify_drained(),
                () = sleep_until(until.unwrap_or_else(clock::now)), if until.is_some() => {}
                passed = self.inbox.prompt_intake.next(status) => self.inbox.ready_items.extend(passed),
            }
        }
    }

    fn publish_waiting_prompts(&self) {
        let LoopInbox { prompt_intake, ready_items, waiting_prompts, .. } = &self.inbox;
        let count =
            prompt_intake.queued_count() + ready_items.len() + self.state.inbox.queued.len();
        waiting_prompts.send_if_modified(|known| std::mem::replace(known, count) != count);
    }

    fn run_status(&self) -> RunStatus {
        RunStatus {
            is_running: self.state.control.phase.is_running(),
            spent: self.state.ledger.spent(),
            mode: self.state.tool_context.policy.mode,
        }
    }

    /// Decides one event, and records it with its notes.
    fn decide(mut self, event: Event) -> (Self, Vec<Effect>) {
        let event = redact_event(event, &self.performer.tool_context().secrets);
        let held = self.journal.buffer_event(&event);
        let watch = self.performer.notice_sender().watch().cloned();
        let watched = watch.as_ref().map(|watch| watch.observe_event(&event, &self.state));
        let Step { state, effects } = step(self.state, event, &self.settings);
        self.state = state;
        if let (Some(watch), Some(watched)) = (&watch, watched) {
            watch.observe_effects(watched, &self.state, &effects);
        }
        self.spending.record(&self.state);
        let decided =
            DecidedStep { state: &self.state, settings: &self.settings, effects: &effects };
        self.journal = self.journal.write(held.as_ref(), &decided);
        (self, effects)
    }

    /// Decides one event, records it with its notes, and performs the effects.
    async fn process_event(mut self, event: Event) -> Self {
        if self.journal.has_failed() {
            return self.record_without_effects(event);
        }
        let effects;
        (self, effects) = self.decide(event);
        // A client that learns that a run has ended may switch the machine off, so sync before.
        let is_over = effects.iter().any(|effect| matches!(effect, Effect::Finish(_)));
        if let Some(snapshots) = self.rewind.snapshots.as_ref().filter(|_| is_over) {
            // Changes of the last calls must be reported before the run ends.
            snapshots.wait_until_idle(LAST_LOOK_WAIT_MAX).await;
        }
        if is_over || self.waiters.recorded.is_some() || self.journal.is_overdue() {
            self.journal = self.journal.wait_until_synced().await;
        }
        if let Some(awaited) = self.waiters.recorded.take() {
            let _ = awaited.send(!self.journal.is_broken());
        }
        if self.journal.has_failed() {
            return self.stop_after_disk_failure(effects).await;
        }
        self.transcript.write(&effects, self.performer.notice_sender());
        for effect in &effects {
            if let Effect::Keep { chore: Chore::Title, text } = effect {
                let notice_sender = self.performer.notice_sender();
                self.transcript.set_title(text, TitleSource::Model, notice_sender);
                self.add_note(JournalNote::Titled(text.clone()));
            } else if let Effect::StartTool { granted, .. } = effect {
                if granted.get().name.as_str() == "Skill" {
                    self.load_called_skill(granted.get());
                }
            } else if let Effect::Finish(_) = effect {
                self.revert_run_overrides();
            }
        }
        self.perform_effects(effects);
        self.notify_drained();
        self
    }

    fn perform_effects(&mut self, effects: Vec<Effect>) {
        // Releases money that is no longer reserved, even if no effect starts.
        let budget = self.shared_budget.as_ref().map(|budget| budget.claim(&self.state.ledger));
        let budget = budget.unwrap_or_default();
        for effect in effects {
            let gate = self.journal.build_gate(&effect, &self.state);
            let budget = budget.clone();
            let mut conditions = StartConditions { gate, budget, ..StartConditions::none() };
            if let Effect::StartTool { ticket, granted, .. } = &effect {
                let position = TracePosition::Call(granted.get().id.as_str());
                let watch = self.performer.notice_sender().watch();
                conditions.inspection = find_inspection(&self.state, *ticket);
                conditions.trace_context = watch.and_then(|watch| watch.trace_context(position));
            }
            self.performer.perform(effect, &self.state.tool_context.policy, conditions);
        }
    }

    /// Ends everything in progress, and waits for the tools up to their limit.
    async fn close(mut self) -> State {
        self.inbox.commands.close();
        if !self.journal.has_failed() {
            self = self.process_event(Event::Interrupted(Interrupt::Shutdown)).await;
        }
        self.performer.cancel_all();
        let end_hooks =
            tokio::spawn(Arc::clone(&self.hooks).run_session_end_hooks(self.lifecycle.end_reason));
        let deadline = clock::now() + TOOLS_GONE_MAX;
        // Background tasks have no owner after this.
        let tool_context = self.performer.tool_context();
        let _ = timeout_at(deadline, tool_context.background.close()).await;
        while self.performer.is_busy() {
            let event = tokio::select! {
                Some(event) = self.inbox.events.recv() => Some(event),
                () = self.performer.wait_for_one() => None,
                () = sleep_until(deadline) => break,
            };
            if let Some(event) = event {
                self = self.process_event(event).await;
            }
        }
        while let Ok(event) = self.inbox.events.try_recv() {
            self = self.process_event(event).await;
        }
        if let Some(snapshots) = &self.rewind.snapshots {
            snapshots.finish(deadline.saturating_duration_since(clock::now())).await;
        }
        let _ = timeout_at(deadline, self.journal.finish()).await;
        // The hooks have their own deadlines.
        let _ = end_hooks.await;
        self.state
    }
}

async fn wait_for_limit(budget: Option<&mut SharedBudget>) -> Option<MicroUsd> {
    match budget {
        Some(budget) => budget.wait_for_limit().await,
        None => std::future::pending().await,
    }
}

pub(crate) const COMMANDS_MAX: usize = 1_024;
/// Capacity of the event queue. When it is full, tasks wait, and with them the network.
pub(crate) const EVENTS_MAX: usize = 256;
/// How long the end of a run waits for the last snapshot.
const LAST_LOOK_WAIT_MAX: Duration = Duration::from_secs(1);
/// How long tools may take to end when a session closes.
const TOOLS_GONE_MAX: Duration = Duration::from_secs(3);
