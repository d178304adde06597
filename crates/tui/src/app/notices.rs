//! How notices of the session change the state.

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    ContentBlock, Message, MessageOrigin, Millis, ModelFailure, Notice, Outcome,
    PermissionQuestion, Role, Ticket, Tokens, ToolCall, ToolCallId, ToolOutcome, Transition,
};

use super::{App, AppAction, RunState, RunningCall};
use crate::permission_prompt::PermissionPrompt;
use crate::prompt_view;
use crate::setup::EarlierMessage;
use crate::styled_line::{StyledLine, TextStyle};
use crate::transcript::TranscriptEntry;
use crate::{text, tool_call_view};

impl App {
    pub fn handle_notice(&mut self, notice: &Notice) -> Vec<AppAction> {
        match notice {
            Notice::RunStarted => self.handle_run_started(),
            Notice::RequestStarted { turn, input_estimate, .. } => {
                self.handle_request_started(*turn, *input_estimate);
            }
            Notice::Streamed { delta, .. } => self.answer.push_delta(delta, self.size.width),
            Notice::Retracted { why, .. } => {
                self.end_answer();
                self.show_dim_line(&format!("taken back: {why}"));
            }
            Notice::Sealed { .. } => {
                self.show_dim_line("the answer was cut; what was whole is kept");
            }
            Notice::MessageAdded(message) => self.show_message(message),
            Notice::ToolStarted(call) => {
                self.run.calls.push(RunningCall::new(call.clone(), self.now));
            }
            Notice::ToolProgressed { call, text } => {
                if let Some(running) = self.find_running_call(call) {
                    running.push_output(text);
                }
            }
            Notice::ToolEnded { call, outcome } => return self.handle_tool_ended(call, outcome),
            Notice::ToolDenied { call, why } => self.handle_tool_denied(call, why),
            Notice::PermissionAsked { ticket, question } => {
                return self.open_permission_prompt(*ticket, question);
            }
            Notice::PermissionWithdrawn(ticket) => {
                self.dialogs.permission_prompts.retain(|prompt| prompt.ticket != *ticket);
            }
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
                let tries = format!("try {attempt} of {attempts_max}");
                self.run.retry_message = Some(describe_retry(failure, *wait, &tries));
            }
            Notice::ModelSwitched { from, to, why } => {
                self.session.facts.model = to.as_str().to_owned();
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
            Notice::Continued { transition, .. } => {
                if let Some(words) = describe_transition(*transition) {
                    self.show_dim_line(words);
                }
            }
            Notice::HookMessage { name, text, .. } => {
                self.show_dim_line(&format!("hook {name}: {text}"));
            }
            Notice::PromptSuggested(words) => {
                self.input.suggested_prompt = text::to_one_line(words);
            }
            Notice::SideQuestionAnswered(answer) => self.show_side_answer(answer),
            Notice::InputQueued(prompt) => self.input.queued_input.push(prompt.clone()),
            Notice::Billed { total, .. } => self.usage.cost = total.0,
            Notice::Warning(words) => self.show_text(&format!("! {words}"), TextStyle::Warning),
            Notice::MaxTurnsReached { limit, .. } => {
                self.show_dim_line(&format!("the limit of {limit} turns is reached"));
            }
            Notice::SubagentNotice { call, agent, notice } => {
                let folder = self.session.facts.working_directory.clone();
                if let Some(running) = self.find_running_call(call) {
                    running.update_subagent(agent, notice, 0, &folder);
                }
            }
            Notice::RunEnded(ending) => return self.handle_run_ended(ending),
            Notice::Hook(_) | Notice::ToolsLabelled(_) | Notice::SessionTitled(_) => {}
        }
        Vec::new()
    }

    fn handle_run_started(&mut self) {
        self.run.state = RunState::Running { started: self.now };
        self.input.suggested_prompt.clear();
        self.keys.hint = None;
    }

    fn handle_request_started(&mut self, turn: u32, input_estimate: Tokens) {
        self.run.turn = turn;
        self.usage.context_tokens = input_estimate.0;
        if let Some(waited) = self.run.retry_message.take() {
            self.show_dim_line(&waited);
        }
        self.answer.start();
    }

    fn open_permission_prompt(
        &mut self,
        ticket: Ticket,
        question: &PermissionQuestion,
    ) -> Vec<AppAction> {
        let prompt = PermissionPrompt::new(ticket, question.clone(), &self.session.facts);
        let read = prompt.file_to_read().map(|path| AppAction::ReadFile(ticket, path));
        let notify = AppAction::Notify(format!("Windlass asks: may {} run?", question.call.name));
        self.dialogs.permission_prompts.push_back(prompt);
        std::iter::once(notify).chain(read).collect()
    }

    fn handle_run_ended(&mut self, ending: &RunEnding) -> Vec<AppAction> {
        let is_long = self.run.elapsed(self.now) > NOTIFY_AFTER;
        self.run.state = RunState::Idle;
        self.run.retry_message = None;
        self.end_answer();
        self.run.calls.clear();
        self.dialogs.permission_prompts.clear();
        if ending.terminal.is_error() {
            self.show_text(&format!("■ {}", ending.why), TextStyle::Warning);
            self.push_scrollback([StyledLine::new()]);
        } else if ending.outcome == Some(Outcome::NotCompacted) {
            let why = format!("{}; there may be too little to summarise yet", ending.why);
            self.show_dim_line(&why);
        }
        let notify = AppAction::Notify("Windlass is done.".to_owned());
        [AppAction::CountContext].into_iter().chain(is_long.then_some(notify)).collect()
    }

