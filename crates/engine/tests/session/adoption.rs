//! A conversation that was held elsewhere.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{Message, MessageId, MessageOrigin};

use crate::engine_session::EngineSession;

#[test]
fn adopted_messages_are_numbered_anew() {
    let mut session = EngineSession::new();
    let said = |text: &str| Message::user_text(MessageId(7), MessageOrigin::User, text);
    session.take(Event::Adopted { messages: vec![said("one"), said("two")] });
    let effects = session.submit("three");
    let request = effects.iter().find_map(|effect| match effect {
        Effect::CallModel(request) => Some(request),
        _ => None,
    });
    let messages = &request.unwrap_or_else(|| panic!("no request: {effects:?}")).messages;
    let texts: Vec<String> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert!(messages.iter().is_sorted_by(|one, next| one.id < next.id), "{messages:?}");
}
