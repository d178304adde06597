//! Shows the blocks of a finished answer, and the calls in it once they end, in the order in which the
//! model made them.

use windlass_host::display::human_format::format_counted;
use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{ContentBlock, ToolCall, ToolCallId, ToolOutcome, ToolResultPart};

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
                    None => self.answer.waiting.wait_for(call.clone()),
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

    /// A call that never started, such as one of a tool that does not exist, has a result and no end.
    pub(super) fn show_unstarted_calls(&mut self, results: &[ContentBlock]) {
        for block in results {
            let ContentBlock::ToolResult(result) = block else { continue };
            let is_running = self.find_running_call(&result.call).is_some();
            let open = self.answer.waiting.open_call(&result.call).cloned();
            let Some(call) = open.filter(|_| result.is_error && !is_running) else { continue };
            let texts = result.content.iter().filter_map(|part| match part {
                ToolResultPart::Text(text) => Some(text.as_str()),
                ToolResultPart::Media(_) => None,
            });
            let said: String = texts.collect();
            let said = said.replace(ERROR_TAG, "").replace(ERROR_TAG_END, "");
            let outcome = ToolOutcome::failure(said);
            let width = self.size.width;
            let folder = &self.session.facts.working_directory;
            let lines = tool_call_view::render_ended_call(&call, &outcome, width, folder);
            let id = call.id.clone();
            let entry = TranscriptEntry::ToolCall(call, Box::new(outcome));
            self.show_call(EndedCall { id, lines, entry });
        }
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

/// Around errors, for the model.
const ERROR_TAG: &str = "<tool_use_error>";
const ERROR_TAG_END: &str = "</tool_use_error>";
