//! One answer of a script, and the builder for it.
//!
//! Nothing is validated here: an answer built in Rust may be as invalid as a test needs. The TOML
//! parser reports mistakes to users.

use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::{RequestSource, Usage, WireFormat};

use crate::fault::ScriptedFault;
use crate::wire;

/// One answer: its content, its conditions, and its fault.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedAnswer {
    pub(crate) content: AnswerContent,
    pub(crate) when: Option<String>,
    pub(crate) when_result: Option<String>,
    pub(crate) when_model: Option<String>,
    pub(crate) when_tool: Option<String>,
    pub(crate) when_source: Option<RequestSource>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: Option<Usage>,
    pub(crate) chunk: usize,
    pub(crate) pace: Duration,
    pub(crate) repeat: u32,
    pub(crate) fault: Option<ScriptedFault>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnswerContent {
    /// Content that is encoded for the wire of the request.
    Blocks { thinking: String, text: String, tools: Vec<ScriptedToolCall>, text_after: String },
    /// Bytes of an event stream, sent unchanged.
    Raw(Vec<u8>),
}

/// One tool call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScriptedToolCall {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// Arguments as text, because a model may write invalid JSON.
    pub(crate) input: String,
}

/// The stop reason, in terms of the messages wire; the other wires translate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    EndTurn,
    ToolUse,
    /// The output limit was reached.
    MaxTokens,
    /// It wrote a stop sequence.
    StopSequence,
    /// The model wants to be continued.
    PauseTurn,
    Refusal,
    WindowExceeded,
}

impl StopReason {
    pub const ALL: &'static [Self] = &[
        Self::EndTurn,
        Self::ToolUse,
        Self::MaxTokens,
        Self::StopSequence,
        Self::PauseTurn,
        Self::Refusal,
        Self::WindowExceeded,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::WindowExceeded => "model_context_window_exceeded",
        }
    }
}

