//! One match arm per effect. Starts work and never waits; results arrive as events.
//!
//! No rule of the loop belongs here, and no branch on why the engine wants something.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use windlass_engine::{Effect, Event, State};
use windlass_hook::PermissionRequestAnswer;
use windlass_permission::Policy;
use windlass_tool::{CallLimits, TaskLists, ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{
    AttachmentKind, AttemptId, Chore, Delta, Json, Millis, ModelRequest, Notice, PermissionAnswer,
    PermissionQuestion, Ticket, Usage,
};

use crate::attachment::AttachmentSources;
use crate::call_inspector::CallInspector;
use crate::hook::SessionHooks;
use crate::hook::hook_tasks::HookTasks;
use crate::memory_file::MemoryFile;
use crate::model::ModelClient;
use crate::model::side_model::SessionSideModel;
use crate::model::summary_call;
use crate::notices::NoticeSender;
use crate::panic_guard::catch_call_panic;
use crate::permission_prompts::PermissionPrompts;
use crate::snapshot::SnapshotRecorder;
use crate::spill_writer::SpillWriter;
use crate::tool::past_task_lists::rebuild_task_lists;
use crate::tool::{StartConditions, ToolRunner};

/// Everything in progress, and what is needed to start more.
pub(crate) struct EffectPerformer {
    model: Arc<ModelClient>,
    tools: ToolRunner,
    permission_prompts: PermissionPrompts,
    hooks: HookTasks,
    spills: SpillWriter,
    attachments: Arc<AttachmentSources>,
    notice_sender: NoticeSender,
    events: mpsc::Sender<Event>,
    attempts: HashMap<AttemptId, AbortHandle>,
    /// The current timer; the engine has at most one.
    timer: Option<(Ticket, AbortHandle)>,
    /// Model calls, summaries, timers: dropped with the session.
    tasks: JoinSet<()>,
    /// Results of chores that are being saved.
    chores: JoinSet<()>,
    memory_file: Option<Arc<MemoryFile>>,
    snapshots: Option<Arc<SnapshotRecorder>>,
}

pub(crate) struct EffectPerformerParts {
    pub(crate) model: Arc<ModelClient>,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) side_model: Arc<SessionSideModel>,
    pub(crate) inspector: Arc<CallInspector>,
    pub(crate) attachments: AttachmentSources,
    pub(crate) hooks: Arc<SessionHooks>,
    pub(crate) memory_file: Option<Arc<MemoryFile>>,
    pub(crate) snapshots: Option<Arc<SnapshotRecorder>>,
    pub(crate) notice_sender: NoticeSender,
    pub(crate) events: mpsc::Sender<Event>,
}

impl EffectPerformer {
    pub(crate) fn new(parts: EffectPerformerParts) -> Self {
        let EffectPerformerParts {
            model, registry, side_model: aside, inspector, attachments, ..
        } = parts;
        let EffectPerformerParts { hooks, memory_file, snapshots, notice_sender, events, .. } =
            parts;
        let tool_context = Arc::clone(&attachments.tool_context);
        Self {
            model,
            spills: SpillWriter::new(
                tool_context.processes.spill_directory.clone(),
                notice_sender.clone(),
            ),
            permission_prompts: PermissionPrompts::new(inspector, notice_sender.clone()),
            tools: ToolRunner::new(
                registry,
                tool_context,
                Arc::clone(&attachments.path_instructions),
                aside,
                Arc::clone(&hooks),
                snapshots.clone(),
                events.clone(),
            ),
            attachments: Arc::new(attachments),
            hooks: HookTasks::new(hooks, snapshots.clone(), events.clone()),
            notice_sender,
            events,
            attempts: HashMap::new(),
            timer: None,
            tasks: JoinSet::new(),
            chores: JoinSet::new(),
            memory_file,
            snapshots,
        }
    }

    /// Starts the effect when the gate opens. A tool that may start a nested session gets the
    /// policy of this moment.
    pub(crate) fn perform(&mut self, effect: Effect, policy: &Policy, conditions: StartConditions) {
        while self.tasks.try_join_next().is_some() {}
        match effect {
            Effect::CallModel(request) => {
                self.hooks.cancel_idle_notification();
                if let Some(snapshots) = &self.snapshots {
                    snapshots.warm_up();
                }
                self.call_model(request, conditions);
            }
            Effect::CancelModel { attempt } => {
                if let Some(call) = self.attempts.remove(&attempt) {
                    call.abort();
                }
            }
            Effect::StartTool { ticket, granted, allowance } => {
                let limits = CallLimits { policy: policy.clone(), allowance };
                self.tools.start(ticket, granted, limits, conditions);
            }
            Effect::CancelTool { ticket } => self.tools.cancel(ticket),
            Effect::AskPermission { ticket, question } => {
                self.ask_permission(ticket, question, policy);
            }
            Effect::RunHook { ticket, point, subject } => {
                self.hooks.run_hooks(ticket, point, subject, policy);
            }
            Effect::Summarize { ticket, request } => {
                self.summarize(ticket, request, conditions);
            }
            Effect::Spill { name, text } => self.spills.write(name, text),
            Effect::Keep { chore, text } => self.save_chore(chore, text),
            Effect::Prefetch { kind, about } => self.prefetch(kind, about),
            Effect::SetTimer { ticket, after } => self.set_timer(ticket, after),
            Effect::Tell(notice) => self.send_notice(notice),
            Effect::Finish(ending) => {
                self.hooks.finish_run(policy.mode);
                self.send_notice(Notice::RunEnded(ending));
            }
        }
    }

