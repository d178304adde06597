//! What each mode does with each kind of call, with and without a user to ask.

use serde_json::{Value, json};
use windlass_permission::{PermissionDecision, Policy, PriorDecision, decide};
use windlass_vocabulary::{PermissionMode, ToolInspection};

use crate::case::{Allow, Ask, Deny, Outcome, call, policy, rule_on};

const MODES: [PermissionMode; 5] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
];

#[test]
fn every_mode_with_every_kind_of_call() {
    let edit = |path: &str| ("Edit", json!({"file_path": path}));
    let bash = |command: &str| ("Bash", json!({"command": command}));
    // Rules, call, then what each mode says: default, acceptEdits, plan, dontAsk, bypass; first
    // with a user to ask, then without.
    type Row<'a> = (&'a [&'a str], (&'a str, Value), [Outcome; 5], [Outcome; 5]);
    let rows: Vec<Row<'_>> = vec![
        (
            &[],
            ("Read", json!({"file_path": "a"})),
            [Allow, Allow, Allow, Allow, Allow],
            [Allow, Allow, Allow, Allow, Allow],
        ),
        (
            &[],
            ("Read", json!({"file_path": "/etc/a"})),
            [Ask, Ask, Ask, Deny, Allow],
            [Deny, Deny, Deny, Deny, Allow],
        ),
        (&[], edit("a"), [Ask, Allow, Deny, Deny, Allow], [Deny, Allow, Deny, Deny, Allow]),
        (&[], edit("/etc/a"), [Ask, Ask, Deny, Deny, Allow], [Deny, Deny, Deny, Deny, Allow]),
        (
            &["+Edit"],
            edit("a"),
            [Allow, Allow, Deny, Allow, Allow],
            [Allow, Allow, Deny, Allow, Allow],
        ),
        (
            &["-Edit(a)", "+Edit"],
            edit("a"),
            [Deny, Deny, Deny, Deny, Deny],
            [Deny, Deny, Deny, Deny, Deny],
        ),
        (
            &["?Edit(a)", "+Edit"],
            edit("a"),
            [Ask, Ask, Deny, Deny, Ask],
            [Deny, Deny, Deny, Deny, Deny],
        ),
        (
            &["+Edit"],
            edit(".git/config"),
            [Ask, Ask, Deny, Deny, Ask],
            [Deny, Deny, Deny, Deny, Deny],
        ),
        (&[], bash("make"), [Ask, Ask, Deny, Deny, Allow], [Deny, Deny, Deny, Deny, Allow]),
        (&["+Bash"], bash("rm -rf /"), [Ask, Ask, Deny, Deny, Ask], [Deny, Deny, Deny, Deny, Deny]),
        (
            &["-Bash(rm:*)", "+Bash"],
            bash("$X"),
            [Ask, Ask, Deny, Deny, Ask],
            [Deny, Deny, Deny, Deny, Deny],
        ),
    ];
    for (rules, (tool, input), with, without) in rows {
        for (can_ask, expected) in [(true, with), (false, without)] {
            for (mode, expected) in MODES.into_iter().zip(expected) {
                let policy = Policy { can_ask, ..policy(mode, rules) };
                let (got, why) = rule_on(&policy, tool, &input, PriorDecision::None);
                assert_eq!(
                    got, expected,
                    "{mode:?}, can ask {can_ask}: {rules:?} {tool} {input}: {why}"
                );
                assert!(got == Allow || why.len() > 20, "no reason given");
            }
        }
    }
}

#[test]
fn a_hook_makes_it_stricter_or_answers_what_no_rule_demands() {
    let ask = || PriorDecision::Ask("look first".to_owned());
    let cases: &[(&[&str], &str, PriorDecision, Outcome)] = &[
        (&[], "make", PriorDecision::Allow, Allow),
        (&["-Bash(make)"], "make", PriorDecision::Allow, Deny),
        (&["?Bash(make)"], "make", PriorDecision::Allow, Ask),
        (&[], "rm -rf /", PriorDecision::Allow, Ask),
        (&[], "touch .git/x", PriorDecision::Allow, Ask),
        (&["+Bash"], "make", ask(), Ask),
        (&[], "ls", ask(), Ask),
        (&["-Bash(make)"], "make", ask(), Deny),
    ];
    for (rules, command, prior, expected) in cases {
        let input = json!({ "command": command });
        let (got, why) =
            rule_on(&policy(PermissionMode::Default, rules), "Bash", &input, prior.clone());
        assert_eq!(got, *expected, "{rules:?} {command} {prior:?}: {why}");
    }
    let input = json!({"command": "ls"});
    assert_eq!(
        rule_on(&policy(PermissionMode::BypassPermissions, &[]), "Bash", &input, ask()).0,
        Ask
    );
    assert_eq!(
        rule_on(
            &policy(PermissionMode::Plan, &[]),
            "Bash",
            &json!({"command": "make"}),
            PriorDecision::Allow
        )
        .0,
        Deny
    );
}

