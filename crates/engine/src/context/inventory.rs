//! What a request would be made of if it went out now: for people who ask what fills the window.
//!
//! Looks at everything, so it is made when somebody asks and at no other time.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use windlass_vocabulary::inventory::{Component, Inventory, Part};
use windlass_vocabulary::{
    AttachmentKind, Block, Message, MetaKind, Origin, Role, Tokens, ToolCallId,
};

use super::{Projection, Room, estimate};
use crate::request;
use crate::settings::Settings;
use crate::state::State;

/// What the next request is made of.
#[must_use]
pub fn inventory(state: &State, settings: &Settings) -> Inventory {
    let projection = Projection::new(&state.context, &state.transcript);
    let tools = &state.tool_context.tools;
    let mut sizes = Sizes::default();
    for piece in request::system(settings) {
        sizes.add(Component::System, estimate::text(&piece));
    }
    for spec in tools.iter() {
        sizes.add(Component::Tools, estimate::tools(core::slice::from_ref(spec)));
    }
    for message in projection.messages.iter() {
        sizes.message(message);
    }
    let raw: u64 = sizes.parts.values().map(|(raw, _)| raw).sum();
    let total = state.ledger.estimate(raw);
    let parts = sizes.parts.into_iter().map(|(component, (part, count))| Part {
        component,
        tokens: share(total, part, raw),
        count,
    });
    let room = Room::new(settings, state.control.model);
    Inventory {
        model: settings.model_at(state.control.model).name.clone(),
        window: room.window,
        reserved: room.window.less(room.limit),
        threshold: room.threshold,
        total,
        parts: parts.collect(),
        levels: *state.losses.levels(),
        losses: state.losses.latest().cloned().collect(),
    }
}

/// Raw sizes and numbers of pieces, by component.
#[derive(Default)]
struct Sizes {
    parts: BTreeMap<Component, (u64, usize)>,
    /// Which tool a call is for.
    tools: BTreeMap<ToolCallId, String>,
}

impl Sizes {
    fn add(&mut self, component: Component, raw: u64) {
        let (sum, count) = self.parts.entry(component).or_default();
        *sum += raw;
        *count += 1;
    }

    fn message(&mut self, message: &Message) {
        for call in message.calls() {
            self.tools.insert(call.id.clone(), call.name.to_string());
        }
        if message.pinned {
            return self.add(Component::Pins, estimate::message(message));
        }
        for block in &message.content {
            let component = match (block, message.origin) {
                (Block::ToolResult(result), _) => {
                    let tool = self.tools.get(&result.call).cloned();
                    Component::Results(tool.unwrap_or_else(|| "other tools".to_string()))
                }
                (Block::Thinking(_), _) => Component::Reasoning,
                (Block::Provider(block), _) if block.is_reasoning => Component::Reasoning,
                (_, Origin::Summary) => Component::Summaries,
                (
                    _,
                    Origin::Meta(MetaKind::Context)
                    | Origin::Attachment(AttachmentKind::Memory | AttachmentKind::Skills),
                ) => Component::Memory,
                _ if message.role == Role::Assistant => Component::Answers,
                _ => Component::Requests,
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
