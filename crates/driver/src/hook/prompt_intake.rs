//! The queue in front of the session. Prompts wait here for session start hooks, and for hooks that
//! review each prompt.
//!
//! Prompts keep their order. The session continues to process commands meanwhile: an interrupt
//! cancels what waits here. Slow session start hooks delay the first prompt only up to a limit;
//! their later output goes with the next prompt. A prompt that hooks reject leaves no trace in the
//! session.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use windlass_engine::Event;
use windlass_hook::{CombinedHookResult, HookEvent};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, HookVerdict, MicroUsd, Notice, PermissionMode, Terminal,
};

use super::{PendingHooks, SessionHooks, env_file};
use crate::clock::RunningTimer;
use crate::prompt_submission::{PromptSubmission, SlashCommandCall};

pub(crate) struct PromptIntake {
    hooks: Arc<SessionHooks>,
    start_hooks: JoinSet<CombinedHookResult>,
    /// While it runs, the first prompt waits for session start hooks.
    start_timer: Option<RunningTimer>,
    env_file: Option<PathBuf>,
    prompt_hooks: JoinSet<CombinedHookResult>,
    queued: VecDeque<PromptSubmission>,
    /// Output of session start hooks for the next prompt.
    start_message: Option<String>,
}

pub(crate) enum IntakeItem {
    /// Text for the model.
    Event(Event),
    /// A title for the session.
    Title(String),
    Prompt(PromptSubmission),
}

/// The part of the session's state that matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStatus {
    pub(crate) is_running: bool,
    pub(crate) spent: MicroUsd,
    pub(crate) mode: PermissionMode,
}

impl PromptIntake {
    pub(crate) fn new(hooks: Arc<SessionHooks>) -> Self {
        Self {
            hooks,
            start_hooks: JoinSet::new(),
            start_timer: None,
            env_file: None,
            prompt_hooks: JoinSet::new(),
            queued: VecDeque::new(),
            start_message: None,
        }
    }

