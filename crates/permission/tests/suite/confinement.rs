//! What a grant is held to, by the reason that let it through.

use serde_json::json;
use windlass_permission::{Confinement, PermissionDecision, Policy, PriorDecision, decide};
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
