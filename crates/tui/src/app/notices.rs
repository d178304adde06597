//! What follows from what the session tells.

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    ContentBlock, Delta, Message, MessageOrigin, Notice, Outcome, Role as Side, ToolCall,
    ToolCallId, ToolOutcome, Transition,
};

use super::{App, AppAction, RunningCall};
use crate::permission_prompt::PermissionPrompt;
use crate::streaming_answer::StreamingAnswer;
use crate::styled_line::{StyledLine, TextStyle};
use crate::transcript::TranscriptEntry;
use crate::{text, tool_call_view};

impl App {
    /// Something happened in the session.
    pub fn handle_notice(&mut self, notice: &Notice) -> Vec<AppAction> {
        match notice {
            Notice::RunStarted => {
                self.is_busy = true;
                self.suggested_prompt.clear();
                self.run_started = self.now;
                self.key_hint = None;
            }
            Notice::RequestStarted { attempt, turn, input_estimate, .. } => {
                self.attempt = Some(*attempt);
                self.turn = *turn;
                self.context_tokens = input_estimate.0;
                if let Some(waited) = self.retry_message.take() {
                    self.show_dim_line(&waited);
                }
                self.reset_answer();
                self.is_answering = true;
            }
            Notice::Streamed { delta, .. } => self.push_delta(delta),
            Notice::Retracted { why, .. } => {
                self.reset_answer();
                self.end_answer();
                self.show_dim_line(&format!("taken back: {why}"));
            }
            Notice::MessageAdded(message) => self.show_message(message),
            Notice::ToolStarted(call) => {
                self.running_calls.push(RunningCall::new(call.clone(), self.now));
            }
            Notice::ToolProgressed { call, text } => {
                if let Some(running) = self.find_running_call(call) {
                    running.push_output(text);
                }
            }
            Notice::ToolEnded { call, outcome } => return self.handle_tool_ended(call, outcome),
            Notice::ToolDenied { call, why } => self.handle_tool_denied(call, why),
            Notice::PermissionAsked { ticket, question } => {
                let approval = PermissionPrompt::new(*ticket, question.clone(), &self.facts);
                let look = approval.file_to_read().map(|path| AppAction::ReadFile(*ticket, path));
                let call =
                    AppAction::Notify(format!("Windlass asks: may {} run?", question.call.name));
                self.permission_prompts.push_back(approval);
                return std::iter::once(call).chain(look).collect();
            }
            Notice::PermissionWithdrawn(ticket) => {
                self.permission_prompts.retain(|approval| approval.ticket != *ticket);
            }
            Notice::InputQueued(said) => self.queued_input.push(said.clone()),
            Notice::Billed { total, .. } => self.cost = total.0,
            Notice::SubagentNotice { call, agent, notice } => {
                let folder = self.facts.working_directory.clone();
                if let Some(running) = self.find_running_call(call) {
                    running.update_subagent(agent, notice, (0, &folder));
                }
            }
            Notice::RunEnded(ending) => return self.handle_run_ended(ending),
            other => self.show_minor_notice(other),
        }
        Vec::new()
    }

    fn handle_run_ended(&mut self, ending: &RunEnding) -> Vec<AppAction> {
        let took = self.now.saturating_sub(self.run_started);
        self.is_busy = false;
        self.retry_message = None;
        self.reset_answer();
        self.end_answer();
        self.running_calls.clear();
        self.permission_prompts.clear();
        if ending.terminal.is_error() {
            self.show_text(&format!("■ {}", ending.why), TextStyle::Warning);
            self.push_scrollback([StyledLine::new()]);
        } else if ending.outcome == Some(Outcome::NotCompacted) {
            let why = format!("{}; there may be too little to summarise yet", ending.why);
            self.show_dim_line(&why);
        }
        let call = AppAction::Notify("Windlass is done.".to_owned());
        let is_long = took > NOTIFY_AFTER;
        [AppAction::CountContext].into_iter().chain(is_long.then_some(call)).collect()
    }

