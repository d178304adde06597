//! The ruling on one call.
//!
//! In this order, and the first that speaks decides: deny rules; what the mode forbids outright;
//! demands to ask that no allow can answer (ask rules, a hook, a tool that is not what it was,
//! critical removals, protected places, commands that hide from a deny rule); allow rules and a hook's yes; what the mode
//! allows by itself. What is left asks, or where nobody can be asked, is denied.

use windlass_vocabulary::{Inspection, Mode, ToolCall};

use crate::command::Touch;
use crate::demand::{Demand, Outside, answers_itself, asks_outside, demand};
use crate::explain;
use crate::granted::{Granted, Question};
use crate::ground::Ground;
use crate::host::Reach;
use crate::judge::{Cover, Judge, names};
use crate::mode::{allows_by_itself, is_pure};
use crate::policy::Policy;
use crate::rule::{Rule, Rules};
use crate::scope::Does;
use crate::subject::{Matter, Subject};
use crate::suggest::suggestions;
use crate::world::{Remembered, World};

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

/// What a hook, or whoever was asked, said before the rules were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing.
    #[default]
    None,
    /// Run it without a question.
    Allow,
    /// Ask, whatever the rules say.
    Ask(String),
    /// Not a hook's: whoever was asked about the call said yes to it with this input. Nobody is
    /// asked twice; what is forbidden stays forbidden.
    Answered,
}

/// A ruling before it is put into words for the loop.
#[derive(Debug)]
pub(crate) enum Verdict {
    Allow { why: String, rule: Option<String> },
    Ask { demand: Demand },
    Deny { why: String, rule: Option<String> },
}

/// Rules on one call. Links are followed as far as the inspection has seen them.
pub fn decide(
    policy: &Policy,
    call: ToolCall,
    inspection: &Inspection,
    opinion: Opinion,
) -> Ruling {
    decide_in(policy, call, inspection, opinion, &Remembered(&inspection.seen))
}

/// Rules on one call in a world where links can be followed.
pub fn decide_in(
    policy: &Policy,
    call: ToolCall,
    inspection: &Inspection,
    opinion: Opinion,
    world: &dyn World,
) -> Ruling {
    let ground = Ground::new(policy, world);
    let subject = Subject::new(policy, &ground, &call);
    match verdict(policy, &ground, &subject, inspection, opinion) {
        Verdict::Allow { .. } => Ruling::Allow(Granted::new(call)),
        Verdict::Deny { why, .. } => Ruling::Deny { call, why },
        Verdict::Ask { demand } => {
            let suggestions = match demand.is_default {
                true => suggestions(policy, &ground, &subject),
                false => Vec::new(),
            };
            if policy.mode == Mode::DontAsk {
                return Ruling::Deny {
                    call,
                    why: explain::dont_ask(&subject, &demand, &suggestions),
                };
            }
            if !policy.can_ask {
                return Ruling::Deny {
                    call,
                    why: explain::nobody_to_ask(&subject, &demand, &suggestions),
                };
            }
            Ruling::Ask(Question::new(call, demand.why, suggestions))
        }
    }
}

