//! Runs all selected hooks of an event concurrently, and waits for all of them.
//!
//! Each has a deadline of its own. A panic in our code counts as a failure of the hook. Async hooks
//! are passed to their owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_tool::running_time::timeout;

use crate::answer::parse_hook_answer;
use crate::combined_result::CombinedHookResult;
use crate::command_hook::{self, HookCommandRun};
use crate::hook::{Hook, HookKind};
use crate::hook_environment::{HookEnvironment, HookInvocation};
use crate::hook_run_result::HookRunResult;
use crate::hook_set::SelectedHooks;
use crate::http_hook::{self, HookHttpPolicy};
use crate::raw_hook_output::{HookCompletion, RawHookOutput};

impl SelectedHooks {
    /// Runs the hooks. Dropping the future ends them with everything they started, except async
    /// ones.
    pub async fn run(
        self,
        invocation: HookInvocation,
        environment: &HookEnvironment,
    ) -> CombinedHookResult {
        let invocation = Arc::new(invocation);
        let one = |hook| SingleHookRun {
            number: HOOK_RUN_COUNT.fetch_add(1, Ordering::Relaxed) + 1,
            hook,
            invocation: Arc::clone(&invocation),
            environment: environment.clone(),
            http_policy: Arc::clone(&self.http_policy),
        };
        let all: Vec<Arc<SingleHookRun>> = self.hooks.into_iter().map(one).map(Arc::new).collect();
        let mut results: Vec<Option<HookRunResult>> = all.iter().map(|_| None).collect();
        let mut tasks = JoinSet::new();
        for (place, one) in all.iter().enumerate() {
            one.hook.has_run.store(true, Ordering::Relaxed);
            let hook_run = Arc::clone(one);
            if !one.hook.is_async {
                tasks.spawn(async move { (place, hook_run.run().await) });
            } else if !environment
                .background
                .try_spawn(async move { hook_run.run_in_background().await })
            {
                let full = one.failed_result("was skipped: too many hooks are running");
                set_result(&mut results, place, full);
            }
        }
        while let Some(joined) = tasks.join_next().await {
            if let Ok((place, one)) = joined {
                set_result(&mut results, place, one);
            }
        }
        for (place, one) in all.iter().enumerate() {
            if results.get(place).is_some_and(Option::is_none) && !one.hook.is_async {
                let panicked = one.failed_result("ended because of a fault inside Windlass");
                set_result(&mut results, place, panicked);
            }
        }
        CombinedHookResult::from_results(results.into_iter().flatten().collect())
    }
}

fn set_result(results: &mut [Option<HookRunResult>], place: usize, one: HookRunResult) {
    if let Some(slot) = results.get_mut(place) {
        *slot = Some(one);
    }
}

struct SingleHookRun {
    number: u64,
    hook: Arc<Hook>,
    invocation: Arc<HookInvocation>,
    environment: HookEnvironment,
    http_policy: Arc<HookHttpPolicy>,
}

impl SingleHookRun {
    /// Runs an async hook. If it blocks, its reason may still be passed to the model.
    async fn run_in_background(self: &Arc<Self>) {
        let result = self.run().await;
        if self.hook.wakes_model
            && let (Some(2), Some(waker)) = (result.exit_code, &self.environment.waker)
        {
            let words = [result.stderr.trim(), result.stdout.trim()];
            let words = words.iter().find(|words| !words.is_empty()).unwrap_or(&"no reason given");
            waker.wake(format!(
                "A hook that ran beside your work, `{}`, says: {words}",
                result.name
            ));
        }
    }

    async fn run(self: &Arc<Self>) -> HookRunResult {
        let watcher = self.environment.watcher.clone();
        if let Some(watcher) = &watcher {
            watcher.hook_started(self.number, &self.event_label(), self.hook.event);
        }
        let begun = Instant::now();
        let limit = match (self.invocation.timeout, self.hook.timeout) {
            (Some(shared), None) => self.hook.timeout().min(shared),
            _ => self.hook.timeout(),
        };
        let raw = self.execute(limit).await;
        let result = self.build_result(raw, begun.elapsed());
        if let Some(watcher) = &watcher {
            watcher.hook_ended(&result);
        }
        result
    }

