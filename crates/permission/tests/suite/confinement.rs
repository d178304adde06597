//! What a grant is held to, by the reason that let it through.

use serde_json::json;
use windlass_permission::{
    CellSupport, Confinement, PermissionDecision, Policy, PriorDecision, decide,
};
use windlass_vocabulary::{EffectClass, PermissionMode};

use crate::case::{call, inspection, policy};

fn confinement(policy: &Policy, command: &str, prior: PriorDecision) -> Option<Confinement> {
    let call = call("Bash", &json!({ "command": command }));
    match decide(policy, call, &inspection(EffectClass::Effect), prior) {
        PermissionDecision::Allow(granted) => Some(granted.confinement()),
        PermissionDecision::Ask(question) => {
            assert_eq!(question.allow().confinement(), Confinement::Unconfined);
            None
        }
        PermissionDecision::Deny { .. } => None,
    }
}

#[test]
fn a_request_to_leave_the_cell_asks_where_there_is_one() {
    use PermissionMode::{Default, DontAsk, Plan};
    let input = json!({ "command": "ls", "dangerouslyDisableSandbox": true });
    for (cell, mode, expected) in [
        (CellSupport::Available, Default, crate::case::Ask),
        (CellSupport::Available, Plan, crate::case::Ask),
        (CellSupport::Available, DontAsk, crate::case::Deny),
        (CellSupport::Missing, Default, crate::case::Allow),
        (CellSupport::Unknown, Default, crate::case::Allow),
    ] {
        let policy = Policy { cell, ..policy(mode, &[]) };
        let (outcome, words) = crate::case::rule_on(&policy, "Bash", &input, PriorDecision::None);
        assert_eq!(outcome, expected, "{cell:?} {mode:?} {words}");
    }
}

#[test]
fn what_runs_unasked_is_held_to_what_it_was_judged_to_do() {
    use Confinement::{ReadOnly, Unconfined, WriteInsideRoots};
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
    for (mode, rules, command, expected) in [
        (Default, &[][..], "ls -la", Some(ReadOnly)),
        (Default, &[], "cat a.txt | grep x | head -3 2>/dev/null", Some(ReadOnly)),
        (Plan, &[], "git status", Some(ReadOnly)),
        (DontAsk, &[], "cat a.txt", Some(ReadOnly)),
        (AcceptEdits, &[], "cat a.txt", Some(ReadOnly)),
        (AcceptEdits, &[], "mkdir -p a/b && touch a/b/c", Some(WriteInsideRoots)),
        (AcceptEdits, &[], "echo x > out.txt", Some(WriteInsideRoots)),
        (Default, &[], "echo x > out.txt", None),
        (Default, &["+Edit(out.txt)"], "echo x > out.txt", Some(WriteInsideRoots)),
        (Default, &["+Edit(//srv/log/**)"], "echo x > /srv/log/y", Some(Unconfined)),
        (AcceptEdits, &["+Edit(//srv/log/**)"], "cp a.txt /srv/log/y", Some(Unconfined)),
        (Default, &["+Bash(make:*)"], "make test", Some(Unconfined)),
        (Default, &["+Bash(make:*)"], "make test | tail -3", Some(Unconfined)),
        (Default, &["+Bash"], "ls", Some(Unconfined)),
        (BypassPermissions, &[], "ls", Some(Unconfined)),
    ] {
        let held = confinement(&policy(mode, rules), command, PriorDecision::None);
        assert_eq!(held, expected, "{mode:?} {rules:?} {command}");
    }
    let hook = confinement(&policy(Default, &[]), "ls", PriorDecision::Allow);
    assert_eq!(hook, Some(Unconfined));
}

