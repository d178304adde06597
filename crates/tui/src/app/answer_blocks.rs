//! Shows the blocks of a finished answer, and the calls in it once they end, in the order in which the
//! model made them.

use windlass_host::display::human_format::format_counted;
use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{ContentBlock, ToolCall, ToolCallId, ToolOutcome};

use super::App;
use super::waiting_blocks::{EndedCall, FinishedBlock};
use crate::styled_line::{StyledLine, TextStyle};
use crate::transcript::TranscriptEntry;
use crate::{tool_call_view, words};

impl App {
    /// Shows what is left of an answer that is now a message.
    pub(super) fn finish_answer(&mut self, blocks: &[ContentBlock]) {
        self.show_retries();
        self.show_all_blocks();
        for block in blocks {
            match block {
                ContentBlock::Text(text) if !text.trim().is_empty() => {
                    let rest = self.answer.stream.finish_text(text);
                    let entry = TranscriptEntry::Answer(text.clone());
                    self.show_block(FinishedBlock::Text(rest, entry));
                }
                ContentBlock::Thinking(thinking) if !thinking.text.trim().is_empty() => {
                    let width = self.size.width;
                    let line = self.answer.stream.finish_thought(&thinking.text, width);
                    let entry = TranscriptEntry::Thought(thinking.text.clone());
                    self.show_block(FinishedBlock::Thought(line, entry));
                }
                ContentBlock::Media(media) => {
                    self.show_block(FinishedBlock::Media(tool_call_view::render_media(media)));
                }
                // A call that ended before the answer did is shown where the model made it.
                ContentBlock::ToolUse(call) => match self.answer.take_ended_call(&call.id) {
                    Some(ended) => self.show_block(FinishedBlock::Call(ended)),
                    None => self.answer.waiting.wait_for(call.id.clone()),
                },
                ContentBlock::Text(_)
                | ContentBlock::Thinking(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::Provider(_) => {}
            }
        }
        self.end_answer();
    }

    /// The answer is complete, or will not come.
    pub(super) fn end_answer(&mut self) {
        self.scrollback.close_answer();
        for ended in self.answer.finish() {
            self.show_block(FinishedBlock::Call(ended));
        }
    }

    fn show_block(&mut self, block: FinishedBlock) {
        if let Some(block) = self.answer.waiting.keep(block) {
            self.push_block(block);
        }
    }

    /// Shows what waited for calls; none of them is under way any more.
    pub(super) fn show_all_blocks(&mut self) {
        for block in self.answer.waiting.take_all() {
            self.push_block(block);
        }
    }

    fn push_block(&mut self, block: FinishedBlock) {
        let entry = match block {
            FinishedBlock::Text(rest, entry) => {
                if let Some(rest) = rest {
                    self.scrollback.push_markdown(rest);
                }
                entry
            }
            FinishedBlock::Thought(line, entry) => {
                if let Some(line) = line {
                    self.scrollback.start_text();
                    self.push_scrollback([line, StyledLine::new()]);
                }
                entry
            }
            FinishedBlock::Media(line) => return self.push_scrollback([line]),
            FinishedBlock::Call(ended) => {
                self.scrollback.push_call(ended.lines);
                if ended.entry.shows_task_list() {
                    self.tasks.set_shown(self.scrollback.pushed_lines());
                }
                ended.entry
            }
        };
        self.transcript.push(entry);
    }

    /// Shows a call at its place in the answer that asked for it.
    fn show_call(&mut self, ended: EndedCall) {
        let Some(ended) = self.answer.defer(ended) else { return };
        match self.answer.waiting.end_call(ended) {
            Some(ended) => self.push_block(FinishedBlock::Call(ended)),
            None => self.show_ready_blocks(),
        }
    }

    fn show_ready_blocks(&mut self) {
        for block in self.answer.waiting.take_ready() {
            self.push_block(block);
        }
    }

    pub(super) fn show_ended_call(&mut self, id: &ToolCallId, outcome: &ToolOutcome) {
        let Some(running) = self.take_running_call(id) else {
            self.answer.waiting.forget_call(id);
            return self.show_ready_blocks();
        };
        let mut lines = tool_call_view::render_ended_call(
            &running.call,
            outcome,
            self.size.width,
            &self.session.facts.working_directory,
        );
        for child in &running.subagents {
            let calls = format_counted(child.calls, "call");
            let words = format!("  └ {}: {} · {calls}", child.agent, child.activity);
            lines.push(
                StyledLine::from_text(words, TextStyle::Dim).truncate_to_width(self.size.width),
            );
        }
        if tool_call_view::shows_change(&running.call, outcome) {
            self.run.shown_changes.push(id.clone());
        }
        let entry = TranscriptEntry::ToolCall(running.call, Box::new(outcome.clone()));
        self.show_call(EndedCall { id: id.clone(), lines, entry });
    }

    pub(super) fn handle_tool_denied(&mut self, call: &ToolCall, why: &str) {
        let _ = self.take_running_call(&call.id);
        self.show_denied_call(call.clone(), why);
    }

    /// Calls that were under way when the run ended never report an end.
    pub(super) fn show_interrupted_calls(&mut self) {
        for running in std::mem::take(&mut self.run.calls) {
            self.show_denied_call(running.call, words::INTERRUPTED);
        }
        self.show_all_blocks();
    }

    fn show_denied_call(&mut self, call: ToolCall, why: &str) {
        let lines = tool_call_view::render_denied_call(
            &call,
            why,
            self.size.width,
            &self.session.facts.working_directory,
        );
        let id = call.id.clone();
        let entry = TranscriptEntry::ToolCall(call, Box::new(ToolOutcome::failure(why)));
        self.show_call(EndedCall { id, lines, entry });
    }

    /// What commands changed; what an edit changed is on the screen already.
    pub(super) fn show_changed_files(
        &mut self,
        calls: &[ToolCallId],
        files: &[ChangedFile],
        count: usize,
    ) {
        if calls.iter().all(|call| self.run.shown_changes.contains(call)) {
            return;
        }
        let words = words::describe_changed_files(files, count);
        let width = self.size.width;
        // A call that waits for its place takes the line along.
        match self.answer.find_deferred(calls) {
            Some(ended) => ended.lines.extend(App::wrap_remark(&words, width)),
            None => self.show_dim_line(&words),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_vocabulary::{
        AttemptId, Json, Message, MessageId, MessageOrigin, Notice, PermissionMode, Role, Tokens,
    };

    use super::*;
    use crate::screen_size::ScreenSize;
    use crate::session_facts::TuiSessionFacts;
    use crate::view::render_live;

    fn call(id: &str) -> ToolCall {
        let input = Json::from_checked(&format!(r#"{{"command":"echo {id}"}}"#));
        ToolCall { id: id.into(), name: "Bash".into(), input, signature: None }
    }

    fn start(app: &mut App, blocks: Vec<ContentBlock>) {
        app.handle_notice(&Notice::RunStarted);
        let mut message = Message::user_text(MessageId(1), MessageOrigin::Model, "");
        message.role = Role::Assistant;
        for block in &blocks {
            if let ContentBlock::ToolUse(call) = block {
                app.handle_notice(&Notice::ToolStarted(call.clone()));
            }
        }
        message.content = blocks;
        app.handle_notice(&Notice::MessageAdded(Arc::new(message)));
    }

    fn end(app: &mut App, id: &str) {
        let outcome = ToolOutcome::from_text("done");
        app.handle_notice(&Notice::ToolEnded { call: id.into(), outcome });
    }

    fn take_scrollback(app: &mut App) -> Vec<String> {
        let lines = app.take_scrollback(100);
        lines.iter().map(StyledLine::plain_text).filter(|line| !line.is_empty()).collect()
    }

    fn new_app() -> App {
        let size = ScreenSize { width: 80, rows: 24 };
        App::new(TuiSessionFacts::default(), PermissionMode::Default, size)
    }

    fn two_calls() -> Vec<ContentBlock> {
        vec![
            ContentBlock::Text("Before.".to_owned()),
            ContentBlock::ToolUse(call("one")),
            ContentBlock::Text("Between.".to_owned()),
            ContentBlock::ToolUse(call("two")),
        ]
    }

    #[test]
    fn calls_that_end_in_another_order_stand_as_the_model_made_them() {
        let mut app = new_app();
        start(&mut app, two_calls());
        assert_eq!(take_scrollback(&mut app), ["● Before."]);
        end(&mut app, "two");
        assert_eq!(take_scrollback(&mut app), [""; 0], "it waits for the first");
        app.draw_answer();
        let live: Vec<String> = render_live(&app).0.iter().map(StyledLine::plain_text).collect();
        let at = |words: &str| live.iter().position(|line| line.contains(words));
        assert!(at("● Between.") < at("Bash(echo one)"), "{live:?}");
        assert!(at("Bash(echo one)") < at("● Bash(echo two)"), "{live:?}");
        assert!(at("● Between.").is_some() && app.answer.waiting.entries().count() == 2);
        end(&mut app, "one");
        let shown = take_scrollback(&mut app);
        let heads: Vec<&str> =
            shown.iter().filter(|line| line.starts_with('●')).map(String::as_str).collect();
        assert_eq!(heads, ["● Bash(echo one)", "● Between.", "● Bash(echo two)"], "{shown:?}");
        let page = app.transcript.render(80, "");
        let page: Vec<String> = page.iter().map(StyledLine::plain_text).collect();
        let at = |words: &str| page.iter().position(|line| line.contains(words));
        let order = [at("Before."), at("echo one"), at("Between."), at("echo two")];
        assert!(order.is_sorted() && order[0].is_some(), "{page:?}");
    }

    #[test]
    fn a_call_that_never_reports_its_end_holds_nothing_for_ever() {
        let mut app = new_app();
        start(&mut app, two_calls());
        end(&mut app, "two");
        take_scrollback(&mut app);
        app.handle_notice(&Notice::RequestStarted {
            attempt: AttemptId(2),
            model: "opus".into(),
            turn: 2,
            input_estimate: Tokens(1),
        });
        let shown = take_scrollback(&mut app);
        assert!(shown.iter().any(|line| line == "● Bash(echo two)"), "{shown:?}");
    }
}
