//! Turns the notices of a session into the frames a client reads.
//!
//! An answer is sent when it is in the transcript, with the ids it has there, so that no finished frame is
//! void. Clients that want the pieces get its first blocks earlier (`early_blocks.rs`).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{
    AttemptId, Delta, Message, MessageOrigin, ModelName, Notice, Role, Tokens, ToolCall,
    ToolOutcome, Usage,
};

use crate::early_blocks::EarlyBlocks;
use crate::failure_name;
use crate::frame::{
    AssistantFrame, AssistantMessage, ChangedFileFrame, FrameContent, OutgoingFrame, SystemFrame,
    SystemSubtype, UserFrame, UserMessage,
};
use crate::partial_message::{PartialMessage, PartialMessageAuthor};
use windlass_host::random;

#[derive(Debug)]
pub(crate) struct NoticeFrameBuilder {
    /// The call that started the session, if it is a nested one.
    parent_tool_use_id: Option<String>,
    includes_partial_messages: bool,
    /// Text and reasoning are wanted; without it only calls and results are.
    includes_text: bool,
    /// What was thought is left out; that there was a thought is not.
    hides_thinking: bool,
    model: String,
    /// The id of the current answer.
    message_id: String,
    usage: Usage,
    input_estimate: Tokens,
    partial: PartialMessage,
    early: EarlyBlocks,
    /// How many blocks of the last answer were sent before it was finished.
    early_count: usize,
    /// Structured outputs that wait for their result.
    structured_outputs: HashMap<String, Value>,
    running_tools: HashMap<String, RunningTool>,
}

#[derive(Debug)]
struct RunningTool {
    name: String,
    started_at: Instant,
    progress_sent_at: Instant,
}

impl NoticeFrameBuilder {
    pub(crate) fn new(model: String, includes_partial_messages: bool) -> Self {
        Self {
            parent_tool_use_id: None,
            includes_partial_messages,
            includes_text: true,
            hides_thinking: false,
            model,
            message_id: String::new(),
            usage: Usage::default(),
            input_estimate: Tokens(0),
            partial: PartialMessage::default(),
            early: EarlyBlocks::default(),
            early_count: 0,
            structured_outputs: HashMap::new(),
            running_tools: HashMap::new(),
        }
    }

    pub(crate) fn with_hidden_thinking(mut self, on: bool) -> Self {
        self.hides_thinking = on;
        self
    }

    pub(crate) fn set_hidden_thinking(&mut self, on: bool) {
        self.hides_thinking = on;
    }

    /// For a session that this call started.
    pub(crate) fn for_subagent(parent: String, model: String, includes_text: bool) -> Self {
        Self { parent_tool_use_id: Some(parent), includes_text, ..Self::new(model, false) }
    }

