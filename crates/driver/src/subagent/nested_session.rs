//! One nested session, from start to end, in the foreground or in the background.

use std::io;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use windlass_engine::Interrupt;
use windlass_tool::{BackgroundAgent, ToolCallContext};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    AgentId, Message, MicroUsd, ModelName, Notice, Role, ToolCallId, ToolOutcome, ToolResultPart,
};

use super::agent_definition::{AgentDefinition, AgentIsolation};
use super::agent_input::AgentInput;
use super::agent_outcome::{self, AgentAbort, AgentEnd};
use super::agent_workspace::AgentWorkspace;
use super::nested_session_factory::{AgentSlot, NestedSessionFactory};
use crate::clock::{self, RunningTimer};
use crate::notices::Notices;
use crate::panic_guard::catch_panic;
use crate::session::Session;

/// Runs it. Its cost is always accounted for. Nothing of it keeps running after this returns,
/// except in the background, where it ends by itself.
pub(super) async fn run_agent(
    factory: &Arc<NestedSessionFactory>,
    input: AgentInput,
    definition: AgentDefinition,
    call: &ToolCallId,
    call_context: ToolCallContext,
) -> ToolOutcome {
    // Only the first session may have background agents: a nested session's end would end them too
    // early.
    let is_left = (input.run_in_background || definition.background) && factory.depth == 1;
    let nested = match NestedSession::start(factory, input, definition, call, call_context).await {
        Ok(nested) => nested,
        Err(problem) => return ToolOutcome::failure(problem),
    };
    match is_left {
        false => nested.run_awaited().await,
        true => nested.run_in_background().await,
    }
}

pub(super) struct NestedSession {
    sessions: Arc<NestedSessionFactory>,
    _slot: AgentSlot,
    pub(super) id: AgentId,
    call: ToolCallId,
    pub(super) input: AgentInput,
    workspace: AgentWorkspace,
    session: Session,
    notices: Notices,
    call_context: ToolCallContext,
    cancel: CancellationToken,
    /// Its entry in the list of background tasks.
    background_agent: Option<BackgroundAgent>,
    /// Set if the user can move it to the background; the call is then answered through the sender.
    background_request: Option<(CancellationToken, oneshot::Sender<ToolOutcome>)>,
    pub(super) answer: String,
    pub(super) calls: u64,
    /// How often hooks were asked whether it may end.
    idle_rounds: u8,
}

impl NestedSession {
    async fn start(
        factory: &Arc<NestedSessionFactory>,
        input: AgentInput,
        mut definition: AgentDefinition,
        call: &ToolCallId,
        call_context: ToolCallContext,
    ) -> Result<Self, String> {
        let slot = factory.acquire_slot().ok_or_else(|| {
            let most = factory.subagents.running_max;
            format!(
                "There are {most} agents at work, and no more may run at once. Wait for one, or do \
                 it yourself."
            )
        })?;
        if let Some(model) = &input.model {
            definition.model = Some(ModelName::from(model.as_str()));
        }
        if let Some(model) = &factory.subagents.model_override {
            definition.model = Some(model.clone());
        }
        let isolation = input.isolation.map_or(definition.isolation, |_| AgentIsolation::Worktree);
        let id = factory.next_agent_id();
        let parent = &factory.parent.tool_context;
        let journal = factory.parent.journal.as_ref();
        let workspace =
            AgentWorkspace::prepare(isolation, &id, parent, journal, &call_context.cancel).await?;
        let effort = input.effort.map(Into::into);
        let started = factory
            .prepare_builder(&id, &definition, call, &workspace, call_context.call_limits.clone())
            .and_then(|builder| match builder.effort(effort).start() {
                Ok(started) => Ok(started),
                Err(error) => Err(format!("The agent could not start: {error}.")),
            });
        let (session, notices) = match started {
            Ok(started) => started,
            Err(problem) => {
                workspace.clean_up().await;
                return Err(problem);
            }
        };
        let cancel = call_context.cancel.clone();
        Ok(Self {
            sessions: Arc::clone(factory),
            _slot: slot,
            id,
            call: call.clone(),
            input,
            workspace,
            session,
            notices,
            call_context,
            cancel,
            background_agent: None,
            background_request: None,
            answer: String::new(),
            calls: 0,
            idle_rounds: 0,
        })
    }

