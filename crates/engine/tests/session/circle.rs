//! What a person is asked when the model repeats a call that changes nothing.

use windlass_engine::Effect;

use crate::engine_session::EngineSession;

#[test]
fn the_question_says_how_often_the_call_was_made() {
    let mut session = EngineSession::with_tool();
    session.submit("go");
    for turn in 1..=20 {
        let effects = session.call_tool();
        let asked = effects.iter().find_map(|effect| match effect {
            Effect::AskPermission { question, .. } => Some(&question.why),
            _ => None,
        });
        if let Some(why) = asked {
            let made = format!("{} times", turn - 1);
            assert!(turn > 3 && why.contains(&made), "in turn {turn}: {why}");
            return;
        }
        session.end_tool(&effects, "same");
    }
    panic!("it was never asked");
}
