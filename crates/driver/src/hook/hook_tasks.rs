//! Runs the hooks the engine asks for. Each batch is a task of its own and reports once.
//!
//! Hooks the run waits for are cancelled when it ends, with everything they started. A detached
//! hook ends by its own deadline, or with the session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use windlass_engine::{Event, HookSubject};
use windlass_hook::HookEvent;
use windlass_permission::Policy;
use windlass_vocabulary::{
    AttachmentKind, HookPoint, HookReport, HookVerdict, PermissionMode, PermissionQuestion, Ticket,
};

use super::{PendingHooks, SessionHooks, hook_input};
use crate::panic_guard::catch_panic;
use crate::snapshot::SnapshotRecorder;

pub(crate) struct HookTasks {
    hooks: Arc<SessionHooks>,
    events: mpsc::Sender<Event>,
    running: JoinSet<()>,
    run: CancellationToken,
    idle: CancellationToken,
    snapshots: Option<Arc<SnapshotRecorder>>,
}

impl HookTasks {
    pub(crate) fn new(
        hooks: Arc<SessionHooks>,
        snapshots: Option<Arc<SnapshotRecorder>>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let run = CancellationToken::new();
        let idle = CancellationToken::new();
        Self { hooks, events, running: JoinSet::new(), run, idle, snapshots }
    }

    /// Sends reports of hooks started from now on to this channel.
    pub(crate) fn report_to(&mut self, events: mpsc::Sender<Event>) {
        self.hooks.report_to(&events);
        self.events = events;
        self.run = CancellationToken::new();
        self.idle = CancellationToken::new();
    }

    pub(crate) fn run_hooks(
        &mut self,
        ticket: Option<Ticket>,
        point: HookPoint,
        subject: HookSubject,
        policy: &Policy,
    ) {
        while self.running.try_join_next().is_some() {}
        if point == HookPoint::PostCompact {
            self.run_compact_start_hooks(policy.mode);
        }
        let pending = self.hooks.select_hooks_for_subject(point.into(), &subject, policy);
        let hooks = Arc::clone(&self.hooks);
        let events = self.events.clone();
        let run = self.run.clone();
        let snapshots = self.snapshots.clone().filter(|_| may_change_files(point));
        match (ticket, pending) {
            (Some(ticket), Some(mut pending)) => {
                self.running.spawn(async move {
                    let running = match snapshots {
                        Some(recorder) => {
                            let cancelled = run.clone().cancelled_owned();
                            let running = Arc::clone(&recorder).begin_call(None, cancelled).await;
                            // The snapshot after the calls is taken by now.
                            let calls = hook_input::list_calls(&subject);
                            let (files, count) = recorder.list_changes(&calls);
                            pending.add_changed_files(&files, count);
                            Some(running)
                        }
                        None => None,
                    };
                    let combined = catch_panic(pending.with_cancel(run).run()).await;
                    drop(running);
                    let report = match combined {
                        Ok(combined) => hooks.build_report(combined, &subject),
                        Err(words) => build_panic_report(point, &words),
                    };
                    let _ = events.send(Event::HookEnded { ticket, report }).await;
                });
            }
            (Some(ticket), None) => {
                let report = HookReport::default();
                self.running.spawn(async move {
                    let _ = events.send(Event::HookEnded { ticket, report }).await;
                });
            }
            (None, Some(pending)) => {
                self.running.spawn(async move { drop(pending.run().await) });
            }
            (None, None) => {}
        }
    }

    /// The hooks that may answer a question before a person does.
    pub(crate) fn select_permission_hooks(
        &self,
        question: &PermissionQuestion,
        policy: &Policy,
    ) -> Option<PendingHooks> {
        let subject = HookSubject::Call(question.call.clone());
        let mut pending =
            self.hooks.select_hooks_for_subject(HookEvent::PermissionRequest, &subject, policy)?;
        if let Value::Object(fields) = &mut pending.occasion.input {
            fields.remove("tool_use_id");
            fields.extend(hook_input::build_question_fields(question));
        }
        Some(pending)
    }

    /// The hooks to run when the session needs the user's attention; `None` when there are none.
    pub(crate) fn select_notification_hooks(
        &self,
        kind: &str,
        message: &str,
        mode: PermissionMode,
    ) -> Option<PendingHooks> {
        let fields = json!({ "message": message, "notification_type": kind });
        let fields: Map<String, Value> = fields.as_object().cloned().unwrap_or_default();
        self.hooks.select_hooks(HookEvent::Notification, Some(kind), mode, fields)
    }

    /// Runs hooks in the background.
    pub(crate) fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(work);
    }

    /// The run has ended and no longer waits for its hooks. If no prompt arrives for a while,
    /// notification hooks run.
    pub(crate) fn finish_run(&mut self, mode: PermissionMode) {
        self.run.cancel();
        self.run = CancellationToken::new();
        self.idle.cancel();
        if self.hooks.is_nested() || !self.hooks.has(HookEvent::Notification) {
            return;
        }
        let words = "Windlass is waiting for your input";
        let Some(pending) = self.select_notification_hooks("idle_prompt", words, mode) else {
            return;
        };
        self.idle = CancellationToken::new();
        let idle = self.idle.clone();
        self.running.spawn(async move {
            tokio::select! {
                () = idle.cancelled() => {}
                () = tokio::time::sleep(IDLE_NOTIFICATION_AFTER) => drop(pending.run().await),
            }
        });
    }

    pub(crate) fn cancel_idle_notification(&self) {
        self.idle.cancel();
    }

    /// After a compaction: runs session start hooks, and sends their output to the model.
    fn run_compact_start_hooks(&mut self, mode: PermissionMode) {
        let source = "compact";
        let fields = Map::from_iter([("source".to_owned(), Value::from(source))]);
        let pending = self.hooks.select_hooks(HookEvent::SessionStart, Some(source), mode, fields);
        if let Some(pending) = pending {
            let events = self.events.clone();
            self.running.spawn(async move {
                for text in pending.run().await.context {
                    let kind = AttachmentKind::Hook;
                    let _ = events.send(Event::AttachmentArrived { kind, text }).await;
                }
            });
        }
    }

    /// Cancels the hooks that the run waits for. The others end by themselves, or are dropped with
    /// the session.
    pub(crate) fn cancel_all(&self) {
        self.run.cancel();
        self.idle.cancel();
    }

    pub(crate) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Waits until any hook ends; returns at once if none is running.
    pub(crate) async fn wait_for_one(&mut self) {
        self.running.join_next().await;
    }
}

/// Formatters and generators run at these points, so their changes are undone together with those
/// of the call.
fn may_change_files(point: HookPoint) -> bool {
    match point {
        HookPoint::PostToolUse
        | HookPoint::PostToolUseFailure
        | HookPoint::PostToolBatch
        | HookPoint::Stop
        | HookPoint::SubagentStop => true,
        HookPoint::PreToolUse
        | HookPoint::StopFailure
        | HookPoint::PreCompact
        | HookPoint::PostCompact => false,
    }
}

/// A panic of ours counts as a failure of the hook: before a tool, it never allows.
fn build_panic_report(point: HookPoint, words: &str) -> HookReport {
    let verdict = if point == HookPoint::PreToolUse {
        HookVerdict::Ask(format!("its hooks failed: {words}"))
    } else {
        HookVerdict::Pass
    };
    HookReport { verdict, ..HookReport::default() }
}

/// Notification hooks run after this long without a prompt.
const IDLE_NOTIFICATION_AFTER: Duration = Duration::from_secs(60);
