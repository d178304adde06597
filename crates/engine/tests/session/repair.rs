//! What is said when a provider refuses a request and it is sent again, changed.

use windlass_engine::Effect;
use windlass_vocabulary::{FailureKind, ModelStopReason, Notice};

use crate::engine_session::EngineSession;

/// What is said of the repair, without the reason in front.
fn repair(effects: &[Effect]) -> &str {
    let said = effects.iter().find_map(|effect| match effect {
        Effect::Tell(Notice::Repaired { why }) => Some(why.as_str()),
        _ => None,
    });
    said.unwrap_or_else(|| panic!("no repair in {effects:?}"))
        .strip_prefix("the provider refused the request (no); ")
        .unwrap_or_else(|| panic!("another reason in {effects:?}"))
}

#[test]
fn a_repair_that_changes_nothing_says_so() {
    let mut session = EngineSession::new();
    session.submit("hello");
    let failed = session.fail(FailureKind::InvalidRequest);
    assert_eq!(repair(&failed), "nothing could be left out");
}

#[test]
fn a_provider_that_clears_results_is_asked_to_until_it_calls_the_request_invalid() {
    let mut session = EngineSession::new();
    session.settings.context.cleared_by_provider = vec!["one".into()];
    session.submit("hello");
    // A signature that it does not know is no word against clearing.
    let failed = session.fail(FailureKind::ForeignSignature);
    assert_eq!(repair(&failed), "nothing could be left out");
    session.answer("Hello.", ModelStopReason::EndTurn);
    session.submit("again");
    let failed = session.fail(FailureKind::InvalidRequest);
    assert_eq!(repair(&failed), "it is no longer asked to clear old results");
    session.answer("Hello.", ModelStopReason::EndTurn);
    session.submit("and again");
    let failed = session.fail(FailureKind::InvalidRequest);
    assert_eq!(repair(&failed), "nothing could be left out");
}