    pub(crate) fn notice_to_frames(&mut self, notice: &Notice) -> Vec<OutgoingFrame> {
        match notice {
            Notice::RequestStarted { model, input_estimate, .. } => {
                self.on_request_started(model);
                self.input_estimate = *input_estimate;
                Vec::new()
            }
            Notice::AnswerStarted { ids, .. } => {
                ids.message.as_ref().clone_into(&mut self.message_id);
                Vec::new()
            }
            Notice::Streamed { attempt, delta } => self.build_delta_frames(*attempt, delta),
            Notice::Retracted { .. } => {
                self.partial = PartialMessage::default();
                self.early = EarlyBlocks::default();
                Vec::new()
            }
            Notice::Billed { usage, .. } => {
                self.usage = *usage;
                Vec::new()
            }
            Notice::MessageAdded(message) => self.build_message_frames(message),
            Notice::ToolStarted(call) => {
                self.on_tool_started(call);
                Vec::new()
            }
            Notice::ToolProgressed { call, .. } => self.build_tool_progress_frames(call.as_str()),
            Notice::ToolEnded { call, outcome } => {
                self.on_tool_ended(call.as_str(), outcome);
                Vec::new()
            }
            Notice::ToolDenied { call, why } => {
                vec![build_system_frame(SystemSubtype::PermissionDenied {
                    tool_name: call.name.as_str().to_owned(),
                    tool_use_id: call.id.as_str().to_owned(),
                    message: why.clone(),
                })]
            }
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
                vec![build_system_frame(SystemSubtype::ApiRetry {
                    attempt: *attempt,
                    max_retries: *attempts_max,
                    retry_delay_ms: wait.0,
                    error_status: failure.status,
                    error: failure_name::failure_kind_name(failure.kind),
                })]
            }
            Notice::ContextShrunk { level: 5, freed, .. } => {
                vec![self.build_compact_boundary(*freed)]
            }
            Notice::ModelSwitched { from, to, why } => {
                vec![build_warning_frame(format!("asking {to} instead of {from}: {why}"))]
            }
            Notice::Repaired { why } => {
                vec![build_warning_frame(format!("the request was repaired: {why}"))]
            }
            Notice::Warning(words) => vec![build_warning_frame(words.clone())],
            Notice::FilesChanged { calls, files, count } => {
                let to_frame = |file: &ChangedFile| ChangedFileFrame {
                    path: file.path.clone(),
                    kind: file.kind.name(),
                };
                vec![build_system_frame(SystemSubtype::FilesChanged {
                    tool_use_ids: calls.iter().map(|call| call.as_str().to_owned()).collect(),
                    files: files.iter().map(to_frame).collect(),
                    count: *count,
                })]
            }
            Notice::RunStarted
            | Notice::Sealed { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_) => Vec::new(),
        }
    }

    /// A failed run in the place of an answer.
    pub(crate) fn build_failure_frame(&mut self, text: &str, error: &'static str) -> OutgoingFrame {
        let content = FrameContent::Text { text: text.to_owned() };
        let model = std::mem::replace(&mut self.model, "<synthetic>".to_owned());
        self.message_id = new_message_id();
        let frame = self.build_assistant_frame(content, Some(error));
        self.model = model;
        frame
    }

    fn on_request_started(&mut self, model: &ModelName) {
        model.as_str().clone_into(&mut self.model);
        self.message_id = new_message_id();
        self.usage = Usage::default();
    }

    fn build_delta_frames(&mut self, attempt: AttemptId, delta: &Delta) -> Vec<OutgoingFrame> {
        let is_hidden = self.hides_thinking && matches!(delta, Delta::Thinking(_));
        if !self.includes_partial_messages || is_hidden {
            return Vec::new();
        }
        let early = self.early.on_delta(attempt, delta);
        let mut frames = self.build_block_frames(early);
        let author = PartialMessageAuthor { id: &self.message_id, model: &self.model };
        let events = self.partial.delta_to_events(attempt, delta, &author);
        frames.extend(self.build_stream_event_frames(events));
        frames
    }

    fn build_stream_event_frames(&self, events: Vec<Value>) -> Vec<OutgoingFrame> {
        let frame = |event| OutgoingFrame::StreamEvent {
            event,
            parent_tool_use_id: self.parent_tool_use_id.clone(),
        };
        events.into_iter().map(frame).collect()
    }

    fn build_message_frames(&mut self, message: &Message) -> Vec<OutgoingFrame> {
        match (message.role, message.origin) {
            (Role::Assistant, _) => self.build_assistant_frames(message),
            (Role::User, MessageOrigin::ToolResults) => self.build_tool_result_frames(message),
            (Role::User, _) => Vec::new(),
        }
    }

    fn build_assistant_frames(&mut self, message: &Message) -> Vec<OutgoingFrame> {
        let events = self.partial.finish(message.tool_calls().next().is_some(), self.usage);
        let mut frames = if self.includes_partial_messages {
            self.build_stream_event_frames(events)
        } else {
            Vec::new()
        };
        let mut early = std::mem::take(&mut self.early);
        let mut blocks: Vec<FrameContent> =
            message.content.iter().filter_map(FrameContent::from_block).collect();
        let block_count = blocks.len();
        blocks.retain(|block| !early.take_sent(block));
        self.early_count = block_count.saturating_sub(blocks.len());
        frames.extend(self.build_block_frames(blocks));
        frames
    }

    /// How many blocks of the answer that was just added have been sent before.
    pub(crate) fn early_count(&self) -> usize {
        self.early_count
    }

    fn build_block_frames(&self, blocks: Vec<FrameContent>) -> Vec<OutgoingFrame> {
        let included = blocks.into_iter().filter(|block| self.is_included(block));
        let shown = included.map(|mut block| {
            if let FrameContent::Thinking { thinking, .. } = &mut block
                && self.hides_thinking
            {
                thinking.clear();
            }
            block
        });
        shown.map(|block| self.build_assistant_frame(block, None)).collect()
    }

    fn is_included(&self, block: &FrameContent) -> bool {
        self.includes_text || matches!(block, FrameContent::ToolUse { .. })
    }

    fn build_assistant_frame(
        &self,
        content: FrameContent,
        error: Option<&'static str>,
    ) -> OutgoingFrame {
        OutgoingFrame::Assistant(AssistantFrame {
            message: AssistantMessage {
                id: self.message_id.clone(),
                kind: "message",
                role: "assistant",
                model: self.model.clone(),
                content: vec![content],
                stop_reason: None,
                stop_sequence: None,
                usage: self.usage.into(),
            },
            parent_tool_use_id: self.parent_tool_use_id.clone(),
            error,
        })
    }

    fn build_tool_result_frames(&mut self, message: &Message) -> Vec<OutgoingFrame> {
        let mut frames = Vec::new();
        for result in message.tool_results() {
            let output = self.structured_outputs.remove(result.call.as_str());
            frames.push(OutgoingFrame::User(UserFrame {
                message: UserMessage {
                    role: "user",
                    content: Value::Array(vec![crate::frame::tool_result_to_json(result)]),
                },
                parent_tool_use_id: self.parent_tool_use_id.clone(),
                tool_use_result: output,
                is_replay: false,
            }));
        }
        frames
    }

    fn on_tool_started(&mut self, call: &ToolCall) {
        let now = Instant::now();
        let name = call.name.as_str().to_owned();
        let tool = RunningTool { name, started_at: now, progress_sent_at: now };
        self.running_tools.insert(call.id.as_str().to_owned(), tool);
    }

    fn on_tool_ended(&mut self, call: &str, outcome: &ToolOutcome) {
        self.running_tools.remove(call);
        let output = outcome.structured.as_ref();
        if let Some(Ok(output)) = output.map(|json| serde_json::from_str(json.as_str())) {
            self.structured_outputs.insert(call.to_owned(), output);
        }
    }

    fn build_tool_progress_frames(&mut self, call: &str) -> Vec<OutgoingFrame> {
        let Some(tool) = self.running_tools.get_mut(call) else {
            return Vec::new();
        };
        if tool.progress_sent_at.elapsed() < PROGRESS_INTERVAL {
            return Vec::new();
        }
        tool.progress_sent_at = Instant::now();
        vec![OutgoingFrame::ToolProgress {
            tool_use_id: call.to_owned(),
            tool_name: tool.name.clone(),
            parent_tool_use_id: self.parent_tool_use_id.clone(),
            elapsed_time_seconds: tool.started_at.elapsed().as_secs(),
        }]
    }

    fn build_compact_boundary(&self, freed: Tokens) -> OutgoingFrame {
        build_system_frame(SystemSubtype::CompactBoundary {
            compact_metadata: crate::frame::CompactMetadata {
                trigger: "auto",
                pre_tokens: self.input_estimate.0,
                post_tokens: self.input_estimate.less(freed).0,
            },
        })
    }
}

pub(crate) fn build_system_frame(what: SystemSubtype) -> OutgoingFrame {
    OutgoingFrame::System(SystemFrame { what })
}

pub(crate) fn build_warning_frame(content: String) -> OutgoingFrame {
    build_system_frame(SystemSubtype::Informational { content, level: "warning" })
}

fn new_message_id() -> String {
    format!("msg_{}", random::generate_name())
}

/// Between two progress frames of a tool.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
