//! One model request: the projection with system context appended and user context in front.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{
    AttemptId, Chore, Message, MessageOrigin, Messages, MetaKind, ModelName, ModelRequest,
    RequestSource, Tokens,
};

use crate::context::level_3_microcompact;
use crate::settings::Settings;
use crate::state::State;

/// The system prompt, in pieces that change rarely to often.
pub(crate) fn system(settings: &Settings) -> Vec<Arc<str>> {
    let mut pieces = Vec::new();
    if !settings.prompt.system_prompt.is_empty() {
        pieces.push(settings.prompt.system_prompt.clone());
    }
    if !settings.prompt.system_context.is_empty() {
        let mut lines = String::new();
        for (key, value) in &settings.prompt.system_context {
            if !lines.is_empty() {
                lines.push('\n');
            }
            lines.push_str(key);
            lines.push_str(": ");
            lines.push_str(value);
        }
        pieces.push(Arc::from(lines));
    }
    pieces
}

/// What differs between the requests of one state.
pub(crate) struct Order {
    pub(crate) attempt: AttemptId,
    pub(crate) model: ModelName,
    pub(crate) messages: Messages,
    pub(crate) output_max: Tokens,
    pub(crate) source: RequestSource,
}

/// Puts a request together.
pub(crate) fn build(state: &State, settings: &Settings, order: Order) -> Box<ModelRequest> {
    let Order { attempt, model, messages, output_max, source } = order;
    // These stand outside the conversation: they need neither its tools nor its instructions.
    let is_apart = match source {
        RequestSource::ToolLabel | RequestSource::Aside => true,
        RequestSource::Chore(chore) => chore != Chore::Question,
        RequestSource::Main | RequestSource::Compaction => false,
    };
    Box::new(ModelRequest {
        attempt,
        model,
        system: if is_apart { Vec::new() } else { system(settings) },
        tools: if is_apart { Arc::from([]) } else { state.tool_context.tools.clone() },
        messages,
        output_max,
        thinking: settings.reasoning.thinking,
        effort: settings.reasoning.effort,
        source,
        agent: state.tool_context.agent.clone(),
        clear_results: level_3_microcompact::clearing(state, settings, source),
        without_reasoning: state.recovery.without_reasoning,
    })
}

/// The projection followed by an order of ours that is not part of the conversation.
pub(crate) fn with_instruction(
    state: &State,
    mut messages: Messages,
    instruction: &str,
) -> Messages {
    let id = state.transcript.next_id();
    let message = Message::user_text(id, MessageOrigin::Meta(MetaKind::Context), instruction);
    messages.push(Arc::new(message));
    messages
}
