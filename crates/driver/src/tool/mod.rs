//! Runs granted calls, each in a task of its own.
//!
//! A call ends in exactly one `ToolEnded`, even after a panic (see `execute`); a call that leaves a
//! session in the background sends another one with its cost. The engine decides which calls may
//! run together, and in which order their results are shown. A nested session is a tool like any
//! other: see `subagent`.

pub(crate) mod cell_launcher;
mod context_reporter;
mod execute;
mod late_check;
pub(crate) mod past_task_lists;
pub(crate) mod sandbox_launcher;

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use windlass_engine::Event;
use windlass_permission::PermissionGrant;
use windlass_tool::side_question::SideModel;
use windlass_tool::{
    BackgroundCostSender, CallLimits, ProgressSender, TaskLists, ToolCallContext, ToolRegistry,
    ToolSessionContext, TraceContext,
};
use windlass_vocabulary::{EffectClass, Ticket, ToolCall, ToolInspection, ToolOutcome};

use self::context_reporter::ContextReporter;
use crate::attachment::path_instructions::PathInstructions;
use crate::clock;
use crate::hook::SessionHooks;
use crate::session_journal::durability::DurabilityGate;
use crate::shared_budget::BudgetGate;
use crate::snapshot::SnapshotRecorder;

/// The conditions for starting a call, and the policy it may use.
pub(crate) struct StartConditions {
    pub(crate) gate: DurabilityGate,
    /// Opens when the money for the call is reserved.
    pub(crate) budget: BudgetGate,
    /// What the call was judged by.
    pub(crate) inspection: ToolInspection,
    pub(crate) trace_context: Option<TraceContext>,
}

impl StartConditions {
    /// For effects that start no call.
    pub(crate) fn none() -> Self {
        let gate = DurabilityGate::open();
        let budget = BudgetGate::default();
        Self { gate, budget, inspection: ToolInspection::SHARED_READ, trace_context: None }
    }
}

pub(crate) struct ToolRunner {
    registry: Arc<ToolRegistry>,
    tool_context: Arc<ToolSessionContext>,
    events: mpsc::Sender<Event>,
    cancels: HashMap<Ticket, CancellationToken>,
    running: JoinSet<Ticket>,
    context_reporter: Arc<ContextReporter>,
    path_instructions: Arc<PathInstructions>,
    side_model: Arc<dyn SideModel>,
    hooks: Arc<SessionHooks>,
    snapshots: Option<Arc<SnapshotRecorder>>,
}

