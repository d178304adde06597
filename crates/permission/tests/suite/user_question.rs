//! Calls that are a question to a person: asked in every mode, and never answered by anybody else.

use serde_json::{Value, json};
use windlass_permission::{PermissionDecision, Policy, PriorDecision, decide};
use windlass_vocabulary::{EffectClass, PermissionMode};

use crate::case::{Allow, Ask, Deny, Outcome, call, inspection, policy};

const MODES: [PermissionMode; 5] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
];

fn rule_on(policy: &Policy, tool: &str, input: &Value, prior: PriorDecision) -> (Outcome, String) {
    match decide(policy, call(tool, input), &inspection(EffectClass::Pure), prior) {
        PermissionDecision::Allow(_) => (Allow, String::new()),
        PermissionDecision::Ask(question) => {
            let view = question.view();
            assert_eq!(view.call, call(tool, input), "whoever answers sees all of the call");
            assert!(view.suggestions.is_empty(), "no rule can answer it: {view:?}");
            (Ask, view.why.clone())
        }
        PermissionDecision::Deny { why, .. } => (Deny, why),
    }
}

#[test]
fn every_mode_asks_and_without_a_person_says_what_to_do() {
    let plan = json!({"plan": "dig"});
    let question = json!({"questions": []});
    let yourself = "Nobody can be asked here; decide yourself and say what you assumed.";
    let stands = "The plan is ready; nobody can approve it here.";
    type Row<'a> = (&'a str, &'a Value, [Outcome; 5], [Outcome; 5], &'a str);
    let rows: [Row<'_>; 3] = [
        (
            "ExitPlanMode",
            &plan,
            [Ask, Ask, Ask, Deny, Allow],
            [Deny, Deny, Deny, Deny, Allow],
            stands,
        ),
        ("AskUserQuestion", &question, [Ask, Ask, Ask, Deny, Ask], [Deny; 5], yourself),
        // It makes everything stricter, and that needs nobody.
        ("EnterPlanMode", &json!({}), [Allow; 5], [Allow; 5], ""),
    ];
    // Neither a rule nor a hook can say yes in a person's place.
    let tries: [(&[&str], PriorDecision); 3] = [
        (&[], PriorDecision::None),
        (&["+*", "+ExitPlanMode", "+AskUserQuestion"], PriorDecision::None),
        (&[], PriorDecision::Allow),
    ];
    for (tool, input, with, without, words) in rows {
        for (rules, prior) in &tries {
            for (can_ask, expected) in [(true, with), (false, without)] {
                for (mode, expected) in MODES.into_iter().zip(expected) {
                    let policy = Policy { can_ask, ..policy(mode, rules) };
                    let (got, why) = rule_on(&policy, tool, input, prior.clone());
                    let about = format!("{tool} in {mode:?}, {can_ask}, {rules:?}: {why}");
                    assert_eq!(got, expected, "{about}");
                    assert!(got != Deny || why.starts_with(words), "{about}");
                }
            }
        }
        for mode in MODES {
            let policy = policy(mode, &[&format!("-{tool}")]);
            for prior in [PriorDecision::None, PriorDecision::Allow, PriorDecision::Answered] {
                assert_eq!(rule_on(&policy, tool, input, prior).0, Deny, "{tool} in {mode:?}");
            }
        }
    }
}

/// The words for a lonely model stay the same where a rule or a hook wanted the question.
#[test]
fn it_does_not_matter_who_wanted_the_question() {
    let alone =
        |rules| Policy { can_ask: false, ..policy(PermissionMode::BypassPermissions, rules) };
    let hook = PriorDecision::Ask("look first".to_owned());
    for (rules, prior) in [(&["?*"][..], PriorDecision::None), (&[][..], hook)] {
        let (got, why) = rule_on(&alone(rules), "AskUserQuestion", &json!({}), prior);
        assert!(got == Deny && why.contains("decide yourself"), "{why}");
    }
}

#[test]
fn only_who_was_asked_gives_answers_and_is_not_asked_twice() {
    let answered = json!({"questions": [], "answers": {"Which?": "That"}});
    let empty = json!({"questions": [], "answers": {}});
    let ask = || PriorDecision::Ask("look first".to_owned());
    for mode in MODES {
        for prior in [PriorDecision::None, PriorDecision::Allow, ask()] {
            let policy = policy(mode, &["+AskUserQuestion"]);
            let (got, why) = rule_on(&policy, "AskUserQuestion", &answered, prior.clone());
            assert!(got == Deny && why.contains("`answers`"), "{mode:?} {prior:?}: {why}");
            let expected = if mode == PermissionMode::DontAsk { Deny } else { Ask };
            let (got, why) = rule_on(&policy, "AskUserQuestion", &empty, prior);
            assert_eq!((got, why.contains("`answers`")), (expected, false), "{mode:?}: {why}");
        }
        for (tool, input) in
            [("AskUserQuestion", &answered), ("ExitPlanMode", &json!({"plan": "x"}))]
        {
            let (got, why) = rule_on(&policy(mode, &["?*"]), tool, input, PriorDecision::Answered);
            assert_eq!(got, Allow, "{tool} in {mode:?}: {why}");
        }
    }
    // What holds for these holds for every question: it is put once, and forbids as before.
    let edit = json!({"file_path": ".git/config"});
    let changed = |policy: &Policy| {
        let effect = inspection(EffectClass::Effect);
        match decide(policy, call("Edit", &edit), &effect, PriorDecision::Answered) {
            PermissionDecision::Allow(_) => Allow,
            PermissionDecision::Ask(_) => Ask,
            PermissionDecision::Deny { .. } => Deny,
        }
    };
    assert_eq!(changed(&policy(PermissionMode::Default, &["?Edit"])), Allow);
    assert_eq!(changed(&policy(PermissionMode::Default, &["-Edit"])), Deny);
    assert_eq!(changed(&policy(PermissionMode::Plan, &[])), Deny);
}
