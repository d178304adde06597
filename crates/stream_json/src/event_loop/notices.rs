//! Handles notices of the session during and at the end of a run.

use windlass_driver::Interrupt;
use windlass_vocabulary::hook::{HookNotice, HookOutcome};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, Outcome, Role, Terminal};

use super::EventLoop;
use crate::frame::{OutgoingFrame, SystemSubtype};
use crate::live_session::LiveSession;
use crate::notice_to_frame::build_system_frame;
use crate::structured_output;
use crate::structured_output::StructuredOutputTracker;
use crate::{failure_name, prompt_turn};
use windlass_assembly::failure_advice;
use windlass_assembly::retry_cutoff::RetryCutoffReason;
use windlass_host::display::human_format;
use windlass_host::random;

impl EventLoop {
    pub(super) async fn on_notice(&mut self, notice: &Notice) {
        self.usage_totals.on_notice(notice);
        if let Some(printer) = &mut self.output.printer {
            printer.on_notice(notice);
        }
        if let Some(log) = &mut self.output.debug_log {
            log.on_notice(notice);
        }
        let Some(live) = self.session.live_mut() else {
            return;
        };
        if let Some(turn) = &mut self.turn {
            turn.on_notice(notice);
        }
        let mut frames = live.frames.builder.notice_to_frames(notice);
        match notice {
            Notice::RunStarted => live.has_run_started = true,
            // A resumed journal may first tell the end of a run of an earlier process.
            Notice::RunEnded(_) if !live.has_run_started => return,
            Notice::RunEnded(ending) => return self.on_run_ended(ending).await,
            Notice::PermissionAsked { ticket, question } => {
                return self.ask_permission(*ticket, question);
            }
            Notice::PermissionWithdrawn(ticket) => return self.withdraw_permission(*ticket),
            Notice::SideQuestionAnswered(answer) => return self.on_side_answer(answer),
            Notice::MessageAdded(message) => live.final_answer.add_message(message),
            Notice::RequestStarted { model, .. } => live.on_model_requested(model),
            Notice::ToolStarted(call) => live.frames.tasks.on_tool_started(call),
            Notice::ToolEnded { call, .. } => {
                frames.extend(on_tool_ended(live, call.as_str()));
            }
            Notice::PromptSuggested(text) => {
                frames.push(OutgoingFrame::PromptSuggestion { suggestion: text.clone() });
            }
            Notice::Hook(hook) => {
                if self.args.headless.stream.include_hook_events {
                    frames.push(hook_notice_to_frame(hook));
                }
            }
            Notice::SubagentNotice { call, agent, notice } => {
                frames.extend(live.frames.tasks.on_agent_notice(call.as_str(), agent, notice));
            }
            Notice::Streamed { .. }
            | Notice::Retracted { .. }
            | Notice::AnswerStarted { .. }
            | Notice::Sealed { .. }
            | Notice::ToolProgressed { .. }
            | Notice::ToolDenied { .. }
            | Notice::RetryScheduled { .. }
            | Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::InputQueued(_)
            | Notice::Billed { .. }
            | Notice::Warning(_)
            | Notice::MaxTurnsReached { .. } => {}
        }
        frames.extend(build_ended_command_frames(live));
        let cutoff_message = live.provider.retry_cutoff.check_notice(notice);
        let names = take_transcript_ids(live, notice);
        self.send_named_frames(frames, names);
        if let Some(why) = cutoff_message {
            self.stop_retrying(&why);
        }
    }

    pub(crate) fn send_ended_commands(&mut self) {
        let Some(live) = self.session.live_mut() else {
            return;
        };
        let frames = build_ended_command_frames(live);
        frames.into_iter().for_each(|frame| self.send_frame(frame));
    }

    /// Sends frames; those of the conversation with the ids they have in the transcript.
    fn send_named_frames(&mut self, frames: Vec<OutgoingFrame>, names: Vec<String>) {
        let mut names = names.into_iter();
        for frame in frames {
            let is_named = matches!(frame, OutgoingFrame::Assistant(_) | OutgoingFrame::User(_));
            let name = if is_named { names.next() } else { None };
            self.send_frame_as(frame, name.unwrap_or_else(random::generate_uuid));
        }
    }

    /// Answers the `side_question` request, or ends the prompt that asked.
    fn on_side_answer(&mut self, answer: &Result<String, String>) {
        if let Some(waiter) = self.control.side_question.take() {
            // The request may have been dropped.
            let _ = waiter.send(answer.clone());
            return;
        }
        let Some(mut turn) = self.turn.take_if(|turn| turn.is_side_question) else { return };
        turn.end_request();
        let frame =
            prompt_turn::complete_side_question(turn.into_result_frame(&self.usage_totals), answer);
        self.send_result(frame);
    }

    /// A server that is not there is not worth minutes of tries.
    fn stop_retrying(&mut self, why: &RetryCutoffReason) {
        let Some(live) = self.session.live_mut() else {
            return;
        };
        live.provider.retry_cutoff_message =
            Some(why.explain(&live.provider.endpoints, live.provider.last_model.as_ref()));
        // A session that does not take this is over, which its notices say next.
        let _ = live.session.interrupt(Interrupt::Shutdown);
    }