    /// Handles a front end's answer to a question.
    pub(crate) fn answer_question(&mut self, ticket: Ticket, answer: PermissionAnswer) -> Event {
        self.permission_prompts.take_answer(ticket, answer)
    }

    pub(crate) fn tool_context(&self) -> Arc<ToolSessionContext> {
        Arc::clone(&self.attachments.tool_context)
    }

    pub(crate) fn notice_sender(&self) -> &NoticeSender {
        &self.notice_sender
    }

    /// Runs hooks in the background.
    pub(crate) fn spawn_detached(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.hooks.spawn(work);
    }

    /// Reports that the session ends because it can no longer be stored.
    pub(crate) fn report_storage_failure(&self, why: String) {
        self.notice_sender.report_storage_failure(why);
    }

    /// Sends a warning that the engine need not know.
    pub(crate) fn warn(&self, words: String) {
        self.notice_sender.warn(words);
    }

    /// Cancels everything except what must end by itself: tools are asked to end, and disk writes
    /// finish.
    pub(crate) fn cancel_all(&mut self) {
        self.tasks.abort_all();
        self.tools.cancel_all();
        self.hooks.cancel_all();
    }

    /// After a rewind: drops events of earlier work, and forgets which notes and attachments were
    /// sent.
    pub(crate) fn reset(&mut self, events: mpsc::Sender<Event>) {
        self.cancel_all();
        self.tools.report_to(events.clone());
        self.hooks.report_to(events.clone());
        self.events = events;
        self.attempts.clear();
        self.timer = None;
        self.attachments.path_instructions.reset();
        self.attachments.tool_context.files.forget_files();
    }

    /// A resumed conversation gets the model's task lists as it left them.
    pub(crate) fn with_task_lists(mut self, state: &State) -> Self {
        if let Some(lists) = rebuild_task_lists(state.transcript.messages()) {
            self.restore_task_lists(lists);
        }
        self
    }

    /// Replaces the model's task lists; the conversation knows them already.
    pub(crate) fn restore_task_lists(&mut self, lists: TaskLists) {
        self.tools.restore_task_lists(lists);
    }

    pub(crate) fn are_tools_running(&self) -> bool {
        self.tools.are_running()
    }

    /// Is there work that must end by itself?
    pub(crate) fn is_busy(&self) -> bool {
        self.tools.are_running() || self.hooks.are_running() || self.spills.are_writing()
    }

    /// Waits until one piece of such work has ended.
    pub(crate) async fn wait_for_one(&mut self) {
        tokio::select! {
            () = self.tools.wait_for_one(), if self.tools.are_running() => {}
            () = self.hooks.wait_for_one(), if self.hooks.are_running() => {}
            () = self.spills.wait_for_one(), if self.spills.are_writing() => {}
            else => {}
        }
    }

    /// Hooks may answer before the client does, and also run when the client is asked.
    fn ask_permission(&mut self, ticket: Ticket, question: PermissionQuestion, policy: &Policy) {
        let words = format!("Windlass needs your permission to use {}", question.call.name);
        let call = self.hooks.select_notification_hooks("permission_prompt", &words, policy.mode);
        let Some(pending) = self.hooks.select_permission_hooks(&question, policy) else {
            self.permission_prompts.ask(ticket, question);
            if let Some(call) = call {
                self.hooks.spawn(async move { drop(call.run().await) });
            }
            return;
        };
        let cancel = self.permission_prompts.register(ticket, &question);
        let questions = self.permission_prompts.clone();
        let events = self.events.clone();
        self.hooks.spawn(async move {
            let combined = pending.with_cancel(cancel.clone()).run().await;
            let answer = match combined.permission_answer {
                _ if cancel.is_cancelled() => return,
                Some(answer) => to_answer(answer),
                None => {
                    if questions.ask_registered(ticket, question)
                        && let Some(call) = call
                    {
                        drop(call.run().await);
                    }
                    return;
                }
            };
            let _ = events.send(questions.take_answer(ticket, answer)).await;
        });
    }

