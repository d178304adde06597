//! One block while it arrives. Three kinds are ours; any other belongs to the provider and is
//! rebuilt field by field, so that it can go back as it came.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use serde::Deserialize;
use serde_json::value::RawValue;

use windlass_vocabulary::{ContentBlock, Json, ThinkingBlock, ToolCall, ToolCallId, ToolName};

use super::provider_block_draft::ProviderBlockDraft;
use crate::answer_calls::parse_call_arguments;
use crate::lenient_json::{StreamedText, TextFragment};

/// A block that has begun.
#[derive(Debug)]
pub(super) enum AnthropicBlockDraft {
    Text(StreamedText),
    Thinking { text: StreamedText, signature: Option<String> },
    Call(AnthropicCallDraft),
    Provider(ProviderBlockDraft),
}

#[derive(Debug)]
pub(super) struct AnthropicCallDraft {
    id: ToolCallId,
    name: ToolName,
    /// Arguments that some servers send whole at the start.
    initial_arguments: Option<String>,
    pub(super) arguments: StreamedText,
}

/// What is known from the start of a block.
pub(super) enum InitialBlockContent {
    Nothing,
    Text(String),
    Thinking(String),
    Call { id: ToolCallId, name: ToolName },
}

/// What a closed block is.
pub(super) enum FinishedAnthropicBlock {
    /// Empty text, which may never go back.
    Nothing,
    Block(ContentBlock),
    Call {
        call: ToolCall,
        problem: Option<String>,
    },
    /// A call without any arguments text: complete, or cut off before the first one.
    BareCall(ToolCall),
}

impl AnthropicBlockDraft {
    pub(super) fn begin(
        json: &str,
        id_if_missing: &str,
    ) -> Result<(Self, InitialBlockContent), serde_json::Error> {
        let AnthropicBlockHead { kind } = serde_json::from_str(json)?;
        Ok(match &*kind {
            "text" => {
                let mut text = StreamedText::default();
                let start: AnthropicBlockFields<'_> = serde_json::from_str(json)?;
                let shown = push_initial_text(&mut text, start.text);
                (
                    Self::Text(text),
                    if shown.is_empty() {
                        InitialBlockContent::Nothing
                    } else {
                        InitialBlockContent::Text(shown)
                    },
                )
            }
            "thinking" => {
                let mut text = StreamedText::default();
                let start: AnthropicBlockFields<'_> = serde_json::from_str(json)?;
                let shown = push_initial_text(&mut text, start.thinking);
                let signature =
                    start.signature.filter(|seal| !seal.is_empty()).map(Cow::into_owned);
                let started = if shown.is_empty() {
                    InitialBlockContent::Nothing
                } else {
                    InitialBlockContent::Thinking(shown)
                };
                (Self::Thinking { text, signature }, started)
            }
            "tool_use" => {
                let start: AnthropicBlockFields<'_> = serde_json::from_str(json)?;
                let call = AnthropicCallDraft::begin(&start, id_if_missing);
                let started =
                    InitialBlockContent::Call { id: call.id.clone(), name: call.name.clone() };
                (Self::Call(call), started)
            }
            other => (
                Self::Provider(ProviderBlockDraft::begin(other, json)),
                InitialBlockContent::Nothing,
            ),
        })
    }

    pub(super) fn finish(self) -> FinishedAnthropicBlock {
        match self {
            Self::Text(text) if text.is_empty() => FinishedAnthropicBlock::Nothing,
            Self::Text(text) => FinishedAnthropicBlock::Block(ContentBlock::Text(text.into_text())),
            Self::Thinking { text, signature: None } if text.is_empty() => {
                FinishedAnthropicBlock::Nothing
            }
            Self::Thinking { text, signature } => {
                FinishedAnthropicBlock::Block(ContentBlock::Thinking(ThinkingBlock {
                    text: text.into_text(),
                    signature: signature.map(Arc::from),
                }))
            }
            Self::Call(call) => call.finish(),
            Self::Provider(block) => {
                FinishedAnthropicBlock::Block(ContentBlock::Provider(block.finish()))
            }
        }
    }
}

fn push_initial_text(text: &mut StreamedText, start: Option<TextFragment<'_>>) -> String {
    start.map(|start| String::from(text.push(&start))).unwrap_or_default()
}

impl AnthropicCallDraft {
    fn begin(start: &AnthropicBlockFields<'_>, id_if_missing: &str) -> Self {
        let id = start.id.as_deref().filter(|id| !id.is_empty()).unwrap_or(id_if_missing);
        let whole = start.input.map(RawValue::get).filter(|json| !is_empty_value(json));
        Self {
            id: ToolCallId::from(id),
            name: ToolName::from(start.name.as_deref().unwrap_or_default()),
            initial_arguments: whole.map(String::from),
            arguments: StreamedText::default(),
        }
    }

    fn finish(self) -> FinishedAnthropicBlock {
        let streamed = self.arguments.into_text();
        let call = |input| ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            input,
            signature: None,
        };
        let input = match (streamed.trim(), &self.initial_arguments) {
            ("", None) => return FinishedAnthropicBlock::BareCall(call(Json::empty_object())),
            ("", Some(whole)) => whole.as_str(),
            (streamed, _) => streamed,
        };
        let (input, problem) = parse_call_arguments(input);
        FinishedAnthropicBlock::Call { call: call(input), problem }
    }
}

fn is_empty_value(json: &str) -> bool {
    let mut inside = json.bytes().filter(|byte| !byte.is_ascii_whitespace());
    matches!((inside.next(), inside.next(), inside.next()), (Some(b'{'), Some(b'}'), None))
        || matches!(json.trim(), "" | "null" | "\"\"")
}

#[derive(Deserialize)]
struct AnthropicBlockHead<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct AnthropicBlockFields<'a> {
    #[serde(borrow)]
    text: Option<TextFragment<'a>>,
    #[serde(borrow)]
    thinking: Option<TextFragment<'a>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}