    async fn on_run_ended(&mut self, ending: &RunEnding) {
        let Some(live) = self.session.live_mut() else {
            return;
        };
        let cutoff_message = live.provider.retry_cutoff_message.take();
        let problem = cutoff_message.clone().or_else(|| {
            human_format::describe_run_failure(ending, |failure| {
                failure_advice::explain_failure(
                    failure,
                    &live.provider.endpoints,
                    live.provider.last_model.as_ref(),
                )
            })
        });
        let mut text = live.final_answer.text().to_owned();
        let failed = match (&ending.failure, &cutoff_message) {
            (Some(failure), _) => Some(failure_name::failure_kind_name(failure.kind)),
            (None, Some(_)) => Some("server_error"),
            (None, None) => None,
        };
        if let (Some(kind), Some(words)) = (failed, &problem) {
            let frame = live.frames.builder.build_failure_frame(words, kind);
            self.send_frame(frame);
        }
        let Some(mut turn) = self.turn.take() else {
            return;
        };
        if let Some(freed) = turn.freed_tokens {
            let freed = human_format::format_count(freed.0);
            text = format!("History was shortened, about {freed} tokens were freed.");
        }
        turn.end_request();
        turn.usage += ending.usage;
        let wanted = self.session.live().and_then(|live| live.structured_output.clone());
        if let Some(wanted) = &wanted {
            turn.structured = wanted.value();
            let is_over = ending.terminal == Terminal::Completed && ending.deferred.is_none();
            let is_missing = turn.structured.is_none() && is_over;
            if is_missing && wanted.record_miss() && self.remind_of_structured_output() {
                self.turn = Some(turn);
                return;
            }
        }
        let mut frame = turn.into_result_frame(&self.usage_totals);
        frame = prompt_turn::complete_with_ending(frame, ending, &text, problem.clone());
        let mut problem = problem;
        if let Some(wanted) = wanted.filter(|wanted| wanted.is_exhausted()) {
            frame = prompt_turn::fail_without_structured_output(frame, wanted.retries_max);
            problem = frame.problem().map(str::to_owned);
        }
        if let (Some(words), true) = (cutoff_message, frame.is_error) {
            frame.subtype = "success";
            frame.ending.terminal_reason = "api_error";
            frame.errors.clear();
            frame.result = Some(words);
        }
        if let Some(Outcome::Compacted | Outcome::NotCompacted) = ending.outcome {
            self.send_compact_result(!frame.is_error);
        }
        self.send_result_with_problem(frame, problem);
    }

    /// Asks for the object that is missing. Returns whether the session took the prompt.
    fn remind_of_structured_output(&self) -> bool {
        let live = self.session.live();
        live.is_some_and(|live| live.session.submit(structured_output::REMINDER).is_ok())
    }

    fn send_compact_result(&mut self, is_done: bool) {
        let compact_result = Some(if is_done { "success" } else { "failed" });
        let status = SystemSubtype::Status { status: None, permission_mode: None, compact_result };
        self.send_frame(build_system_frame(status));
    }

    pub(crate) fn send_permission_mode(&mut self, mode: &str) {
        let permission_mode = Some(mode.to_owned());
        let status = SystemSubtype::Status { status: None, permission_mode, compact_result: None };
        self.send_frame(build_system_frame(status));
    }
}

fn on_tool_ended(live: &mut LiveSession, call: &str) -> Vec<OutgoingFrame> {
    let mut frames = live.frames.tasks.on_tool_ended(call);
    let tasks = live.session.background_tasks();
    frames.extend(live.frames.tasks.on_commands_started(&tasks, call));
    let structured = live.structured_output.as_ref();
    if structured.is_some_and(StructuredOutputTracker::is_exhausted) {
        let _ = live.session.interrupt(Interrupt::User);
    }
    frames
}

/// The ids that the message of a notice has in the transcript.
fn take_transcript_ids(live: &mut LiveSession, notice: &Notice) -> Vec<String> {
    let mut author = "";
    let mut inner = notice;
    if let Notice::SubagentNotice { agent, notice, .. } = notice {
        author = agent.as_str();
        inner = notice;
    }
    let Notice::MessageAdded(message) = inner else { return Vec::new() };
    let mut names = live.frames.transcript.take_line_ids(author, message.id);
    if author.is_empty() && message.role == Role::Assistant {
        names.drain(..live.frames.builder.early_count().min(names.len()));
    }
    names
}

fn build_ended_command_frames(live: &mut LiveSession) -> Vec<OutgoingFrame> {
    match live.frames.tasks.has_commands() {
        true => live.frames.tasks.on_commands_ended(&live.session.background_tasks()),
        false => Vec::new(),
    }
}

fn hook_notice_to_frame(notice: &HookNotice) -> OutgoingFrame {
    build_system_frame(match notice {
        HookNotice::Started { number, event, name } => SystemSubtype::HookStarted {
            hook_id: format!("hook_{number}"),
            hook_name: name.clone(),
            hook_event: (*event).to_owned(),
        },
        HookNotice::Ended { number, event, name, stdout, stderr, exit_code, outcome, .. } => {
            SystemSubtype::HookResponse {
                hook_id: format!("hook_{number}"),
                hook_name: name.clone(),
                hook_event: (*event).to_owned(),
                output: stdout.clone(),
                stdout: stdout.clone(),
                stderr: stderr.clone(),
                exit_code: *exit_code,
                outcome: match outcome {
                    HookOutcome::Success => "success",
                    HookOutcome::Error => "error",
                    HookOutcome::Cancelled => "cancelled",
                },
            }
        }
    })
}
