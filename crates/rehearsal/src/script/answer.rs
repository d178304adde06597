//! One answer of a script, and the builder for it.
//!
//! Nothing is checked here: an answer built in Rust may be as absurd as a test needs it to be. The
//! TOML reader is the place that tells people about mistakes.

use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::{RequestSource, Usage, WireFormat};

use crate::fault::ScriptedFault;
use crate::wire;

/// One answer: what is said, when it may be said, and what goes wrong while it is said.
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
    /// Blocks, put in the words of whatever wire the request came over.
    Blocks { thinking: String, text: String, tools: Vec<ScriptedToolCall>, text_after: String },
    /// Bytes of an event stream, sent as they are.
    Raw(Vec<u8>),
}

/// One tool call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScriptedToolCall {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// Arguments as text, because a rehearsed model may write nonsense.
    pub(crate) input: String,
}

/// Why the rehearsed model stops, in the words of the messages wire; the other wires translate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    EndTurn,
    ToolUse,
    /// The output limit cut it.
    MaxTokens,
    /// It wrote a stop sequence.
    StopSequence,
    /// It wants to be asked to go on.
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
    /// An answer with neither text nor tools: the model ends its turn and has said nothing.
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

    /// No answer, only a fault.
    #[must_use]
    pub fn from_fault(fault: ScriptedFault) -> Self {
        Self::empty().fault(fault)
    }

    /// An event stream sent byte for byte. Events end at an empty line, for faults that count them.
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

    /// Adds to the text before the tool calls. Changes nothing in a raw answer.
    #[must_use]
    pub fn add_text(mut self, more: impl Into<String>) -> Self {
        if let AnswerContent::Blocks { text, .. } = &mut self.content {
            text.push_str(&more.into());
        }
        self
    }

    /// Adds to the reasoning, which comes first. Changes nothing in a raw answer.
    #[must_use]
    pub fn thinking(mut self, more: impl Into<String>) -> Self {
        if let AnswerContent::Blocks { thinking, .. } = &mut self.content {
            thinking.push_str(&more.into());
        }
        self
    }

    /// Adds to the text after the tool calls, so that a call is complete while the stream goes on.
    /// Changes nothing in a raw answer.
    #[must_use]
    pub fn text_after(mut self, more: impl Into<String>) -> Self {
        if let AnswerContent::Blocks { text_after, .. } = &mut self.content {
            text_after.push_str(&more.into());
        }
        self
    }

    /// Adds a tool call. Changes nothing in a raw answer.
    #[must_use]
    // Callers write `json!` in place; a reference would only add noise.
    #[expect(clippy::needless_pass_by_value)]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.tool_text(name, input.to_string())
    }

    /// Adds a tool call whose arguments are this text, JSON or not. Changes nothing in a raw answer.
    #[must_use]
    pub fn tool_text(self, name: impl Into<String>, input: impl Into<String>) -> Self {
        self.add_tool_call(ScriptedToolCall { id: None, name: name.into(), input: input.into() })
    }

    /// Adds a tool call with an id of its own, for rehearsing ids that repeat. Changes nothing in a
    /// raw answer.
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

    /// Only when what was said to the model since its last answer contains this. What stands behind
    /// it in its line goes wherever the answer says `{{rest}}`, the first word of that wherever it
    /// says `{{word}}`.
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

    /// Only when the name of the model asked contains this.
    #[must_use]
    pub fn when_model(mut self, part: impl Into<String>) -> Self {
        self.when_model = Some(part.into());
        self
    }

    /// Only when a tool of this name is on offer.
    #[must_use]
    pub fn when_tool(mut self, name: impl Into<String>) -> Self {
        self.when_tool = Some(name.into());
        self
    }

    /// Only when the header `x-windlass-source` names this source.
    #[must_use]
    pub fn when_source(mut self, source: RequestSource) -> Self {
        self.when_source = Some(source);
        self
    }

    /// Why the model stops. Without it: for tools if it asks for any, else because it is done.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The usage reported. Without it: a quarter token for each byte of request and answer.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Characters in each piece of text or arguments; at least one.
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

    /// How often it may be used; 0 is for ever.
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

    /// The events this answer makes when it is the `number`th, as bytes, before any fault. For
    /// tests that cut at every event or every byte. Usage in them is the answer's own or zero.
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
        // Arguments are JSON text, so what goes into them is written as JSON strings are.
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