/// What a rule lets run is free, and what runs beside it only because it reads is held by itself.
#[test]
fn programs_beside_a_ruled_one_are_held_one_by_one() {
    let rules = &["+Bash(make:*)"][..];
    for (command, expected) in [
        ("make", &[][..]),
        ("make | grep x | head -3", &["grep", "head"]),
        ("make; echo done; cd sub; test -f a", &[]),
        ("make && LC_ALL=C sort a && command cat b", &["sort", "cat"]),
        ("time timeout 5 wc -l a; make", &["timeout"]),
        ("echo \"$(cat a)\" `head b`; make", &["cat", "head"]),
        ("f() { cat a; }; make; f", &["cat"]),
        (
            "if git diff --quiet; then make; else find . -name x | xargs wc; fi",
            &["git", "find", "xargs"],
        ),
        ("make <<E\n$(cat a)\nE", &["cat"]),
        ("<a cat | make", &["cat"]),
        ("ls {a,b}; make", &["ls"]),
        ("ls; cat a", &[]),
    ] {
        let policy =
            Policy { cell: CellSupport::Available, ..policy(PermissionMode::Default, rules) };
        let call = call("Bash", &json!({ "command": command }));
        let decided = decide(&policy, call, &inspection(EffectClass::Effect), PriorDecision::None);
        let PermissionDecision::Allow(granted) = decided else { panic!("{command}: {decided:?}") };
        let held: Vec<&str> = granted.held_words().iter().map(|at| &command[*at..]).collect();
        assert_eq!(held.len(), expected.len(), "{command}: {held:?}");
        assert!(held.iter().zip(expected).all(|(at, word)| at.starts_with(word)), "{held:?}");
        let policy = Policy { cell: CellSupport::Missing, ..policy };
        if let PermissionDecision::Allow(granted) = decide(
            &policy,
            crate::case::call("Bash", &json!({ "command": command })),
            &inspection(EffectClass::Effect),
            PriorDecision::None,
        ) {
            assert!(granted.held_words().is_empty(), "{command}");
        }
    }
}

/// The environment of a session holds tokens, and that of a cell does not.
#[test]
fn the_environment_is_listed_in_a_cell_only() {
    for (cell, rules, command, expected) in [
        (CellSupport::Available, &[][..], "export", Some(Confinement::ReadOnly)),
        (CellSupport::Available, &[], "export CI=1", Some(Confinement::ReadOnly)),
        (CellSupport::Missing, &[], "export", None),
        (CellSupport::Missing, &[], "env", None),
        (CellSupport::Missing, &[], "export CI=1", Some(Confinement::ReadOnly)),
        (CellSupport::Available, &["+Bash(make:*)"], "make; export", None),
        (CellSupport::Available, &["+Bash(make:*)"], "make; env", Some(Confinement::Unconfined)),
    ] {
        let policy = Policy { cell, ..policy(PermissionMode::Default, rules) };
        let held = confinement(&policy, command, PriorDecision::None);
        assert_eq!(held, expected, "{cell:?} {rules:?} {command}");
    }
}

/// What a rule for files lets a command read, the cell shows it although it hides the home.
#[test]
fn the_grant_says_what_rules_let_it_read() {
    for (rules, command, expected) in [
        (
            &["+Read(//home/u/notes/*.md)"][..],
            "cat /home/u/notes/a.md",
            &["/home/u/notes/a.md"][..],
        ),
        (&["+Read(//home/u/notes/**)"], "grep x a < /home/u/notes/b", &["/home/u/notes/b"]),
        (&["+Read(//home/u/notes/**)"], "cat a", &[]),
        (&["+Read(//home/u/notes/**)"], "find . -name x -exec cat {} +", &[]),
        (&["+Read"], "cat /home/u/x | head", &["/home/u/x"]),
    ] {
        let policy = policy(PermissionMode::Default, rules);
        let call = call("Bash", &json!({ "command": command }));
        let decided = decide(&policy, call, &inspection(EffectClass::Effect), PriorDecision::None);
        let PermissionDecision::Allow(granted) = decided else { panic!("{command}: {decided:?}") };
        let is_expected = |path: &&std::path::PathBuf| !path.starts_with("/w");
        let readable: Vec<_> = granted.readable().iter().filter(is_expected).collect();
        assert_eq!(readable.len(), expected.len(), "{command}: {readable:?}");
        assert!(readable.iter().zip(expected).all(|(one, two)| one.ends_with(two)), "{readable:?}");
        assert!(granted.readable().iter().any(|path| path.ends_with("repo")), "{command}");
    }
}
