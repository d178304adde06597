//! Step 3, strip provider blocks: removes what this provider would reject.
//!
//! Reasoning sealed for another model, reasoning without a seal, blocks of another wire, blocks
//! that need a switch we do not turn on, one half of a pair of the provider's own tool blocks, and
//! whatever the provider refused before. Calls and their results are never touched.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use serde::Deserialize;

use windlass_vocabulary::{ModelName, ModelRequest, ProviderBlock, ThinkingBlock};

use super::{NormalizationStep, NormalizedHistory, ProviderBlockLink, RestartFrom};
use crate::normalized_conversation::{AnswerPart, NormalizedConversation};
use crate::provider_rules::{ProviderRules, ReasoningPolicy};

/// Runs the step.
///
/// # Errors
///
/// A half that was left out gets its other half, or a half that was sent loses it.
pub(crate) fn strip_provider_blocks(
    projection: &mut NormalizedConversation<'_>,
    request: &ModelRequest,
    rules: &ProviderRules,
    history: &mut NormalizedHistory,
) -> Result<(), RestartFrom> {
    for exchange in &mut projection.exchanges {
        let at = exchange.start;
        exchange.retain_answer(|part| match part {
            AnswerPart::Thinking(thinking, model) => {
                may_send_thinking(thinking, *model, request, rules)
            }
            AnswerPart::Provider(block, model) => {
                let may_go = may_send_block(block, *model, request, rules);
                if !may_go && !rules.reasoning.block_kinds.contains(&&*block.kind) {
                    let line = format!("a {} block was left out", block.kind);
                    history.notes.add(NormalizationStep::Strip, at, line);
                }
                may_go
            }
            AnswerPart::Text(_) | AnswerPart::Call(_) => true,
        });
    }
    strip_half_pairs(projection, history)?;
    if rules.reasoning.may_end_answer {
        return Ok(());
    }
    for exchange in &mut projection.exchanges {
        // An answer must not end with reasoning.
        while exchange.answer.last().is_some_and(|part| is_reasoning(part, rules)) {
            exchange.answer.pop();
            exchange.answer_locations.pop();
        }
    }
    Ok(())
}

fn may_send_thinking(
    thinking: &ThinkingBlock,
    model: Option<&ModelName>,
    request: &ModelRequest,
    rules: &ProviderRules,
) -> bool {
    !request.without_reasoning
        && model == Some(&request.model)
        && match rules.reasoning.policy {
            ReasoningPolicy::Sealed => {
                thinking.signature.as_ref().is_some_and(|seal| !seal.is_empty())
            }
            ReasoningPolicy::Never => false,
        }
}

fn may_send_block(
    block: &ProviderBlock,
    model: Option<&ModelName>,
    request: &ModelRequest,
    rules: &ProviderRules,
) -> bool {
    let is_reasoning = rules.reasoning.block_kinds.contains(&&*block.kind);
    let is_wanted = if is_reasoning {
        !request.without_reasoning && model == Some(&request.model) && is_sealed(block, rules)
    } else {
        !rules.refused_block_kinds.contains(&&*block.kind)
    };
    is_wanted && rules.accepts_provider_blocks && block.wire == rules.wire && is_typed_object(block)
}

/// A reasoning block whose seal is missing can only be found in the server's memory, which is not
/// used.
fn is_sealed(block: &ProviderBlock, rules: &ProviderRules) -> bool {
    let Some(name) = rules.reasoning.seal_field else { return true };
    let fields = crate::json_object::parse_fields(block.json.as_str()).unwrap_or_default();
    let seal = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.get());
    seal.is_some_and(|seal| seal.starts_with('"') && seal.len() > 2)
}

/// A block from a damaged journal may be anything; on the wire it must be an object with a type.
fn is_typed_object(block: &ProviderBlock) -> bool {
    let fields = crate::json_object::parse_fields(block.json.as_str());
    fields.is_ok_and(|fields| !fields.is_empty())
}

fn is_reasoning(part: &AnswerPart<'_>, rules: &ProviderRules) -> bool {
    match part {
        AnswerPart::Thinking(..) => true,
        AnswerPart::Provider(block, _) => rules.reasoning.block_kinds.contains(&&*block.kind),
        AnswerPart::Text(_) | AnswerPart::Call(_) => false,
    }
}

/// The provider's own tools answer inside the answer, or at the start of a later one. Half a pair
/// is refused, except a call at the very end, which is still going on.
fn strip_half_pairs(
    projection: &mut NormalizedConversation<'_>,
    history: &mut NormalizedHistory,
) -> Result<(), RestartFrom> {
    let before = history.links.len();
    for exchange in &projection.exchanges {
        let blocks = exchange.answer.iter().filter_map(as_provider_block);
        history.links.extend(blocks.map(|block| read_block_link(block, exchange.start)));
    }
    if !history.links.iter().any(|link| link.is_call || link.tool_use_id.is_some()) {
        return Ok(());
    }
    let last = projection.exchanges.last().map_or(0, |exchange| exchange.start);
    let outs = find_half_pairs(&history.links, last);
    for (position, (link, is_out)) in history.links.iter_mut().zip(&outs).enumerate() {
        if position < before && link.is_stripped != *is_out {
            return Err(RestartFrom(link.answer_start));
        }
        link.is_stripped = *is_out;
    }
    let mut outs = outs.into_iter().skip(before);
    for exchange in &mut projection.exchanges {
        let at = exchange.start;
        exchange.retain_answer(|part| {
            let Some(block) = as_provider_block(part) else { return true };
            let is_out = outs.next().unwrap_or_default();
            if is_out {
                let line = format!("half a pair ({}) was left out", block.kind);
                history.notes.add(NormalizationStep::StripHalfPairs, at, line);
            }
            !is_out
        });
    }
    Ok(())
}

/// Which of the blocks are half a pair.
fn find_half_pairs(links: &[ProviderBlockLink], last: usize) -> Vec<bool> {
    let called: BTreeSet<&str> = links.iter().filter_map(|link| link.id.as_deref()).collect();
    let answered: BTreeSet<&str> =
        links.iter().filter_map(|link| link.tool_use_id.as_deref()).collect();
    let is_out = |link: &ProviderBlockLink| {
        let is_open_call = link.is_call
            && link.answer_start != last
            && link.id.as_deref().is_none_or(|id| !answered.contains(id));
        let is_orphan = link.tool_use_id.as_deref().is_some_and(|id| !called.contains(id));
        is_open_call || is_orphan
    };
    links.iter().map(is_out).collect()
}

fn as_provider_block<'a>(part: &AnswerPart<'a>) -> Option<&'a ProviderBlock> {
    match part {
        AnswerPart::Provider(block, _) => Some(block),
        AnswerPart::Text(_) | AnswerPart::Thinking(..) | AnswerPart::Call(_) => None,
    }
}

fn read_block_link(block: &ProviderBlock, at: usize) -> ProviderBlockLink {
    let ProviderBlockIds { id, tool_use_id } =
        serde_json::from_str(block.json.as_str()).unwrap_or_default();
    ProviderBlockLink {
        answer_start: at,
        id: id.map(Cow::into_owned),
        tool_use_id: tool_use_id.map(Cow::into_owned),
        is_call: block.kind.ends_with("tool_use"),
        is_stripped: false,
    }
}

/// What ties a provider's call to its result.
#[derive(Default, Deserialize)]
struct ProviderBlockIds<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
}
