//! The ruling on one call.

use windlass_vocabulary::{EffectClass, Inspection, Mode, ToolCall};

use crate::granted::{Granted, Question};
use crate::policy::Policy;

/// What may happen with a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may run; here is the proof.
    Allow(Granted<ToolCall>),
    /// Somebody must be asked.
    Ask(Question),
    /// It may not run.
    Deny {
        /// The call, handed back.
        call: ToolCall,
        /// Why, for people and for the model.
        why: String,
    },
}

/// What a hook said before the rules were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing.
    #[default]
    None,
    /// Run it without a question.
    Allow,
    /// Ask, whatever the rules say.
    Ask(String),
}

/// Rules on one call.
pub fn decide(
    policy: &Policy,
    call: ToolCall,
    inspection: &Inspection,
    opinion: Opinion,
) -> Ruling {
    let _ = opinion;
    match policy.mode {
        Mode::BypassPermissions => Ruling::Allow(Granted::new(call)),
        _ if inspection.class == EffectClass::Pure => Ruling::Allow(Granted::new(call)),
        _ if policy.can_ask => Ruling::Ask(Question::new(
            call,
            "no rule allows it".to_owned(),
            Vec::new(),
        )),
        _ => Ruling::Deny {
            call,
            why: "no rule allows it and nobody can be asked".to_owned(),
        },
    }
}

/// A question no rule can answer: the model goes in circles.
pub fn circle_question(call: ToolCall, why: String) -> Question {
    Question::new(call, why, Vec::new())
}