    fn send_notice(&mut self, notice: Notice) {
        if let Notice::Streamed { delta: Delta::CallStarted { name, .. }, .. } = &notice
            && let Some(snapshots) = &self.snapshots
        {
            snapshots.prepare_for(name);
        }
        if let Notice::PermissionWithdrawn(ticket) = &notice {
            self.permission_prompts.withdraw(*ticket);
        }
        let ended =
            if let Notice::ToolEnded { call, .. } = &notice { Some(call.clone()) } else { None };
        self.notice_sender.send(notice);
        if let (Some(snapshots), Some(call)) = (&self.snapshots, ended) {
            snapshots.record_told(&call);
        }
    }

    fn call_model(&mut self, request: Box<ModelRequest>, conditions: StartConditions) {
        let StartConditions { gate, budget, .. } = conditions;
        let attempt = request.attempt;
        let model = Arc::clone(&self.model);
        let events = self.events.clone();
        let call = self.tasks.spawn(async move {
            if let Err(failure) = budget.wait().await {
                return send_event(&events, Event::ModelFailed { attempt, failure }).await;
            }
            let report = |event| send_event(&events, event);
            let call = model.run_attempt(&request, gate, report);
            if let Err(failure) = catch_call_panic(call).await {
                let _ = events.send(Event::ModelFailed { attempt, failure }).await;
            }
        });
        self.track_attempt(attempt, call);
    }

    fn summarize(
        &mut self,
        ticket: Ticket,
        request: Box<ModelRequest>,
        conditions: StartConditions,
    ) {
        let StartConditions { gate, budget, .. } = conditions;
        let attempt = request.attempt;
        let model = Arc::clone(&self.model);
        let events = self.events.clone();
        let call = self.tasks.spawn(async move {
            let event = match budget.wait().await {
                Ok(()) => summary_call::summarize(&model, ticket, &request, gate).await,
                Err(failure) => {
                    Event::SummaryEnded { ticket, result: Err(failure), usage: Usage::default() }
                }
            };
            let _ = events.send(event).await;
        });
        self.track_attempt(attempt, call);
    }

    fn track_attempt(&mut self, attempt: AttemptId, call: AbortHandle) {
        self.attempts.retain(|_, call| !call.is_finished());
        self.attempts.insert(attempt, call);
    }

    fn set_timer(&mut self, ticket: Ticket, after: Millis) {
        let events = self.events.clone();
        let timer = self.tasks.spawn(async move {
            tokio::time::sleep(Duration::from_millis(after.0)).await;
            let _ = events.send(Event::TimerFired { ticket }).await;
        });
        self.timer = Some((ticket, timer));
    }

    /// Fires the current timer now.
    pub(crate) fn fire_timer_now(&mut self) -> Option<Event> {
        let (ticket, timer) = self.timer.take().filter(|(_, timer)| !timer.is_finished())?;
        timer.abort();
        // If it fired a moment ago, the engine receives it twice and ignores the second.
        Some(Event::TimerFired { ticket })
    }

    /// Saves the result of a chore. Titles are saved by the journal and the transcript.
    fn save_chore(&mut self, chore: Chore, text: String) {
        let Some(notebook) = self.memory_file.clone() else { return };
        let events = self.events.clone();
        let notice_sender = self.notice_sender.clone();
        self.chores.spawn(async move {
            match notebook.save(chore, text).await {
                Ok(Some(about)) => {
                    let chore = Chore::Consolidation;
                    let _ = events.send(Event::ChoreAsked { chore, about }).await;
                }
                Ok(None) => {}
                Err(problem) => notice_sender.warn(problem),
            }
        });
    }

    /// Are results of chores being saved?
    pub(crate) fn are_chores_saved(&mut self) -> bool {
        while self.chores.try_join_next().is_some() {}
        self.chores.is_empty()
    }

    /// Waits until a chore is saved; with `is_ending`, also until one piece of work has ended that
    /// must end by itself.
    pub(crate) async fn wait_for_change(&mut self, is_ending: bool) {
        match is_ending {
            true => self.wait_for_one().await,
            false => self.wait_for_chore().await,
        }
    }

    /// Waits until a chore is saved. Never returns if there is none.
    async fn wait_for_chore(&mut self) {
        if self.chores.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// A prefetch that finds nothing sends no event.
    fn prefetch(&mut self, kind: AttachmentKind, about: String) {
        let attachments = Arc::clone(&self.attachments);
        let events = self.events.clone();
        self.tasks.spawn(async move {
            if let Some(event) = attachments.find(kind, about).await {
                let _ = events.send(event).await;
            }
        });
    }
}

/// Converts a hook's answer to the form of a client's.
fn to_answer(answer: PermissionRequestAnswer) -> PermissionAnswer {
    match answer {
        PermissionRequestAnswer::Allow { updated_input, remember } => PermissionAnswer::Allow {
            updated_input: updated_input.map(|input| Json::from_checked(&input.to_string())),
            remember,
        },
        PermissionRequestAnswer::Deny { message, interrupt } => {
            PermissionAnswer::Deny { message, interrupt }
        }
    }
}

/// If the session has closed, the event is dropped.
async fn send_event(events: &mpsc::Sender<Event>, event: Event) {
    let _ = events.send(event).await;
}
