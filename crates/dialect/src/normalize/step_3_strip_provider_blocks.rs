//! Step 3, strip provider blocks: out goes what this provider would refuse.
//!
//! Reasoning sealed for another model, reasoning without a seal, blocks of another wire, blocks
//! that need a switch nobody turned on, one half of a pair of the provider's own tool blocks, and
//! whatever the provider refused before. Calls and their results are never touched.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use serde::Deserialize;

use windlass_vocabulary::{ModelName, ModelRequest, ProviderBlock, Thinking};

use super::Notes;
use crate::law::{Law, ReasoningLaw};
use crate::projection::{AnswerPart, Projection};

/// Runs the step.
pub(crate) fn strip(
    projection: &mut Projection<'_>,
    request: &ModelRequest,
    law: &Law,
    notes: &mut Notes,
) {
    for exchange in &mut projection.exchanges {
        exchange.answer.retain(|part| match part {
            AnswerPart::Thinking(thinking, model) => may_think(thinking, *model, request, law),
            AnswerPart::Provider(block, model) => {
                let may_go = may_go(block, *model, request, law);
                if !may_go && !law.reasoning_kinds.contains(&&*block.kind) {
                    notes.add(format!("a {} block was left out", block.kind));
                }
                may_go
            }
            AnswerPart::Text(_) | AnswerPart::Call(_) => true,
        });
    }
    strip_half_pairs(projection, notes);
    if law.reasoning_may_end {
        return;
    }
    for exchange in &mut projection.exchanges {
        // Reasoning that leads to nothing may not end an answer.
        while exchange.answer.last().is_some_and(|part| is_reasoning(part, law)) {
            exchange.answer.pop();
        }
    }
}

fn may_think(
    thinking: &Thinking,
    model: Option<&ModelName>,
    request: &ModelRequest,
    law: &Law,
) -> bool {
    !request.repair.without_reasoning
        && model == Some(&request.model)
        && match law.reasoning {
            ReasoningLaw::Sealed => {
                thinking.signature.as_ref().is_some_and(|seal| !seal.is_empty())
            }
            ReasoningLaw::Never => false,
        }
}

fn may_go(
    block: &ProviderBlock,
    model: Option<&ModelName>,
    request: &ModelRequest,
    law: &Law,
) -> bool {
    let is_reasoning = law.reasoning_kinds.contains(&&*block.kind);
    let is_wanted = if is_reasoning {
        !request.repair.without_reasoning && model == Some(&request.model) && is_sealed(block, law)
    } else {
        !request.repair.without_provider_blocks && !law.refused_kinds.contains(&&*block.kind)
    };
    is_wanted && law.provider_blocks && block.wire == law.wire && is_typed_object(block)
}

/// A reasoning block whose seal is missing can only be found in the server's memory, which is not
/// used.
fn is_sealed(block: &ProviderBlock, law: &Law) -> bool {
    let Some(name) = law.reasoning_seal else { return true };
    let fields = crate::object::fields(block.json.as_str()).unwrap_or_default();
    let seal = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.get());
    seal.is_some_and(|seal| seal.starts_with('"') && seal.len() > 2)
}

/// A block from a damaged journal may be anything; on the wire it must be an object with a type.
fn is_typed_object(block: &ProviderBlock) -> bool {
    let fields = crate::object::fields(block.json.as_str());
    fields.is_ok_and(|fields| !fields.is_empty())
}

fn is_reasoning(part: &AnswerPart<'_>, law: &Law) -> bool {
    match part {
        AnswerPart::Thinking(..) => true,
        AnswerPart::Provider(block, _) => law.reasoning_kinds.contains(&&*block.kind),
        AnswerPart::Text(_) | AnswerPart::Call(_) => false,
    }
}

/// The provider's own tools answer inside the answer, or at the start of a later one. Half a pair
/// is refused, except a call at the very end, which is still going on.
fn strip_half_pairs(projection: &mut Projection<'_>, notes: &mut Notes) {
    let (mut called, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for block in projection.exchanges.iter().flat_map(|exchange| &exchange.answer) {
        if let AnswerPart::Provider(block, _) = block {
            let link = Link::of(block);
            called.extend(link.id);
            answered.extend(link.tool_use_id);
        }
    }
    let last = projection.exchanges.len().saturating_sub(1);
    for (position, exchange) in projection.exchanges.iter_mut().enumerate() {
        exchange.answer.retain(|part| {
            let AnswerPart::Provider(block, _) = part else {
                return true;
            };
            let link = Link::of(block);
            let is_open_call = is_call(block)
                && position != last
                && link.id.as_ref().is_none_or(|id| !answered.contains(id));
            let is_orphan = link.tool_use_id.as_ref().is_some_and(|id| !called.contains(id));
            if is_open_call || is_orphan {
                notes.add(format!("half a pair ({}) was left out", block.kind));
            }
            !is_open_call && !is_orphan
        });
    }
}

fn is_call(block: &ProviderBlock) -> bool {
    block.kind.ends_with("tool_use")
}

/// What ties a provider's call to its result.
#[derive(Default, Deserialize)]
struct Link {
    id: Option<String>,
    tool_use_id: Option<String>,
}

impl Link {
    fn of(block: &ProviderBlock) -> Self {
        #[derive(Deserialize)]
        struct Borrowed<'a> {
            #[serde(borrow)]
            id: Option<Cow<'a, str>>,
            #[serde(borrow)]
            tool_use_id: Option<Cow<'a, str>>,
        }
        let Ok(link) = serde_json::from_str::<Borrowed<'_>>(block.json.as_str()) else {
            return Self::default();
        };
        Self {
            id: link.id.map(Cow::into_owned),
            tool_use_id: link.tool_use_id.map(Cow::into_owned),
        }
    }
}
