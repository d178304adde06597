//! From what a session tells to the frames a client reads.
//!
//! An answer is told when it is in the transcript, under the names it has there. So no finished frame
//! is ever void.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_vocabulary::{
    AttemptId, Delta, Message, ModelName, Notice, Origin, Role, Terminal, Tokens, ToolCall, Usage,
};

use super::failure;
use super::frame::{
    Assistant, AssistantMessage, Content, Frame, Subtype, System, User, UserMessage,
};
use super::partial::{Partial, Speaker};
use crate::chance;

/// Tells one session.
#[derive(Debug)]
pub(crate) struct Narrator {
    /// The call that started the session, if it is a nested one.
    parent: Option<String>,
    /// Pieces of answers are wanted.
    tells_pieces: bool,
    /// Text and reasoning are wanted; without it only calls and results are.
    tells_text: bool,
    /// What was thought is left out; that there was a thought is not.
    hides_thinking: bool,
    model: String,
    /// The id of the answer under way.
    id: String,
    usage: Usage,
    input: Tokens,
    partial: Partial,
    /// Structured outputs that wait for their result.
    outputs: HashMap<String, Value>,
    /// Tools that run: name, since when, when that was told last.
    running: HashMap<String, (String, Instant, Instant)>,
}

impl Narrator {
    /// For the main session.
    pub(crate) fn new(model: String, tells_pieces: bool) -> Self {
        Self {
            parent: None,
            tells_pieces,
            tells_text: true,
            hides_thinking: false,
            model,
            id: String::new(),
            usage: Usage::default(),
            input: Tokens(0),
            partial: Partial::default(),
            outputs: HashMap::new(),
            running: HashMap::new(),
        }
    }

    /// Without what the model thought.
    pub(crate) fn hiding_thinking(mut self, on: bool) -> Self {
        self.hides_thinking = on;
        self
    }

    /// What is shown of thoughts changes.
    pub(crate) fn hide_thinking(&mut self, on: bool) {
        self.hides_thinking = on;
    }

    /// For a session that this call started.
    pub(crate) fn nested(parent: String, model: String, tells_text: bool) -> Self {
        Self { parent: Some(parent), tells_text, ..Self::new(model, false) }
    }

    /// What a client is told of it.
    pub(crate) fn tell(&mut self, notice: &Notice) -> Vec<Frame> {
        match notice {
            Notice::RequestStarted { model, input_estimate, .. } => {
                self.asked(model);
                self.input = *input_estimate;
                Vec::new()
            }
            Notice::Streamed { attempt, delta } => self.streamed(*attempt, delta),
            Notice::Retracted { .. } => {
                self.partial = Partial::default();
                Vec::new()
            }
            Notice::Billed { usage, .. } => {
                self.usage = *usage;
                Vec::new()
            }
            Notice::MessageAdded(message) => self.added(message),
            Notice::ToolStarted(call) => {
                self.started(call);
                Vec::new()
            }
            Notice::ToolProgressed { call, .. } => self.progressed(call.as_str()),
            Notice::ToolEnded { call, outcome } => {
                self.running.remove(call.as_str());
                let output = outcome.structured.as_ref();
                if let Some(Ok(output)) = output.map(|json| serde_json::from_str(json.as_str())) {
                    self.outputs.insert(call.as_str().to_owned(), output);
                }
                Vec::new()
            }
            Notice::ToolDenied { call, why } => vec![system(Subtype::PermissionDenied {
                tool_name: call.name.as_str().to_owned(),
                tool_use_id: call.id.as_str().to_owned(),
                message: why.clone(),
            })],
            Notice::Waiting { failure, attempt, attempts_max, wait } => {
                vec![system(Subtype::ApiRetry {
                    attempt: *attempt,
                    max_retries: *attempts_max,
                    retry_delay_ms: wait.0,
                    error_status: failure.status,
                    error: failure::name(failure.kind),
                })]
            }
            Notice::ContextShrunk { level: 5, freed, .. } => vec![self.compacted(*freed)],
            Notice::ModelSwitched { from, to, why } => {
                vec![warning(format!("asking {to} instead of {from}: {why}"))]
            }
            Notice::Repaired { why } => vec![warning(format!("the request was repaired: {why}"))],
            Notice::Warning(words) => vec![warning(words.clone())],
            _ => Vec::new(),
        }
    }

    /// A failed run in the place of an answer.
    pub(crate) fn failed(&mut self, text: &str, error: &'static str) -> Frame {
        let content = Content::Text { text: text.to_owned() };
        let model = std::mem::replace(&mut self.model, "<synthetic>".to_owned());
        self.id = name();
        let frame = self.assistant(content, Some(error));
        self.model = model;
        frame
    }