    async fn execute(self: &Arc<Self>, limit: Duration) -> RawHookOutput {
        let HookInvocation { input, tool_use_id, cancel, .. } = &*self.invocation;
        let bytes = || input.to_string().into_bytes();
        let waited = async {
            match &self.hook.kind {
                // Command hooks enforce the deadline themselves, because their process tree is
                // asked to end before it is killed.
                HookKind::Command(_) => return self.execute_command(limit).await,
                HookKind::Http(http) => {
                    timeout(limit, http_hook::run_http(http, &self.http_policy, bytes())).await
                }
                HookKind::Callback { id, callback } => {
                    let called = callback.call(id, input, tool_use_id.as_deref());
                    timeout(limit, called).await.map(|value| {
                        let end = match value {
                            Ok(value) => HookCompletion::Value(value),
                            Err(problem) => HookCompletion::Failed(format!("failed: {problem}")),
                        };
                        RawHookOutput::from_completion(end)
                    })
                }
                HookKind::Prompt(_) | HookKind::McpTool(_) => {
                    timeout(limit, self.execute_by_backend(limit)).await
                }
            }
            .unwrap_or_else(|_| RawHookOutput::from_completion(HookCompletion::TimedOut))
        };
        if matches!(self.hook.kind, HookKind::Command(_)) {
            return waited.await;
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => RawHookOutput::from_completion(HookCompletion::Cancelled),
            raw = waited => raw,
        }
    }

    /// Calls a model or tool through the session.
    async fn execute_by_backend(&self, limit: Duration) -> RawHookOutput {
        let Some(backend) = self.environment.backend.as_deref() else {
            let end = HookCompletion::Failed("needs a session to ask in".to_owned());
            return RawHookOutput::from_completion(end);
        };
        let input = &self.invocation.input;
        match &self.hook.kind {
            HookKind::Prompt(prompt) => prompt.run(backend, self.hook.event, input, limit).await,
            HookKind::McpTool(tool) => tool.run(backend, input).await,
            HookKind::Command(_) | HookKind::Http(_) | HookKind::Callback { .. } => {
                RawHookOutput::default()
            }
        }
    }

    /// Runs a command. If its first line announces it, it continues in the background without a
    /// verdict.
    async fn execute_command(self: &Arc<Self>, limit: Duration) -> RawHookOutput {
        let (first, line) = oneshot::channel();
        let one = Arc::clone(self);
        let own = CancellationToken::new();
        let cancel = own.clone();
        let mut running = Box::pin(async move {
            let HookKind::Command(command) = &one.hook.kind else {
                return RawHookOutput::default();
            };
            let input = one.invocation.input.to_string().into_bytes();
            let env_file = one.invocation.env_file.as_deref();
            let hook_run = HookCommandRun {
                input,
                env_file,
                limit,
                cancel,
                first_line: first,
                trace_context: one.invocation.trace_context.as_ref(),
            };
            command_hook::run_command(command, &one.environment, hook_run).await
        });
        let going_on = tokio::select! {
            biased;
            () = self.invocation.cancel.cancelled() => {
                own.cancel();
                return running.await;
            }
            raw = &mut running => return raw,
            line = line => line.ok().and_then(|line| command_hook::parse_async_announcement(&line)),
        };
        let Some(patience) = going_on else {
            return tokio::select! {
                biased;
                () = self.invocation.cancel.cancelled() => {
                    own.cancel();
                    running.await
                }
                raw = &mut running => raw,
            };
        };
        let work = async move { drop(timeout(patience.unwrap_or(limit), running).await) };
        match self.environment.background.try_spawn(work) {
            true => RawHookOutput::default(),
            false => {
                let end =
                    HookCompletion::Failed("was stopped: too many hooks are running".to_owned());
                RawHookOutput::from_completion(end)
            }
        }
    }

    fn failed_result(&self, words: &str) -> HookRunResult {
        let end = HookCompletion::Failed(words.to_owned());
        self.build_result(RawHookOutput::from_completion(end), Duration::ZERO)
    }

    fn build_result(&self, mut raw: RawHookOutput, took: Duration) -> HookRunResult {
        let is_cancelled = matches!(raw.end, HookCompletion::Cancelled);
        let mut value = None;
        if let HookCompletion::Value(answer) = &raw.end
            && raw.stdout.is_empty()
        {
            value = Some(answer.to_string());
        }
        let (answer, failure) = parse_hook_answer(&mut raw, &self.hook, &self.environment.spill);
        HookRunResult {
            number: self.number,
            event: self.hook.event,
            event_label: self.event_label(),
            name: self.hook.name(),
            source: self.hook.source.to_string(),
            duration: took,
            exit_code: raw.exit_code,
            stdout: truncate_for_display(value.unwrap_or(raw.stdout)),
            stderr: truncate_for_display(raw.stderr),
            failure,
            is_cancelled,
            spent: raw.spent,
            answer,
        }
    }

    fn event_label(&self) -> String {
        let event = self.hook.event.name();
        match &self.invocation.subject {
            Some(about) => format!("{event}:{about}"),
            None => event.to_owned(),
        }
    }
}

fn truncate_for_display(mut text: String) -> String {
    if let Some((cut, _)) = text.char_indices().nth(crate::long_output::CHARS_MAX) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

static HOOK_RUN_COUNT: AtomicU64 = AtomicU64::new(0);
