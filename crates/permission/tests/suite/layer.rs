//! Settings layers together.

use std::path::Path;

use serde_json::json;
use windlass_permission::permission_layer::{
    MergedPermissions, PermissionLayer, SettingsSource, merge_permission_layers,
};
use windlass_permission::{Policy, PriorDecision};
use windlass_vocabulary::PermissionMode;

use crate::case::{Allow, Ask, Deny, Outcome, rule_on};

fn layer(source: SettingsSource, text: &str) -> PermissionLayer<'_> {
    let root = match source {
        SettingsSource::User => "/home/u/.windlass",
        _ => "/w/repo",
    };
    PermissionLayer { source, name: "settings.json", text, root: Path::new(root), is_trusted: true }
}

fn judge(merged: &MergedPermissions, tool: &str, input: &serde_json::Value) -> Outcome {
    let policy = Policy {
        mode: merged.mode.unwrap_or_default(),
        rules: merged.rules.clone(),
        directories: vec!["/w/repo".into()],
        can_ask: true,
        ..Policy::default()
    };
    rule_on(&policy, tool, input, PriorDecision::None).0
}

fn bash(merged: &MergedPermissions, command: &str) -> Outcome {
    judge(merged, "Bash", &json!({ "command": command }))
}

#[test]
fn lists_count_together_and_any_deny_wins() {
    let merged = merge_permission_layers(
        &[
            layer(SettingsSource::Managed, r#"{"permissions": {"deny": ["Bash(curl:*)"]}}"#),
            layer(
                SettingsSource::User,
                r#"{"permissions": {"allow": ["Bash(make:*)", "Bash(curl:*)"]}}"#,
            ),
            layer(SettingsSource::Project, r#"{"permissions": {"ask": ["Bash(make deploy:*)"]}}"#),
            layer(SettingsSource::Flag, r#"{"model": "x"}"#),
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
    let user = layer(SettingsSource::User, r#"{"permissions": {"defaultMode": "acceptEdits"}}"#);
    let managed = layer(SettingsSource::Managed, r#"{"permissions": {"defaultMode": "plan"}}"#);
    let both = merge_permission_layers(&[managed.clone(), user.clone()], None);
    assert_eq!(both.mode, Some(PermissionMode::Plan));
    assert_eq!(merge_permission_layers(&[user], None).mode, Some(PermissionMode::AcceptEdits));
    let bypass =
        layer(SettingsSource::User, r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
    let never = layer(
        SettingsSource::Managed,
        r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#,
    );
    let merged = merge_permission_layers(&[bypass, never], None);
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
        let merged = merge_permission_layers(
            &[layer(SettingsSource::User, good), layer(SettingsSource::Project, text)],
            None,
        );
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
    let merged = merge_permission_layers(
        &[PermissionLayer { is_trusted: false, ..layer(SettingsSource::Project, text) }],
        None,
    );
    assert_eq!(bash(&merged, "make"), Ask);
    assert_eq!(bash(&merged, "rm x"), Deny);
    assert!(merged.mode.is_none() && merged.directories.is_empty());
    assert_eq!(merged.problems.len(), 3);
}

#[test]
fn paths_mean_what_they_say_where_they_are_written() {
    let text =
        r#"{"permissions": {"deny": ["Read(/keys/**)", "Read(~/.ssh/**)", "Edit(//etc/**)"]}}"#;
    let merged = merge_permission_layers(&[layer(SettingsSource::User, text)], Some("/home/u"));
    let shown: Vec<String> = merged.rules.deny.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["Read(//home/u/.windlass/keys/**)", "Read(//home/u/.ssh/**)", "Edit(//etc/**)"]
    );
}
