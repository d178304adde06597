//! Reports a batch of hooks to an observer.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use windlass_hook::{CombinedHookResult, HookInvocation, HookRunResult, SelectedHooks};
use windlass_tool::TraceContext;
use windlass_vocabulary::HookVerdict;

use crate::clock;
use crate::notices::NoticeSender;
use crate::observer::{HookBatchResult, Observation, TracePosition};
use crate::session_watch::SessionWatch;

pub(super) struct ObservedHooks {
    watch: Arc<SessionWatch>,
    event: String,
    target: Option<String>,
    count: usize,
    begun: Instant,
}

impl ObservedHooks {
    /// Reports the start; `None` if the session has no observer.
    pub(super) fn begin(
        notice_sender: &NoticeSender,
        hooks: &SelectedHooks,
        invocation: &HookInvocation,
    ) -> Option<Self> {
        let watch = Arc::clone(notice_sender.watch()?);
        let event = invocation.input.get("hook_event_name").and_then(Value::as_str);
        let event = event.unwrap_or_default().to_owned();
        let target = invocation.subject.clone();
        let count = hooks.len();
        watch.observe(Observation::HooksStarted {
            event: &event,
            target: target.as_deref(),
            count,
        });
        Some(Self { watch, event, target, count, begun: clock::now() })
    }

    pub(super) fn trace_context(&self, invocation: &HookInvocation) -> Option<TraceContext> {
        let call = invocation.tool_use_id.as_deref();
        self.watch.trace_context(call.map_or(TracePosition::Session, TracePosition::Call))
    }

    pub(super) fn end(self, combined: &CombinedHookResult) {
        let count_if = |is_meant: fn(&HookRunResult) -> bool| {
            combined.results.iter().filter(|one| is_meant(one)).count()
        };
        let cancelled = count_if(|one| one.is_cancelled);
        let blocking = count_if(|one| !one.is_cancelled && objects(one));
        let failed = count_if(|one| !one.is_cancelled && !objects(one) && one.failure.is_some());
        let took = clock::elapsed_since(self.begun);
        self.watch.observe(Observation::HooksEnded(&HookBatchResult {
            event: &self.event,
            target: self.target.as_deref(),
            count: self.count,
            succeeded: combined.results.len().saturating_sub(cancelled + blocking + failed),
            blocking,
            failed,
            cancelled,
            took,
        }));
    }
}

fn objects(result: &HookRunResult) -> bool {
    matches!(result.answer.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_))
}
