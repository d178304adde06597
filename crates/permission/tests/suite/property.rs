//! Laws that hold for every policy and every call.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use windlass_permission::{PermissionDecision, Policy, PriorDecision, Rule, decide};
use windlass_vocabulary::{EffectClass, PermissionMode};

use crate::case::{Allow, Ask, Deny, Outcome, call, inspection, policy};

fn words() -> impl Strategy<Value = String> {
    select(vec![
        "rm", "ls", "git", "push", "-rf", "x", "src/a", "/etc", "/", "..", ".git", ".env", "sudo",
        "$X", "*", "'a b'", "\"c\"", "bash", "-c", "'rm x'", ";", "&&", "|", ">", "$(rm x)", "\n",
        "A=1", "CI=1", "timeout", "5", "find", "-exec", "cat", "(", ")", "{", "}", "\\", "'", "`",
        "<<E", "E",
    ])
    .prop_map(str::to_owned)
}

fn commands() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(words(), 1..7).prop_map(|words| words.join(" ")),
        "\\PC{0,40}",
    ]
}

fn rules() -> impl Strategy<Value = String> {
    let bash = prop::collection::vec(words(), 1..3).prop_map(|words| words.join(" "));
    let content =
        (bash, select(vec!["", ":*", " *"])).prop_map(|(text, end)| format!("{text}{end}"));
    let path = select(vec!["src/**", ".env", "**", "//etc/**", "~/x", "./a", "*.rs", ".git/**"]);
    prop_oneof![
        content.prop_map(|content| format!("Bash({content})")),
        path.clone().prop_map(|path| format!("Edit({path})")),
        path.prop_map(|path| format!("Read({path})")),
        select(vec!["Bash", "Edit", "Read", "*", "mcp__s", "mcp__*", "Other(size:big)"])
            .prop_map(str::to_owned),
    ]
}

fn calls() -> impl Strategy<Value = (String, Value, EffectClass)> {
    let path = select(vec!["a", "src/a.rs", ".env", ".git/x", "/etc/x", "/home/u/x", "../x", ""]);
    let class = select(vec![EffectClass::Pure, EffectClass::Effect]);
    prop_oneof![
        3 => (commands(), class.clone())
            .prop_map(|(text, class)| ("Bash".to_owned(), json!({ "command": text }), class)),
        2 => (select(vec!["Read", "Edit", "Write", "Grep"]), path, class.clone()).prop_map(
            |(tool, path, class)| (tool.to_owned(), json!({"file_path": path, "path": path}), class)
        ),
        1 => (select(vec!["mcp__s__t", "Other"]), class)
            .prop_map(|(tool, class)| (tool.to_owned(), json!({"size": "big"}), class)),
    ]
}

fn policies() -> impl Strategy<Value = Policy> {
    let some = || prop::collection::vec(rules(), 0..3);
    let modes = vec![
        PermissionMode::Default,
        PermissionMode::AcceptEdits,
        PermissionMode::Plan,
        PermissionMode::DontAsk,
        PermissionMode::BypassPermissions,
    ];
    (select(modes), some(), some(), some(), any::<bool>()).prop_map(
        |(mode, allow, ask, deny, can_ask)| {
            let read =
                |texts: Vec<String>| texts.iter().map(|text| Rule::parse(text).unwrap()).collect();
            let mut policy = policy(mode, &[]);
            policy.rules.allow = read(allow);
            policy.rules.ask = read(ask);
            policy.rules.deny = read(deny);
            policy.can_ask = can_ask;
            policy
        },
    )
}

fn prior_decisions() -> impl Strategy<Value = PriorDecision> {
    select(vec![PriorDecision::None, PriorDecision::Allow, PriorDecision::Ask("hm".to_owned())])
}

fn judge(
    policy: &Policy,
    (tool, input, class): &(String, Value, EffectClass),
    prior: &PriorDecision,
) -> (Outcome, Vec<String>) {
    match decide(policy, call(tool, input), &inspection(*class), prior.clone()) {
        PermissionDecision::Allow(_) => (Allow, Vec::new()),
        PermissionDecision::Ask(question) => (Ask, question.view().suggestions.clone()),
        PermissionDecision::Deny { why, .. } => {
            assert!(!why.is_empty());
            (Deny, Vec::new())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_further_deny_or_ask_rule_never_loosens(
        policy in policies(), call in calls(), prior in prior_decisions(), rule in rules(),
    ) {
        let before = judge(&policy, &call, &prior).0;
        let mut denies = policy.clone();
        denies.rules.deny.push(Rule::parse(&rule).unwrap());
        prop_assert!(judge(&denies, &call, &prior).0 >= before);
        let mut asks = policy;
        asks.rules.ask.push(Rule::parse(&rule).unwrap());
        prop_assert!(judge(&asks, &call, &prior).0 >= before);
    }

    #[test]
    fn what_a_rule_denies_no_allow_and_no_hook_lifts(
        policy in policies(), call in calls(), extra in prop::collection::vec(rules(), 1..4),
    ) {
        // With a user to ask and in these modes only a deny rule denies.
        let mode = if policy.mode == PermissionMode::DontAsk { PermissionMode::Default } else { policy.mode };
        let policy = Policy { mode, can_ask: true, ..policy };
        let mut allows = policy.clone();
        allows.rules.allow.extend(extra.iter().map(|text| Rule::parse(text).unwrap()));
        if judge(&policy, &call, &PriorDecision::None).0 == Deny {
            prop_assert_eq!(judge(&allows, &call, &PriorDecision::None).0, Deny);
            prop_assert_eq!(judge(&allows, &call, &PriorDecision::Allow).0, Deny);
        }
    }

    #[test]
    fn a_further_allow_rule_never_tightens(
        policy in policies(), call in calls(), prior in prior_decisions(), rule in rules(),
    ) {
        let before = judge(&policy, &call, &prior).0;
        let mut allows = policy;
        allows.rules.allow.push(Rule::parse(&rule).unwrap());
        prop_assert!(judge(&allows, &call, &prior).0 <= before);
    }

    #[test]
    fn with_nobody_to_ask_nothing_is_asked_and_nothing_becomes_free(
        policy in policies(), call in calls(), prior in prior_decisions(),
    ) {
        let with = judge(&Policy { can_ask: true, ..policy.clone() }, &call, &prior).0;
        let without = judge(&Policy { can_ask: false, ..policy.clone() }, &call, &prior).0;
        prop_assert_ne!(without, Ask);
        let is_bypass = policy.mode == PermissionMode::BypassPermissions;
        prop_assert!(without >= with || is_bypass, "{:?} {:?}", with, without);
        if policy.mode == PermissionMode::DontAsk {
            prop_assert_ne!(with, Ask);
        }
    }

    #[test]
    fn suggested_rules_allow_the_call(policy in policies(), call in calls()) {
        let (got, suggestions) = judge(&policy, &call, &PriorDecision::None);
        if !suggestions.is_empty() {
            prop_assert_eq!(got, Ask);
            let mut taught = policy;
            taught.rules.allow.extend(suggestions.iter().map(|text| Rule::parse(text).unwrap()));
            prop_assert_eq!(judge(&taught, &call, &PriorDecision::None).0, Allow, "{:?}", suggestions);
        }
    }
}