pub(crate) fn verdict(
    policy: &Policy,
    ground: &Ground<'_>,
    subject: &Subject,
    inspection: &Inspection,
    opinion: Opinion,
) -> Verdict {
    if let Some(problem) = &inspection.problem {
        return Verdict::Deny { why: explain::invalid(problem), rule: None };
    }
    let opinion = match (&inspection.doubt, opinion) {
        (Some(why), Opinion::None | Opinion::Allow) => Opinion::Ask(why.as_ref().clone()),
        (_, opinion) => opinion,
    };
    let names = match &subject.matter {
        Matter::Command(command) => names(command),
        _ => Vec::new(),
    };
    let denial = denied(policy, subject, &names);
    if let Some((Touch::Yes, rule, what)) = &denial {
        let why = explain::denied_by_rule(rule, what);
        return Verdict::Deny { why, rule: Some(rule.to_string()) };
    }
    let perhaps = denial.map(|(_, rule, what)| (rule, what));
    if let Matter::Address(target) = &subject.matter
        && target.reach() == Reach::Metadata
    {
        return Verdict::Deny { why: explain::metadata_address(&target.url), rule: None };
    }
    if policy.mode == Mode::Plan && !is_pure(subject, inspection) {
        return Verdict::Deny { why: explain::denied_by_plan(), rule: None };
    }
    if opinion != Opinion::Answered && answers_itself(subject) {
        return Verdict::Deny { why: explain::answered_itself(), rule: None };
    }
    let outside = asks_outside(policy, subject);
    if outside == Outside::Refused {
        return Verdict::Deny { why: explain::not_outside(), rule: None };
    }
    let allows_hook = matches!(opinion, Opinion::Allow | Opinion::Answered);
    if let Some(demand) = demand(policy, ground, subject, &names, perhaps, opinion) {
        return Verdict::Ask { demand };
    }
    let cwd = policy.cwd();
    if let Some(rule) = policy.rules.allow.iter().find(|rule| rule.allows(subject, cwd)) {
        return Verdict::Allow {
            why: explain::allowed_by_rule(rule),
            rule: Some(rule.to_string()),
        };
    }
    let by_mode = allows_by_itself(policy, ground, subject, inspection);
    if allows_hook || policy.mode == Mode::BypassPermissions || by_mode {
        return Verdict::Allow { why: explain::allowed_by_mode(policy, allows_hook), rule: None };
    }
    if outside == Outside::No && policy.held.as_ref().is_some_and(|held| held.runs_unasked) {
        return Verdict::Allow { why: explain::held(), rule: None };
    }
    let mut why = None;
    if let Matter::Command(command) = &subject.matter {
        match all_parts(policy, ground, command) {
            Ok(rule) => {
                return Verdict::Allow { why: explain::allowed_parts(rule.as_deref()), rule };
            }
            Err(reason) => why = Some(reason),
        }
    }
    let demand = Demand::by_default(explain::no_rule(policy, ground, subject, why.as_deref()));
    Verdict::Ask { demand }
}

/// Does this rule speak of the call, read as a deny rule is read: what might be meant is meant? For
/// those who want to know before anything is decided.
#[must_use]
pub fn speaks_of(rule: &Rule, policy: &Policy, call: &ToolCall, world: &dyn World) -> bool {
    let rules = Rules { deny: vec![rule.clone()], ..Rules::default() };
    let policy = Policy { rules, ..policy.clone() };
    let ground = Ground::new(&policy, world);
    let subject = Subject::new(&policy, &ground, call);
    let (names, is_doubtful) = match &subject.matter {
        Matter::Command(command) => (names(command), !command.script.doubts.is_empty()),
        Matter::Unreadable => (Vec::new(), true),
        _ => (Vec::new(), false),
    };
    denied(&policy, &subject, &names).is_some() || is_doubtful && rule.tool == subject.tool
}

/// The deny rule that speaks of the call, and of what; the first that does so for certain, or else
/// the first that may.
fn denied<'p>(
    policy: &'p Policy,
    subject: &Subject,
    names: &[&str],
) -> Option<(Touch, &'p Rule, String)> {
    let mut perhaps = None;
    for rule in &policy.rules.deny {
        let Some(spoken) = rule.touches(subject, policy.cwd(), Does::Deny, names) else { continue };
        if spoken.touch == Touch::Yes {
            return Some((Touch::Yes, rule, spoken.what));
        }
        perhaps = perhaps.or(Some((spoken.touch, rule, spoken.what)));
    }
    perhaps
}

/// May every part of the command run? Tells the first rule that was needed, or which parts are in the
/// way, and why.
fn all_parts(
    policy: &Policy,
    ground: &Ground<'_>,
    command: &crate::command::Command,
) -> Result<Option<String>, String> {
    if let Some(doubt) = command.script.doubts.first() {
        return Err(explain::doubt(doubt));
    }
    let judge = Judge::new(policy, ground, command);
    let (mut first, mut open) = (None, Vec::new());
    for part in command.own_parts() {
        match judge.part(part) {
            Ok(Cover::Rule(rule)) => first = first.or(Some(rule)),
            Ok(_) => {}
            Err(why) => open.push(explain::part_not_covered(&part.text, &why)),
        }
    }
    match open.is_empty() {
        true => Ok(first),
        false => Err(explain::parts_not_covered(open)),
    }
}

/// A question no rule can answer: the model goes in circles.
pub fn circle_question(call: ToolCall, why: String) -> Question {
    Question::new(call, why, Vec::new())
}