impl ToolRunner {
    pub(crate) fn new(
        registry: Arc<ToolRegistry>,
        tool_context: Arc<ToolSessionContext>,
        path_instructions: Arc<PathInstructions>,
        side_model: Arc<dyn SideModel>,
        hooks: Arc<SessionHooks>,
        snapshots: Option<Arc<SnapshotRecorder>>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            registry,
            tool_context,
            events,
            snapshots,
            cancels: HashMap::new(),
            running: JoinSet::new(),
            context_reporter: Arc::default(),
            path_instructions,
            side_model,
            hooks,
        }
    }

    /// Starts a call when the gate is open and the snapshot before it is taken. If the gate never
    /// opens, the call ends silently: nothing waits for its result any more.
    pub(crate) fn start(
        &mut self,
        ticket: Ticket,
        granted: PermissionGrant<ToolCall>,
        limits: CallLimits,
        conditions: StartConditions,
    ) {
        while let Some(gone) = self.running.try_join_next() {
            self.remove_finished(gone.ok());
        }
        let cancel = CancellationToken::new();
        self.cancels.insert(ticket, cancel.clone());
        let (progress, progress_receiver) = mpsc::channel(PROGRESS_MAX);
        let (bill, mut billed) = mpsc::channel(1);
        let call_context = ToolCallContext {
            tool_context: Arc::clone(&self.tool_context),
            call_id: granted.get().id.as_str().to_owned(),
            cancel,
            progress: ProgressSender::from_sender(progress),
            call_limits: limits,
            cost_sender: BackgroundCostSender::from_sender(bill),
            side_model: Some(Arc::clone(&self.side_model)),
            confinement: granted.confinement(),
            held_words: granted.held_words().to_vec(),
            readable: granted.readable().to_vec(),
            trace_context: conditions.trace_context,
        };
        let has_allowance = call_context.call_limits.allowance.is_some();
        let registry = Arc::clone(&self.registry);
        let events = self.events.clone();
        let context_reporter = Arc::clone(&self.context_reporter);
        let tool_context = Arc::clone(&self.tool_context);
        let path_instructions = Arc::clone(&self.path_instructions);
        let hooks = Arc::clone(&self.hooks);
        let mode = call_context.call_limits.policy.mode;
        let called_off = call_context.cancel.clone();
        let call = granted.get().id.clone();
        let StartConditions { gate, budget, inspection, .. } = conditions;
        let budget = if has_allowance { budget } else { BudgetGate::default() };
        let snapshots = self.snapshots.clone().filter(|_| inspection.class != EffectClass::Pure);
        let outage = snapshots.as_ref().map(|recorder| Arc::clone(recorder.outage()));
        self.running.spawn(async move {
            let looked_at = async {
                let recorder = snapshots?;
                Some(recorder.begin_call(Some(call), called_off.cancelled()).await)
            };
            let (is_durable, running) = tokio::join!(gate.wait(), looked_at);
            if !is_durable {
                return ticket;
            }
            if let Err(refused) = budget.wait().await {
                let words = format!("Not started: {}.", refused.message);
                let outcome = ToolOutcome { is_error: true, ..ToolOutcome::from_text(words) };
                let _ = events.send(Event::ToolEnded { ticket, outcome }).await;
                return ticket;
            }
            let policy = &call_context.call_limits.policy;
            let call = granted.get();
            let objection = outage.and_then(|outage| {
                late_check::find_snapshot_objection(call, &inspection, policy, &outage)
            });
            if let Some(why) = objection.or_else(|| {
                late_check::find_late_objection(call, &inspection, policy, &registry, &tool_context)
            }) {
                let outcome = ToolOutcome::failure(why);
                let _ = events.send(Event::ToolEnded { ticket, outcome }).await;
                return ticket;
            }
            let begun = clock::now();
            let lists = hooks.snapshot_task_lists(&tool_context);
            let mut outcome = execute::execute(
                &registry,
                ticket,
                granted,
                call_context,
                progress_receiver,
                &events,
            )
            .await;
            outcome.took = clock::elapsed_since(begun);
            drop(running);
            if let Some(before) = lists {
                hooks
                    .review_task_lists(before, &tool_context, mode, called_off, &mut outcome)
                    .await;
            }
            context_reporter.append_changes(&tool_context, &mut outcome);
            path_instructions.append_to_outcome(&mut outcome).await;
            let is_left = outcome.is_left;
            let _ = events.send(Event::ToolEnded { ticket, outcome }).await;
            // The background session can be cancelled by its ticket until it has reported its cost.
            if is_left && let Some(spent) = billed.recv().await {
                let outcome = ToolOutcome { spent, ..ToolOutcome::from_text("") };
                let _ = events.send(Event::ToolEnded { ticket, outcome }).await;
            }
            ticket
        });
    }

    /// Sends events of calls that start from now on to this channel.
    pub(crate) fn report_to(&mut self, events: mpsc::Sender<Event>) {
        self.events = events;
        self.context_reporter = Arc::default();
    }

    /// Replaces the model's task lists; the conversation knows them already.
    pub(crate) fn restore_task_lists(&mut self, lists: TaskLists) {
        self.context_reporter = Arc::new(ContextReporter::with_task_lists(&lists));
        self.tool_context.model.restore_task_lists(lists);
    }

    /// Cancels a call and everything it started.
    pub(crate) fn cancel(&self, ticket: Ticket) {
        if let Some(cancel) = self.cancels.get(&ticket) {
            cancel.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for cancel in self.cancels.values() {
            cancel.cancel();
        }
    }

    pub(crate) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Waits until any call ends; returns at once if none is running.
    pub(crate) async fn wait_for_one(&mut self) {
        if let Some(gone) = self.running.join_next().await {
            self.remove_finished(gone.ok());
        }
    }

    fn remove_finished(&mut self, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket {
            self.cancels.remove(&ticket);
        }
    }
}

/// Capacity of the progress queue; more is dropped, because progress is only for display.
const PROGRESS_MAX: usize = 16;
