//! How notices of the session change the state.

use windlass_host::display::human_format;
use windlass_permission::sanitize;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    AttachmentKind, Message, MessageOrigin, ModelFailure, Notice, Outcome, PermissionQuestion,
    Role, Ticket, Tokens, ToolCallId, ToolOutcome,
};

use super::{App, AppAction, RetryProgress, RunState, RunningCall};
use crate::permission_prompt::PermissionPrompt;
use crate::prompt_view;
use crate::styled_line::{StyledLine, TextStyle};
use crate::transcript::TranscriptEntry;
use crate::{text, words};

impl App {
    pub fn handle_notice(&mut self, notice: &Notice) -> Vec<AppAction> {
        let actions = self.apply_notice(notice);
        self.run.count_wait(!self.dialogs.permission_prompts.is_empty(), self.now);
        actions
    }

    fn apply_notice(&mut self, notice: &Notice) -> Vec<AppAction> {
        match notice {
            Notice::RunStarted => self.handle_run_started(),
            Notice::RequestStarted { turn, input_estimate, .. } => {
                self.handle_request_started(*turn, *input_estimate);
            }
            Notice::Streamed { delta, .. } => self.answer.push_delta(delta, self.size.width),
            Notice::Retracted { why, .. } => {
                self.end_answer();
                self.show_dim_line(&words::describe_retraction(why));
            }
            Notice::Sealed { .. } => self.show_dim_line(words::ANSWER_SEALED),
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
                let failure = describe_failure(failure);
                let seconds = wait.0.div_ceil(1_000);
                let waiting = words::describe_retry(&failure, seconds, *attempt, *attempts_max);
                self.run.retry.schedule(failure, waiting);
            }
            Notice::ModelSwitched { from, to, why } => {
                self.session.facts.model = to.as_str().to_owned();
                self.show_dim_line(&words::describe_model_switch(from.as_str(), to.as_str(), why));
            }
            Notice::Repaired { why } => self.show_dim_line(&words::describe_repair(why)),
            Notice::ContextShrunk { freed, level, .. } => {
                let tokens = human_format::format_count(freed.0);
                self.show_dim_line(&words::describe_compaction(*level, &tokens));
            }
            Notice::Continued { transition, .. } => {
                if let Some(words) = words::describe_transition(*transition) {
                    self.show_dim_line(words);
                }
            }
            Notice::HookMessage { name, text, .. } => {
                self.show_dim_line(&words::describe_hook_message(name, text));
            }
            Notice::PromptSuggested(words) => {
                self.input.suggested_prompt = text::to_one_line(words);
            }
            Notice::SideQuestionAnswered(answer) => self.show_side_answer(answer),
            Notice::InputQueued(sent) => {
                let prompt = self.input.find_sent(sent);
                self.input.queued_input.push(prompt);
            }
            Notice::Billed { total, cost, .. } => self.usage.count_cost(total.0, cost.0),
            Notice::Warning(words) => self.show_warning(words),
            Notice::MaxTurnsReached { limit, .. } => {
                self.show_dim_line(&words::describe_turn_limit(*limit));
            }
            Notice::SubagentNotice { call, agent, notice } => {
                let folder = self.session.facts.working_directory.clone();
                if let Some(running) = self.find_running_call(call) {
                    running.update_subagent(agent, notice, 0, &folder);
                }
            }
            Notice::FilesChanged { calls, files, count } => {
                self.show_changed_files(calls, files, *count);
            }
            Notice::RunEnded(ending) => return self.handle_run_ended(ending),
            Notice::AnswerStarted { .. }
            | Notice::Hook(_)
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_) => {}
        }
        Vec::new()
    }

    fn handle_run_started(&mut self) {
        self.run.start(self.now);
        self.input.suggested_prompt.clear();
        self.keys.hint = None;
    }

    fn handle_request_started(&mut self, turn: u32, input_estimate: Tokens) {
        self.run.turn = turn;
        self.usage.context_tokens = input_estimate.0;
        self.run.retry.is_waiting = false;
        self.show_all_blocks();
        self.answer.start();
    }

    fn open_permission_prompt(
        &mut self,
        ticket: Ticket,
        question: &PermissionQuestion,
    ) -> Vec<AppAction> {
        let prompt = PermissionPrompt::new(ticket, question.clone(), &self.session.facts);
        let read = prompt.file_to_read().map(|path| AppAction::ReadFile(ticket, path));
        let notify = AppAction::Notify(words::notify_permission(question.call.name.as_str()));
        self.dialogs.permission_prompts.push_back(prompt);
        std::iter::once(notify).chain(read).collect()
    }

    fn handle_run_ended(&mut self, ending: &RunEnding) -> Vec<AppAction> {
        let elapsed = self.run.elapsed(self.now);
        let is_long = elapsed > NOTIFY_AFTER;
        self.run.state = RunState::Idle;
        self.show_retries();
        self.keys.hint = None;
        self.usage.count_cost(ending.cost.0, 0);
        self.end_answer();
        self.show_interrupted_calls();
        self.dialogs.permission_prompts.clear();
        let mut actions = vec![AppAction::CountContext];
        if ending.terminal.is_abort() {
            self.show_marked("", words::INTERRUPTED_RUN, TextStyle::Warning);
            self.push_scrollback([StyledLine::new()]);
            if !self.input.queued_input.is_empty() {
                actions.push(AppAction::UnqueueAll);
            }
        } else if ending.terminal.is_error() {
            actions.push(AppAction::ExplainEnding(Box::new(ending.clone())));
        } else if ending.outcome == Some(Outcome::NotCompacted) {
            self.show_dim_line(words::NOT_COMPACTED);
        } else if elapsed >= DONE_LINE_AFTER {
            self.show_dim_line(&words::describe_done(elapsed));
        }
        let notify = AppAction::Notify(words::NOTIFY_DONE.to_owned());
        actions.extend(is_long.then_some(notify));
        actions
    }

    /// Failed attempts are one line, however many there were.
    pub(super) fn show_retries(&mut self) {
        let RetryProgress { count, failure, .. } = std::mem::take(&mut self.run.retry);
        if count > 0 {
            self.show_dim_line(&words::describe_retries(count, &failure));
        }
    }

    /// Why a run failed, and what to do about it.
    pub fn show_ending(&mut self, words: &str) {
        let words = format!("■ {}", text::capitalize(words));
        self.scrollback.start_text();
        for line in words.lines() {
            let line = StyledLine::from_text(sanitize::strip_control(line), TextStyle::Warning);
            self.push_scrollback(line.wrap(self.size.width, 2));
        }
        self.push_scrollback([StyledLine::new()]);
        self.transcript.push(TranscriptEntry::Note(words));
    }

    fn show_warning(&mut self, words: &str) {
        self.show_marked("! ", words, TextStyle::Warning);
    }

    /// Shows what went wrong with something that the user asked for.
    pub fn show_error(&mut self, words: &str) {
        self.show_marked("✗ ", &text::capitalize(words), TextStyle::Failure);
    }

    fn show_marked(&mut self, mark: &str, words: &str, style: TextStyle) {
        self.scrollback.start_text();
        let words = format!("{mark}{}", sanitize::strip_control(words));
        for line in words.lines() {
            let line = StyledLine::from_text(line, style);
            self.push_scrollback(line.wrap(self.size.width, 2));
        }
    }

    fn show_side_answer(&mut self, answer: &Result<String, String>) {
        match answer {
            Ok(words) => {
                self.push_markdown(words);
                self.transcript.push(TranscriptEntry::Answer(words.clone()));
            }
            Err(why) => self.show_dim_line(&words::describe_side_failure(why)),
        }
    }

    /// Shows a notice of an earlier run of this session. Nothing follows from it.
    pub fn show_earlier_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::MessageAdded(message) => self.show_message(message),
            Notice::ToolStarted(call) => {
                self.run.calls.push(RunningCall::new(call.clone(), self.now));
            }
            Notice::ToolEnded { call, outcome } => {
                self.show_ended_call(call, outcome);
                if let Some(tasks) = outcome.update.as_ref().and_then(|it| it.tasks.as_ref()) {
                    self.tasks.update(tasks);
                }
            }
            Notice::ToolDenied { call, why } => self.handle_tool_denied(call, why),
            Notice::ContextShrunk { freed, level, .. } => {
                let tokens = human_format::format_count(freed.0);
                self.show_dim_line(&words::describe_compaction(*level, &tokens));
            }
            Notice::RequestStarted { .. } => {
                self.show_all_blocks();
                self.answer.start();
            }
            Notice::Billed { total, cost, .. } => self.usage.count_cost(total.0, cost.0),
            Notice::RunEnded(ending) => {
                self.end_answer();
                self.show_interrupted_calls();
                if ending.terminal.is_abort() {
                    self.show_ending(words::INTERRUPTED);
                } else if ending.terminal.is_error() {
                    self.show_ending(&ending.why);
                }
            }
            Notice::RunStarted
            | Notice::Streamed { .. }
            | Notice::Retracted { .. }
            | Notice::AnswerStarted { .. }
            | Notice::Sealed { .. }
            | Notice::ToolProgressed { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::RetryScheduled { .. }
            | Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Warning(_)
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. } => {}
        }
    }

    fn show_prompt(&mut self, words: &str) {
        self.scrollback.start_text();
        self.push_scrollback(prompt_view::render_prompt(words, self.size.width, PROMPT_LINES_MAX));
    }

    fn show_message(&mut self, message: &Message) {
        match message.role {
            Role::User => self.show_user_message(message),
            Role::Assistant => self.finish_answer(&message.content),
        }
    }

    fn show_user_message(&mut self, message: &Message) {
        match message.origin {
            MessageOrigin::User | MessageOrigin::Attachment(AttachmentKind::QueuedInput) => {
                self.show_all_blocks();
                let prompt = self.input.take_sent(message);
                self.show_prompt(&prompt.typed.shown);
                self.push_scrollback([StyledLine::new()]);
                self.transcript.push(TranscriptEntry::Prompt(prompt.typed.shown));
            }
            MessageOrigin::ToolResults => self.show_unstarted_calls(&message.content),
            MessageOrigin::Attachment(
                AttachmentKind::ChangedFiles
                | AttachmentKind::Memory
                | AttachmentKind::Skills
                | AttachmentKind::FilesInHand
                | AttachmentKind::Hook,
            )
            | MessageOrigin::Model
            | MessageOrigin::Meta(_)
            | MessageOrigin::Hook
            | MessageOrigin::Summary
            | MessageOrigin::Display => {}
        }
    }

    fn handle_tool_ended(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> Vec<AppAction> {
        self.show_ended_call(id, outcome);
        if let Some(update) = &outcome.update {
            if let Some(mode) = update.mode {
                self.session.mode = mode;
            }
            if let Some(tasks) = &update.tasks {
                self.tasks.update(tasks);
            }
        }
        // The call may have changed a file that a question shows.
        let prompts = self.dialogs.permission_prompts.iter();
        let reads =
            prompts.filter_map(|it| Some(AppAction::ReadFile(it.ticket, it.file_to_read()?)));
        let mut actions: Vec<AppAction> = reads.collect();
        match self.session.mode_after_call.take() {
            Some((call, mode)) if call == *id && !outcome.is_error => {
                self.session.mode = mode;
                actions.push(AppAction::SetMode(mode));
            }
            pending => self.session.mode_after_call = pending,
        }
        actions
    }

    pub(super) fn find_running_call(&mut self, id: &ToolCallId) -> Option<&mut RunningCall> {
        self.run.calls.iter_mut().find(|one| one.call.id == *id)
    }

    pub(super) fn take_running_call(&mut self, id: &ToolCallId) -> Option<RunningCall> {
        let at = self.run.calls.iter().position(|running| running.call.id == *id)?;
        Some(self.run.calls.remove(at))
    }
}

