//! What the window is said to be filled with.

use windlass_engine::context::inventory;
use windlass_vocabulary::context_usage::ContextComponent;
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, Json, ModelStopReason, ProviderBlock, WireFormat,
};

use crate::engine_session::EngineSession;

#[test]
fn blocks_of_a_provider_count_as_reasoning_only_where_they_are() {
    for (is_reasoning, component) in
        [(true, ContextComponent::Reasoning), (false, ContextComponent::Answers)]
    {
        let mut session = EngineSession::new();
        session.submit("hello");
        let block = ContentBlock::Provider(ProviderBlock {
            wire: WireFormat::AnthropicMessages,
            kind: "search".into(),
            is_reasoning,
            json: Json::from_checked("{\"type\":\"search\"}"),
        });
        let (attempt, delta) = (AttemptId(1), Delta::Block(block));
        session.take(windlass_engine::Event::ModelDelta { attempt, delta });
        session.answer("Found.", ModelStopReason::EndTurn);
        let usage = inventory(session.state(), &session.settings);
        let count = |wanted: &ContextComponent| {
            usage.parts.iter().find(|part| part.component == *wanted).map_or(0, |part| part.count)
        };
        let expected = if is_reasoning { 1 } else { 2 };
        assert_eq!(count(&component), expected, "{usage:?}");
        assert_eq!(count(&ContextComponent::Requests), 1, "{usage:?}");
    }
}