#[test]
fn reasons_name_what_decided_and_what_would_help() {
    let alone = |rules: &[&str], mode| Policy { can_ask: false, ..policy(mode, rules) };
    let bash = |command: &str| json!({ "command": command });
    let cases: Vec<(Policy, &str, Value, &[&str])> = vec![
        (
            policy(PermissionMode::Default, &["-Bash(rm:*)"]),
            "Bash",
            bash("ls; rm -r x"),
            &["deny rule `Bash(rm:*)`", "`rm -r x`"],
        ),
        (
            policy(PermissionMode::Default, &["?Edit(a)"]),
            "Edit",
            json!({"file_path": "a"}),
            &["ask rule `Edit(a)`", "`/w/repo/a`", "[]"],
        ),
        (
            policy(PermissionMode::Default, &[]),
            "Bash",
            bash("cargo test --all"),
            &["No allow rule", "default mode asks", "[\"Bash(cargo test:*)\"]"],
        ),
        (
            policy(PermissionMode::Default, &[]),
            "Bash",
            bash("make all && ls"),
            &["`make all` (not known to be read-only)", "[\"Bash(make all:*)\"]"],
        ),
        (
            policy(PermissionMode::Default, &["+Bash(make:*)"]),
            "Bash",
            bash("touch a && ls && make all && npm run b && touch a"),
            &["asks: `touch a` (it changes files); `npm run b` (not known", "read-only)."],
        ),
        (
            policy(PermissionMode::Default, &[]),
            "Bash",
            bash("npm run 1; npm run 2; npm run 3; npm run 4; npm run 5; npm run 6; npm run 7"),
            &["`npm run 5` (not known to be read-only); and 2 more."],
        ),
        (
            policy(PermissionMode::Default, &[]),
            "Edit",
            json!({"file_path": "/w/repo/src/a.rs"}),
            &["changing `/w/repo/src/a.rs`", "[\"Edit(./src/**)\"]"],
        ),
        (
            policy(PermissionMode::Default, &[]),
            "Read",
            json!({"file_path": "/etc/hosts"}),
            &["outside the working directories", "[\"Read(//etc/**)\"]"],
        ),
        (
            alone(&[], PermissionMode::Default),
            "Edit",
            json!({"file_path": "a"}),
            &[
                "Nobody can be asked",
                "`Edit(./**)` (--allowedTools",
                "--permission-mode acceptEdits",
            ],
        ),
        (
            alone(&[], PermissionMode::Default),
            "Bash",
            bash("npm run build"),
            &["Nobody can be asked", "`Bash(npm run build:*)` (--allowedTools"],
        ),
        (
            policy(PermissionMode::DontAsk, &[]),
            "mcp__s__write",
            json!({}),
            &["In dontAsk mode", "`mcp__s__write` (--allowedTools"],
        ),
        (policy(PermissionMode::Plan, &[]), "Bash", bash("make"), &["Plan mode"]),
    ];
    for (policy, tool, input, expected) in cases {
        let (_, why) = rule_on(&policy, tool, &input, PriorDecision::None);
        for words in expected {
            assert!(why.contains(words), "{words} is not in: {why}");
        }
    }
    let broken = ToolInspection::from_problem("no such tool");
    let ruling = decide(
        &policy(PermissionMode::BypassPermissions, &[]),
        call("X", &json!({})),
        &broken,
        PriorDecision::None,
    );
    assert!(matches!(ruling, PermissionDecision::Deny { why, .. } if why.contains("no such tool")));
}