    fn show_side_answer(&mut self, answer: &Result<String, String>) {
        match answer {
            Ok(words) => {
                self.push_markdown(words);
                self.transcript.push(TranscriptEntry::Answer(words.clone()));
            }
            Err(why) => self.show_dim_line(&format!("not answered: {why}")),
        }
    }

    /// Shows a message of an earlier run of this session.
    pub fn show_earlier_message(&mut self, earlier: &EarlierMessage) {
        let text = earlier.text.clone();
        match earlier.role {
            Role::User => {
                self.show_prompt(&text);
                self.push_scrollback([StyledLine::new()]);
                self.transcript.push(TranscriptEntry::Prompt(text));
            }
            Role::Assistant => {
                self.push_markdown(&text);
                self.transcript.push(TranscriptEntry::Answer(text));
            }
        }
    }

    fn show_prompt(&mut self, words: &str) {
        self.push_scrollback(prompt_view::render_prompt(words, self.size.width, PROMPT_LINES_MAX));
    }

    fn show_message(&mut self, message: &Message) {
        match message.role {
            Role::User => self.show_user_message(message),
            Role::Assistant => self.finish_answer(&message.content),
        }
    }

    fn show_user_message(&mut self, message: &Message) {
        let words = message.text();
        match message.origin {
            MessageOrigin::User => {
                self.unqueue_prompt(&words);
                self.show_prompt(&words);
                for block in &message.content {
                    if let ContentBlock::Media(media) = block {
                        self.push_scrollback([tool_call_view::render_media(media)]);
                    }
                }
                self.push_scrollback([StyledLine::new()]);
                self.transcript.push(TranscriptEntry::Prompt(words));
            }
            MessageOrigin::Attachment(_) => self.unqueue_prompt(&words),
            MessageOrigin::Model
            | MessageOrigin::ToolResults
            | MessageOrigin::Meta(_)
            | MessageOrigin::Hook
            | MessageOrigin::Summary
            | MessageOrigin::Display => {}
        }
    }

    fn unqueue_prompt(&mut self, words: &str) {
        self.input.queued_input.retain(|queued| queued != words);
    }

    /// Shows what is left of an answer that is now a message.
    fn finish_answer(&mut self, blocks: &[ContentBlock]) {
        for block in blocks {
            match block {
                ContentBlock::Text(text) if !text.trim().is_empty() => {
                    if let Some(draft) = self.answer.stream.finish_text(text) {
                        self.scrollback.push_markdown(draft);
                    }
                    self.transcript.push(TranscriptEntry::Answer(text.clone()));
                }
                ContentBlock::Thinking(thinking) if !thinking.text.trim().is_empty() => {
                    if let Some(line) =
                        self.answer.stream.finish_thought(&thinking.text, self.size.width)
                    {
                        self.push_scrollback([line, StyledLine::new()]);
                    }
                    self.transcript.push(TranscriptEntry::Thought(thinking.text.clone()));
                }
                ContentBlock::Media(media) => {
                    self.push_scrollback([tool_call_view::render_media(media)]);
                }
                ContentBlock::Text(_)
                | ContentBlock::Thinking(_)
                | ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::Provider(_) => {}
            }
        }
        self.end_answer();
    }

    fn handle_tool_ended(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> Vec<AppAction> {
        if let Some(running) = self.take_running_call(id) {
            let mut lines = tool_call_view::render_ended_call(
                &running.call,
                outcome,
                self.size.width,
                &self.session.facts.working_directory,
            );
            for child in &running.subagents {
                let words =
                    format!("  └ {}: {} · {} calls", child.agent, child.activity, child.calls);
                lines.push(
                    StyledLine::from_text(words, TextStyle::Dim).truncate_to_width(self.size.width),
                );
            }
            self.push_call_lines(lines);
            self.transcript
                .push(TranscriptEntry::ToolCall(running.call, Box::new(outcome.clone())));
        }
        if let Some(update) = &outcome.update {
            if let Some(mode) = update.mode {
                self.session.mode = mode;
            }
            if let Some(tasks) = &update.tasks {
                self.tasks.update(tasks);
            }
        }
        match self.session.mode_after_call.take() {
            Some((call, mode)) if call == *id && !outcome.is_error => {
                self.session.mode = mode;
                vec![AppAction::SetMode(mode)]
            }
            pending => {
                self.session.mode_after_call = pending;
                Vec::new()
            }
        }
    }

    fn handle_tool_denied(&mut self, call: &ToolCall, why: &str) {
        let _ = self.take_running_call(&call.id);
        let lines = tool_call_view::render_denied_call(
            call,
            why,
            self.size.width,
            &self.session.facts.working_directory,
        );
        self.push_call_lines(lines);
        self.transcript
            .push(TranscriptEntry::ToolCall(call.clone(), Box::new(ToolOutcome::failure(why))));
    }

    fn find_running_call(&mut self, id: &ToolCallId) -> Option<&mut RunningCall> {
        self.run.calls.iter_mut().find(|one| one.call.id == *id)
    }

    fn take_running_call(&mut self, id: &ToolCallId) -> Option<RunningCall> {
        let at = self.run.calls.iter().position(|running| running.call.id == *id)?;
        Some(self.run.calls.remove(at))
    }
}

fn describe_retry(failure: &ModelFailure, wait: Millis, tries: &str) -> String {
    let seconds = wait.0.div_ceil(1_000);
    format!("{}; again in {seconds} s, {tries}", text::to_one_line(&failure.message))
}

/// Words for a recovery; `None` for the ordinary next turn.
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

/// A longer run ends with a notification.
const NOTIFY_AFTER: std::time::Duration = std::time::Duration::from_secs(10);
const PROMPT_LINES_MAX: usize = 30;
