//! What a person is asked when the model repeats a call that changes nothing.

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{
    AttemptId, Delta, Json, ModelStopReason, PermissionMode, ToolCall, ToolInspection, ToolOutcome,
    ToolSpec, Usage,
};

use crate::engine_session::EngineSession;

#[test]
fn the_question_says_how_often_the_call_was_made() {
    let mut session = EngineSession::new();
    session.settings.policy.mode = PermissionMode::BypassPermissions;
    session.settings.policy.can_ask = true;
    session.settings.tools = [ToolSpec {
        name: "Read".into(),
        description: "".into(),
        input_schema: Json::from_checked("{}"),
        result_bytes_max: 1_000,
    }]
    .into();
    session.restart();
    session.submit("go");
    for turn in 1..=20 {
        let attempt = AttemptId(turn);
        let call = ToolCall {
            id: format!("c{turn}").as_str().into(),
            name: "Read".into(),
            input: Json::from_checked("{\"f\":\"a\"}"),
            signature: None,
        };
        let inspection = ToolInspection::EXCLUSIVE_EFFECT;
        let delta = Delta::Call { call, inspection };
        let mut effects = session.take(Event::ModelDelta { attempt, delta });
        let (stop, usage) = (ModelStopReason::EndTurn, Usage::default());
        effects.extend(session.take(Event::ModelEnded { attempt, stop, usage }));
        let asked = effects.iter().find_map(|effect| match effect {
            Effect::AskPermission { question, .. } => Some(&question.why),
            _ => None,
        });
        if let Some(why) = asked {
            let made = format!("{} times", turn - 1);
            assert!(turn > 3 && why.contains(&made), "in turn {turn}: {why}");
            return;
        }
        let ticket = effects.iter().find_map(|effect| match effect {
            Effect::StartTool { ticket, .. } => Some(*ticket),
            _ => None,
        });
        let ticket = ticket.unwrap_or_else(|| panic!("nothing started: {effects:?}"));
        let outcome = ToolOutcome::from_text("same".to_owned());
        session.take(Event::ToolEnded { ticket, outcome });
    }
    panic!("it was never asked");
}