    /// What is worth a quiet line and no more.
    fn show_minor_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
                let seconds = wait.0.div_ceil(1_000);
                let why = text::to_one_line(&failure.message);
                self.retry_message =
                    Some(format!("{why}; again in {seconds} s, try {attempt} of {attempts_max}"));
            }
            Notice::Continued { transition, .. } => {
                if let Some(words) = describe_transition(*transition) {
                    self.show_dim_line(words);
                }
            }
            Notice::ModelSwitched { from, to, why } => {
                self.facts.model = to.as_str().to_owned();
                self.show_dim_line(&format!("{from} → {to}: {why}"));
            }
            Notice::Repaired { why } => {
                self.show_dim_line(&format!("the request was repaired: {why}"));
            }
            Notice::ContextShrunk { freed, level, .. } => {
                let what =
                    if *level == 5 { "history was summarised" } else { "history was made shorter" };
                self.show_dim_line(&format!("{what}: about {} tokens freed", freed.0));
            }
            Notice::HookMessage { name, text, .. } => {
                self.show_dim_line(&format!("hook {name}: {text}"));
            }
            Notice::PromptSuggested(words) => self.suggested_prompt = text::to_one_line(words),
            Notice::SideQuestionAnswered(Ok(words)) => {
                self.push_markdown(words);
                self.transcript.push(TranscriptEntry::Answer(words.clone()));
            }
            Notice::SideQuestionAnswered(Err(why)) => {
                self.show_dim_line(&format!("not answered: {why}"));
            }
            Notice::Warning(words) => self.show_text(&format!("! {words}"), TextStyle::Warning),
            Notice::Sealed { .. } => {
                self.show_dim_line("the answer was cut; what was whole is kept");
            }
            Notice::MaxTurnsReached { limit, .. } => {
                self.show_dim_line(&format!("the limit of {limit} turns is reached"));
            }
            _ => {}
        }
    }

    fn show_message(&mut self, message: &Message) {
        match (message.role, &message.origin) {
            (Side::User, MessageOrigin::User | MessageOrigin::Attachment(_)) => {
                let words = message.text();
                self.queued_input.retain(|said| *said != words);
                if message.origin == MessageOrigin::User {
                    let lines = tool_call_view::render_prompt(&words, self.width, PROMPT_LINES_MAX);
                    self.push_scrollback(lines);
                    for block in &message.content {
                        if let ContentBlock::Media(media) = block {
                            self.push_scrollback([tool_call_view::render_media(media)]);
                        }
                    }
                    self.push_scrollback([StyledLine::new()]);
                    self.transcript.push(TranscriptEntry::Prompt(words));
                }
            }
            (Side::Assistant, _) => self.finish_answer(&message.content),
            _ => {}
        }
    }

    /// The answer is a message now.
    fn finish_answer(&mut self, blocks: &[ContentBlock]) {
        for block in blocks {
            match block {
                ContentBlock::Text(text) if !text.trim().is_empty() => {
                    if let Some(draft) = self.answer.finish_text(text) {
                        self.scrollback.push_markdown(draft);
                    }
                    self.transcript.push(TranscriptEntry::Answer(text.clone()));
                }
                ContentBlock::Thinking(thinking) if !thinking.text.trim().is_empty() => {
                    if let Some(line) = self.answer.finish_thought(&thinking.text, self.width) {
                        self.push_scrollback([line, StyledLine::new()]);
                    }
                    self.transcript.push(TranscriptEntry::Thought(thinking.text.clone()));
                }
                ContentBlock::Media(media) => {
                    self.push_scrollback([tool_call_view::render_media(media)]);
                }
                _ => {}
            }
        }
        self.reset_answer();
        self.end_answer();
    }

    fn push_delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Thinking(text) => {
                self.thinking_tail.push_str(text);
                let over = self.thinking_tail.len().saturating_sub(THINKING_TAIL_MAX);
                self.thinking_tail.drain(..self.thinking_tail.ceil_char_boundary(over));
                if self.thinking_tail.is_empty() {
                    self.thinking_tail.push('…');
                }
            }
            Delta::Text(_) | Delta::Block(_) => self.thinking_tail.clear(),
            _ => {}
        }
        self.answer.push_delta(delta, self.width);
    }

    fn reset_answer(&mut self) {
        self.answer = StreamingAnswer::default();
        self.thinking_tail.clear();
    }

    fn handle_tool_ended(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> Vec<AppAction> {
        if let Some(running) = self.take_running_call(id) {
            let mut lines = tool_call_view::render_ended_call(
                &running.call,
                outcome,
                (self.width, &self.facts.working_directory),
            );
            for child in &running.subagents {
                let words =
                    format!("  └ {}: {} · {} calls", child.agent, child.activity, child.calls);
                lines.push(
                    StyledLine::from_text(words, TextStyle::Dim).truncate_to_width(self.width),
                );
            }
            self.push_call_lines(lines);
            self.transcript
                .push(TranscriptEntry::ToolCall(running.call, Box::new(outcome.clone())));
        }
        if let Some(update) = &outcome.update {
            if let Some(mode) = update.mode {
                self.mode = mode;
            }
            if let Some(tasks) = &update.tasks {
                self.task_list = tasks.to_string();
            }
        }
        match self.mode_after_call.take() {
            Some((call, mode)) if call == *id && !outcome.is_error => {
                self.mode = mode;
                vec![AppAction::SetMode(mode)]
            }
            later => {
                self.mode_after_call = later;
                Vec::new()
            }
        }
    }

    fn handle_tool_denied(&mut self, call: &ToolCall, why: &str) {
        let _ = self.take_running_call(&call.id);
        let lines = tool_call_view::render_denied_call(
            call,
            why,
            (self.width, &self.facts.working_directory),
        );
        self.push_call_lines(lines);
        self.transcript
            .push(TranscriptEntry::ToolCall(call.clone(), Box::new(ToolOutcome::failure(why))));
    }

    fn find_running_call(&mut self, id: &ToolCallId) -> Option<&mut RunningCall> {
        self.running_calls.iter_mut().find(|one| one.call.id == *id)
    }

    fn take_running_call(&mut self, id: &ToolCallId) -> Option<RunningCall> {
        let at = self.running_calls.iter().position(|running| running.call.id == *id)?;
        Some(self.running_calls.remove(at))
    }
}

/// What a recovery is called; going on as usual is not told.
fn describe_transition(transition: Transition) -> Option<&'static str> {
    Some(match transition {
        Transition::NextTurn => return None,
        Transition::CollapseDrainRetry => {
            "too long; old steps were collapsed and it is asked again"
        }
        Transition::ReactiveCompactRetry => {
            "too long; history was made shorter and it is asked again"
        }
        Transition::MaxOutputTokensEscalate => {
            "cut at the output limit; asked again with more room"
        }
        Transition::MaxOutputTokensRecovery => "still cut at the output limit; asked to go on",
        Transition::StopHookBlocking => "a hook objected to the end; it goes on",
        Transition::TokenBudgetContinuation => "budget is left; it goes on",
    })
}

/// A run that took longer than this is worth a call.
const NOTIFY_AFTER: std::time::Duration = std::time::Duration::from_secs(10);
const THINKING_TAIL_MAX: usize = 400;
const PROMPT_LINES_MAX: usize = 30;
