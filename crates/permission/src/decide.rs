//! The ruling on one call.
//!
//! In this order, and the first that speaks decides: deny rules; what the mode forbids outright;
//! demands to ask that no allow can answer (ask rules, a hook, critical removals, protected
//! places, commands that hide from a deny rule); allow rules and a hook's yes; what the mode
//! allows by itself. What is left asks, or where nobody can be asked, is denied.

use windlass_vocabulary::{EffectClass, Inspection, Mode, ToolCall};

use crate::demand::{Demand, demand};
use crate::explain;
use crate::granted::{Granted, Question};
use crate::mode::allows_by_itself;
use crate::policy::Policy;
use crate::rule::Rule;
use crate::scope::Does;
use crate::subject::Subject;
use crate::suggest::suggestions;

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
    let subject = Subject::new(policy, &call);
    let cwd = policy.cwd();
    if let Some(problem) = &inspection.problem {
        return Ruling::Deny { call, why: explain::invalid(problem) };
    }
    let touched = |rule: &Rule| {
        rule.touches(&subject, cwd, Does::Deny).map(|part| explain::denied_by_rule(rule, &part))
    };
    if let Some(why) = policy.rules.deny.iter().find_map(touched) {
        return Ruling::Deny { call, why };
    }
    if policy.mode == Mode::Plan && inspection.class != EffectClass::Pure {
        return Ruling::Deny { call, why: explain::denied_by_plan() };
    }
    let allows_hook = opinion == Opinion::Allow;
    if let Some(demand) = demand(policy, &subject, opinion) {
        return ask(policy, call, &demand, Vec::new());
    }
    let by_rule = policy.rules.allow.iter().any(|rule| rule.allows(&subject, &policy.directories));
    let by_mode =
        policy.mode == Mode::BypassPermissions || allows_by_itself(policy, &subject, inspection);
    if by_rule || allows_hook || by_mode {
        return Ruling::Allow(Granted::new(call));
    }
    let demand = Demand::by_default(explain::no_rule(policy, &subject));
    ask(policy, call, &demand, suggestions(policy, &subject))
}

fn ask(policy: &Policy, call: ToolCall, demand: &Demand, suggestions: Vec<String>) -> Ruling {
    if policy.mode == Mode::DontAsk {
        return Ruling::Deny { call, why: explain::dont_ask(demand, &suggestions) };
    }
    if !policy.can_ask {
        return Ruling::Deny { call, why: explain::nobody_to_ask(demand, &suggestions) };
    }
    Ruling::Ask(Question::new(call, demand.why.clone(), suggestions))
}

/// A question no rule can answer: the model goes in circles.
pub fn circle_question(call: ToolCall, why: String) -> Question {
    Question::new(call, why, Vec::new())
}
