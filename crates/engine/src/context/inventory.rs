//! What a request would be made of if it went out now: for people who ask what fills the window.
//!
//! Looks at everything, so it is made only when asked for.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use windlass_vocabulary::context_usage::{ContextComponent, ContextUsage, ContextUsagePart};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, Message, MessageOrigin, MetaKind, Role, Tokens, ToolCallId,
};

use super::{Projection, Room, estimate};
use crate::request;
use crate::settings::Settings;
use crate::state::State;

/// What the next request is made of.
#[must_use]
pub fn inventory(state: &State, settings: &Settings) -> ContextUsage {
    let projection = Projection::new(&state.compaction.context, &state.transcript);
    let tools = &state.tool_context.tools;
    let mut sizes = Sizes::default();
    for piece in request::system(settings) {
        sizes.add(ContextComponent::System, estimate::text(&piece));
    }
    for spec in tools.iter() {
        sizes.add(ContextComponent::Tools, estimate::tools(core::slice::from_ref(spec)));
    }
    for message in projection.messages.iter() {
        sizes.message(message);
    }
    let raw: u64 = sizes.parts.values().map(|(raw, _)| raw).sum();
    let total = state.ledger.estimate(raw);
    let parts = sizes.parts.into_iter().map(|(component, (part, count))| ContextUsagePart {
        component,
        tokens: share(total, part, raw),
        count,
    });
    let room = Room::new(settings, state.control.model);
    ContextUsage {
        model: settings.model_at(state.control.model).name.clone(),
        window: room.window,
        reserved: room.window.less(room.limit),
        threshold: room.threshold,
        total,
        parts: parts.collect(),
        levels: *state.compaction.losses.levels(),
        losses: state.compaction.losses.latest().cloned().collect(),
    }
}

/// Raw sizes and numbers of pieces, by component.
#[derive(Default)]
struct Sizes {
    parts: BTreeMap<ContextComponent, (u64, usize)>,
    /// Which tool a call is for.
    tools: BTreeMap<ToolCallId, String>,
}

impl Sizes {
    fn add(&mut self, component: ContextComponent, raw: u64) {
        let (sum, count) = self.parts.entry(component).or_default();
        *sum += raw;
        *count += 1;
    }

    fn message(&mut self, message: &Message) {
        for call in message.tool_calls() {
            self.tools.insert(call.id.clone(), call.name.to_string());
        }
        if message.pinned {
            return self.add(ContextComponent::Pins, estimate::message(message));
        }
        for block in &message.content {
            let component = match (block, message.origin) {
                (ContentBlock::ToolResult(result), _) => {
                    let tool = self.tools.get(&result.call).cloned();
                    ContextComponent::Results(tool.unwrap_or_else(|| "other tools".to_string()))
                }
                (ContentBlock::Thinking(_), _) => ContextComponent::Reasoning,
                (ContentBlock::Provider(block), _) if block.is_reasoning => {
                    ContextComponent::Reasoning
                }
                (_, MessageOrigin::Summary) => ContextComponent::Summaries,
                (
                    _,
                    MessageOrigin::Meta(MetaKind::Context)
                    | MessageOrigin::Attachment(AttachmentKind::Memory | AttachmentKind::Skills),
                ) => ContextComponent::Memory,
                _ if message.role == Role::Assistant => ContextComponent::Answers,
                _ => ContextComponent::Requests,
            };
            self.add(component, estimate::block(block));
        }
    }
}

/// This part's share of the total.
fn share(total: Tokens, part: u64, whole: u64) -> Tokens {
    let share = u128::from(total.0) * u128::from(part);
    let share = share.checked_div(u128::from(whole)).unwrap_or(0);
    Tokens(u64::try_from(share).unwrap_or(u64::MAX))
}
