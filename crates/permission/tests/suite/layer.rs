//! Settings layers together.

use std::path::Path;

use serde_json::json;
use windlass_permission::layer::{Layer, Merged, Source, merge};
use windlass_permission::{Opinion, Policy};
use windlass_vocabulary::Mode;

use crate::case::{Allow, Ask, Deny, Got, rule_on};

fn layer(source: Source, text: &str) -> Layer<'_> {
    let root = match source {
        Source::User => "/home/u/.windlass",
        _ => "/w/repo",
    };
    Layer { source, name: "settings.json", text, root: Path::new(root), is_trusted: true }
}

fn judge(merged: &Merged, tool: &str, input: &serde_json::Value) -> Got {
    let policy = Policy {
        mode: merged.mode.unwrap_or_default(),
        rules: merged.rules.clone(),
        directories: vec!["/w/repo".into()],
        can_ask: true,
        ..Policy::default()
    };
    rule_on(&policy, tool, input, Opinion::None).0
}

fn bash(merged: &Merged, command: &str) -> Got {
    judge(merged, "Bash", &json!({ "command": command }))
}

#[test]
fn lists_count_together_and_any_deny_wins() {
    let merged = merge(
        &[
            layer(Source::Managed, r#"{"permissions": {"deny": ["Bash(curl:*)"]}}"#),
            layer(Source::User, r#"{"permissions": {"allow": ["Bash(make:*)", "Bash(curl:*)"]}}"#),
            layer(Source::Project, r#"{"permissions": {"ask": ["Bash(make deploy:*)"]}}"#),
            layer(Source::Flag, r#"{"model": "x"}"#),
        ],
        Some("/home/u"),
    );
    assert_eq!(bash(&merged, "make"), Allow);
    assert_eq!(bash(&merged, "make deploy"), Ask);
    assert_eq!(bash(&merged, "curl x"), Deny);
    assert!(merged.problems.is_empty());
}

#[test]
fn the_highest_layer_sets_the_mode() {
    let user = layer(Source::User, r#"{"permissions": {"defaultMode": "acceptEdits"}}"#);
    let managed = layer(Source::Managed, r#"{"permissions": {"defaultMode": "plan"}}"#);
    let both = merge(&[managed.clone(), user.clone()], None);
    assert_eq!(both.mode, Some(Mode::Plan));
    assert_eq!(merge(&[user], None).mode, Some(Mode::AcceptEdits));
    let bypass = layer(Source::User, r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
    let never =
        layer(Source::Managed, r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#);
    let merged = merge(&[bypass, never], None);
    assert!(merged.forbids_bypass && merged.mode.is_none());
}

#[test]
fn what_cannot_be_read_asks_and_never_vanishes() {
    let good = r#"{"permissions": {"allow": ["Bash", "Read", "mcp__s"]}}"#;
    for (text, asks) in [
        ("{", &["Bash", "Read", "mcp__s__t"][..]),
        ("[]", &["Bash", "Read", "mcp__s__t"]),
        (r#"{"permissions": 3}"#, &["Bash", "Read", "mcp__s__t"]),
        (r#"{"permissions": {"deny": "Bash(rm:*)"}}"#, &["Bash", "Read", "mcp__s__t"]),
        (r#"{"permissions": {"deny": [7]}}"#, &["Bash", "Read", "mcp__s__t"]),
        (r#"{"permissions": {"deny": ["Bash(rm"]}}"#, &["Bash"]),
        (r#"{"permissions": {"deny": ["(rm)"]}}"#, &["Bash", "Read", "mcp__s__t"]),
        (r#"{"permissions": {"allow": ["Bash(rm"]}}"#, &[]),
        (r#"{"permissions": {"allow": 3}}"#, &[]),
    ] {
        let merged = merge(&[layer(Source::User, good), layer(Source::Project, text)], None);
        assert!(!merged.problems.is_empty(), "{text}");
        for tool in ["Bash", "Read", "mcp__s__t"] {
            let input = json!({"command": "make", "file_path": "a"});
            let expected = if asks.contains(&tool) { Ask } else { Allow };
            assert_eq!(judge(&merged, tool, &input), expected, "{tool} {text}");
        }
    }
}

#[test]
fn before_trust_a_project_forbids_and_grants_nothing() {
    let text = r#"{"permissions": {"allow": ["Bash"], "deny": ["Bash(rm:*)"],
        "defaultMode": "bypassPermissions", "additionalDirectories": ["/"]}}"#;
    let merged = merge(&[Layer { is_trusted: false, ..layer(Source::Project, text) }], None);
    assert_eq!(bash(&merged, "make"), Ask);
    assert_eq!(bash(&merged, "rm x"), Deny);
    assert!(merged.mode.is_none() && merged.directories.is_empty());
    assert_eq!(merged.problems.len(), 3);
}

#[test]
fn paths_mean_what_they_say_where_they_are_written() {
    let text =
        r#"{"permissions": {"deny": ["Read(/keys/**)", "Read(~/.ssh/**)", "Edit(//etc/**)"]}}"#;
    let merged = merge(&[layer(Source::User, text)], Some("/home/u"));
    let shown: Vec<String> = merged.rules.deny.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["Read(//home/u/.windlass/keys/**)", "Read(//home/u/.ssh/**)", "Edit(//etc/**)"]
    );
}
