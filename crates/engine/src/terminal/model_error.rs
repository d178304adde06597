//! The call failed for good.
//!
//! Owes the transcript  nothing: no call of a failed answer is in the transcript.
//! Tells the user       the provider's own words; stop-failure hooks hear of it and are not waited for.

use alloc::string::String;
use windlass_vocabulary::{HookPoint, Role};

use super::Owed;
use crate::effect::{Effect, HookSubject};
use crate::step::Loop;

pub(super) fn model_error(turn: &mut Loop<'_>) -> Owed {
    let failure = turn.withheld_failure();
    let words = failure.as_ref().map_or("the model call failed", |f| f.message.as_str());
    let why: String = words.into();
    if turn.settings.hooks.stop_failure {
        let mut said = turn.state.transcript.messages().rev();
        let answer = said.find(|message| message.role == Role::Assistant);
        let answer = answer.map(|message| message.text()).unwrap_or_default();
        turn.effects.push(Effect::RunHook {
            ticket: None,
            point: HookPoint::StopFailure,
            subject: HookSubject::Failure {
                why: why.clone(),
                kind: failure.as_ref().map(|failure| failure.kind),
                answer,
            },
        });
    }
    Owed { outcome: None, why, failure }
}