    /// Waits for it, unless the user moves it to the background.
    async fn run_awaited(mut self) -> ToolOutcome {
        let tool_context = Arc::clone(&self.call_context.tool_context);
        let waiting = tool_context.background.register_foreground(
            Some(self.id.as_str()),
            self.call.as_str(),
            &self.cancel,
        );
        self.cancel = waiting.stop.clone();
        let (launched, left) = oneshot::channel();
        // Only the first session may have background agents.
        if self.sessions.depth == 1 {
            self.background_request = Some((waiting.background_request.clone(), launched));
        }
        let mut finishing = Box::pin(self.run_to_end());
        tokio::select! {
            biased;
            Ok(outcome) = left => {
                // If the task panics, it reports no cost and its reservation stays charged.
                tokio::spawn(async move { catch_panic(finishing).await.map(drop) });
                outcome
            }
            outcome = &mut finishing => outcome,
        }
    }

    /// Moves it to the background, if its output can be kept.
    fn move_to_background(&mut self) {
        let Some((_, answer)) = self.background_request.take() else { return };
        let Ok((background, launched)) = self.start_background_agent() else { return };
        if answer.send(launched).is_ok() {
            self.cancel = background.cancel_token();
            self.background_agent = Some(background);
        }
    }

    /// Its entry in the background, and what the model is told of it.
    fn start_background_agent(&self) -> io::Result<(BackgroundAgent, ToolOutcome)> {
        let Self { id, input, call_context, .. } = self;
        let background = call_context.tool_context.background.start_agent(
            &call_context.tool_context.processes,
            id.as_str(),
            &input.description,
            &call_context.cancel,
        )?;
        let launched = agent_outcome::build_launched_outcome(id, input, background.output_path());
        Ok((background, launched))
    }

    /// Runs it in the background, and returns where to find it.
    async fn run_in_background(mut self) -> ToolOutcome {
        let (background, launched) = match self.start_background_agent() {
            Ok(started) => started,
            Err(error) => {
                self.session.close().await;
                self.workspace.clean_up().await;
                return ToolOutcome::failure(format!(
                    "The agent was not started, because what it does cannot be kept: {error}."
                ));
            }
        };
        self.cancel = background.cancel_token();
        self.background_agent = Some(background);
        // If the task panics, it reports no cost and its reservation stays charged.
        tokio::spawn(async move { catch_panic(self.run_to_end()).await.map(drop) });
        launched
    }

    async fn run_to_end(mut self) -> ToolOutcome {
        let started = clock::now();
        let ending = self.wait_until_ended().await;
        self.session.close().await;
        self.sessions.tree.questions.withdraw_all(&self.sessions.notice_sender, &self.session);
        let took = clock::elapsed_since(started).0;
        let workspace =
            std::mem::replace(&mut self.workspace, AgentWorkspace::Shared).clean_up().await;
        let outcome = agent_outcome::build_outcome(
            &self,
            ending,
            AgentEnd { took, remaining_worktree: workspace },
        );
        if let Some(mut background) = self.background_agent.take() {
            let answer = ToolResultPart::join_texts(&outcome.content);
            background.write(&format!("\n{answer}\n"));
            // The cost must be reported before the end.
            self.call_context.cost_sender.clone().report(outcome.spent);
            let words = if outcome.is_error { "It failed." } else { "It is done." };
            background.finish(words.to_owned(), outcome.is_error, Some(answer));
        }
        outcome
    }