    fn asked(&mut self, model: &ModelName) {
        model.as_str().clone_into(&mut self.model);
        self.id = name();
        self.usage = Usage::default();
    }

    fn streamed(&mut self, attempt: AttemptId, delta: &Delta) -> Vec<Frame> {
        let is_hidden = self.hides_thinking && matches!(delta, Delta::Thinking(_));
        if !self.tells_pieces || is_hidden {
            return Vec::new();
        }
        let speaker = Speaker { id: &self.id, model: &self.model };
        let events = self.partial.delta(attempt, delta, &speaker);
        self.events(events)
    }

    fn events(&self, events: Vec<Value>) -> Vec<Frame> {
        let frame = |event| Frame::StreamEvent { event, parent_tool_use_id: self.parent.clone() };
        events.into_iter().map(frame).collect()
    }

    fn added(&mut self, message: &Message) -> Vec<Frame> {
        match (message.role, message.origin) {
            (Role::Assistant, _) => self.answered(message),
            (Role::User, Origin::ToolResults) => self.results(message),
            _ => Vec::new(),
        }
    }

    fn answered(&mut self, message: &Message) -> Vec<Frame> {
        let events = self.partial.finished(message.calls().next().is_some(), self.usage);
        let mut frames = if self.tells_pieces { self.events(events) } else { Vec::new() };
        let blocks = message.content.iter().filter_map(Content::of);
        let told = blocks.filter(|block| self.is_told(block));
        let shown = told.map(|mut block| {
            if let Content::Thinking { thinking, .. } = &mut block
                && self.hides_thinking
            {
                thinking.clear();
            }
            block
        });
        frames.extend(shown.map(|block| self.assistant(block, None)));
        frames
    }

    fn is_told(&self, block: &Content) -> bool {
        self.tells_text || matches!(block, Content::ToolUse { .. })
    }

    fn assistant(&self, content: Content, error: Option<&'static str>) -> Frame {
        Frame::Assistant(Assistant {
            message: AssistantMessage {
                id: self.id.clone(),
                kind: "message",
                role: "assistant",
                model: self.model.clone(),
                content: vec![content],
                stop_reason: None,
                stop_sequence: None,
                usage: self.usage.into(),
            },
            parent_tool_use_id: self.parent.clone(),
            error,
        })
    }

    fn results(&mut self, message: &Message) -> Vec<Frame> {
        let mut frames = Vec::new();
        for result in message.results() {
            let output = self.outputs.remove(result.call.as_str());
            frames.push(Frame::User(User {
                message: UserMessage {
                    role: "user",
                    content: Value::Array(vec![super::frame::result_block(result)]),
                },
                parent_tool_use_id: self.parent.clone(),
                tool_use_result: output,
                is_replay: false,
            }));
        }
        frames
    }

    fn started(&mut self, call: &ToolCall) {
        let now = Instant::now();
        let name = call.name.as_str().to_owned();
        self.running.insert(call.id.as_str().to_owned(), (name, now, now));
    }

    fn progressed(&mut self, call: &str) -> Vec<Frame> {
        let Some((name, since, last)) = self.running.get_mut(call) else {
            return Vec::new();
        };
        if last.elapsed() < PROGRESS_EVERY {
            return Vec::new();
        }
        *last = Instant::now();
        vec![Frame::ToolProgress {
            tool_use_id: call.to_owned(),
            tool_name: name.clone(),
            parent_tool_use_id: self.parent.clone(),
            elapsed_time_seconds: since.elapsed().as_secs(),
        }]
    }

    fn compacted(&self, freed: Tokens) -> Frame {
        system(Subtype::CompactBoundary {
            compact_metadata: super::frame::CompactMetadata {
                trigger: "auto",
                pre_tokens: self.input.0,
                post_tokens: self.input.less(freed).0,
            },
        })
    }
}

/// A frame about the session.
pub(crate) fn system(what: Subtype) -> Frame {
    Frame::System(System { what })
}

/// Something people should know.
pub(crate) fn warning(content: String) -> Frame {
    system(Subtype::Informational { content, level: "warning" })
}

/// Is a run that ended so one that the model's server failed?
pub(crate) fn is_api_failure(terminal: Terminal) -> bool {
    matches!(terminal, Terminal::ModelError | Terminal::PromptTooLong | Terminal::ImageError)
}

fn name() -> String {
    format!("msg_{}", chance::name())
}

/// A running tool is told of no more often than this.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