    pub(crate) fn run_start_hooks(&mut self, source: &str, mode: PermissionMode) {
        let facts = &self.hooks.facts;
        let pending = match &facts.identity.agent {
            Some(agent) => self.hooks.select_hooks(
                HookEvent::SubagentStart,
                Some(&agent.kind),
                mode,
                Map::new(),
            ),
            None => {
                let fields = [("source", source), ("model", &facts.model)];
                let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value)));
                let fields = Map::from_iter(fields);
                self.hooks.select_hooks(HookEvent::SessionStart, Some(source), mode, fields)
            }
        };
        let Some(mut pending) = pending else { return };
        if !self.hooks.is_nested() {
            self.env_file = env_file::create_env_file(&self.hooks.inspector.tool_context);
            pending.occasion.env_file.clone_from(&self.env_file);
        }
        self.start_hooks.spawn(pending.run());
        self.start_timer = Some(RunningTimer::new(START_HOOKS_WAIT_MAX));
    }

    /// Queues a prompt. Returns it if no hook reviews it.
    pub(crate) fn submit(&mut self, submission: PromptSubmission) -> Option<PromptSubmission> {
        let is_page =
            submission.slash_command.is_some() && self.hooks.has(HookEvent::UserPromptExpansion);
        let is_watched = is_page || self.hooks.has(HookEvent::UserPromptSubmit);
        let is_watched = is_watched && !self.hooks.is_nested();
        if !is_watched && self.start_timer.is_none() && self.queued.is_empty() {
            self.hooks.begin_prompt();
            return Some(self.prepend_start_message(submission));
        }
        self.queued.push_back(submission);
        None
    }

    pub(crate) fn queued_count(&self) -> usize {
        self.queued.len()
    }

    /// The next items for the session. Never returns while there is nothing to wait for.
    /// Cancel-safe.
    pub(crate) async fn next(&mut self, status: RunStatus) -> Vec<IntakeItem> {
        loop {
            let is_free = self.start_timer.is_none() && self.prompt_hooks.is_empty();
            if is_free && let Some(events) = self.review_next(status.mode) {
                return events;
            }
            let is_awaited = !self.queued.is_empty();
            let start_is_late = async {
                match &mut self.start_timer {
                    Some(timer) if is_awaited => timer.await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(combined) = self.start_hooks.join_next() => {
                    self.start_timer = None;
                    self.import_variables().await;
                    let mut combined = combined.unwrap_or_default();
                    self.start_message = combined.first_message.take();
                    return into_intake_items(combined);
                }
                Some(combined) = self.prompt_hooks.join_next() => {
                    let combined = combined.unwrap_or_else(|error| block_after_panic(&error));
                    return self.finish_review(combined, status);
                }
                () = start_is_late => {
                    self.start_timer = None;
                    let seconds = START_HOOKS_WAIT_MAX.as_secs();
                    self.hooks.warn(format!(
                        "the SessionStart hooks took longer than {seconds} s; the session starts \
                         without their output"
                    ));
                }
                else => std::future::pending::<()>().await,
            }
        }
    }

    /// Cancels everything that waits here. Returns whether there was anything.
    pub(crate) fn interrupt(&mut self, status: RunStatus) -> bool {
        let had_any = !self.queued.is_empty();
        self.queued.clear();
        self.prompt_hooks = JoinSet::new();
        if had_any && !status.is_running {
            let why = "interrupted before the prompt was sent".to_owned();
            self.report_run_ended(Terminal::AbortedStreaming, why, status.spent);
        }
        had_any
    }

    /// Runs hooks on the next prompt, or lets it through.
    fn review_next(&mut self, mode: PermissionMode) -> Option<Vec<IntakeItem>> {
        let submission = self.queued.front()?;
        let prompt = collect_prompt_text(submission);
        self.hooks.begin_prompt();
        let command = submission
            .slash_command
            .as_ref()
            .and_then(|command| self.select_expansion_hooks(command, &prompt, mode));
        let fields = Map::from_iter([("prompt".to_owned(), Value::from(prompt))]);
        let is_nested = self.hooks.is_nested();
        let pending = self.hooks.select_hooks(HookEvent::UserPromptSubmit, None, mode, fields);
        let all: Vec<PendingHooks> =
            command.into_iter().chain(pending).filter(|_| !is_nested).collect();
        match all.is_empty() {
            false => {
                self.prompt_hooks.spawn(run_in_sequence(all));
                None
            }
            true => {
                let submission = self.queued.pop_front()?;
                Some(vec![IntakeItem::Prompt(self.prepend_start_message(submission))])
            }
        }
    }

    /// The hooks that may reject the expansion of a slash command.
    fn select_expansion_hooks(
        &self,
        command: &SlashCommandCall,
        prompt: &str,
        mode: PermissionMode,
    ) -> Option<PendingHooks> {
        let fields = json!({
            "expansion_type": "slash_command",
            "command_name": command.name,
            "command_args": command.arguments,
            "command_source": command.source,
            "prompt": prompt,
        });
        let fields = fields.as_object().cloned().unwrap_or_default();
        self.hooks.select_hooks(HookEvent::UserPromptExpansion, Some(&command.name), mode, fields)
    }

    /// Handles the verdict of hooks on the first waiting prompt.
    fn finish_review(
        &mut self,
        combined: CombinedHookResult,
        status: RunStatus,
    ) -> Vec<IntakeItem> {
        let Some(submission) = self.queued.pop_front() else {
            return Vec::new();
        };
        match combined.verdict {
            HookVerdict::Block(why) | HookVerdict::Halt(why) => {
                let why = format!("a hook ({}) refused the prompt: {why}", combined.decided_by);
                self.hooks.warn(why.clone());
                if !status.is_running {
                    self.report_run_ended(Terminal::HookStopped, why, status.spent);
                }
                Vec::new()
            }
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask(_)
            | HookVerdict::Defer(_) => {
                let mut events = into_intake_items(combined);
                events.push(IntakeItem::Prompt(self.prepend_start_message(submission)));
                events
            }
        }
    }

    /// Prepends the output of session start hooks to the first prompt.
    fn prepend_start_message(&mut self, mut submission: PromptSubmission) -> PromptSubmission {
        if let Some(first) = self.start_message.take() {
            submission.content.insert(0, ContentBlock::Text(format!("{first}\n\n")));
        }
        submission
    }

    /// A rejected prompt counts as a finished run, because its sender waits for the end.
    fn report_run_ended(&self, terminal: Terminal, why: String, cost: MicroUsd) {
        let notice_sender = &self.hooks.notice_sender;
        notice_sender.send(Notice::RunStarted);
        notice_sender.report_run_without_turns(terminal, why, cost);
    }

    async fn import_variables(&mut self) {
        if let Some(file) = self.env_file.take()
            && let Err(problem) =
                env_file::import_env_file(&file, &self.hooks.inspector.tool_context).await
        {
            self.hooks.warn(format!("variables set by SessionStart hooks are lost: {problem}"));
        }
    }
}

/// Runs the hooks one after the other, until one blocks.
async fn run_in_sequence(all: Vec<PendingHooks>) -> CombinedHookResult {
    let mut combined = CombinedHookResult::default();
    for pending in all {
        let result = pending.run().await;
        let is_over = matches!(result.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_));
        let context = [std::mem::take(&mut combined.context), result.context.clone()].concat();
        let title = result.title.clone().or(combined.title.take());
        combined = CombinedHookResult { context, title, ..result };
        if is_over {
            break;
        }
    }
    combined
}

fn into_intake_items(combined: CombinedHookResult) -> Vec<IntakeItem> {
    let kind = AttachmentKind::Hook;
    let arrived = |text| IntakeItem::Event(Event::AttachmentArrived { kind, text });
    let title = combined.title.map(IntakeItem::Title);
    title.into_iter().chain(combined.context.into_iter().map(arrived)).collect()
}

fn block_after_panic(error: &tokio::task::JoinError) -> CombinedHookResult {
    let why = format!("its hooks failed: {error}");
    CombinedHookResult { verdict: HookVerdict::Block(why), ..CombinedHookResult::default() }
}

fn collect_prompt_text(submission: &PromptSubmission) -> String {
    submission.content.iter().filter_map(ContentBlock::as_text).collect()
}

/// How long the first prompt waits for session start hooks.
const START_HOOKS_WAIT_MAX: Duration = Duration::from_secs(60);