    async fn wait_until_ended(&mut self) -> Result<RunEnding, (AgentAbort, MicroUsd)> {
        let mut spent = MicroUsd(0);
        if self.session.submit(self.input.prompt.as_str()).is_err() {
            return Err((AgentAbort::Gone, spent));
        }
        let mut timer = RunningTimer::new(self.sessions.subagents.time_max);
        let mut abort = None;
        loop {
            let cancel = self.cancel.clone();
            let background_request = self
                .background_request
                .as_ref()
                .map(|(background_request, _)| background_request.clone());
            let is_left = async {
                match &background_request {
                    Some(background_request) => background_request.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            // Waits for the end of the run, because it reports the cost up to a forced end.
            let notice = tokio::select! {
                biased;
                () = cancel.cancelled(), if abort.is_none() => {
                    abort = Some(AgentAbort::Cancelled);
                    let _ = self.session.interrupt(Interrupt::User);
                    continue;
                }
                () = &mut timer, if abort.is_none() => {
                    abort = Some(AgentAbort::TooLong);
                    let _ = self.session.interrupt(Interrupt::User);
                    continue;
                }
                () = is_left, if abort.is_none() => {
                    self.move_to_background();
                    continue;
                }
                notice = self.notices.next() => notice,
            };
            if abort.is_none()
                && let Some(Notice::RunEnded(ending)) = &notice
                && self.try_continue(ending, &mut timer).await
            {
                continue;
            }
            if let Some(notice) = &notice {
                self.forward_notice(notice);
            }
            match notice {
                None => return Err((abort.unwrap_or(AgentAbort::Gone), spent)),
                Some(Notice::RunEnded(ending)) => {
                    return match abort {
                        None => Ok(ending),
                        Some(abort) => Err((abort, ending.cost)),
                    };
                }
                Some(Notice::Billed { total, .. }) => spent = total,
                Some(notice) => self.apply_notice(notice),
            }
        }
    }

    /// When a background agent has finished, hooks may give it more work, up to a limit.
    async fn try_continue(&mut self, ending: &RunEnding, timer: &mut RunningTimer) -> bool {
        if self.background_agent.is_none()
            || ending.terminal.is_error()
            || self.idle_rounds >= IDLE_ROUNDS_MAX
        {
            return false;
        }
        self.idle_rounds += 1;
        let prompt = tokio::select! {
            () = self.cancel.cancelled() => None,
            () = timer => None,
            prompt = self.session.ask_idle_hooks() => prompt,
        };
        prompt.is_some_and(|prompt| self.session.submit(prompt).is_ok())
    }

    /// Shows the parent's client what the agent does. Notices of deeper sessions are passed on
    /// unchanged: they name their own call.
    fn forward_notice(&self, notice: &Notice) {
        let is_told = matches!(
            notice,
            Notice::RunStarted
                | Notice::RequestStarted { .. }
                | Notice::MessageAdded(_)
                | Notice::ToolStarted(_)
                | Notice::ToolProgressed { .. }
                | Notice::ToolEnded { .. }
                | Notice::ToolDenied { .. }
                | Notice::RunEnded(_)
        );
        let forwarded = if let Notice::SubagentNotice { .. } = notice {
            notice.clone()
        } else if is_told {
            Notice::SubagentNotice {
                call: self.call.clone(),
                agent: self.id.clone(),
                notice: Box::new(notice.clone()),
            }
        } else {
            return;
        };
        self.sessions.notice_sender.send(forwarded);
    }

    /// Passes questions to the parent's client, and tracks progress.
    fn apply_notice(&mut self, notice: Notice) {
        let notice_sender = &self.sessions.notice_sender;
        let questions = &self.sessions.tree.questions;
        if let Notice::PermissionAsked { ticket, mut question } = notice {
            question.agent.get_or_insert_with(|| self.id.clone());
            questions.ask(notice_sender, &self.session, ticket, question);
        } else if let Notice::PermissionWithdrawn(ticket) = notice {
            questions.withdraw(notice_sender, &self.session, ticket);
        } else if let Notice::ToolStarted(call) = notice {
            self.calls += 1;
            let number = self.calls;
            self.call_context.progress.report(|| format!("{} (call {number})", call.name));
            if let Some(background) = &mut self.background_agent {
                let input = call.input.as_str();
                let cut = input.floor_char_boundary(CALL_BYTES_SHOWN);
                let shown = input.get(..cut).unwrap_or_default();
                background.write(&format!("[{} {shown}]\n", call.name));
            }
        } else if let Notice::MessageAdded(message) = notice
            && message.role == Role::Assistant
        {
            self.remember_answer(&message);
        }
    }

    fn remember_answer(&mut self, message: &Message) {
        let text = message.text();
        if !text.trim().is_empty() {
            if let Some(background) = &mut self.background_agent {
                background.write(&format!("{}\n", text.trim_end()));
            }
            self.answer = text;
        }
    }
}

/// How often hooks may give a background agent more work.
const IDLE_ROUNDS_MAX: u8 = 8;
/// Limit on the bytes of a call's input that are shown.
const CALL_BYTES_SHOWN: usize = 300;