impl ScriptedAnswer {
    /// An answer without text and tools: the model ends its turn without saying anything.
    #[must_use]
    pub fn empty() -> Self {
        Self::from_content(AnswerContent::Blocks {
            thinking: String::new(),
            text: String::new(),
            tools: Vec::new(),
            text_after: String::new(),
        })
    }

    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().add_text(text)
    }

    /// An answer that is one tool call.
    #[must_use]
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Self::empty().tool(name, input)
    }

    /// Only a fault.
    #[must_use]
    pub fn from_fault(fault: ScriptedFault) -> Self {
        Self::empty().fault(fault)
    }

    /// An event stream that is sent byte for byte. For faults that count events, an event ends at
    /// an empty line.
    #[must_use]
    pub fn raw(stream: impl Into<Vec<u8>>) -> Self {
        Self::from_content(AnswerContent::Raw(stream.into()))
    }

    fn from_content(content: AnswerContent) -> Self {
        Self {
            content,
            when: None,
            when_result: None,
            when_model: None,
            when_tool: None,
            when_source: None,
            stop: None,
            usage: None,
            chunk: CHUNK_DEFAULT,
            pace: Duration::ZERO,
            repeat: 1,
            fault: None,
        }
    }

    /// Appends text before the tool calls. Ignored for a raw answer.
    #[must_use]
    pub fn add_text(mut self, more: impl Into<String>) -> Self {
        if let AnswerContent::Blocks { text, .. } = &mut self.content {
            text.push_str(&more.into());
        }
        self
    }

    /// Appends reasoning, which comes first. Ignored for a raw answer.
    #[must_use]
    pub fn thinking(mut self, more: impl Into<String>) -> Self {
        if let AnswerContent::Blocks { thinking, .. } = &mut self.content {
            thinking.push_str(&more.into());
        }
        self
    }

    /// Appends text after the tool calls, so that a call is complete while the stream continues.
    /// Ignored for a raw answer.
    #[must_use]
    pub fn text_after(mut self, more: impl Into<String>) -> Self {
        if let AnswerContent::Blocks { text_after, .. } = &mut self.content {
            text_after.push_str(&more.into());
        }
        self
    }

    /// Adds a tool call. Ignored for a raw answer.
    #[must_use]
    // Callers write `json!` in place; a reference would only be noise.
    #[expect(clippy::needless_pass_by_value)]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.tool_text(name, input.to_string())
    }

    /// Adds a tool call with this text as arguments, JSON or not. Ignored for a raw answer.
    #[must_use]
    pub fn tool_text(self, name: impl Into<String>, input: impl Into<String>) -> Self {
        self.add_tool_call(ScriptedToolCall { id: None, name: name.into(), input: input.into() })
    }

    /// Adds a tool call with its own id, to test repeated ids. Ignored for a raw answer.
    #[must_use]
    #[expect(clippy::needless_pass_by_value)]
    pub fn tool_with_id(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        input: Value,
    ) -> Self {
        self.add_tool_call(ScriptedToolCall {
            id: Some(id.into()),
            name: name.into(),
            input: input.to_string(),
        })
    }

    pub(crate) fn add_tool_call(mut self, request: ScriptedToolCall) -> Self {
        if let AnswerContent::Blocks { tools, .. } = &mut self.content {
            tools.push(request);
        }
        self
    }

    /// Only if the text sent since the last answer contains this. The rest of that line replaces
    /// `{{rest}}` in the answer, and its first word `{{word}}`.
    #[must_use]
    pub fn when(mut self, part: impl Into<String>) -> Self {
        self.when = Some(part.into());
        self
    }

    /// Only when a tool result since the last answer contains this.
    #[must_use]
    pub fn when_result(mut self, part: impl Into<String>) -> Self {
        self.when_result = Some(part.into());
        self
    }

    /// Only if the model's name contains this.
    #[must_use]
    pub fn when_model(mut self, part: impl Into<String>) -> Self {
        self.when_model = Some(part.into());
        self
    }

    /// Only if a tool with this name is offered.
    #[must_use]
    pub fn when_tool(mut self, name: impl Into<String>) -> Self {
        self.when_tool = Some(name.into());
        self
    }

    /// Only if the header `x-windlass-source` has this value.
    #[must_use]
    pub fn when_source(mut self, source: RequestSource) -> Self {
        self.when_source = Some(source);
        self
    }

    /// The stop reason. The default is tool use if there are tool calls, else the end of the turn.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The reported usage. The default is a quarter token per byte of request and answer.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Characters per piece of text or arguments; at least one.
    #[must_use]
    pub fn chunk(mut self, characters: usize) -> Self {
        self.chunk = characters.max(1);
        self
    }

    #[must_use]
    pub fn pace(mut self, pause: Duration) -> Self {
        self.pace = pause;
        self
    }

    /// How often it may be used; 0 means without limit.
    #[must_use]
    pub fn repeat(mut self, times: u32) -> Self {
        self.repeat = times;
        self
    }

    #[must_use]
    pub fn fault(mut self, fault: ScriptedFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The bytes of each event if this is answer `number`, before any fault. For tests that cut at
    /// every event or byte. Usage is the answer's own or zero.
    #[must_use]
    pub fn encode_events(&self, wire: WireFormat, number: u64) -> Vec<Vec<u8>> {
        let reply = wire::WireReply {
            number,
            model: "rehearsal",
            answer: self,
            usage: self.usage.unwrap_or_default(),
        };
        wire::encode_events(wire, &reply)
    }

    pub(crate) fn fill_placeholder(&mut self, mark: &str, value: &str) {
        // Arguments are JSON text, so inserted text must be escaped.
        let quoted = Value::from(value).to_string();
        let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        if let AnswerContent::Blocks { thinking, text, tools, text_after } = &mut self.content {
            for part in [thinking, text, text_after] {
                *part = part.replace(mark, value);
            }
            for tool in tools {
                tool.input = tool.input.replace(mark, inside);
            }
        }
        for part in [&mut self.when, &mut self.when_result].into_iter().flatten() {
            *part = part.replace(mark, value);
        }
    }
}

const CHUNK_DEFAULT: usize = 24;
