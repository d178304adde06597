//! One block while it arrives. Three kinds are ours; any other belongs to the provider and is
//! rebuilt field by field, so that it can go back as it came.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use serde::Deserialize;
use serde_json::value::RawValue;

use windlass_vocabulary::{Block, Json, Thinking, ToolCall, ToolCallId, ToolName};

use super::foreign_block::ProviderDraft;
use crate::calls::arguments;
use crate::loose::{Fragment, Joined};

/// A block that has begun.
#[derive(Debug)]
pub(super) enum Draft {
    Text(Joined),
    Thinking { text: Joined, signature: Option<String> },
    Call(CallDraft),
    Provider(ProviderDraft),
}

#[derive(Debug)]
pub(super) struct CallDraft {
    id: ToolCallId,
    name: ToolName,
    /// Arguments that some servers send whole at the start.
    whole: Option<String>,
    pub(super) arguments: Joined,
}

/// What the start of a block already tells.
pub(super) enum Started {
    Silently,
    Text(String),
    Thinking(String),
    Call { id: ToolCallId, name: ToolName },
}

/// What a closed block is.
pub(super) enum Finished {
    /// Empty text, which may never go back.
    Nothing,
    Block(Block),
    Call {
        call: ToolCall,
        problem: Option<String>,
    },
    /// A call without a word of arguments: complete, or cut before the first.
    BareCall(ToolCall),
}

impl Draft {
    pub(super) fn begin(
        json: &str,
        id_if_missing: &str,
    ) -> Result<(Self, Started), serde_json::Error> {
        let Head { kind } = serde_json::from_str(json)?;
        Ok(match &*kind {
            "text" => {
                let mut text = Joined::default();
                let start: Start<'_> = serde_json::from_str(json)?;
                let shown = grown(&mut text, start.text);
                (
                    Self::Text(text),
                    if shown.is_empty() { Started::Silently } else { Started::Text(shown) },
                )
            }
            "thinking" => {
                let mut text = Joined::default();
                let start: Start<'_> = serde_json::from_str(json)?;
                let shown = grown(&mut text, start.thinking);
                let signature =
                    start.signature.filter(|seal| !seal.is_empty()).map(Cow::into_owned);
                let started =
                    if shown.is_empty() { Started::Silently } else { Started::Thinking(shown) };
                (Self::Thinking { text, signature }, started)
            }
            "tool_use" => {
                let start: Start<'_> = serde_json::from_str(json)?;
                let call = CallDraft::begin(&start, id_if_missing);
                let started = Started::Call { id: call.id.clone(), name: call.name.clone() };
                (Self::Call(call), started)
            }
            other => (Self::Provider(ProviderDraft::begin(other, json)), Started::Silently),
        })
    }

    pub(super) fn finish(self) -> Finished {
        match self {
            Self::Text(text) if text.is_empty() => Finished::Nothing,
            Self::Text(text) => Finished::Block(Block::Text(text.into_text())),
            Self::Thinking { text, signature: None } if text.is_empty() => Finished::Nothing,
            Self::Thinking { text, signature } => Finished::Block(Block::Thinking(Thinking {
                text: text.into_text(),
                signature: signature.map(Arc::from),
            })),
            Self::Call(call) => call.finish(),
            Self::Provider(block) => Finished::Block(Block::Provider(block.finish())),
        }
    }
}

fn grown(text: &mut Joined, start: Option<Fragment<'_>>) -> String {
    start.map(|start| String::from(text.push(&start))).unwrap_or_default()
}

impl CallDraft {
    fn begin(start: &Start<'_>, id_if_missing: &str) -> Self {
        let id = start.id.as_deref().filter(|id| !id.is_empty()).unwrap_or(id_if_missing);
        let whole = start.input.map(RawValue::get).filter(|json| !is_empty_value(json));
        Self {
            id: ToolCallId::from(id),
            name: ToolName::from(start.name.as_deref().unwrap_or_default()),
            whole: whole.map(String::from),
            arguments: Joined::default(),
        }
    }

    fn finish(self) -> Finished {
        let streamed = self.arguments.into_text();
        let call = |input| ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            input,
            signature: None,
        };
        let input = match (streamed.trim(), &self.whole) {
            ("", None) => return Finished::BareCall(call(Json::empty_object())),
            ("", Some(whole)) => whole.as_str(),
            (streamed, _) => streamed,
        };
        let (input, problem) = arguments(input);
        Finished::Call { call: call(input), problem }
    }
}

fn is_empty_value(json: &str) -> bool {
    let mut inside = json.bytes().filter(|byte| !byte.is_ascii_whitespace());
    matches!((inside.next(), inside.next(), inside.next()), (Some(b'{'), Some(b'}'), None))
        || matches!(json.trim(), "" | "null" | "\"\"")
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow)]
    text: Option<Fragment<'a>>,
    #[serde(borrow)]
    thinking: Option<Fragment<'a>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}