/// What failed, and what the server said about it.
fn describe_failure(failure: &ModelFailure) -> String {
    let (what, said) = human_format::describe_failure(failure);
    let said = text::to_one_line(said);
    match said.is_empty() || said == what {
        true => what.to_owned(),
        false => format!("{what}: {said}"),
    }
}

/// A longer run says how long it took.
const DONE_LINE_AFTER: std::time::Duration = std::time::Duration::from_secs(10);
/// A longer run ends with a notification.
const NOTIFY_AFTER: std::time::Duration = std::time::Duration::from_secs(10);
const PROMPT_LINES_MAX: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen_size::ScreenSize;
    use crate::session_facts::TuiSessionFacts;
    use windlass_vocabulary::{FailureKind, MessageId, Millis, PermissionMode, ToolCall};

    #[test]
    fn a_warning_stands_apart_from_the_call_below_it() {
        let size = ScreenSize { width: 20, rows: 24 };
        let mut app = App::new(TuiSessionFacts::default(), PermissionMode::Default, size);
        app.handle_notice(&Notice::RunStarted);
        app.handle_notice(&Notice::Warning("another session works here".to_owned()));
        let words: Vec<String> = app
            .take_scrollback(100)
            .iter()
            .map(|line| line.plain_text().trim_end().to_owned())
            .collect();
        assert_eq!(words, ["! another session", "  works here"]);
        app.handle_notice(&Notice::ToolStarted(ToolCall {
            id: "c".into(),
            name: "Bash".into(),
            input: windlass_vocabulary::Json::from_checked(r#"{"command":"ls"}"#),
            signature: None,
        }));
        let live: Vec<String> =
            crate::view::render_live(&app).0.iter().map(StyledLine::plain_text).collect();
        assert_eq!(live.first().map(String::as_str), Some(""), "{live:?}");
        assert!(live.get(1).is_some_and(|line| line.contains("Bash(ls)")), "{live:?}");
    }

    #[test]
    fn retries_are_one_line_that_counts() {
        let size = ScreenSize { width: 80, rows: 24 };
        let mut app = App::new(TuiSessionFacts::default(), PermissionMode::Default, size);
        app.handle_notice(&Notice::RunStarted);
        for attempt in 1..=3 {
            let failure = ModelFailure::new(FailureKind::Overloaded, "overloaded_error");
            app.handle_notice(&Notice::RetryScheduled {
                failure,
                attempt,
                attempts_max: 10,
                wait: Millis(4_000),
            });
            assert!(app.run.retry.waiting.contains("retrying in 4 s"), "{:?}", app.run.retry);
        }
        let mut message = Message::user_text(MessageId(1), MessageOrigin::Model, "Here.");
        message.role = Role::Assistant;
        app.handle_notice(&Notice::MessageAdded(std::sync::Arc::new(message)));
        let lines = app.take_scrollback(100);
        let words: Vec<String> = lines.iter().map(StyledLine::plain_text).collect();
        assert_eq!(
            words,
            ["  · Retried 3 times: the model is overloaded: overloaded_error", "", "● Here.", ""]
        );
    }
}
