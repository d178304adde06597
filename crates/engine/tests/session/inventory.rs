//! What the window is said to be filled with.

use windlass_engine::Effect;
use windlass_engine::context::inventory;
use windlass_vocabulary::context_usage::ContextComponent;
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, Json, ModelStopReason, ProviderBlock, Tokens, ToolSpec,
    WireFormat,
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

#[test]
fn what_a_level_took_out_is_counted_and_named() {
    let mut session = EngineSession::with_tool();
    session.settings.context.message_result_bytes_max = 10_000;
    session.settings.context.result_bytes_kept = 100;
    session.submit("go");
    let usage = inventory(session.state(), &session.settings);
    assert_eq!((usage.levels[0].times, usage.losses.len()), (0, 0), "{usage:?}");
    let started = session.call_tool();
    session.end_tool(&started, &"a long result ".repeat(5_000));
    let usage = inventory(session.state(), &session.settings);
    assert_eq!((usage.levels[0].times, usage.losses.len()), (1, 1), "{usage:?}");
    assert!(usage.levels[0].tokens > Tokens(10_000), "{usage:?}");
    assert_eq!((usage.losses[0].level, usage.losses[0].freed), (1, usage.levels[0].tokens));
}

/// Everything that was said is recent then, and it goes all the same.
#[test]
fn history_is_summarised_where_the_tools_alone_nearly_fill_the_window() {
    let mut session = EngineSession::with_tool();
    session.settings.limits.auto_compact = true;
    let mut words = 1_000;
    loop {
        words += 1_000;
        let spec = ToolSpec {
            description: "word ".repeat(words).into(),
            ..session.settings.tools[0].clone()
        };
        session.settings.tools = [spec].into();
        session.restart();
        let usage = inventory(session.state(), &session.settings);
        if usage.total > usage.threshold {
            assert!(usage.total < usage.window.less(usage.reserved), "{usage:?}");
            break;
        }
    }
    let is_summarised = |effects: &[Effect]| {
        effects.iter().any(|effect| matches!(effect, Effect::Summarize { .. }))
    };
    assert!(!is_summarised(&session.submit("hello")), "there is nothing to summarise");
    session.answer("Hello.", ModelStopReason::EndTurn);
    assert!(is_summarised(&session.submit("again")));
}
